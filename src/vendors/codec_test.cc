#include "vendors/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <string>

namespace tessera::vendors {
namespace {

using core::Device;
using testing::HasSubstr;

constexpr VendorId kVendor{3};

Device device(std::string id, std::uint32_t index, std::int64_t slots, std::int64_t memory,
              std::int64_t cores, std::string model, std::int64_t numa, std::string mode,
              bool healthy) {
  Device d;
  d.id = std::move(id);
  d.index = index;
  d.slots = slots;
  d.memory = {memory};
  d.cores = {cores};
  d.model = std::move(model);
  d.numa = numa;
  d.mode = std::move(mode);
  d.healthy = healthy;
  d.vendor = kVendor;
  return d;
}

struct RegisterCase {
  std::string_view name, text;
  std::vector<Device> want;
};

const RegisterCase kGoodRegisters[] = {
    {"example 1: seven fields mean index 0 and mode hami-core",
     "GPU-1a2b,8,24564,100,NVIDIA-GeForce RTX 4090,1,true:",
     {device("GPU-1a2b", 0, 8, 24564, 100, "NVIDIA-GeForce RTX 4090", 1, "hami-core", true)}},
    {"example 2: nine fields, the second card unhealthy",
     "GPU-1a2b,8,24564,100,NVIDIA-GeForce RTX 4090,1,true,3,hami-core:"
     "GPU-9f9f,8,24564,100,NVIDIA-GeForce RTX 4090,0,0,2,mps:",
     {device("GPU-1a2b", 3, 8, 24564, 100, "NVIDIA-GeForce RTX 4090", 1, "hami-core", true),
      device("GPU-9f9f", 2, 8, 24564, 100, "NVIDIA-GeForce RTX 4090", 0, "mps", false)}},
    {"example 3: colons alone are an empty list", ":", {}},
    {"a sign in front of a number is accepted",
     "g,+8,24564,100,X,-1,T:",
     {device("g", 0, 8, 24564, 100, "X", -1, "hami-core", true)}},
    {"example 4: omitted zeroes",
     R"([{"id":"GPU-7d","count":10,"devmem":24564,"devcore":100,"type":"NVIDIA GeForce RTX 4090","mode":"hami-core"},)"
     R"({"id":"GPU-7c","index":2,"count":10,"devmem":24564,"devcore":100,"type":"NVIDIA GeForce RTX 4090","numa":1,"mode":"hami-core","health":true}])",
     {device("GPU-7d", 0, 10, 24564, 100, "NVIDIA GeForce RTX 4090", 0, "hami-core", false),
      device("GPU-7c", 2, 10, 24564, 100, "NVIDIA GeForce RTX 4090", 1, "hami-core", true)}},
    {"example 5: keys in any case, unknown keys ignored",
     R"([{"ID":"GPU-7d","Health":true,"color":"red"}])",
     {device("GPU-7d", 0, 0, 0, 0, "", 0, "", true)}},
    {"the later of two spellings counts",
     R"([{"id":"a","ID":"b"}])",
     {device("b", 0, 0, 0, 0, "", 0, "", false)}},
    {"null in a field is as if it were missing",
     R"([{"id":"a","health":null,"numa":null}])",
     {device("a", 0, 0, 0, 0, "", 0, "", false)}},
    {"null is the empty list", "null", {}},
    {"blanks before the array", " \n[]", {}},
};

TEST(RegisterCodec, ReadsBothForms) {
  for (const RegisterCase& c : kGoodRegisters) {
    const auto got = decode_register(c.text, kVendor);
    ASSERT_TRUE(got) << c.name << ": " << got.error().what;
    EXPECT_EQ(*got, c.want) << c.name;
  }
}

struct ErrorCase {
  std::string_view text, want;
};

const ErrorCase kBadTextRegisters[] = {
    {"", "node annotation missing device separator"},
    {"GPU-1a2b,8,24564,100,X,0,true", "node annotation missing device separator"},
    {"bad:GPU-1,8,24564,100,X,0,true:", R"(malformed node annotation segment: "bad")"},
    {"GPU-1,8,24564,100,X,0,true,1:", "unexpected field count 8 in node annotation"},
    {"GPU-1,8,99999999999,100,X,0,true:",
     R"(invalid memory field: strconv.ParseInt: parsing "99999999999": value out of range)"},
    {"GPU-1,8, 24564,100,X,0,true:",
     R"(invalid memory field: strconv.ParseInt: parsing " 24564": invalid syntax)"},
    {"GPU-1,8,24564,100,X,0,yes:",
     R"(invalid health field: strconv.ParseBool: parsing "yes": invalid syntax)"},
    {"GPU-1,8,24564,100,X,0.5,true:",
     R"(invalid numa field: strconv.Atoi: parsing "0.5": invalid syntax)"},
    {"GPU-1,8,24564,100,X,0,true,-2,mig:", "index field must not be negative: -2"},
    {"GPU-1,8,24564,100,X,0,true,z,mig:",
     R"(invalid index field: strconv.Atoi: parsing "z": invalid syntax)"},
    {"GPU-1,8,24564,100,X,0,true,4294967296,mig:", "invalid index field: 4294967296 is too large"},
    {"GPU-1,x,y,100,X,0,true:",  // the first bad field speaks
     R"(invalid count field: strconv.ParseInt: parsing "x": invalid syntax)"},
    {"GPU-1,1,1,,X,0,true:", R"(invalid core field: strconv.ParseInt: parsing "": invalid syntax)"},
    // W-6, for every form: what would spoil the books.
    {",8,24564,100,X,0,true:", R"(device 0 (""): empty id)"},
    {"a,-8,24564,100,X,0,true:", R"(device 0 ("a"): count must not be negative: -8)"},
    {"a,8,-1,100,X,0,true:", R"(device 0 ("a"): devmem must not be negative: -1)"},
    {"a,8,1,-100,X,0,true:", R"(device 0 ("a"): devcore must not be negative: -100)"},
    {"a,8,1,100,X,0,true:a,8,1,100,X,0,true:", R"(device 1 ("a"): duplicate id)"},
};

TEST(RegisterCodec, NamesWhatIsWrongInTheTextForm) {
  for (const ErrorCase& c : kBadTextRegisters) {
    const auto got = decode_register(c.text, kVendor);
    ASSERT_FALSE(got) << c.text;
    EXPECT_EQ(got.error().what, c.want) << c.text;
  }
}

const ErrorCase kBadJsonRegisters[] = {
    {R"([{"id":"GPU-7d","count":"10"}])", R"(device 0: count: "10" is not an integer)"},
    {R"([{"id":"GPU-7d","devmem":24564.0}])", "device 0: devmem: 24564.0 is not an integer"},
    {R"([{"id":"GPU-7d","devmem":1e3}])", "is not an integer"},
    {R"([{"id":"GPU-7d","index":-1}])", "device 0: index: -1 is out of range"},
    {R"([{"id":"GPU-7d","index":4294967296}])", "device 0: index: 4294967296 is out of range"},
    {R"([{"id":"GPU-7d","devmem":2147483648}])", "device 0: devmem: 2147483648 is out of range"},
    {R"([{"id":"a"},{"id":7}])", "device 1: id: 7 is not a string"},
    {R"([{"id":"a","health":"true"}])", R"(device 0: health: "true" is not true or false)"},
    {"[null]", "device 0: null is not an object"},
    {R"([{"id":"a"},"b"])", R"(device 1: "b" is not an object)"},
    {R"({"id":"a"})", "not an array"},
    {R"([{"count":1}])", R"(device 0 (""): empty id)"},
    {R"([{"id":"a","count":-1}])", R"(device 0 ("a"): count must not be negative: -1)"},
    {R"([{"id":"a"},{"id":"b"},{"id":"a"}])", R"(device 2 ("a"): duplicate id)"},
    {R"([{"id":"a,b"}])", "id contains one of , : ;"},
};

TEST(RegisterCodec, NamesWhatIsWrongInTheJsonForm) {
  for (const ErrorCase& c : kBadJsonRegisters) {
    const auto got = decode_register(c.text, kVendor);
    ASSERT_FALSE(got) << c.text;
    EXPECT_THAT(got.error().what, HasSubstr(std::string(c.want))) << c.text;
  }
}

TEST(RegisterCodec, RefusesBrokenJson) {
  for (const std::string_view text : {"[", "[] x", R"([{"id":"a"},])", "[{]"}) {
    EXPECT_FALSE(decode_register(text, kVendor)) << text;
  }
}

TEST(RegisterCodec, WritesZeroValuesOnlyInTheTextForm) {
  const std::vector<Device> devices = {device("a", 0, 10, 100, 100, "X<&>", 0, "hami-core", false),
                                       device("b", 2, 0, 0, 0, "", 1, "", true)};
  EXPECT_EQ(
      encode_register_json(devices),
      R"([{"id":"a","count":10,"devmem":100,"devcore":100,"type":"X\u003c\u0026\u003e","mode":"hami-core"},)"
      R"({"id":"b","index":2,"numa":1,"health":true}])");
  EXPECT_EQ(encode_register_text(devices),
            "a,10,100,100,X<&>,0,false,0,hami-core:b,0,0,0,,1,true,2,:");
  EXPECT_EQ(encode_register_json({}), "[]");
  EXPECT_EQ(encode_register_text({}), "");
}

core::MigProfiles two_profiles() {
  return {{"1g.10gb", {9856}, {13}, 1, {{0, 1}, {6, 1}}}, {"7g.80gb", {81152}, {100}, 7, {{0, 8}}}};
}

Device random_device(int i) {
  const auto number = [] { return *rc::gen::inRange<std::int64_t>(0, 1 << 20); };
  Device d =
      device("GPU-" + std::to_string(i), static_cast<std::uint32_t>(number()), number(), number(),
             number(), *rc::gen::element<std::string>("", "A100", "X \"y\" \\"), number(),
             *rc::gen::element<std::string>("", "mig", "hami-core"), *rc::gen::arbitrary<bool>());
  if (d.mode == "mig") {
    d.mig = std::make_shared<core::MigProfiles>(*rc::gen::arbitrary<bool>() ? two_profiles()
                                                                            : core::MigProfiles{});
  }
  return d;
}

TEST(RegisterCodec, WhatIsWrittenReadsBack) {
  EXPECT_TRUE(rc::check("both register forms keep every field", [] {
    std::vector<Device> devices;
    const int count = *rc::gen::inRange(1, 5);
    for (int i = 0; i < count; ++i) devices.push_back(random_device(i));
    const auto from_json = decode_register(encode_register_json(devices), kVendor);
    const auto from_text = decode_register(encode_register_text(devices), kVendor);
    RC_ASSERT(from_json.has_value());
    RC_ASSERT(from_text.has_value());
    RC_ASSERT(*from_json == devices);
    for (Device& d : devices) {  // the text form has no room for profiles
      if (d.mig) d.mig = std::make_shared<core::MigProfiles>();
    }
    RC_ASSERT(*from_text == devices);
  }));
}

std::string shown(const std::vector<std::vector<DeviceText>>& positions) {
  std::string out;
  for (const auto& devices : positions) {
    out += '[';
    for (const DeviceText& d : devices) {
      out += d.id + '/' + d.type + '/' + std::to_string(d.memory) + '/' + std::to_string(d.cores);
      out += ' ';
    }
    out += ']';
  }
  return out;
}

TEST(PodDevices, Example6IsWrittenByPosition) {
  const std::vector<std::vector<DeviceText>> positions = {
      {{"GPU-aa", "NVIDIA", 6000, 25}},
      {},
      {{"GPU-bb", "NVIDIA", 12282, 0}, {"GPU-cc", "NVIDIA", 12282, 0}}};
  EXPECT_EQ(encode_pod_devices(positions),
            "GPU-aa,NVIDIA,6000,25:;;GPU-bb,NVIDIA,12282,0:GPU-cc,NVIDIA,12282,0:;");
  EXPECT_EQ(encode_pod_devices({}), "");
}

const ErrorCase kGoodPodValues[] = {
    // Example 7: the last entry is what follows the final ';'.
    {"GPU-aa,NVIDIA,6000,25:;;GPU-bb,NVIDIA,12282,0:GPU-cc,NVIDIA,12282,0:;",
     "[GPU-aa/NVIDIA/6000/25 ][][GPU-bb/NVIDIA/12282/0 GPU-cc/NVIDIA/12282/0 ][]"},
    // Example 8: after an agent has served c0, and after it has served c2.
    {";;GPU-bb,NVIDIA,12282,0:GPU-cc,NVIDIA,12282,0:;;",
     "[][][GPU-bb/NVIDIA/12282/0 GPU-cc/NVIDIA/12282/0 ][][]"},
    {";;;;;", "[][][][][][]"},
    // Example 9.
    {"GPU-x,NVIDIA,100,5,extra,more:;", "[GPU-x/NVIDIA/100/5 ][]"},
    {"GPU-x,NVIDIA,+100,-5:;", "[GPU-x/NVIDIA/100/-5 ][]"},
    {"hello;", "[][]"},
    {"", "[]"},
    // Case 28: short and odd values.
    {";", "[][]"},
    {"GPU-0", "[]"},
    {":::;;;", "[][][][]"},
};

TEST(PodDevices, ReadsEveryPieceAndIgnoresSegmentsWithoutComma) {
  for (const ErrorCase& c : kGoodPodValues) {
    const auto got = decode_pod_devices(c.text);
    ASSERT_TRUE(got) << c.text << ": " << got.error().what;
    EXPECT_EQ(shown(*got), c.want) << c.text;
  }
}

constexpr std::string_view kMissingFields =
    "pod annotation format error, missing fields, do not use nodeName in task spec";

const ErrorCase kBadPodValues[] = {
    {"GPU-x,NVIDIA,100:;", kMissingFields},
    {"GPU-0,NVIDIA,1000:;", kMissingFields},  // case 28
    {"GPU-x,NVIDIA,12k,5:;",
     R"(invalid memory field: strconv.ParseInt: parsing "12k": invalid syntax)"},
    {"GPU-x,NVIDIA,3000000000,5:;",
     R"(invalid memory field: strconv.ParseInt: parsing "3000000000": value out of range)"},
    {"GPU-0,NVIDIA,99999999999,0:;",  // case 28
     R"(invalid memory field: strconv.ParseInt: parsing "99999999999": value out of range)"},
    {"GPU-x,NVIDIA,1,5 :;",
     R"(invalid core field: strconv.ParseInt: parsing "5 ": invalid syntax)"},
};

TEST(PodDevices, NamesTheBadField) {
  for (const ErrorCase& c : kBadPodValues) {
    const auto got = decode_pod_devices(c.text);
    ASSERT_FALSE(got) << c.text;
    EXPECT_EQ(got.error().what, c.want) << c.text;
  }
}

}  // namespace
}  // namespace tessera::vendors
