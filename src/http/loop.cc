#include "http/loop.h"

#ifdef __SANITIZE_THREAD__
// Asio's fences are unknown to ThreadSanitizer, its mutexes are not: it sees all that is ordered.
#pragma GCC diagnostic ignored "-Wtsan"
#endif

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <list>
#include <mutex>
#include <utility>

namespace tessera::http {

namespace asio = boost::asio;

struct Loop::Impl {
  struct Task {
    Task(asio::io_context& context, std::chrono::milliseconds when, bool again,
         std::function<void()> what)
        : timer(context), period(when), repeats(again), work(std::move(what)) {}
    asio::steady_timer timer;
    std::chrono::milliseconds period;
    bool repeats;
    std::function<void()> work;
  };

  void add(std::chrono::milliseconds when, bool repeats, std::function<void()> work) {
    tasks.emplace_back(context, when, repeats, std::move(work));
    arm(std::prev(tasks.end()));
  }

  void arm(std::list<Task>::iterator task) {
    task->timer.expires_after(task->period);
    task->timer.async_wait([this, task](const boost::system::error_code& code) {
      if (code || finishing) {
        tasks.erase(task);
        return;
      }
      task->work();
      if (task->repeats) {
        arm(task);
      } else {
        tasks.erase(task);
      }
    });
  }

  void cancel_tasks() {
    finishing = true;
    for (Task& task : tasks) task.timer.cancel();
  }

  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard = asio::make_work_guard(context);
  std::list<Task> tasks;   // loop thread only
  bool finishing = false;  // loop thread only
  std::mutex mutex;
  bool closed = false;  // guarded by mutex: the loop takes no more work
};

Loop::Loop() : impl_(std::make_unique<Impl>()) {}
Loop::~Loop() = default;

boost::asio::io_context& Loop::context() { return impl_->context; }

void Loop::run() {
  impl_->context.run();
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->closed = true;
  }
  // What slipped in between the two lines above.
  impl_->context.restart();
  impl_->context.poll();
}

void Loop::finish() {
  post([this] {
    impl_->cancel_tasks();
    impl_->guard.reset();
  });
}

bool Loop::on_thread() const { return impl_->context.get_executor().running_in_this_thread(); }

void Loop::call(std::function<void()> work) {
  if (on_thread()) {
    work();
  } else {
    post(std::move(work));
  }
}

void Loop::post(std::function<void()> work) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->closed) return;
  asio::post(impl_->context, std::move(work));
}

void Loop::every(std::chrono::milliseconds period, std::function<void()> work) {
  post([this, period, task = std::move(work)] { impl_->add(period, true, task); });
}

void Loop::after(std::chrono::milliseconds delay, std::function<void()> work) {
  post([this, delay, task = std::move(work)] { impl_->add(delay, false, task); });
}

}  // namespace tessera::http
