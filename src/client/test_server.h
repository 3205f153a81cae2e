/// For tests: an HTTP/1.1 server on 127.0.0.1 whose answers are a function of the test. One thread
/// per connection; the function may answer, send pieces, stall or cut. Everything ends when the
/// server is destroyed.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace tessera::client {

struct SeenRequest {
  std::string method, target, headers, body;
  int connection = 0;  ///< 1 for the first that was accepted
  bool is_watch() const { return target.find("watch=true") != std::string::npos; }
};

class TestServer {
 public:
  class Connection {
   public:
    Connection(TestServer& server, int socket, int number)
        : server_(server), socket_(socket), number_(number) {}
    void send(std::string_view text) {
      while (!text.empty() && !cut_) {
        const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent <= 0) return cut();
        text.remove_prefix(static_cast<std::size_t>(sent));
      }
    }
    void reply(int status, std::string_view body, std::string_view more_headers = "") {
      send(
          "HTTP/1.1 " + std::to_string(status) +
          " X\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
          "\r\n" + std::string(more_headers) + "\r\n" + std::string(body));
    }
    void begin_chunks() { send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"); }
    void chunk(std::string_view text) {
      char size[20];
      snprintf(size, sizeof size, "%zx\r\n", text.size());
      send(size + std::string(text) + "\r\n");
    }
    void line(std::string_view text) { chunk(std::string(text) + "\n"); }
    void end_chunks() { send("0\r\n\r\n"); }
    void cut() { cut_ = true; }
    /// Waits, at most until the server or the client ends the connection.
    void stall(std::chrono::milliseconds at_most = std::chrono::seconds(30)) {
      const auto end = std::chrono::steady_clock::now() + at_most;
      while (!server_.stopping_ && !closed_by_client() && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    }
    /// An idle connection has nothing to read until the client closes it.
    bool closed_by_client() const {
      char byte = 0;
      const ssize_t got = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
      return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
    }

   private:
    friend class TestServer;
    TestServer& server_;
    int socket_, number_;
    bool cut_ = false;
  };

  using Answer = std::function<void(const SeenRequest&, Connection&)>;

  explicit TestServer(Answer answer) : answer_(std::move(answer)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        listen(listener_, 128) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
      throw std::runtime_error("cannot listen on 127.0.0.1");
    }
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~TestServer() { stop(); }
  /// After this no answer runs any more: what it captured may die. What was seen stays.
  void stop() {
    if (stopping_.exchange(true)) return;
    acceptor_.join();
    for (std::thread& thread : threads_) thread.join();
    close(listener_);
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<SeenRequest> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  std::size_t count(std::string_view part) const {
    std::size_t n = 0;
    for (const SeenRequest& request : seen())
      n += request.target.find(part) != std::string::npos ? 1 : 0;
    return n;
  }

 private:
  static bool readable(int socket, const std::atomic<bool>& stopping) {
    pollfd wait{.fd = socket, .events = POLLIN, .revents = 0};
    while (!stopping) {
      if (poll(&wait, 1, 5) > 0) return true;
    }
    return false;
  }
  void accept_all() {
    int number = 0;
    while (readable(listener_, stopping_)) {
      const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) continue;
      const int on = 1;
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      threads_.emplace_back([this, socket, n = ++number] {
        Connection connection(*this, socket, n);
        std::string input;
        SeenRequest request;
        while (!connection.cut_ && read_request(socket, input, request)) {
          request.connection = n;
          {
            const std::lock_guard lock(mutex_);
            seen_.push_back(request);
          }
          answer_(request, connection);
        }
        close(socket);
      });
    }
  }
  bool fill(int socket, std::string& input) {
    if (!readable(socket, stopping_)) return false;
    char buffer[16384];
    const ssize_t got = recv(socket, buffer, sizeof buffer, 0);
    if (got > 0) input.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }
  bool read_request(int socket, std::string& input, SeenRequest& request) {
    std::size_t end = 0;
    while ((end = input.find("\r\n\r\n")) == std::string::npos) {
      if (!fill(socket, input)) return false;
    }
    request.headers = input.substr(0, end + 2);
    input.erase(0, end + 4);
    request.method = request.headers.substr(0, request.headers.find(' '));
    const std::size_t target = request.method.size() + 1;
    request.target = request.headers.substr(target, request.headers.find(' ', target) - target);
    const std::size_t length_at = request.headers.find("Content-Length: ");
    const std::size_t length =
        length_at == std::string::npos ? 0 : std::stoul(request.headers.substr(length_at + 16));
    while (input.size() < length) {
      if (!fill(socket, input)) return false;
    }
    request.body = input.substr(0, length);
    input.erase(0, length);
    return true;
  }

  Answer answer_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;
  std::vector<SeenRequest> seen_;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

/// What callbacks on another thread have collected, to wait for from the test.
template <class T>
class Collected {
 public:
  void add(T item) {
    const std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
    changed_.notify_all();
  }
  /// Waits until there are n items; false after 20 s.
  bool wait_for(std::size_t n) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return items_.size() >= n; });
  }
  std::vector<T> all() const {
    const std::lock_guard lock(mutex_);
    return items_;
  }
  std::size_t size() const { return all().size(); }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<T> items_;
};

}  // namespace tessera::client
