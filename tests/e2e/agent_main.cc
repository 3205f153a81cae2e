// Simulated node agents against any API server: a program for the end-to-end tests, never
// installed. Ends on SIGTERM and writes what it served and which invariants it saw broken.
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "client/api.h"
#include "client/credentials.h"
#include "json/writer.h"
#include "obs/metrics.h"
#include "sim/agents.h"

namespace {

std::atomic<bool> stop_requested{false};  // a signal handler cannot take parameters

using Flags = std::map<std::string, std::string, std::less<>>;

Flags read_flags(int argc, char** argv) {
  Flags flags{{"nodes", "10"},       {"devices", "8"},   {"delay", "20ms"}, {"memory", "81920"},
              {"slots", "10"},       {"kubeconfig", ""}, {"report", ""},    {"run-for", "0"},
              {"delete", "0"},       {"prefix", "node"}, {"batch", "64"},   {"init-for", "0"},
              {"lock-timeout", "5m"}};
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::size_t equals = word.find('=');
    const auto known = word.starts_with("--") && equals != word.npos
                           ? flags.find(word.substr(2, equals - 2))
                           : flags.end();
    if (known == flags.end()) {
      std::fprintf(stderr, "unknown argument: %s\n", argv[i]);
      std::exit(2);
    }
    known->second = word.substr(equals + 1);
  }
  return flags;
}

long number(const Flags& flags, std::string_view name) {
  const std::string& text = flags.find(name)->second;
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    std::fprintf(stderr, "--%s=%s: not a number\n", std::string(name).c_str(), text.c_str());
    std::exit(2);
  }
  return value;
}

tessera::sim::AgentNode make_node(const Flags& flags, long n) {
  tessera::sim::AgentNode node;
  char name[64];
  std::snprintf(name, sizeof name, "%s-%04ld", flags.find("prefix")->second.c_str(), n);
  node.name = name;
  const long devices = number(flags, "devices");
  for (long d = 0; d < devices; ++d) {
    tessera::core::Device device;
    device.id = "GPU-" + node.name + "-" + std::to_string(d);
    device.index = static_cast<std::uint32_t>(d);
    device.slots = number(flags, "slots");
    device.memory = tessera::MiB{number(flags, "memory")};
    device.cores = tessera::CorePercent{100};
    device.model = "NVIDIA-A100-SXM4-80GB";
    device.numa = d * 2 / devices;
    device.mode = "hami-core";
    device.healthy = true;
    device.vendor = tessera::VendorId{0};
    node.devices.push_back(std::move(device));
  }
  return node;
}

void write_report(const std::string& path, const tessera::sim::Agents& agents) {
  tessera::json::Writer w;
  w.begin_object().key("served").integer(static_cast<std::int64_t>(agents.served()));
  w.key("violations").begin_array();
  for (const std::string& text : agents.violations()) w.string(text);
  w.end_array().end_object();
  std::ofstream(path) << w.text() << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  std::signal(SIGTERM, [](int) { stop_requested = true; });
  std::signal(SIGINT, [](int) { stop_requested = true; });
  const auto credentials = tessera::client::load_kubeconfig(flags.find("kubeconfig")->second);
  const auto delay = tessera::parse_duration(flags.find("delay")->second);
  const auto run_for = tessera::parse_duration(flags.find("run-for")->second);
  const auto init_for = tessera::parse_duration(flags.find("init-for")->second);
  const auto lock_timeout = tessera::parse_duration(flags.find("lock-timeout")->second);
  for (const auto* error :
       {credentials ? nullptr : &credentials.error(), delay ? nullptr : &delay.error(),
        run_for ? nullptr : &run_for.error(), init_for ? nullptr : &init_for.error(),
        lock_timeout ? nullptr : &lock_timeout.error()}) {
    if (error == nullptr) continue;
    std::fprintf(stderr, "%s\n", error->what.c_str());
    return 2;
  }
  tessera::obs::Metrics metrics;
  tessera::client::ApiClient api(*credentials, {.user_agent = "agents/1", .qps = -1}, metrics);
  const tessera::SystemClock clock;
  tessera::sim::AgentOptions options;
  options.allocate_delay = *delay;
  options.run_for = *run_for;
  options.init_for = *init_for;
  options.lock_timeout = *lock_timeout;
  options.delete_finished = number(flags, "delete") != 0;
  tessera::sim::Agents agents(api, options, clock);
  const long nodes = number(flags, "nodes");
  for (long n = 0; n < nodes; ++n) {
    const tessera::Status added = agents.add_node(make_node(flags, n));
    if (added) continue;
    std::fprintf(stderr, "%s\n", added.error().what.c_str());
    return 1;
  }
  agents.start();
  while (!stop_requested) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  agents.stop();
  write_report(flags.find("report")->second, agents);
  return 0;
}
