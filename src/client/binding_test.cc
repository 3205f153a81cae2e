#include "client/binding.h"

#include <gtest/gtest.h>

namespace tessera::client {
namespace {

TEST(Binding, PathAndBody) {
  EXPECT_EQ(pod_path("ns", "p"), "/api/v1/namespaces/ns/pods/p");
  EXPECT_EQ(binding_path("ns", "p"), "/api/v1/namespaces/ns/pods/p/binding");
  EXPECT_EQ(binding_body({"ns", "p", "u-1", "n1"}),
            R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p","namespace":"ns",)"
            R"("uid":"u-1"},"target":{"apiVersion":"v1","kind":"Node","name":"n1"}})");
  EXPECT_EQ(binding_body({"ns", "p", "", "n1"},
                         [](json::Writer& metadata) { metadata.key("x").string("y"); }),
            R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p","namespace":"ns",)"
            R"("x":"y"},"target":{"apiVersion":"v1","kind":"Node","name":"n1"}})");
}

TEST(Binding, WhatAnAnswerMeans) {
  struct Case {
    std::string_view name;
    ApiResponse response;
    BindingAnswer want;
  };
  const Case cases[] = {
      {"created", {.status = 201}, BindingAnswer::kBound},
      {"ok", {.status = 200}, BindingAnswer::kBound},
      {"bad request", {.status = 400}, BindingAnswer::kRefused},
      {"forbidden", {.status = 403}, BindingAnswer::kRefused},
      {"no such pod", {.status = 404}, BindingAnswer::kRefused},
      {"conflict: perhaps with our own write", {.status = 409}, BindingAnswer::kAsk},
      {"the server failed", {.status = 500}, BindingAnswer::kAsk},
      {"no answer", {.status = 0, .error = "connection refused"}, BindingAnswer::kAsk},
      {"an answer that broke off", {.status = 201, .error = "cut"}, BindingAnswer::kAsk},
  };
  for (const Case& c : cases) EXPECT_EQ(judge_binding(c.response), c.want) << c.name;
}

}  // namespace
}  // namespace tessera::client
