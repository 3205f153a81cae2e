#include "apps/setup_flags.h"

#include <CLI/CLI.hpp>

#include "apps/serve_flags.h"
#include "base/text.h"

namespace tessera::apps {
namespace {

using setup::Answer;
using setup::Offer;
using setup::Program;

void add_kube_version(CLI::App& app, const std::string& help, std::optional<int>& minor) {
  app.add_option_function<std::string>(
         "--kube-version",
         [&minor](const std::string& text) {
           const Result<int> parsed = setup::parse_kube_version(text);
           if (!parsed) throw CLI::ValidationError("--kube-version", parsed.error().what);
           minor = *parsed;
         },
         help)
      ->type_name("1.XX");
}

/// What both commands must know of the server: the flags that it is started with.
void add_offer_flags(CLI::App& app, CommandLine& line) {
  Offer& offer = line.setup.render.offer;
  app.add_option("--device-config,--device-config-file", line.device_config_file,
                 "device configuration; else the built-in one")
      ->type_name("FILE");
  app.add_flag("--enable-ascend", line.serve.vendor_switches.ascend,
               "with the vendors of the section vnpus");
  app.add_flag("--enable-iluvatar", line.serve.vendor_switches.iluvatar,
               "with the vendors of the section iluvatars");
  app.add_option("--scheduler-name", offer.scheduler_name,
                 "of serve; else " + std::string(setup::kUsualSchedulerName));
  app.add_option_function<std::string>(
         "--answer",
         [&offer](const std::string& word) {
           if (word != "single" && word != "scored")
             throw CLI::ValidationError("--answer",
                                        text::quote(word) + " is none of: single, scored");
           offer.answer = word == "scored" ? Answer::kScored : Answer::kSingle;
         },
         "of serve: single or scored")
      ->default_str("single");
  app.add_flag_callback(
      "--single", [&offer] { offer.answer = Answer::kSingle; }, "short for --answer=single");
  app.add_flag_callback(
      "--scored", [&offer] { offer.answer = Answer::kScored; }, "short for --answer=scored");
  for (const char* shorter : {"--single", "--scored"})
    app.get_option(shorter)->excludes(app.get_option("--answer"));
  app.get_option("--single")->excludes(app.get_option("--scored"));
  add_duration(app, "--node-lock-retry-timeout", offer.lock_wait,
               "of serve: how long a bind waits for its node's lock");
  app.add_flag("--leader-elect", offer.leader_elect, "serve is started with it")
      ->default_str("false");
  app.add_option("--leader-elect-resource-name", offer.lease_name,
                 "of serve; else the scheduler's name");
  app.add_option("--leader-elect-resource-namespace", offer.lease_namespace,
                 "of serve; else kube-system");
}

/// What nobody said.
void fill_lease(Offer& offer) {
  if (!offer.leader_elect) return;
  if (offer.lease_name.empty()) {
    offer.lease_name =
        offer.scheduler_name.empty() ? setup::kUsualSchedulerName : offer.scheduler_name;
  }
  if (offer.lease_namespace.empty()) offer.lease_namespace = "kube-system";
}

}  // namespace

void add_render(CLI::App& root, CommandLine& line) {
  CLI::App* render = root.add_subcommand("render", "print files that fit the server");
  render->require_subcommand(1);
  CLI::App* app = render->add_subcommand(
      "scheduler-config", "the configuration of the kube-scheduler that asks this server");
  setup::RenderOptions& o = line.setup.render;
  add_kube_version(*app, "of kube-scheduler; else the newest that is tested", o.offer.kube_minor);
  add_offer_flags(*app, line);
  app->add_option("--url", o.url, "where kube-scheduler reaches the server")->capture_default_str();
  app->add_option("--tls-ca", o.ca_file, "PEM file that checks the certificate of an https URL")
      ->type_name("FILE");
  app->add_flag("--insecure", o.insecure, "nothing checks it");
  app->add_flag("--preempt", o.preempt, "kube-scheduler asks before it evicts (preemptVerb)");
  app->add_flag_callback(
      "--label-priority", [&o] { o.offer.program = Program::kLabelPriority; },
      "for tessera label-priority instead of tessera serve");
  app->add_option("--kubeconfig", o.kubeconfig, "of kube-scheduler; else the pod's account")
      ->type_name("FILE");
  app->callback([&line, &o] {
    if (o.offer.scheduler_name.empty()) {
      o.offer.scheduler_name = o.offer.program == Program::kLabelPriority
                                   ? setup::kUsualLabelName
                                   : setup::kUsualSchedulerName;
    }
    o.kube_minor = o.offer.kube_minor.value_or(setup::kTestedMinor);
    fill_lease(o.offer);
    line.command = Command::kRender;
  });
}

void add_check_config(CLI::App& root, CommandLine& line) {
  CLI::App* app = root.add_subcommand(
      "check-config", "name every fault of a device configuration, or of kube-scheduler's own");
  Offer& offer = line.setup.render.offer;
  app->add_option("FILE", line.config_file, "a device configuration");
  app->add_option("--scheduler-config", line.setup.scheduler_config,
                  "a KubeSchedulerConfiguration or a legacy Policy, YAML or JSON")
      ->type_name("FILE");
  add_kube_version(*app, "of kube-scheduler", offer.kube_minor);
  app->add_option_function<std::string>(
         "--extender",
         [&offer](const std::string& word) {
           const auto program = setup::parse_program(word);
           if (!program) {
             throw CLI::ValidationError("--extender",
                                        text::quote(word) +
                                            " is none of: serve, label-priority, hami, "
                                            "i-scheduler-extender");
           }
           offer.program = *program;
         },
         "which program answers: serve, label-priority, hami or i-scheduler-extender")
      ->default_str("serve");
  add_offer_flags(*app, line);
  app->add_option_function<std::string>(
         "--nodes-form",
         [&offer](const std::string& word) {
           if (word != "simulate" && word != "live")
             throw CLI::ValidationError("--nodes-form",
                                        text::quote(word) + " is none of: simulate, live");
           offer.live_nodes = word == "live";
         },
         "of serve: simulate or live")
      ->default_str("simulate");
  app->callback([&line, &offer] {
    if (line.config_file.empty() && line.setup.scheduler_config.empty())
      throw CLI::ValidationError("check-config", "FILE or --scheduler-config FILE");
    fill_lease(offer);
    line.command = Command::kCheckConfig;
  });
}

}  // namespace tessera::apps
