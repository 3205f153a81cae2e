// What the parser drops of pods, against what the books would have been told of them.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <string>
#include <vector>

#include "json/writer.h"
#include "service/facts.h"
#include "service/serve_check.h"

namespace tessera::service {
namespace {

const FactReader& reader() {
  static const FactReader one = [] {
    Result<ServePlan> plan = check_options({});
    return FactReader(std::make_shared<vendors::Vendors>(std::move(plan->vendors)),
                      std::move(plan->defaults));
  }();
  return one;
}

/// Every resource that some vendor of the built-in configuration reads, and some that none does.
std::vector<std::string> resources() {
  std::vector<std::string> names = reader().vendors().resource_names();
  names.insert(names.end(), {"cpu", "memory", "example.com/unknown", "hugepages-2Mi"});
  return names;
}

std::string pod_text(const std::vector<std::pair<std::string, std::string>>& limits, bool init,
                     const std::string& node) {
  json::Writer w;
  w.begin_object().key("metadata").begin_object().key("uid").string("u").key("name").string("p");
  w.key("namespace").string("default").end_object();
  w.key("spec").begin_object();
  if (!node.empty()) w.key("nodeName").string(node);
  w.key(init ? "initContainers" : "containers").begin_array().begin_object();
  w.key("name").string("c").key("resources").begin_object().key("limits").begin_object();
  for (const auto& [name, amount] : limits) w.key(name).string(amount);
  w.end_object().end_object().end_object().end_array().end_object().end_object();
  return std::move(w).take();
}

TEST(FactTrim, EveryVendorsDevicesPass) {
  int asking = 0;
  for (const std::string& name : reader().vendors().resource_names()) {
    json::Parser parser;
    const auto object = parser.parse(pod_text({{name, "1"}}, false, ""));
    const auto fact = reader().read_pod(*object);
    ASSERT_TRUE(fact) << name;
    EXPECT_TRUE(reader().may_ask_devices(*object)) << name;
    asking += fact->asks_devices ? 1 : 0;
  }
  EXPECT_GT(asking, 3);
}

TEST(FactTrim, DropsNothingThatTheBooksWouldKeep) {
  const std::vector<std::string> names = resources();
  int dropped = 0, kept = 0;
  EXPECT_TRUE(rc::check([&] {
    const auto picked = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(names));
    std::vector<std::pair<std::string, std::string>> limits;
    for (std::size_t i = 0; i < std::min<std::size_t>(picked.size(), 3); ++i)
      limits.emplace_back(picked[i], *rc::gen::element<std::string>("0", "1", "500m", "2", "100"));
    const std::string node = *rc::gen::element<std::string>("", "n1");
    json::Parser parser;
    const auto object = parser.parse(pod_text(limits, *rc::gen::arbitrary<bool>(), node));
    RC_ASSERT(object.has_value());
    const auto fact = reader().read_pod(*object);
    const bool wanted = !fact || fact->asks_devices;
    RC_ASSERT(!wanted || reader().may_ask_devices(*object));
    ++(reader().may_ask_devices(*object) ? kept : dropped);
  }));
  EXPECT_GT(dropped, 0);
  EXPECT_GT(kept, 0);
}

TEST(FactTrim, ABoxReadsLikeAnOptional) {
  Boxed<std::string> none, text = std::string("a");
  EXPECT_FALSE(none);
  ASSERT_TRUE(text.has_value());
  Boxed<std::string> copy = text;
  *copy += "b";
  EXPECT_EQ(*text, "a");
  EXPECT_EQ(*copy, "ab");
  const Boxed<std::string> moved = std::move(copy);
  EXPECT_EQ(moved->size(), 2u);
  text.reset();
  EXPECT_FALSE(text);
  text = none;
  EXPECT_FALSE(text);
  text = std::optional<std::string>("c");
  EXPECT_EQ(*text, "c");
}

}  // namespace
}  // namespace tessera::service
