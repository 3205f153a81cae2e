#include "http/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace tessera::http {
namespace {

TEST(Gzip, IsTakenWhereTheHeaderNamesIt) {
  EXPECT_TRUE(accepts_gzip("gzip"));
  EXPECT_TRUE(accepts_gzip("deflate, GZip;q=0.5"));
  EXPECT_FALSE(accepts_gzip(""));
  EXPECT_FALSE(accepts_gzip("identity, br"));
  EXPECT_FALSE(accepts_gzip("gzip;q=0"));
  EXPECT_FALSE(accepts_gzip("gzip;q=0.00, br"));
  EXPECT_FALSE(accepts_gzip("xgzip"));
}

TEST(Gzip, AShortBodyStaysAsItIs) {
  Response response{.body = "short"};
  gzip(response);
  EXPECT_EQ(response.body, "short");
  EXPECT_TRUE(response.headers.empty());
}

TEST(Gzip, ALongBodyComesBackWhole) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "row{n=\"" + std::to_string(i) + "\"} 1\n";
  Response response{.body = text};
  gzip(response);
  ASSERT_LT(response.body.size(), text.size() / 3);
  ASSERT_FALSE(response.headers.empty());
  EXPECT_EQ(response.headers[0].second, "gzip");

  z_stream stream{};
  ASSERT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string back(text.size() + 1, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(response.body.data());
  stream.avail_in = static_cast<uInt>(response.body.size());
  stream.next_out = reinterpret_cast<Bytef*>(back.data());
  stream.avail_out = static_cast<uInt>(back.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  back.resize(stream.total_out);
  inflateEnd(&stream);
  EXPECT_EQ(back, text);
}

}  // namespace
}  // namespace tessera::http
