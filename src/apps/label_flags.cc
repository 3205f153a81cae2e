#include "apps/label_flags.h"

#include <CLI/CLI.hpp>
#include <string>

#include "apps/serve_flags.h"

namespace tessera::apps {
namespace {

void add_switch(CLI::App& app, const std::string& name, bool& into, const std::string& help) {
  app.add_flag(name, into, help)->default_str(into ? "true" : "false");
}

void add_rule_flags(CLI::App& app, label_priority::Options& o) {
  app.add_option("--label", o.rules.label, "label of nodes whose number decides")
      ->type_name("KEY")
      ->capture_default_str();
  add_switch(app, "--label-required", o.rules.label_required,
             "only nodes with the label take pods; false: others too, with 0");
  app.add_option("--scores", o.scores,
                 "raw: the label's number; normalised: the largest of the candidates becomes 10")
      ->capture_default_str();
  app.add_option("--weight", o.rules.weight,
                 "of this extender in kube-scheduler's configuration: raw scores stay small enough "
                 "for it")
      ->capture_default_str();
  add_switch(app, "--compat", o.rules.compat,
             "answer as the original extender does, its defects included");
  add_switch(app, "--bind", o.bind, "bind pods; false: nothing is written to the cluster");
}

void add_limit_flags(CLI::App& app, label_priority::Options& o) {
  app.add_option("--max-body", o.max_body, "longest body of a filter or scoring call")
      ->type_name("BYTES")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--max-connections", o.max_connections, "open connections")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--http-threads", o.http_threads, "threads that read and write HTTP")
      ->capture_default_str();
  add_duration(app, "--request-timeout", o.request_timeout, "for the reading of one request");
  add_duration(app, "--bind-timeout", o.bind_timeout,
               "for the Binding; below the extender's httpTimeout");
  app.add_option("--kube-qps", o.kube_qps, "API requests per second; negative: no limit")
      ->capture_default_str();
  app.add_option("--kube-burst", o.kube_burst, "API requests at once")->capture_default_str();
}

}  // namespace

void add_label_priority(CLI::App& root, CommandLine& line) {
  label_priority::Options& o = line.label_priority;
  CLI::App* app = root.add_subcommand(
      "label-priority", "an extender that sends pods to the node with the largest label");
  app->add_option("--listen", o.listen, "address of all calls, probes and metrics")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  app->add_option("--metrics-bind-address", o.metrics_bind,
                  "plain HTTP with /metrics and the probes only; empty: none")
      ->type_name("HOST:PORT");
  app->add_option("--cert_file", o.cert_file, "PEM certificate; with --key_file: HTTPS")
      ->type_name("FILE");
  app->add_option("--key_file", o.key_file, "PEM key")->type_name("FILE");
  app->add_option("--kubeconfig", line.kubeconfig,
                  "how to reach the cluster; else KUBECONFIG, ~/.kube/config, in-cluster")
      ->type_name("FILE");
  app->add_option("-v,--v", line.verbosity, "log level; 4 and above: debug")->capture_default_str();
  add_rule_flags(*app, o);
  add_limit_flags(*app, o);
  app->callback([&line] { line.command = Command::kLabelPriority; });
}

}  // namespace tessera::apps
