/// What the server behind `urlPrefix` does, as far as kube-scheduler's configuration must agree
/// with it: its verbs, its resources, its waiting. Thread rule: plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vendors/vendors.h"

namespace tessera::setup {

/// Which program answers.
enum class Program : std::uint8_t {
  kServe,          ///< tessera serve
  kLabelPriority,  ///< tessera label-priority
  kHami,           ///< HAMi's scheduler
  kLabelOriginal   ///< i-scheduler-extender, whose rule `tessera label-priority` has
};

/// `--answer` of tessera serve.
enum class Answer : std::uint8_t { kSingle, kScored };

struct Verbs {
  std::vector<std::string_view> filter, prioritize, bind, preempt;
};

struct OfferedResource {
  std::string name;
  /// Nodes have a capacity of it (their agent registers the count); all others have none.
  bool has_capacity = false;
};

struct Offer {
  Program program = Program::kServe;
  Answer answer = Answer::kSingle;
  std::vector<OfferedResource> resources;  ///< of the vendor table; empty for the label rule
  std::chrono::milliseconds lock_wait{28'000};
  bool live_nodes = false;     ///< --nodes-form=live
  std::string scheduler_name;  ///< "" = not told: a common one is guessed and only warned about
  bool leader_elect = false;
  std::string lease_name, lease_namespace;
  std::optional<int> kube_minor;
};

Verbs verbs_of(Program program);
/// "tessera serve"
std::string_view name_of(Program program);
/// The word of the flag; nullopt = unknown.
std::optional<Program> parse_program(std::string_view word);
bool places_devices(Program program);
/// Every resource name of the table, in its order, none twice.
std::vector<OfferedResource> resources_of(const vendors::Vendors& vendors);

constexpr std::string_view kUsualSchedulerName = "hami-scheduler";
constexpr std::string_view kUsualLabelName = "i-scheduler-extender";  ///< of the label rule

}  // namespace tessera::setup
