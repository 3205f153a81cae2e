/// For tests: what reads objects by the built-in device configuration.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "service/facts.h"
#include "service/serve_check.h"

namespace tessera::service {

inline std::shared_ptr<const FactReader> default_reader() {
  auto plan = check_options({});
  EXPECT_TRUE(plan);
  return std::make_shared<FactReader>(std::make_shared<vendors::Vendors>(std::move(plan->vendors)),
                                      std::move(plan->defaults));
}

}  // namespace tessera::service
