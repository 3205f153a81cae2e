#include "client/reflector.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "client/backoff.h"
#include "client/list_items.h"
#include "client/query.h"

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

MonoTime now_mono() { return std::chrono::steady_clock::now(); }

/// A page of a list on its way. Its head names the next one, which is asked for at once: the server
/// makes it while this one is read.
struct Page {
  std::string token;  ///< it was asked for with; "" = the first
  ListItems text;
  std::string bad_item;  ///< why an item is no JSON
  bool head_known = false;
  bool next_asked = false;
};
using PagePtr = std::shared_ptr<Page>;

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
  void request_page(const std::string& token);
  void on_chunk(Page& page, std::string_view chunk);
  void read_head(Page& page);
  void on_item(Page& page, std::string& text);
  void on_page(Page& page, const ApiResponse& response);
  void on_list_failed(const Page& page, const ApiResponse& response);
  void begin_again(milliseconds pause);
  void finish_list();
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
  std::string text;  // memory of what is parsed
  Jitter jitter;
  Backoff connect_backoff;  // the server does not answer
  Backoff list_backoff;     // what it answers forces a new list
  MonoTime last_forced_list{};
  std::string version;
  std::size_t open_pages = 0;  // of the list under way
  std::string list_version;    // of its last page, once that is here
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
  open_pages = 0;
  list_version.clear();
  if (handlers.on_list_begin) handlers.on_list_begin();
  if (!stopped) request_page("");
}

/// Whatever is under way, a list or a watch, ends for a list that begins now.
void Reflector::Impl::list_now() {
  if (watch) client.cancel(*std::exchange(watch, std::nullopt));
  begin_list();
}

void Reflector::Impl::request_page(const std::string& token) {
  const auto page = std::make_shared<Page>();
  page->token = token;
  page->text.begin();
  ++open_pages;
  ApiRequest request;
  std::string more = expired_pages < 2 ? fmt::format("limit={}", options.page_size) : "";
  if (!token.empty()) more += "&continue=" + escape_query(token);
  request.path = url(more);
  request.timeout = kListTimeout;
  request.on_body = guarded([asked = round, page](Impl& self, std::string_view chunk) {
    if (self.round == asked) self.on_chunk(*page, chunk);
  });
  client.send(std::move(request),
              guarded([asked = round, page](Impl& self, const ApiResponse& response) {
                if (self.round == asked) self.on_page(*page, response);
              }));
}

/// Item by item as they come in: a page of nodes is some megabytes, and a tape of it twice as much.
void Reflector::Impl::on_chunk(Page& page, std::string_view chunk) {
  page.text.feed(chunk, [this, &page, asked = round](std::string& item) {
    if (stopped || round != asked) return;
    if (!std::exchange(page.head_known, true)) read_head(page);
    on_item(page, item);
  });
}

/// An API server writes the metadata before the items. Where they come later, on_page asks.
void Reflector::Impl::read_head(Page& page) {
  text.assign(page.text.envelope()).append("]}");
  const Result<json::Value> head = parser.parse_in_place(text);
  if (!head) return;
  const json::Value meta = (*head)["metadata"];
  const std::string next(meta["continue"].string_or(""));
  // Two under way keep the server busy; more would only fill its memory and the socket's.
  if (next.empty() || open_pages > 1 || meta["resourceVersion"].string_or("").empty()) return;
  page.next_asked = true;
  request_page(next);
}

void Reflector::Impl::on_item(Page& page, std::string& item_text) {
  if (!page.bad_item.empty()) return;
  const Result<json::Value> item = parser.parse_in_place(item_text);
  if (!item) {
    page.bad_item = item.error().what;
  } else if (handlers.on_object) {
    handlers.on_object(*item);
  }
}

void Reflector::Impl::on_page(Page& page, const ApiResponse& response) {
  --open_pages;
  if (!response.ok()) return on_list_failed(page, response);
  const Result<json::Value> envelope = parser.parse_in_place(page.text.envelope());
  const json::Value meta = envelope ? (*envelope)["metadata"] : json::Value();
  const json::Value items = envelope ? (*envelope)["items"] : json::Value();
  const std::string own_version(meta["resourceVersion"].string_or(""));
  const std::string next(meta["continue"].string_or(""));
  std::string why = page.text.problem().empty() ? page.bad_item : page.text.problem();
  if (why.empty() && !envelope) why = envelope.error().what;
  const bool listed = items.kind() == json::Kind::kArray || items.is_null_or_missing();
  if (why.empty() && (own_version.empty() || !listed))
    why = "not a list with metadata.resourceVersion and items";
  if (!why.empty()) {
    report(fmt::format("list of {}: {}", options.path, why));
    return begin_again(list_backoff.next(jitter));
  }
  // Nobody writes the key in a way that only a parser reads; if somebody does, all items are here.
  items.for_each_element([this](json::Value item) {
    if (!stopped && handlers.on_object) handlers.on_object(item);
  });
  if (stopped) return;
  if (next.empty())
    list_version = own_version;
  else if (!page.next_asked)
    request_page(next);
  if (open_pages == 0 && !list_version.empty()) finish_list();
}

void Reflector::Impl::on_list_failed(const Page& page, const ApiResponse& response) {
  report(fmt::format("list of {}: {}", options.path, response.message()));
  if (handlers.on_list_refused) handlers.on_list_refused(response.status);
  if (stopped) return;
  if (response.status == 410 && !page.token.empty()) {
    // The snapshot that the pages come from was compacted away. After the second time in a row ask
    // for all at once.
    ++expired_pages;
    return begin_again(list_backoff.next(jitter));
  }
  begin_again(std::max(connect_backoff.next(jitter), response.retry_after));
}

/// What else is under way of this list is void from now on.
void Reflector::Impl::begin_again(milliseconds pause) {
  ++round;
  later(pause, &Impl::begin_list);
}

void Reflector::Impl::finish_list() {
  version = std::exchange(list_version, {});
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
  text.assign(line);
  const Result<json::Value> event = parser.parse_in_place(text);
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
