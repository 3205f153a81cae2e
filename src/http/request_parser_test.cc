#include "http/request_parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::http {
namespace {

using Step = RequestParser::Step;

struct Outcome {
  Step step = Step::kMore;
  int status = 0;
  Request request;
  std::size_t consumed = 0;
};

/// Feeds `pieces` one after the other as a connection does, keeping what was not consumed.
Outcome parse(const std::vector<std::string>& pieces, std::size_t limit = 1 << 20) {
  RequestParser parser;
  std::string waiting;
  Outcome outcome;
  for (const auto& piece : pieces) {
    waiting += piece;
    for (;;) {
      std::size_t consumed = 0;
      auto step = parser.feed(waiting, consumed);
      waiting.erase(0, consumed);
      outcome.consumed += consumed;
      if (step == Step::kHeader) step = parser.limit_body(limit);
      outcome.step = step;
      if (step == Step::kBad) outcome.status = parser.fault().status;
      if (step == Step::kDone) outcome.request = parser.take();
      if (step != Step::kMore) return outcome;
      if (consumed == 0 || waiting.empty()) break;
    }
  }
  return outcome;
}

TEST(RequestParser, ReadsARequestWithItsBody) {
  const auto outcome =
      parse({"POST /filter?a=b%20c&d HTTP/1.1\r\nHost: x\r\nX-Key: Value\r\n"
             "Content-Length: 5\r\n\r\nhelloGET /next"});
  ASSERT_EQ(outcome.step, Step::kDone);
  EXPECT_EQ(outcome.request.method, "POST");
  EXPECT_EQ(outcome.request.path, "/filter");
  EXPECT_EQ(outcome.request.query, "a=b%20c&d");
  EXPECT_EQ(outcome.request.query_value("a"), "b c");
  EXPECT_EQ(outcome.request.query_value("d"), "");
  EXPECT_EQ(outcome.request.header("x-key"), "Value");
  EXPECT_EQ(outcome.request.header("absent"), "");
  EXPECT_EQ(outcome.request.body, "hello");
  EXPECT_GE(outcome.request.body.capacity(), 5 + kBodySpare);
}

/// As a connection does it once the header is there: straight from the socket into the body.
std::string read_in_place(RequestParser& parser, std::string_view text, std::size_t most) {
  Step step = Step::kMore;
  while (step == Step::kMore) {
    const auto room = parser.body_room();
    const std::size_t count = text.copy(room.data(), std::min(room.size(), most));
    text.remove_prefix(count);
    step = parser.body_came(count);
  }
  EXPECT_EQ(step, Step::kDone);
  EXPECT_TRUE(text.empty());
  EXPECT_TRUE(parser.body_room().empty());
  return parser.take().body;
}

TEST(RequestParser, ABodyOfKnownLengthIsReadWhereItStays) {
  std::string body(3'000'000, 'x');
  for (std::size_t i = 0; i < body.size(); i += 777) body[i] = static_cast<char>('a' + i % 26);
  for (const std::size_t with_header : {0U, 1U, 70'000U, 300'000U}) {
    for (const std::size_t most : {4'096U, 1U << 20}) {
      RequestParser parser;
      const std::string first = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n" +
                                body.substr(0, with_header);
      EXPECT_TRUE(parser.body_room().empty());
      std::size_t header = 0, came = 0;
      ASSERT_EQ(parser.feed(first, header), Step::kHeader);
      EXPECT_TRUE(parser.body_room().empty()) << "no room before the limit is known";
      ASSERT_EQ(parser.limit_body(3'000'000), Step::kMore);
      ASSERT_EQ(parser.feed(std::string_view(first).substr(header), came), Step::kMore);
      EXPECT_EQ(came, with_header);
      EXPECT_TRUE(read_in_place(parser, std::string_view(body).substr(with_header), most) == body);
    }
  }
}

TEST(RequestParser, AnAnnouncedLengthIsTrustedOnlyAsFarAsBytesHaveCome) {
  RequestParser parser;
  std::size_t consumed = 0;
  ASSERT_EQ(
      parser.feed("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n", consumed),
      Step::kHeader);
  ASSERT_EQ(parser.limit_body(100'000'000), Step::kMore);
  for (std::size_t came = 0; came < 700'000; came += 1'000) {
    ASSERT_FALSE(parser.body_room().empty());
    parser.body_came(1'000);
  }
  EXPECT_LE(parser.request().body.capacity(), (1U << 20) + kBodySpare);
}

TEST(RequestParser, ChunkedAndEmptyBodiesAreNotReadInPlace) {
  for (const char* field : {"Transfer-Encoding: chunked", "Content-Length: 0", "X: y"}) {
    RequestParser parser;
    std::size_t consumed = 0;
    const auto text = std::string("POST / HTTP/1.1\r\nHost: x\r\n") + field + "\r\n\r\n";
    ASSERT_EQ(parser.feed(text, consumed), Step::kHeader);
    parser.limit_body(1'000);
    EXPECT_TRUE(parser.body_room().empty()) << field;
  }
}

struct Accepted {
  const char* name;
  std::string text;
  std::string path, body;
};

class AcceptedRequests : public ::testing::TestWithParam<Accepted> {};

/// However the bytes are cut in two or trickle in, the result is the same.
TEST_P(AcceptedRequests, DoNotDependOnTheCut) {
  const Accepted& row = GetParam();
  const std::string& text = row.text;
  const auto expect = [&](const std::vector<std::string>& pieces, std::size_t cut) {
    const auto outcome = parse(pieces);
    ASSERT_EQ(outcome.step, Step::kDone) << row.name << " cut at " << cut;
    EXPECT_EQ(outcome.request.path, row.path) << cut;
    EXPECT_EQ(outcome.request.body, row.body) << cut;
    EXPECT_GE(outcome.request.body.capacity() - outcome.request.body.size(), kBodySpare);
    EXPECT_EQ(outcome.consumed, text.size()) << cut;
  };
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    expect({text.substr(0, cut), text.substr(cut)}, cut);
  }
  std::vector<std::string> single;
  for (const char c : text) single.emplace_back(1, c);
  expect(single, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Table, AcceptedRequests,
    ::testing::Values(
        Accepted{"get", "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", "/healthz", ""},
        Accepted{"old", "GET / HTTP/1.0\r\n\r\n", "/", ""},
        Accepted{"escape", "GET /a%2Fb%20c HTTP/1.1\r\nHost: a\r\n\r\n", "/a/b c", ""},
        Accepted{"absolute", "GET http://host:1/x?y HTTP/1.1\r\nHost: a\r\n\r\n", "/x", ""},
        Accepted{"length", "POST /f HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world",
                 "/f", "hello world"},
        Accepted{"chunks",
                 "POST /f HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "5\r\nhello\r\n6;name=value\r\n world\r\n0\r\n\r\n",
                 "/f", "hello world"},
        Accepted{"no chunks",
                 "POST /f HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "/f",
                 ""},
        Accepted{"trailer",
                 "POST /f HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "1\r\nx\r\n0\r\nX-Sum: 1\r\n\r\n",
                 "/f", "x"}),
    [](const auto& row) {
      std::string name = row.param.name;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

struct Refused {
  const char* name;
  std::string text;
  int status;
};

class RefusedRequests : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusedRequests, NameTheirStatus) {
  const auto outcome = parse({GetParam().text});
  EXPECT_EQ(outcome.step, Step::kBad);
  EXPECT_EQ(outcome.status, GetParam().status);
}

INSTANTIATE_TEST_SUITE_P(
    Table, RefusedRequests,
    ::testing::Values(
        Refused{"garbage", "\x16\x03\x01garbage\r\n\r\n", 400},
        Refused{"short_version", "how are you\r\n\r\n", 400},
        Refused{"no_version", "GET /\r\n\r\n", 400},
        Refused{"http2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        Refused{"relative_target", "GET healthz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        Refused{"bad_escape", "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        Refused{"no_host", "GET / HTTP/1.1\r\n\r\n", 400},
        Refused{"two_hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
        Refused{"length_not_a_number", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
                400},
        Refused{"two_lengths",
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                400},
        Refused{"length_and_chunks",
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
                "Transfer-Encoding: chunked\r\n\r\n",
                400},
        Refused{"unknown_encoding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
                501},
        Refused{"bad_chunk_size",
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", 400},
        Refused{"bad_chunk_end",
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n",
                400},
        Refused{"long_header",
                "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(kHeaderLimit, 'x') + "\r\n\r\n",
                431}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(RequestParser, CountsHeaderFieldsThatTrickleIn) {
  std::vector<std::string> pieces = {"GET / HTTP/1.1\r\n", "Host: a\r\n"};
  for (int i = 0; i < 2000; ++i) pieces.push_back("X-Field: 0123456789\r\n");
  const auto outcome = parse(pieces);
  EXPECT_EQ(outcome.step, Step::kBad);
  EXPECT_EQ(outcome.status, 431);
  EXPECT_LE(outcome.consumed, kHeaderLimit + 64);
}

TEST(RequestParser, LimitsTheBodyByItsAnnouncement) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ";
  EXPECT_EQ(parse({head + "10\r\n\r\n0123456789"}, 10).step, Step::kDone);
  EXPECT_EQ(parse({head + "11\r\n\r\n"}, 10).step, Step::kTooLarge);
  EXPECT_EQ(parse({head + "18446744073709551615\r\n\r\n"}, 10).step, Step::kTooLarge);
}

TEST(RequestParser, LimitsTheSumOfChunks) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(parse({head + "6\r\n012345\r\n4\r\n6789\r\n0\r\n\r\n"}, 10).step, Step::kDone);
  EXPECT_EQ(parse({head + "6\r\n012345\r\n5\r\n"}, 10).step, Step::kTooLarge);
  EXPECT_EQ(parse({head + "ffffffffffffffff\r\n"}, 10).step, Step::kTooLarge);
}

TEST(RequestParser, GivesMemoryOnlyForWhatCame) {
  RequestParser parser;
  std::size_t consumed = 0;
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n";
  ASSERT_EQ(parser.feed(head, consumed), Step::kHeader);
  ASSERT_EQ(parser.limit_body(1 << 30), Step::kMore);
  ASSERT_EQ(parser.feed("x", consumed), Step::kMore);
  EXPECT_LE(parser.request().body.capacity(), std::size_t{2} << 20);
}

}  // namespace
}  // namespace tessera::http
