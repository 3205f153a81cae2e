/// The running scheduler: extender (filter, bind), webhook, probes, metrics, binder, caches;
/// everything that `tessera serve` is. One thread owns the cluster state; HTTP threads and the API
/// client send it messages. Flags: spec/scheduler.md section 1.1, D11, D20, D21.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "client/credentials.h"
#include "policies/label_priority.h"
#include "vendors/section.h"

namespace tessera::service {

struct ServeOptions {
  std::string http_bind = "127.0.0.1:8080";
  std::string cert_file, key_file;
  std::string extender_client_ca;   ///< callers of the extender show a certificate signed by it
  std::string extender_token_file;  ///< or send a token of this file
  std::string scheduler_name;
  std::string node_policy = "binpack", device_policy = "spread";
  std::string priority_label{policies::kPriorityLabel};  ///< of nodes, for "label-priority"
  std::string metrics_bind = ":9395";  ///< "" or "0" = metrics only on the main listener
  std::string node_label_selector;
  double kube_qps = 200, kube_burst = 400;
  std::chrono::milliseconds kube_timeout{0};
  std::chrono::milliseconds node_lock_timeout{300'000};
  std::chrono::milliseconds node_lock_retry_timeout{28'000};
  std::chrono::milliseconds reservation_ttl{600'000};
  std::string answer = "single";                    ///< or "scored" (D12)
  std::chrono::milliseconds tentative_ttl{30'000};  ///< of a reservation in scored mode until bind
  bool prefer_unlocked_nodes = true;                ///< among equally good nodes
  bool leader_elect = false;
  std::string leader_elect_name, leader_elect_namespace;
  std::string leader_elect_host;  ///< of the kube-scheduler beside us
  std::string pod_name,
      pod_namespace;  ///< our own pod, for its role label and events; "" = not known
  std::chrono::milliseconds node_pass_every{15'000};  ///< handshakes and role labels
  bool force_overwrite_default_scheduler = true;
  std::string score_mode = "corrected";  ///< or "hami" (D1)
  std::string device_config;             ///< YAML text (the caller read the file)
  std::string device_config_file;        ///< looked at again while serving; "" = never
  vendors::VendorSwitches vendor_switches;
  std::chrono::milliseconds config_poll{2'000};
  std::string nodes_form = "simulate";     ///< or "live" (D6)
  bool write_node_label_by_patch = false;  ///< --write-node-label=patch (D21)
  std::size_t extender_max_body = 128u << 20, webhook_max_body = 8u << 20;
  bool wake_up_pending = true;     ///< touch refused pods when room appears (S-41)
  std::string preemption = "off";  ///< or "own": evict pods of lower priority (D13)
  double preemption_qps = 5, preemption_burst = 10;
  std::chrono::milliseconds preemption_deadline{300'000};  ///< beyond the victims' grace
  std::chrono::milliseconds self_check_interval{60'000};   ///< 0 = never
  std::chrono::milliseconds cert_poll{10'000};
  std::chrono::milliseconds ready_wait{
      25'000};                  ///< how long a filter or bind call waits for the caches
  bool events = true;           ///< false: none is written
  bool legacy_metrics = false;  ///< HAMi's names of metrics up to 2.8 in addition
  int http_threads = 1;
  std::size_t request_classes = 256;  ///< whose verdicts on the nodes are kept (D17)
  int placement_threads = 1;          ///< that look at many nodes for a request of a new kind
};

class Server {
 public:
  /// Listens and starts to fill its caches; returns without waiting for them. Errors: bad options,
  /// ports in use.
  static Result<std::unique_ptr<Server>> start(const ServeOptions& options,
                                               const client::Credentials& credentials,
                                               const Clock& clock);
  ~Server();
  std::uint16_t port() const;
  std::uint16_t metrics_port() const;  ///< 0 when there is no such listener
  bool ready() const;                  ///< caches are synced
  bool wait_ready(std::chrono::milliseconds limit) const;
  void stop();                  ///< refuse new work, finish binds in flight for a moment, end
  Status reload_certificate();  ///< at once instead of with the next poll
  void reload_device_config();  ///< looks at the file at once instead of with the next poll
  std::string self_check();  ///< differences between books and a rebuild; "" = none (blocks on the
                             ///< state thread)
 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::service
