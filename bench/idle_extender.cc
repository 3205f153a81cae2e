// The least that an extender with a bind verb can do: at /filter it answers the first name that it
// has not answered before, at /bind it writes lock and Binding as large as ours. What is slower
// than a kube-scheduler with this one is slower because of the decision. A program of the
// end-to-end benchmark (tests/e2e/bench.py); it knows no devices and removes no lock.
//   GET /counts: {"filters":…,"bound":…,"failed":…,"conflicts":…}
#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "client/api.h"
#include "client/binding.h"
#include "client/credentials.h"
#include "http/server.h"
#include "json/reader.h"
#include "json/writer.h"
#include "k8s/extender.h"
#include "obs/metrics.h"
#include "service/keys.h"
#include "service/node_lock.h"

namespace tessera::bench {
namespace {

using Flags = std::map<std::string, std::string, std::less<>>;

constexpr std::string_view kNamesKey = "\"NodeNames\":[";

/// The names of a filter call as kube-scheduler writes them: no escapes, no spaces. Nothing but the
/// place where they begin is looked for, and the pod before it is not read.
class Names {
 public:
  explicit Names(std::string_view body) {
    const std::size_t at = body.find(kNamesKey);
    if (at != std::string_view::npos) rest_ = body.substr(at + kNamesKey.size());
    all_ = rest_;
  }
  /// "" at the end.
  std::string_view next() {
    if (rest_.empty() || rest_.front() != '"') return {};
    const std::size_t end = rest_.find('"', 1);
    if (end == std::string_view::npos) return {};
    const std::string_view name = rest_.substr(1, end - 1);
    rest_.remove_prefix(std::min(rest_.size(), end + 2));
    return name;
  }
  /// To the n-th name, if all before it are as long as the first; else back to the first.
  void skip(std::size_t n) {
    const std::size_t length = next().size() + 3;
    rest_ = all_;
    const std::size_t to = n * length;
    if (to < all_.size() && all_[to] == '"' && (to == 0 || all_[to - 1] == ','))
      rest_.remove_prefix(to);
  }
  void rewind() { rest_ = all_; }

 private:
  std::string_view all_, rest_;
};

/// The nodes that were answered. Used on the one thread of the server only.
class Spread {
 public:
  /// The names come in the same order each time: the place of the next one is known beforehand.
  std::string_view pick(std::string_view body) {
    Names names(body);
    names.skip(used_.size());
    if (const std::string_view name = first_new(names); !name.empty()) return name;
    names.rewind();
    return first_new(names);
  }

 private:
  std::string_view first_new(Names& names) {
    for (std::string_view name = names.next(); !name.empty(); name = names.next()) {
      if (used_.emplace(name).second) return name;
    }
    return {};
  }
  std::unordered_set<std::string> used_;
};

std::string lock_patch(const std::string& value, const std::string* resource_version) {
  json::Writer w;
  w.begin_object().key("metadata").begin_object();
  w.key("annotations").begin_object().key(service::kNodeLockKey).string(value).end_object();
  if (resource_version != nullptr) w.key("resourceVersion").string(*resource_version);
  w.end_object().end_object();
  return std::move(w).take();
}

std::string binding_body(const k8s::BindArgs& args, WallTime now) {
  const client::BindingTarget target{args.pod_namespace, args.pod_name, args.pod_uid, args.node};
  return client::binding_body(target, [&](json::Writer& w) {
    // One card's name as the simulated agents make it, so that the bytes are as many as ours.
    const std::string devices = "GPU-" + args.node + "-0,NVIDIA,2000,10:;";
    const std::string seconds = std::to_string(unix_seconds(now));
    w.key("annotations").begin_object();
    w.key(service::kAssignedNodeKey).string(args.node);
    w.key(service::kAssignedTimeKey).string(seconds);
    w.key(service::kBindPhaseKey).string(service::kPhaseAllocating);
    w.key(service::kBindTimeKey).string(seconds);
    w.key("hami.io/vgpu-devices-to-allocate").string(devices);
    w.key("hami.io/vgpu-devices-allocated").string(devices);
    w.end_object();
    w.key("labels").begin_object().key(service::kAssignedNodeKey).string(args.node).end_object();
  });
}

class IdleExtender {
 public:
  IdleExtender(client::Credentials credentials, const Clock& clock)
      : clock_(clock),
        api_(std::move(credentials), {.user_agent = "idle/1", .qps = -1}, metrics_) {}

  /// Ours knows the version of a node from its watch; here it is read once.
  Status read_nodes() {
    client::ApiResponse response = api_.call({.path = "/api/v1/nodes"});
    if (!response.ok()) return fail(Code::kUnavailable, response.message());
    json::Parser parser;
    const Result<json::Value> list = parser.parse(std::move(response.body));
    if (!list) return tl::unexpected(list.error());
    (*list)["items"].for_each_element([this](json::Value node) {
      const json::Value metadata = node["metadata"];
      versions_.emplace(metadata["name"].string_or(""), metadata["resourceVersion"].string_or(""));
    });
    return {};
  }

