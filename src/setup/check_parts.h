/// The parts of check_scheduler_config, by what they look at; for check*.cc only.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "setup/finding.h"
#include "setup/offer.h"
#include "setup/scheduler_config.h"

namespace tessera::setup {

struct Checker {
  const SchedulerConfig& config;
  const Offer& offer;
  std::vector<Finding> findings = {};

  void say(Severity severity, int line, std::string path, std::string value, std::string what,
           std::string instead = {}) {
    findings.push_back(
        {severity, line, std::move(path), std::move(value), std::move(what), std::move(instead)});
  }
};

// check_file.cc
void check_version(Checker& c);
void check_profiles(Checker& c);
void check_sampling(Checker& c);
void check_backoff(Checker& c);
void check_leader_election(Checker& c);
// check_resources.cc
void check_resource_names(Checker& c);  ///< of every extender: form and duplicates
void check_resources(Checker& c, const std::vector<const ExtenderConfig*>& ours);
// check_extender.cc
void check_any_extender(Checker& c, const ExtenderConfig& e);  ///< whoever answers
void check_our_extender(Checker& c, const ExtenderConfig& e);
void check_binders(Checker& c);

}  // namespace tessera::setup
