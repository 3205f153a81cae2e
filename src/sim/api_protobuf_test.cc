#include "sim/api_protobuf.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

namespace tessera::sim::api {
namespace {

/// A delimited field; texts here are shorter than 128 bytes.
std::string field(int number, const std::string& bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  out += static_cast<char>(bytes.size());
  return out + bytes;
}
std::string number_field(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}
std::string envelope(const std::string& version, const std::string& kind, const std::string& raw) {
  return std::string("k8s\0", 4) + field(1, field(1, version) + field(2, kind)) + field(2, raw);
}
std::string decoded(const std::string& body) {
  const auto value = decode_protobuf(body);
  return value ? value->dump() : value.error().what;
}

TEST(ProtobufTest, Namespace) {
  const std::string metadata =
      field(1, "gpu") + field(2, "") + field(11, field(1, "team") + field(2, "a"));
  EXPECT_EQ(
      decoded(envelope("v1", "Namespace", field(1, metadata) + field(2, "") + field(3, ""))),
      R"({"metadata":{"name":"gpu","labels":{"team":"a"}},"kind":"Namespace","apiVersion":"v1"})");
}

TEST(ProtobufTest, ResourceQuotaWithQuantities) {
  const std::string hard = field(1, "limits.cpu") + field(2, field(1, "4"));
  EXPECT_EQ(
      decoded(envelope("v1", "ResourceQuota", field(1, field(1, "q")) + field(2, field(1, hard)))),
      R"({"metadata":{"name":"q"},"spec":{"hard":{"limits.cpu":"4"}},)"
      R"("kind":"ResourceQuota","apiVersion":"v1"})");
}

TEST(ProtobufTest, EvictionWithOptions) {
  const std::string options = number_field(1, 0) + field(5, "All");
  EXPECT_EQ(decoded(envelope("policy/v1", "Eviction", field(2, options))),
            R"({"deleteOptions":{"gracePeriodSeconds":0,"dryRun":["All"]},)"
            R"("kind":"Eviction","apiVersion":"policy/v1"})");
}

TEST(ProtobufTest, BytesBecomeBase64) {
  const std::string data = field(1, "k") + field(2, std::string("\xff\x00", 2));
  EXPECT_EQ(decoded(envelope("v1", "Secret", field(2, data))),
            R"({"data":{"k":"/wA="},"kind":"Secret","apiVersion":"v1"})");
}

TEST(ProtobufTest, WhatIsRefusedSaysWhy) {
  EXPECT_EQ(decoded("{}"), "protobuf body: the envelope is not well-formed");
  EXPECT_EQ(decoded(envelope("apps/v1", "Deployment", "")),
            "kind Deployment is not understood as protobuf, send JSON");
  EXPECT_EQ(decoded(envelope("v1", "Namespace", "\x0a\x7f")),
            "protobuf body: Namespace is not well-formed");
  EXPECT_EQ(decoded(envelope("v1", "Namespace", number_field(1, 3))),
            "protobuf body: metadata is not well-formed");
  EXPECT_EQ(decoded(envelope("v1", "Namespace", field(1, field(1, "\xff")))),
            "protobuf body: name is not well-formed");
}

TEST(ProtobufTest, AnyBytesAreDecodedOrRefused) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& bytes) {
    const std::string raw(bytes.begin(), bytes.end());
    if (raw.size() > 100) return;
    const auto value = decode_protobuf(envelope("v1", "ResourceQuota", raw));
    if (value) RC_ASSERT(Value::parse(value->dump()).has_value());
  }));
}

}  // namespace
}  // namespace tessera::sim::api
