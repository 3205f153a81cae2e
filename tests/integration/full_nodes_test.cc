/// Calls that carry whole nodes: the server holds at most 1.5 times the body, its own bytes counted
/// (D20), and nothing of it afterwards. The client here holds its request before the count begins
/// and reads the answer into memory that is there as well.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "harness.h"
#include "heap_peak.h"

namespace tessera::test {
namespace {

constexpr int kNodes = 400;
constexpr double kMost = 1.5;  // needed are 2.5

/// A node as a kubelet of today makes it, some 14 KB: images, labels, what was managed by whom.
std::string full_node(const std::string& plain) {
  std::string images, labels;
  for (int i = 0; i < 50; ++i) {
    images += fmt::format(
        R"({}{{"names":["registry.example.com/team/image-{}@sha256:{:064x}","registry.example.com/team/image-{}:v1"],"sizeBytes":{}}})",
        i == 0 ? "" : ",", i, i * 7919, i, 1'000'000 + i);
  }
  for (int i = 0; i < 25; ++i) {
    labels += fmt::format(R"({}"f:label.example.com/key-{}":{{}})", i == 0 ? "" : ",", i);
  }
  return plain.substr(0, plain.size() - 1) +
         fmt::format(R"(,"images":[{}],"managedFields":[{{"fieldsV1":{{{}}}}}]}})", images, labels);
}

/// A client whose memory is known.
class Caller {
 public:
  Caller(std::uint16_t port, const std::string& path, const std::string& body)
      : request_(fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                             "Content-Length: {}\r\n\r\n",
                             path, body.size()) +
                 body),
        socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{60, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    answer_.reserve(2 * request_.size());
  }
  ~Caller() { close(socket_); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  /// The whole answer; valid until the next call.
  const std::string& exchange() {
    answer_.clear();
    for (std::size_t sent = 0; sent < request_.size();) {
      const ssize_t count =
          send(socket_, request_.data() + sent, request_.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return answer_;
      sent += static_cast<std::size_t>(count);
    }
    while (!whole()) {
      const ssize_t count = recv(socket_, piece_.data(), piece_.size(), 0);
      if (count <= 0) return answer_;
      answer_.append(piece_.data(), static_cast<std::size_t>(count));
    }
    return answer_;
  }
  std::string_view body() const {
    return std::string_view(answer_).substr(answer_.find("\r\n\r\n") + 4);
  }

 private:
  bool whole() const {
    const auto head = answer_.find("\r\n\r\n");
    const auto length = answer_.find("Content-Length: ");
    if (head == std::string::npos || length == std::string::npos) return false;
    return answer_.size() >= head + 4 + std::stoul(answer_.substr(length + 16, 20));
  }

  std::string request_, answer_;
  std::string piece_ = std::string(65'536, '\0');
  const int socket_;
};

class FullNodesTest : public ClusterTest {
 protected:
  void start(const std::string& form) {
    options_.nodes_form = form;
    options_.http_threads = 2;
    for (int i = 0; i < kNodes; ++i) {
      const std::string name = fmt::format("n{:04}", i);
      if (form == "live") add_node(name, 8);
      texts_.push_back(full_node(node_json(name, 8, 24'576)));
    }
    start_server();
    add_pod("p");
    body_ = R"({"Pod":)" + pod_text("p") + R"(,"Nodes":{"metadata":{},"items":[)";
    for (int i = 0; i < kNodes; ++i) body_ += (i == 0 ? "" : ",") + texts_[std::size_t(i)];
    body_ += R"(]},"NodeNames":null})";
    ASSERT_GT(texts_[0].size(), 10'000U);
  }

  /// The most that is held while `callers` at once call `times` times in turn, in bodies.
  double peak_of(const std::string& path, std::size_t callers, int times) {
    std::vector<std::unique_ptr<Caller>> all;
    for (std::size_t i = 0; i < callers; ++i)
      all.push_back(std::make_unique<Caller>(server_->port(), path, body_));
    const std::int64_t idle = heap_bytes();
    all[0]->exchange();  // what the server makes once and keeps
    put_away(idle);
    const std::int64_t before = heap_bytes();
    restart_heap_peak();
    std::vector<std::thread> threads;
    for (const auto& caller : all) {
      threads.emplace_back([&caller, times] {
        for (int i = 0; i < times; ++i) caller->exchange();
      });
    }
    for (auto& thread : threads) thread.join();
    const double peak = static_cast<double>(heap_peak() - before);
    answer_ = std::string(all.back()->body());
    put_away(before + static_cast<std::int64_t>(answer_.size()));
    return peak / static_cast<double>(body_.size());
  }
  /// The client has its answer before the server has put away the last of the call.
  void put_away(std::int64_t before) const {
    const auto spare = static_cast<std::int64_t>(body_.size() / 10);
    EXPECT_TRUE(eventually([&] { return heap_bytes() - before < spare; }))
        << heap_bytes() - before << " bytes kept";
  }
  std::size_t nodes_in_answer() const {
    json::Parser parser;
    const auto root = parser.parse(answer_);
    EXPECT_TRUE(root) << answer_.substr(0, 300);
    return root ? (*root)["Nodes"]["items"].size() : 0;
  }

  std::vector<std::string> texts_;
  std::string body_, answer_;
};

TEST_F(FullNodesTest, ASimulationEchoesAllNodesFromTheBodyTheyCameIn) {
  start("simulate");
  const double peak = peak_of("/filter", 1, 4);
  EXPECT_LE(peak, kMost);
  EXPECT_EQ(nodes_in_answer(), kNodes);
  EXPECT_GT(peak, 1) << "the body is held: is the heap still counted?";
}

TEST_F(FullNodesTest, ALiveFilterGivesTheChosenNodeAsReceived) {
  start("live");
  EXPECT_LE(peak_of("/filter", 1, 4), kMost);
  ASSERT_EQ(nodes_in_answer(), 1U);
  bool found = false;
  for (const std::string& text : texts_)
    found = found || answer_.find("\"items\":[" + text + "]") != std::string::npos;
  EXPECT_TRUE(found) << answer_.substr(0, 300);
}

TEST_F(FullNodesTest, ScoresOfWholeNodes) {
  start("simulate");
  EXPECT_LE(peak_of("/prioritize", 1, 3), kMost);
  json::Parser parser;
  const auto scores = parser.parse(answer_);
  ASSERT_TRUE(scores);
  EXPECT_EQ(scores->size(), kNodes);
}

TEST_F(FullNodesTest, OfTwoCallsAtATimeEachCountsItsBody) {
  start("simulate");
  EXPECT_LE(peak_of("/filter", 2, 4), 2 * kMost);
  EXPECT_EQ(nodes_in_answer(), kNodes);
}

TEST_F(FullNodesTest, ABodyCutOffInTheMiddleIsRefusedWithinTheSameMemory) {
  start("simulate");
  body_.resize(body_.size() / 2);
  EXPECT_LE(peak_of("/filter", 1, 2), kMost);
  EXPECT_NE(answer_.find(R"("Error":"unexpected EOF")"), std::string::npos) << answer_;
}

}  // namespace
}  // namespace tessera::test