  void filter(const http::Request& request, const http::Responder& respond) {
    ++filters_;
    k8s::FilterResult result;
    result.failed_null = true;
    const std::string_view name = spread_.pick(request.body);
    if (name.empty())
      result.error = "every name was answered before";
    else
      result.names.push_back(name);
    respond({.body = k8s::encode_filter_result(result)});
  }

  void bind(const http::Request& request, const http::Responder& respond) {
    json::Parser parser;
    Result<k8s::BindArgs> args = k8s::decode_bind_args(parser, request.body);
    if (!args) return answer(respond, args.error().what);
    const auto known = versions_.find(args->node);
    lock(std::make_shared<k8s::BindArgs>(std::move(*args)),
         known == versions_.end() ? nullptr : &known->second, respond);
  }

  void counts(const http::Responder& respond) const {
    respond(
        {.body = fmt::format(R"({{"filters":{},"bound":{},"failed":{},"conflicts":{}}})",
                             filters_.load(), bound_.load(), failed_.load(), conflicts_.load())});
  }

 private:
  using Args = std::shared_ptr<const k8s::BindArgs>;

  void lock(const Args& args, const std::string* resource_version, const http::Responder& respond) {
    const std::string value =
        service::format_lock(clock_.wall(), args->pod_namespace, args->pod_name);
    api_.send({.method = "PATCH",
               .path = "/api/v1/nodes/" + args->node,
               .body = lock_patch(value, resource_version),
               .content_type = "application/merge-patch+json"},
              [this, args, conditional = resource_version != nullptr,
               respond](const client::ApiResponse& response) {
                if (response.ok()) return write_binding(args, respond);
                if (!conditional || response.status != 409)
                  return answer(respond, response.message());
                ++conflicts_;
                lock(args, nullptr, respond);
              });
  }

  void write_binding(const Args& args, const http::Responder& respond) {
    api_.send({.method = "POST",
               .path = client::binding_path(args->pod_namespace, args->pod_name),
               .body = binding_body(*args, clock_.wall())},
              [this, respond](const client::ApiResponse& response) {
                answer(respond, response.ok() ? std::string() : response.message());
              });
  }

  void answer(const http::Responder& respond, const std::string& error) {
    ++(error.empty() ? bound_ : failed_);
    respond({.body = k8s::encode_bind_result(error)});
  }

  const Clock& clock_;
  Spread spread_;
  std::unordered_map<std::string, std::string> versions_;  // by node; not changed once it serves
  std::atomic<std::uint64_t> filters_{0}, bound_{0}, failed_{0}, conflicts_{0};
  obs::Metrics metrics_;
  client::ApiClient api_;  // last: its callbacks use the above
};

std::vector<http::Route> routes(IdleExtender& idle) {
  http::Route filter{.method = "POST", .path = "/filter", .max_body = 64U << 20, .handler = {}};
  filter.handler = [&idle](http::Request&& request, const http::Responder& respond) {
    idle.filter(request, respond);
  };
  http::Route bind{.method = "POST", .path = "/bind", .handler = {}};
  bind.handler = [&idle](http::Request&& request, const http::Responder& respond) {
    idle.bind(request, respond);
  };
  http::Route counts{.method = "GET", .path = "/counts", .handler = {}};
  counts.handler = [&idle](http::Request&& /*request*/, const http::Responder& respond) {
    idle.counts(respond);
  };
  return {filter, bind, counts};
}

/// --name=value; nullopt when one is not known.
std::optional<Flags> read_flags(int argc, char** argv) {
  Flags flags{{"kubeconfig", ""}, {"listen", "127.0.0.1:0"}, {"cert", ""}, {"key", ""}};
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::size_t equals = word.find('=');
    if (!word.starts_with("--") || equals == std::string_view::npos) return std::nullopt;
    const auto known = flags.find(word.substr(2, equals - 2));
    if (known == flags.end()) return std::nullopt;
    known->second = word.substr(equals + 1);
  }
  return flags;
}

int complain(const std::string& problem) {
  fmt::print(stderr, "idle_extender: {}\n", problem);
  return 1;
}

int run(const Flags& flags, const sigset_t& ends) {
  const Result<client::Credentials> credentials =
      client::load_kubeconfig(flags.find("kubeconfig")->second);
  if (!credentials) return complain(credentials.error().what);
  const SystemClock clock;
  IdleExtender idle(*credentials, clock);
  if (const Status read = idle.read_nodes(); !read) return complain(read.error().what);
  const auto server = http::Server::start({.address = flags.find("listen")->second,
                                           .cert_file = flags.find("cert")->second,
                                           .key_file = flags.find("key")->second},
                                          routes(idle));
  if (!server) return complain(server.error().what);
  fmt::print("serving on port {}\n", (*server)->port());
  std::fflush(stdout);
  int number = 0;
  while (sigwait(&ends, &number) != 0) {
  }
  (*server)->stop();
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  signal(SIGPIPE, SIG_IGN);
  const auto flags = tessera::bench::read_flags(argc, argv);
  if (!flags) {
    fmt::print(stderr, "idle_extender --kubeconfig=FILE --listen=ADDRESS --cert=FILE --key=FILE\n");
    return 2;
  }
  return tessera::bench::run(*flags, ends);
}
