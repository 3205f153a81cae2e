#include "host_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/text.h"

namespace tessera::bench {
namespace {

constexpr std::string_view kGood = "ok ";

bool send_line(int to, std::string line) {
  line += '\n';
  std::string_view left = line;
  while (!left.empty()) {
    const ssize_t sent = send(to, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// The next line, without its end; "" when the other side is gone.
std::string next_line(int from, std::string& received) {
  std::array<char, 65536> buffer;
  for (;;) {
    if (const auto end = received.find('\n'); end != std::string::npos) {
      std::string line = received.substr(0, end);
      received.erase(0, end + 1);
      return line;
    }
    const ssize_t count = recv(from, buffer.data(), buffer.size(), 0);
    if (count <= 0) return {};
    received.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

/// Answers may have several lines; on the way they are one.
std::string line_of(const Result<std::string>& answer) {
  if (answer) return std::string(kGood) + text::base64_encode(*answer);
  return "error " + text::base64_encode(answer.error().what);
}

void serve(int socket, const HostProcess::Part& part) {
  const Status begun = part.begin();
  const Result<std::string> first = begun ? Result<std::string>(std::string())
                                          : Result<std::string>(tl::unexpected(begun.error()));
  std::string received;
  for (bool open = send_line(socket, line_of(first)); open && begun;) {
    const std::string question = next_line(socket, received);
    open = !question.empty() && send_line(socket, line_of(part.answer(question)));
  }
}

}  // namespace

Result<std::unique_ptr<HostProcess>> HostProcess::start(const Part& part) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(Code::kUnavailable, std::string("socketpair: ") + std::strerror(errno));
  const pid_t id = fork();
  if (id < 0) return fail(Code::kUnavailable, std::string("fork: ") + std::strerror(errno));
  if (id == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    serve(ends[1], part);
    _exit(0);
  }
  close(ends[1]);
  std::unique_ptr<HostProcess> host(new HostProcess(id, ends[0]));
  if (const auto begun = host->reply(); !begun) return tl::unexpected(begun.error());
  return host;
}

HostProcess::~HostProcess() {
  close(socket_);
  kill(id_, SIGKILL);
  waitpid(id_, nullptr, 0);
}

Result<std::string> HostProcess::reply() {
  const std::string line = next_line(socket_, received_);
  const auto blank = line.find(' ');
  if (blank == std::string::npos)
    return fail(Code::kUnavailable, "the cluster's process has ended");
  auto words = text::base64_decode(std::string_view(line).substr(blank + 1));
  if (!words) return tl::unexpected(words.error());
  if (line.starts_with(kGood)) return std::move(*words);
  return fail(Code::kInternal, "the cluster: " + *words);
}

Result<std::string> HostProcess::ask(const std::string& question) {
  if (!send_line(socket_, question))
    return fail(Code::kUnavailable, "the cluster's process has ended");
  return reply();
}

}  // namespace tessera::bench
