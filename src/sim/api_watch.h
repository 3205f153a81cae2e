/// Open watches of the embedded API server: who sees which change, resuming, bookmarks, stalls. The
/// text of an object is made once, in the store; here it only gets its frame. Thread rule: the
/// owner serialises every call.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "http/server.h"
#include "sim/api_call.h"
#include "sim/api_render.h"
#include "sim/api_selectors.h"

namespace tessera::sim::api {

class WatchHub {
 public:
  WatchHub(const Store& store, const Clock& clock) : store_(store), clock_(clock) {}

  /// What a watch call asks for, checked; a Reply when it is refused.
  struct Order {
    Target target;
    View view;
    Selector selector;
    std::uint64_t since = 0;
    bool from_state = false;  ///< begin with everything that is there
    bool initial_events_end = false;
    bool bookmarks = false;
    std::int64_t timeout_seconds = 0;  ///< 0 = none
  };
  static std::variant<Order, Reply> read_order(const Call& call, const Target& target);

  /// Sends what has happened since, then keeps the stream. The id is for end().
  std::uint64_t open(Order order, std::shared_ptr<http::Stream> stream);
  void end(std::uint64_t id);  ///< completes the response
  void publish(const Change& change);
  void bookmark();
  void stall(bool stalled);  ///< what happens during a stall is sent after it
  void drop_all();           ///< cuts every connection
  std::size_t size() const { return watches_.size(); }

 private:
  struct Watch {
    std::uint64_t id = 0;
    Order order;
    std::shared_ptr<http::Stream> stream;
    std::vector<std::string> held;  // lines that wait for the end of a stall
  };
  void send(Watch& watch, std::string line) const;
  void send_change(Watch& watch, const Change& change) const;
  void send_beginning(Watch& watch) const;

  const Store& store_;
  const Clock& clock_;
  bool stalled_ = false;
  std::uint64_t next_id_ = 1;
  std::list<Watch> watches_;
};

}  // namespace tessera::sim::api
