#include "apps/signals.h"

#include <signal.h>
#include <time.h>

namespace tessera::apps {
namespace {

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

void block_signals() {
  const sigset_t set = watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);  // a client that hangs up is an error of that connection, not the end
                             // of the program
}

int wait_for_signal() {
  const sigset_t set = watched();
  int number = 0;
  while (sigwait(&set, &number) != 0) {
  }
  return number;
}

StopFlag::StopFlag()
    : thread_([this] {
        const sigset_t set = watched();
        const timespec pause{.tv_sec = 0, .tv_nsec = 100'000'000};
        while (!ended_) {
          const int number = sigtimedwait(&set, nullptr, &pause);
          if (number == SIGINT || number == SIGTERM) stop_ = true;
        }
      }) {}

StopFlag::~StopFlag() {
  ended_ = true;
  thread_.join();
}

}  // namespace tessera::apps
