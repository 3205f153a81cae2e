// The short look at a pod against the whole decoder.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>

#include "json/writer.h"
#include "k8s/decode.h"

namespace tessera::k8s {
namespace {

bool is_card(std::string_view name) { return name == "example.com/card"; }

TEST(NamesResource, LooksIntoLimitsAndRequestsOfAllContainers) {
  const std::pair<std::string_view, bool> rows[] = {
      {"{}", false},
      {R"({"spec":{}})", false},
      {R"({"spec":{"containers":[{"name":"a"}]}})", false},
      {R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"1"}}}]}})", false},
      {R"({"spec":{"containers":[{"resources":{"limits":{"example.com/card":"1"}}}]}})", true},
      {R"({"spec":{"containers":[{"resources":{"limits":{"example.com/card":"0"}}}]}})", true},
      {R"({"spec":{"containers":[{"resources":{"limits":{"example.com\/c\u0061rd":1}}}]}})", true},
      {R"({"spec":{"containers":[{},{"resources":{"requests":{"example.com/card":1}}}]}})", true},
      {R"({"spec":{"initContainers":[{"resources":{"limits":{"example.com/card":1}}}]}})", true},
      // elsewhere it asks for nothing
      {R"({"spec":{"ephemeralContainers":[{"resources":{"limits":{"example.com/card":1}}}]}})",
       false},
      {R"({"spec":{"resources":{"limits":{"example.com/card":"1"}}}})", false},
      {R"({"metadata":{"labels":{"example.com/card":"1"}}})", false},
      // null is nothing, of a wrong kind is for the decoder to tell
      {R"({"spec":{"containers":null,"initContainers":[]}})", false},
      {R"({"spec":{"containers":[{"resources":{"limits":null}}]}})", false},
      {"7", true},
      {R"({"spec":7})", true},
      {R"({"spec":{"containers":{}}})", true},
      {R"({"spec":{"containers":[null]}})", true},
      {R"({"spec":{"containers":[{"resources":"x"}]}})", true},
      {R"({"spec":{"containers":[{"resources":{"requests":[]}}]}})", true},
  };
  for (const auto& [text, wanted] : rows) {
    json::Parser parser;
    EXPECT_EQ(names_resource(*parser.parse(text), is_card), wanted) << text;
  }
}

void write_wrong(json::Writer& w) {
  const int kind = *rc::gen::inRange(0, 4);
  if (kind == 0) w.integer(7);
  if (kind == 1) w.string("x");
  if (kind == 2) w.begin_array().integer(1).end_array();
  if (kind == 3) w.null();
}

void write_amounts(json::Writer& w, int wrong_of_10) {
  if (*rc::gen::inRange(0, 10) < wrong_of_10) return write_wrong(w);
  w.begin_object();
  for (const std::string_view name : {"cpu", "example.com/card", "example.com/other"})
    if (*rc::gen::inRange(0, 4) == 0) w.key(name).string(*rc::gen::inRange(0, 9) == 0 ? "?" : "1");
  w.end_object();
}

void write_containers(json::Writer& w, int wrong_of_10) {
  if (*rc::gen::inRange(0, 10) < wrong_of_10) return write_wrong(w);
  w.begin_array();
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    w.begin_object().key("name").string("c");
    if (*rc::gen::arbitrary<bool>()) {
      w.key("resources").begin_object();
      for (const char* section : {"limits", "requests"}) {
        if (*rc::gen::arbitrary<bool>()) continue;
        w.key(section);
        write_amounts(w, wrong_of_10);
      }
      w.end_object();
    }
    w.end_object();
  }
  w.end_array();
}

/// Whatever the decoder reads of a pod that the short look lets go, no container of it asks; and
/// the short look never lets go what the decoder would complain about in the containers.
TEST(NamesResource, AgreesWithTheDecoder) {
  Keep keep;
  keep.resource = is_card;
  EXPECT_TRUE(rc::check([&keep] {
    const int wrong = *rc::gen::element(0, 0, 1);
    json::Writer w;
    w.begin_object().key("metadata").begin_object().key("uid").string("u").end_object();
    w.key("spec").begin_object();
    for (const char* list : {"initContainers", "containers"}) {
      if (*rc::gen::inRange(0, 4) == 0) continue;
      w.key(list);
      write_containers(w, wrong);
    }
    w.end_object().end_object();
    const std::string text = std::move(w).take();
    json::Parser parser;
    const auto object = parser.parse(text);
    RC_ASSERT(object.has_value());
    const bool named = names_resource(*object, keep.resource);
    const auto pod = decode_pod(*object, keep);
    if (!pod) {
      RC_ASSERT(named);
      return;
    }
    const bool kept =
        std::any_of(pod->containers.begin(), pod->containers.end(),
                    [](const Container& c) { return !c.limits.empty() || !c.requests.empty(); });
    RC_ASSERT(kept == named);
  }));
}

}  // namespace
}  // namespace tessera::k8s
