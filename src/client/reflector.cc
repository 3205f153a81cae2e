#include "client/reflector.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "client/backoff.h"

namespace tessera::client {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kListTimeout{60'000};
constexpr std::chrono::seconds kShortWatch{
    1};  // a watch that ends sooner without a line is a failure
constexpr std::chrono::seconds kQuietPeriod{
    60};  // without a forced list: the next one starts with the short wait again
constexpr unsigned kWatchFailuresBeforeList =
    8;  // a resourceVersion that the server does not know fails for ever
constexpr std::size_t kQuotedLine = 200;

std::string escape_query(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out.push_back(c);
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

MonoTime now_mono() { return std::chrono::steady_clock::now(); }

}  // namespace

struct Reflector::Impl : std::enable_shared_from_this<Reflector::Impl> {
  Impl(ApiClient& api, ReflectorOptions reflector_options, ReflectorHandlers reflector_handlers)
      : client(api),
        options(std::move(reflector_options)),
        handlers(std::move(reflector_handlers)),
        jitter(options.jitter_seed),
        connect_backoff(options.backoff_first, options.backoff_max),
        list_backoff(options.backoff_first, options.backoff_max) {}

  template <class F>
  auto guarded(F f);
  void later(milliseconds delay, void (Impl::*step)());
  std::string url(std::string_view more) const;
  void report(const std::string& what) {
    if (handlers.on_problem) handlers.on_problem(what);
  }

  void begin_list();
  void list_now();
  void request_page();
  void on_page(ApiResponse response);
  void on_list_failed(const ApiResponse& response);
  void finish_list(std::string_view version);
  void begin_watch();
  void on_line(std::string_view line);
  void on_error_event(json::Value object);
  void on_watch_end(const ApiResponse& response);
  void on_watch_refused(const ApiResponse& response);
  void list_again(bool at_once);
  void stop();

  ApiClient& client;
  const ReflectorOptions options;
  const ReflectorHandlers handlers;

  std::recursive_mutex
      running;  // held while a step runs, so that stop() can wait; recursive: a handler may stop
  bool stopped = false;

