#include "base/read_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tessera {
namespace {

using testing::EndsWith;
using testing::StartsWith;

class ReadFile : public testing::Test {
 protected:
  ReadFile()
      : folder_(std::filesystem::temp_directory_path() /
                ("tessera-read-file-" + std::to_string(getpid()))) {
    std::filesystem::create_directory(folder_);
  }
  ~ReadFile() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text) const {
    const std::string path = folder_ / "file";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  const std::filesystem::path folder_;
};

TEST_F(ReadFile, GivesEveryByte) {
  for (const std::size_t size : {0U, 1U, 65'535U, 65'536U, 65'537U, 200'000U}) {
    std::string text(size, 'x');
    if (size > 2) text[size / 2] = '\0';
    const auto read = read_file(write(text));
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_TRUE(*read == text) << size;
  }
}

TEST_F(ReadFile, UpToTheLimit) {
  EXPECT_TRUE(read_file(write("12345"), 5));
  const auto read = read_file(write("123456"), 5);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kInvalid);
  EXPECT_THAT(read.error().what, EndsWith("file\" is larger than 5 bytes"));
  EXPECT_TRUE(read_file(write(std::string(65'536, 'x')), 65'536));
  EXPECT_FALSE(read_file(write(std::string(65'537, 'x')), 65'536));
}

TEST_F(ReadFile, ADirectoryIsAnErrorLikeAnyOther) {
  const auto read = read_file(folder_);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kNotFound);
  EXPECT_THAT(read.error().what, StartsWith("cannot read \"/"));
  EXPECT_THAT(read.error().what, EndsWith("\": Is a directory"));
}

TEST_F(ReadFile, WhatIsNotThereIsNamed) {
  EXPECT_THAT(read_file(folder_ / "no such").error().what,
              EndsWith("/no such\": No such file or directory"));
  EXPECT_THAT(read_file("").error().what, EndsWith("\"\": No such file or directory"));
}

}  // namespace
}  // namespace tessera
