#include "client/list_items.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "json/json_test_values.h"
#include "json/reader.h"
#include "json/writer.h"

namespace tessera::client {
namespace {

struct Read {
  std::vector<std::string> items;
  std::string envelope, problem;
};

/// In pieces of so many bytes.
Read read(std::string_view text, std::size_t piece) {
  ListItems list;
  list.begin();
  Read out;
  for (std::size_t at = 0; at < text.size(); at += piece)
    list.feed(text.substr(at, piece), [&](std::string& item) { out.items.push_back(item); });
  out.envelope = list.envelope();
  out.problem = list.problem();
  return out;
}

TEST(ListItems, CutsItemsOutOfTheList) {
  struct Row {
    std::string_view text;
    std::vector<std::string> items;
    std::string_view envelope;
  };
  const Row rows[] = {
      {R"({"items":[]})", {}, R"({"items":[]})"},
      {R"({"items":null,"metadata":{}})", {}, R"({"items":null,"metadata":{}})"},
      {R"({"metadata":{"a":[1,2]},"items":[{"b":[3,4]},{"c":"]},"}],"k":1})",
       {R"({"b":[3,4]})", R"({"c":"]},"})"},
       R"({"metadata":{"a":[1,2]},"items":[],"k":1})"},
      {"{ \"items\" : [ {} , {\n} ] }", {" {} ", " {\n} "}, "{ \"items\" : [] }"},
      {R"({"items":[1,"a",null]})", {"1", R"("a")", "null"}, R"({"items":[]})"},
      {R"({"items":[{"q":"\\\"","r":"\\"}]})", {R"({"q":"\\\"","r":"\\"})"}, R"({"items":[]})"},
      // not the items of the list
      {R"({"x\"items":[1],"more":{"items":[2]}})", {}, R"({"x\"items":[1],"more":{"items":[2]}})"},
      {R"([{"items":[1]}])", {}, R"([{"items":[1]}])"},
      {R"({"\u0069tems":[1]})", {}, R"({"\u0069tems":[1]})"},
  };
  for (const Row& row : rows) {
    for (const std::size_t piece : {1U, 2U, 3U, 7U, 16U, 17U, 1000U}) {
      const Read got = read(row.text, piece);
      EXPECT_EQ(got.items, row.items) << row.text << " by " << piece;
      EXPECT_EQ(got.envelope, row.envelope) << row.text << " by " << piece;
      EXPECT_EQ(got.problem, "") << row.text << " by " << piece;
    }
  }
}

TEST(ListItems, SaysWhatIsNoList) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {R"({"items":[1,,2]})", "an item is missing"},
      {R"({"items":[,1]})", "an item is missing"},
      {R"({"items":[1,]})", "an item is missing"},
      {R"({"items":[{}}})", "the brackets of the items do not match"},
      {R"({}})", "a closing bracket too many"},
      {"]", "a closing bracket too many"},
  };
  for (const auto& [text, problem] : rows)
    for (const std::size_t piece : {1U, 5U, 1000U}) EXPECT_EQ(read(text, piece).problem, problem);
}

TEST(ListItems, GivesWhatAParserOfTheWholeListFinds) {
  EXPECT_TRUE(rc::check([] {
    json::Writer w;
    w.begin_object();
    if (*rc::gen::arbitrary<bool>()) {
      w.key("metadata");
      json::write_any(w, 3);
    }
    w.key("items").begin_array();
    const int count = *rc::gen::inRange(0, 5);
    for (int i = 0; i < count; ++i) json::write_any(w, 3);
    w.end_array();
    if (*rc::gen::arbitrary<bool>()) {
      w.key("more");
      json::write_any(w, 3);
    }
    w.end_object();
    const std::string text = std::move(w).take();
    json::Parser whole;
    const auto parsed = whole.parse(text);
    RC_ASSERT(parsed.has_value());
    std::vector<std::string> wanted;
    (*parsed)["items"].for_each_element([&](json::Value v) { wanted.push_back(v.dump()); });

    const Read got = read(text, *rc::gen::inRange<std::size_t>(1, 40));
    RC_ASSERT(got.problem.empty());
    RC_ASSERT(got.items == wanted);
    json::Parser rest;
    const auto envelope = rest.parse(got.envelope);
    RC_ASSERT(envelope.has_value());
    RC_ASSERT((*envelope)["items"].size() == 0U);
    RC_ASSERT((*envelope)["metadata"].dump() == (*parsed)["metadata"].dump());
    RC_ASSERT((*envelope)["more"].dump() == (*parsed)["more"].dump());
  }));
}

// What is too large is not given away in part.
TEST(ListItems, AnItemOrAnEnvelopeHasItsLimit) {
  const std::string mebibyte(std::size_t{1} << 20, 'x');
  for (const std::string_view begin : {R"({"items":[1,{"a":")", R"({"a":")"}) {
    ListItems list;
    std::vector<std::string> items;
    const auto feed = [&](std::string_view text) {
      list.feed(text, [&](std::string& item) { items.push_back(item); });
    };
    list.begin();
    feed(begin);
    for (int i = 0; i < 63; ++i) feed(mebibyte);
    EXPECT_EQ(list.problem(), "");
    feed(mebibyte + R"("},{}]})");
    EXPECT_EQ(list.problem(), "an item is larger than 64 MiB");
    EXPECT_EQ(items.size(), begin.find('1') == std::string_view::npos ? 0U : 1U);
    list.begin();
    feed(R"({"items":[2]})");
    EXPECT_EQ(list.problem(), "");
    EXPECT_EQ(items.back(), "2");
  }
}

TEST(ListItems, TheMemoryOfALargeItemIsGivenBack) {
  ListItems list;
  std::vector<std::size_t> room;
  const std::string large(std::size_t{4} << 20, 'x');
  list.begin();
  list.feed(R"({"items":[")" + large + R"(",1,2]})",
            [&](std::string& item) { room.push_back(item.capacity()); });
  ASSERT_EQ(room.size(), 3U);
  EXPECT_GE(room[0], large.size());
  EXPECT_LT(room[1], std::size_t{1} << 10);
  EXPECT_LT(room[2], std::size_t{1} << 10);
}

TEST(ListItems, TextThatIsNoJsonEndsAllTheSame) {
  EXPECT_TRUE(rc::check([] {
    const std::string text =
        *rc::gen::container<std::string>(rc::gen::elementOf(std::string(R"({}[]",:\items 1)")));
    const std::string list = R"({"items":[)" + text;
    const Read slowly = read(list, 1), at_once = read(list, 1000);
    RC_ASSERT(slowly.items == at_once.items);
    RC_ASSERT(slowly.problem == at_once.problem);
    RC_ASSERT(!slowly.problem.empty() || slowly.envelope == at_once.envelope);
  }));
}

}  // namespace
}  // namespace tessera::client
