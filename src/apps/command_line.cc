#include "apps/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "apps/label_flags.h"
#include "apps/serve_flags.h"
#include "apps/setup_flags.h"

namespace tessera::apps {
namespace {

/// HAMi leaves with this code when its command line is wrong.
constexpr int kWrongCommandLine = 255;

void add_demo(CLI::App& root, CommandLine& line) {
  sim::DemoOptions& o = line.demo;
  CLI::App* app = root.add_subcommand(
      "demo", "watch pods being placed on a cluster that lives inside the program");
  app->add_option("--nodes", o.nodes, "nodes")->capture_default_str()->check(CLI::Range(1, 10'000));
  app->add_option("--devices", o.devices, "devices per node")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  app->add_option("--rate", o.rate, "pods per second")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  add_duration(*app, "--for", o.duration, "how long pods arrive");
  app->add_option("--trace", o.trace_file,
                  "pod list in the openb CSV form; else a built-in cut of 500 rows")
      ->type_name("FILE");
  app->add_option("--port", o.port, "of the scheduler; 0: any")->capture_default_str();
  app->add_option("--answer", o.answer,
                  "single, the scheduler picks the node; scored, the scheduling loop does")
      ->capture_default_str();
  app->add_option("--kubeconfig-out", o.kubeconfig_out, "write a kubeconfig for kubectl here")
      ->type_name("FILE");
  app->callback([&line] { line.command = Command::kDemo; });
}

void add_serve(CLI::App& root, CommandLine& line) {
  CLI::App* app = root.add_subcommand("serve", "the scheduler extender and webhook");
  add_serve_flags(*app, line);
  app->callback([&line] { line.command = Command::kServe; });
}

void add_vendors(CLI::App& root, CommandLine& line) {
  CLI::App* app = root.add_subcommand("vendors", "the table of vendors that a configuration gives");
  app->add_option("--device-config-file", line.device_config_file, "else the built-in one")
      ->type_name("FILE");
  app->add_flag("--enable-ascend", line.serve.vendor_switches.ascend,
                "with the vendors of the section vnpus");
  app->add_flag("--enable-iluvatar", line.serve.vendor_switches.iluvatar,
                "with the vendors of the section iluvatars");
  app->callback([&line] { line.command = Command::kVendors; });
}

void add_explain(CLI::App& root, CommandLine& line) {
  ExplainOptions& o = line.explain;
  CLI::App* app = root.add_subcommand(
      "explain", "ask a running server where a pod would go now and why nowhere else");
  app->add_option("-f,--file", o.file, "a pod's manifest, YAML or JSON; - reads standard input")
      ->type_name("FILE");
  app->add_option("--server", o.server, "address of the running server")->capture_default_str();
  app->add_option("--certificate-authority", o.ca_file, "PEM file that the server's is checked by")
      ->type_name("FILE");
  app->add_option("--client-certificate", o.cert_file, "PEM certificate to show to the server")
      ->type_name("FILE");
  app->add_option("--client-key", o.key_file, "its PEM key")->type_name("FILE");
  app->add_option("--token-file", o.token_file, "file with the token to send")->type_name("FILE");
  app->add_flag("--insecure-skip-verify", o.insecure, "take any certificate");
  app->add_option("--limit", o.limit, "at most so many nodes")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  app->add_flag("--json", o.json, "the answer as it comes");
  app->add_option("WHAT", o.words, "pod NAMESPACE/NAME")->expected(0, 2);
  app->callback([&line, &o] {
    const bool named = o.words.size() == 2 && o.words[0] == "pod";
    if (named == !o.file.empty() || (!named && !o.words.empty()))
      throw CLI::ValidationError("explain", "either `pod NAMESPACE/NAME` or -f FILE");
    line.command = Command::kExplain;
  });
}

/// `-v=4` is how Go spells it; CLI11 would take "=4" as the value.
void respell_verbosity(std::vector<std::string>& arguments) {
  for (std::string& argument : arguments) {
    if (argument.rfind("-v=", 0) == 0) argument.insert(0, "-");
  }
}

/// `--flag=` is an empty text; CLI11 would take the next argument for its value.
void respell_empty_values(std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  for (std::string& argument : arguments) {
    const bool empty_value = argument.rfind("--", 0) == 0 && argument.size() > 3 &&
                             argument.find('=') == argument.size() - 1;
    if (empty_value) argument.pop_back();
    out.push_back(std::move(argument));
    if (empty_value) out.emplace_back();
  }
  arguments = std::move(out);
}

bool named_scheduler(const std::string& program) {
  const std::size_t slash = program.rfind('/');
  return (slash == std::string::npos ? program : program.substr(slash + 1)) == "scheduler";
}

bool names_no_command(const std::vector<std::string>& arguments) {
  static constexpr std::array<std::string_view, 9> kWords = {
      "version", "serve",  "demo",           "check-config", "vendors",
      "explain", "render", "label-priority", "help"};
  return arguments.empty() ||
         std::find(kWords.begin(), kWords.end(), arguments.front()) == kWords.end();
}

}  // namespace

CommandLine parse_command_line(const std::string& program, std::vector<std::string> arguments) {
  CommandLine line;
  respell_verbosity(arguments);
  respell_empty_values(arguments);
  line.as_scheduler = named_scheduler(program);
  if (line.as_scheduler && names_no_command(arguments))
    arguments.insert(arguments.begin(), "serve");
  CLI::App root("A scheduler for slices of accelerators on Kubernetes.", "tessera");
  root.require_subcommand(1);
  add_serve(root, line);
  add_demo(root, line);
  add_vendors(root, line);
  add_explain(root, line);
  add_render(root, line);
  add_label_priority(root, line);
  add_check_config(root, line);
  root.add_subcommand("version", "the version")->callback([&line] {
    line.command = Command::kVersion;
  });
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    root.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = root.get_subcommands();
    line.message = chosen.empty() ? root.help() : chosen.front()->help();
    line.command = Command::kExit;
  } catch (const CLI::ParseError& error) {
    const auto chosen = root.get_subcommands();
    line.command = Command::kExit;
    line.exit_code = kWrongCommandLine;
    line.message = fmt::format("{}\n\n{}", error.what(),
                               chosen.empty() ? root.help() : chosen.front()->help());
  }
  return line;
}

}  // namespace tessera::apps
