/// One I/O thread's event loop, with a door for other threads. Connections and timers live on it; a
/// Responder that outlives the server keeps the loop alive, and what it then sends through the door
/// is dropped.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace tessera::http {

class Loop {
 public:
  Loop();
  ~Loop();
  boost::asio::io_context& context();

  /// The thread's body: returns after finish(), when nothing is left to wait for.
  void run();
  void finish();  ///< any thread
  bool on_thread() const;

  /// Runs `work` on the loop's thread: at once when called there, else later; never after run() has
  /// returned.
  void call(std::function<void()> work);
  void post(std::function<void()> work);  ///< as call(), but always later
  void every(std::chrono::milliseconds period, std::function<void()> work);
  void after(std::chrono::milliseconds delay, std::function<void()> work);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::http
