// `tessera label-priority`: the extender that goes by one label of the nodes.
#include <signal.h>

#include <memory>
#include <string>

#include "apps/commands.h"
#include "apps/process.h"
#include "apps/signals.h"
#include "base/clock.h"
#include "client/credentials.h"
#include "label_priority/server.h"
#include "obs/log.h"

namespace tessera::apps {

int run_label_priority(const CommandLine& line) {
  set_verbosity(line.verbosity);
  const SystemClock clock;
  auto server = label_priority::Server::start(
      line.label_priority,
      [file = line.kubeconfig] { return client::find_credentials(file, environment); }, clock);
  if (!server) return complain(server.error().what);
  log::info("serving", {{"version", TESSERA_VERSION},
                        {"address", line.label_priority.listen},
                        {"port", static_cast<int>((*server)->port())},
                        {"label", line.label_priority.rules.label},
                        {"tls", line.label_priority.cert_file.empty() ? "no" : "yes"}});
  int number = wait_for_signal();
  for (; number == SIGHUP; number = wait_for_signal())
    tell_certificate((*server)->reload_certificate());
  log::info("stopping", {{"signal", number}});
  (*server)->stop();
  return 0;
}

}  // namespace tessera::apps