  json::Parser parser;
  Jitter jitter;
  Backoff connect_backoff;  // the server does not answer
  Backoff list_backoff;     // what it answers forces a new list
  MonoTime last_forced_list{};
  std::string continue_token, version;
  bool listed_once = false;
  std::uint64_t round = 0;  // of lists: what an earlier one has asked for or planned is void
  int expired_pages = 0;    // lists in a row that broke off with 410
  std::optional<std::uint64_t> watch;
  MonoTime watch_began{};
  bool watch_had_line = false;
};

/// f as a callback for the client: does nothing once stopped.
template <class F>
auto Reflector::Impl::guarded(F f) {
  return [weak = weak_from_this(), f = std::move(f)](auto&&... arguments) {
    const std::shared_ptr<Impl> self = weak.lock();
    if (self == nullptr) return;
    const std::lock_guard lock(self->running);
    if (!self->stopped) f(*self, std::forward<decltype(arguments)>(arguments)...);
  };
}

void Reflector::Impl::later(milliseconds delay, void (Impl::*step)()) {
  client.after(delay, guarded([step, planned = round](Impl& self) {
                 if (self.round == planned) (self.*step)();
               }));
}

std::string Reflector::Impl::url(std::string_view more) const {
  return fmt::format("{}?{}{}{}", options.path, options.query, options.query.empty() ? "" : "&",
                     more);
}

void Reflector::Impl::begin_list() {
  ++round;
  continue_token.clear();
  if (handlers.on_list_begin) handlers.on_list_begin();
  if (!stopped) request_page();
}

/// Whatever is under way, a list or a watch, ends for a list that begins now.
void Reflector::Impl::list_now() {
  if (watch) client.cancel(*std::exchange(watch, std::nullopt));
  begin_list();
}

void Reflector::Impl::request_page() {
  ApiRequest request;
  std::string more = expired_pages < 2 ? fmt::format("limit={}", options.page_size) : "";
  if (!continue_token.empty()) more += "&continue=" + escape_query(continue_token);
  request.path = url(more);
  request.timeout = kListTimeout;
  client.send(std::move(request), guarded([asked = round](Impl& self, ApiResponse response) {
                if (self.round == asked) self.on_page(std::move(response));
              }));
}

void Reflector::Impl::on_page(ApiResponse response) {
  if (!response.ok()) return on_list_failed(response);
  const Result<json::Value> page = parser.parse(std::move(response.body));
  const json::Value meta = page ? (*page)["metadata"] : json::Value();
  const json::Value items = page ? (*page)["items"] : json::Value();
  const std::string list_version(meta["resourceVersion"].string_or(""));
  const std::string next(meta["continue"].string_or(""));
  if (!page || list_version.empty() ||
      (items.kind() != json::Kind::kArray && !items.is_null_or_missing())) {
    report(fmt::format(
        "list of {}: {}", options.path,
        page ? "not a list with metadata.resourceVersion and items" : page.error().what));
    return later(list_backoff.next(jitter), &Impl::begin_list);
  }
  items.for_each_element([this](json::Value item) {
    if (!stopped && handlers.on_object) handlers.on_object(item);
  });
  if (stopped) return;
  if (next.empty()) return finish_list(list_version);
  continue_token = next;
  request_page();
}

void Reflector::Impl::on_list_failed(const ApiResponse& response) {
  report(fmt::format("list of {}: {}", options.path, response.message()));
  if (handlers.on_list_refused) handlers.on_list_refused(response.status);
  if (stopped) return;
  if (response.status == 410 && !continue_token.empty()) {
    // The snapshot that the pages come from was compacted away. After the second time in a row ask
    // for all at once.
    ++expired_pages;
    return later(list_backoff.next(jitter), &Impl::begin_list);
  }
  const milliseconds own = connect_backoff.next(jitter);
  later(std::max(own, response.retry_after), &Impl::begin_list);
}

void Reflector::Impl::finish_list(std::string_view list_version) {
  version = list_version;
  expired_pages = 0;
  connect_backoff.reset();
  if (handlers.on_list_end) handlers.on_list_end(!std::exchange(listed_once, true));
  if (!stopped) begin_watch();
}

void Reflector::Impl::begin_watch() {
  const auto spread = static_cast<std::int64_t>(static_cast<double>(options.watch_timeout.count()) *
                                                (1 + jitter.next()));
  ApiRequest request;
  request.path =
      url(fmt::format("watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
                      escape_query(version), std::max<std::int64_t>(spread, 1)));
  watch_began = now_mono();
  watch_had_line = false;
  ApiClient::StreamHandlers stream;
  stream.on_line = guarded([](Impl& self, std::string_view line) {
    if (self.watch) self.on_line(line);
  });
  stream.on_end = guarded([](Impl& self, const ApiResponse& response) {
    if (std::exchange(self.watch, std::nullopt)) self.on_watch_end(response);
  });
  watch = client.stream(std::move(request), std::move(stream), options.watch_silence);
}

void Reflector::Impl::on_line(std::string_view line) {
  const Result<json::Value> event = parser.parse(line);
  const std::string_view type = event ? (*event)["type"].string_or("") : "";
  const json::Value object = event ? (*event)["object"] : json::Value();
  if (type == "ERROR") return on_error_event(object);
  const std::string_view object_version = object["metadata"]["resourceVersion"].string_or("");
  const bool changed = type == "ADDED" || type == "MODIFIED";
  if (object_version.empty() || (!changed && type != "DELETED" && type != "BOOKMARK")) {
    const std::string why =
        event ? "not an event with type and object.metadata.resourceVersion" : event.error().what;
    report(fmt::format("watch of {}: {}: {}", options.path, why, line.substr(0, kQuotedLine)));
    return list_again(false);
  }
  version = object_version;
  watch_had_line = true;
  connect_backoff.reset();
  if (changed && handlers.on_object) handlers.on_object(object);
  if (type == "DELETED" && handlers.on_delete) handlers.on_delete(object);
}

void Reflector::Impl::on_error_event(json::Value object) {
  const std::int64_t code = object["code"].integer().value_or(0);
  report(fmt::format("watch of {}: {} (code {})", options.path,
                     object["message"].string_or("error without a message"), code));
  list_again(code == 410);
}

void Reflector::Impl::on_watch_end(const ApiResponse& response) {
  if (response.status >= 300) return on_watch_refused(response);
  const bool lived = watch_had_line || now_mono() - watch_began >= kShortWatch;
  if (lived && response.status != 0) {
    if (!response.error.empty())
      report(fmt::format("watch of {}: {}", options.path, response.error));
    connect_backoff.reset();
    return begin_watch();
  }
  report(fmt::format("watch of {}: {}", options.path,
                     response.error.empty() ? "ended at once" : response.error));
  later(connect_backoff.next(jitter), &Impl::begin_watch);
}

void Reflector::Impl::on_watch_refused(const ApiResponse& response) {
  report(fmt::format("watch of {}: {}", options.path, response.message()));
  if (response.status == 410) return list_again(true);
  const milliseconds pause = std::max(connect_backoff.next(jitter), response.retry_after);
  const bool same_again = response.status == 429 || response.status == 401 ||
                          response.status == 403 || response.status >= 500;
  const bool hopeless =
      response.status != 429 && connect_backoff.failures() >= kWatchFailuresBeforeList;
  later(pause, same_again && !hopeless ? &Impl::begin_watch : &Impl::begin_list);
}

/// Ends the watch and lists. At once for a version that is too old, unless that has just happened.
void Reflector::Impl::list_again(bool at_once) {
  if (watch) client.cancel(*std::exchange(watch, std::nullopt));
  const MonoTime now = now_mono();
  if (now - last_forced_list >= kQuietPeriod) list_backoff.reset();
  last_forced_list = now;
  const milliseconds pause = list_backoff.next(jitter);
  const bool first = list_backoff.failures() == 1;
  later(at_once && first ? milliseconds(0) : pause, &Impl::begin_list);
}

void Reflector::Impl::stop() {
  std::optional<std::uint64_t> open;
  {
    const std::lock_guard lock(running);
    stopped = true;
    open = std::exchange(watch, std::nullopt);
  }
  if (open)
    client.cancel(
        *open);  // without the lock: cancel() waits for a line's handler, and that takes the lock
}

Reflector::Reflector(ApiClient& client, ReflectorOptions options, ReflectorHandlers handlers)
    : impl_(std::make_shared<Impl>(client, std::move(options), std::move(handlers))) {}

Reflector::~Reflector() { stop(); }

void Reflector::start() { impl_->later(milliseconds(0), &Impl::begin_list); }

void Reflector::list_again() {
  impl_->client.after(milliseconds(0), impl_->guarded([](Impl& self) { self.list_now(); }));
}

void Reflector::stop() { impl_->stop(); }

}  // namespace tessera::client
