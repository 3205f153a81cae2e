// Profiles of partitioned cards and reservations of instances, as agents and HAMi write them.
#include "vendors/mig_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "vendors/codec.h"

namespace tessera::vendors {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- profiles

std::string card(std::string_view more) {
  return R"([{"id":"GPU-m0","count":7,"devmem":81559,"devcore":100,"type":"NVIDIA A100","health":true)" +
         std::string(more) + "}]";
}

TEST(MigProfiles, OfACardInInstanceModeAreRead) {
  const auto got = decode_register(
      card(
          R"(,"mode":"mig","migProfiles":[{"name":"2g.20gb","memoryMB":19968,"core":25,"sliceCount":2,"placements":[{"start":0,"size":2},{"start":2,"size":2}],"instanceCount":3}])"),
      VendorId{0});
  ASSERT_TRUE(got) << got.error().what;
  ASSERT_TRUE((*got)[0].partitioned());
  EXPECT_THAT(*(*got)[0].mig,
              ElementsAre(core::MigProfile{"2g.20gb", {19968}, {25}, 2, {{0, 2}, {2, 2}}}));
}

struct ModeCase {
  std::string_view name, more;
  bool partitioned;
};

TEST(MigProfiles, TheModeSaysWhetherACardIsSharedByInstances) {
  const ModeCase cases[] = {
      {"mode mig without profiles: shared by instances, and nothing fits", R"(,"mode":"mig")",
       true},
      {"an empty list", R"(,"mode":"mig","migProfiles":[])", true},
      {"null", R"(,"mode":"mig","migProfiles":null)", true},
      {"another mode", R"(,"mode":"hami-core","migProfiles":[])", false},
      {"profiles on a card of another mode are not used",
       R"(,"mode":"hami-core","migProfiles":[{"name":"a","placements":[{"size":1}]}])", false},
      {"the word is compared as written", R"(,"mode":"MIG")", false},
      {"no mode", "", false},
  };
  for (const ModeCase& c : cases) {
    const auto got = decode_register(card(c.more), VendorId{0});
    ASSERT_TRUE(got) << c.name << got.error().what;
    EXPECT_EQ((*got)[0].partitioned(), c.partitioned) << c.name;
  }
  const auto text = decode_register("GPU-m0,7,81559,100,A100,0,true,0,mig:", VendorId{0});
  ASSERT_TRUE(text);
  EXPECT_TRUE((*text)[0].partitioned());
  EXPECT_THAT(*(*text)[0].mig, IsEmpty());
}

struct BadCase {
  std::string_view name, text, want;
};

TEST(MigProfiles, WhatCannotBeUsedNamesTheElement) {  // W-6, N-7
  const BadCase cases[] = {
      {"size 0 never overlaps anything",
       R"([{"name":"a","placements":[{"start":1,"size":1},{"start":2,"size":0}]}])",
       "device 0: migProfiles[0]: placements[1]: size is 0"},
      {"size left out", R"([{"name":"a","placements":[{"start":1}]}])",
       "device 0: migProfiles[0]: placements[0]: size is 0"},
      {"null for a placement", R"([{"name":"a","placements":[null]}])",
       "device 0: migProfiles[0]: placements[0]: null is not an object"},
      {"null for a profile", R"([null])", "device 0: migProfiles[0]: null is not an object"},
      {"no name", R"([{"memoryMB":1}])", "device 0: migProfiles[0]: name is empty"},
      {"negative memory", R"([{"name":"a","memoryMB":-1}])",
       "device 0: migProfiles[0]: memoryMB: -1 is not a whole number from 0 to 2147483647"},
      {"fraction", R"([{"name":"a","core":12.5}])",
       "device 0: migProfiles[0]: core: 12.5 is not a whole number from 0 to 2147483647"},
      {"text for a number", R"([{"name":"a","sliceCount":"1"}])",
       R"(device 0: migProfiles[0]: sliceCount: "1" is not a whole number from 0 to 2147483647)"},
      {"negative start", R"([{"name":"a","placements":[{"start":-1,"size":1}]}])",
       "device 0: migProfiles[0]: start: -1 is not a whole number from 0 to 2147483647"},
      {"no list", R"({"name":"a"})", R"(device 0: migProfiles: {"name":"a"} is not a list)"},
  };
  for (const BadCase& c : cases) {
    const auto got =
        decode_register(card(R"(,"mode":"mig","migProfiles":)" + std::string(c.text)), VendorId{0});
    ASSERT_FALSE(got) << c.name;
    EXPECT_EQ(got.error().what, c.want) << c.name;
  }
  std::string many = R"(,"mode":"mig","migProfiles":[{"name":"a"})";
  for (int i = 0; i < 64; ++i) many += R"(,{"name":"a"})";
  EXPECT_THAT(decode_register(card(many + "]"), VendorId{0}).error().what,
              HasSubstr("migProfiles: 65 elements, at most 64"));
}

TEST(MigProfiles, OfANameGivenTwiceThePlacementsOfTheFirstCount) {
  const auto got = decode_register(
      card(
          R"(,"mode":"mig","migProfiles":[{"name":"a","memoryMB":1,"placements":[{"start":4,"size":2}]},{"name":"a","memoryMB":2,"placements":[{"start":0,"size":1}]}])"),
      VendorId{0});
  ASSERT_TRUE(got);
  EXPECT_THAT((*(*got)[0].mig)[1].placements, ElementsAre(core::MigPlacement{4, 2}));
  EXPECT_EQ((*(*got)[0].mig)[1].memory.v, 2);
}

// ---- reservations

TEST(MigReservations, AreWrittenInTheKeyOrderOfTheWire) {
  EXPECT_EQ(
      encode_mig_reservations(
          {{1, 0, "GPU-m0", "2g.20gb", {0, 2}}, {1, 1, "GPU-m0", "2g.20gb", {2, 2}}}),
      R"([{"containerIndex":1,"deviceIndex":0,"gpuUUID":"GPU-m0","profile":"2g.20gb","placement":{"start":0,"size":2}},)"
      R"({"containerIndex":1,"deviceIndex":1,"gpuUUID":"GPU-m0","profile":"2g.20gb","placement":{"start":2,"size":2}}])");
}

TEST(MigReservations, AreReadWithWhatTheAgentHasAdded) {
  const auto got = decode_mig_reservations(
      R"([{"containerIndex":1,"deviceIndex":0,"gpuUUID":"g","profile":"p","placement":{"start":4,"size":4},"migUUID":"MIG-1","gpuInstanceID":0,"computeInstanceID":0},)"
      R"({"gpuUUID":"h","profile":"q","placement":{"size":1}}])");
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_THAT(
      *got,
      ElementsAre(MigReservationText{1, 0, "g", "p", {4, 4}, core::MigInstance{"MIG-1", "0", "0"}},
                  MigReservationText{0, 0, "h", "q", {0, 1}, std::nullopt}));
  for (const std::string_view none : {"", " ", "null", "[]"}) {
    ASSERT_TRUE(decode_mig_reservations(none)) << none;
    EXPECT_THAT(*decode_mig_reservations(none), IsEmpty()) << none;
  }
}

TEST(MigReservations, OneBadElementSpoilsTheListInHamisWords) {
  const BadCase cases[] = {
      {"negative index",
       R"([{"containerIndex":-1,"gpuUUID":"g","profile":"p","placement":{"size":1}}])",
       "MIG allocation 0 is incomplete"},
      {"no card", R"([{"profile":"p","placement":{"size":1}}])", "MIG allocation 0 is incomplete"},
      {"no profile", R"([{"gpuUUID":"g","placement":{"size":1}}])",
       "MIG allocation 0 is incomplete"},
      {"size 0", R"([{"gpuUUID":"g","profile":"p","placement":{"start":1}}])",
       "MIG allocation 0 is incomplete"},
      {"no placement", R"([{"gpuUUID":"g","profile":"p"}])", "MIG allocation 0 is incomplete"},
      {"one of three runtime fields",
       R"([{"gpuUUID":"g","profile":"p","placement":{"size":1},"gpuInstanceID":0}])",
       "MIG allocation 0 has partial runtime identity"},
      {"two of three",
       R"([{"gpuUUID":"g","profile":"p","placement":{"size":1},"gpuInstanceID":0,"migUUID":"m"}])",
       "MIG allocation 0 has partial runtime identity"},
      {"twice the same card of a container",
       R"([{"containerIndex":2,"gpuUUID":"g","profile":"p","placement":{"size":1}},{"containerIndex":2,"gpuUUID":"h","profile":"p","placement":{"size":1}}])",
       "duplicate MIG allocation for container 2 device 0"},
      {"null", "[null]", "MIG allocations[0]: null is not an object"},
      {"an object", "{}", "MIG allocations: {} is not a list"},
      {"wrong kind", R"([{"gpuUUID":7}])", "gpuUUID: 7 is not a text"},
  };
  for (const BadCase& c : cases) {
    const auto got = decode_mig_reservations(c.text);
    ASSERT_FALSE(got) << c.name;
    EXPECT_EQ(got.error().what, c.want) << c.name;
  }
  EXPECT_FALSE(decode_mig_reservations("[{"));
}

}  // namespace
}  // namespace tessera::vendors
