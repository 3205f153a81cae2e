/// List in pages, then watch with bookmarks: resume from the last resourceVersion, list again on
/// 410, back off with jitter. All handlers run on the client's thread, in order; a list is a full
/// picture: what was not named by it is gone. A list that breaks off begins again: on_list_begin
/// may come twice before on_list_end. Objects of a list have no `kind` of their own.
///   Reflector pods(client, {.path = "/api/v1/pods"}, {.on_object = …}); pods.start();
/// The client outlives the reflector. start() once. After stop() no handler runs any more: it waits
/// for one that is running, unless called by a handler.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "client/api.h"
#include "json/reader.h"

namespace tessera::client {

struct ReflectorOptions {
  std::string path;   ///< "/api/v1/pods"
  std::string query;  ///< "labelSelector=…", without '?'
  int page_size = 500;
  std::chrono::seconds watch_timeout{300};  ///< asked of the server, spread by up to as much again
  std::chrono::milliseconds watch_silence{
      90'000};  ///< a watch without a byte for so long is resumed on a new connection
  std::chrono::milliseconds backoff_first{200}, backoff_max{30'000};
  std::uint64_t jitter_seed = 1;
};

struct ReflectorHandlers {
  std::function<void()> on_list_begin;  ///< before the list is asked for
  std::function<void(json::Value object)>
      on_object;  ///< listed, added or modified; valid during the call
  std::function<void(json::Value object)> on_delete;
  std::function<void(bool first)> on_list_end;               ///< the picture is complete
  std::function<void(std::string_view problem)> on_problem;  ///< for the log and a metric
  std::function<void(int status)> on_list_refused;  ///< the server's answer; 0 = there was none
};

class Reflector {
 public:
  Reflector(ApiClient& client, ReflectorOptions options, ReflectorHandlers handlers);
  ~Reflector();  ///< stops
  void start();
  /// Any thread: a list that is asked for from now on, whatever is known already.
  void list_again();
  void stop();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tessera::client
