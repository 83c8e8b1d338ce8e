#include "client/cli/shell.h"

#include <gtest/gtest.h>

#include "tests/support/process.h"

namespace scanline::cli {
namespace {

TEST(ShellWord, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(ShellWord("/a/b-c_1.mp4"), "/a/b-c_1.mp4");
  EXPECT_EQ(ShellWord("a b"), "'a b'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("f\xC3\xBCr"), "'f\xC3\xBCr'");
  EXPECT_EQ(ShellWord("a\nb"), "$'a\\x0ab'");
  EXPECT_EQ(ShellWord("a'\xFF"), "$'a\\'\\xff'");
}

// A real shell reads each word as what it was.
TEST(ShellWord, IsReadByAShellAsItWas) {
  for (const std::string word :
       {"$(touch x)", "`id`", "a;b|c&d", "*?[x]", "~root", "!x", "a\\b\"c", "-n", "#x", "tab\there",
        "new\nline", "\x01\x7F", "\xFF\xFE", "'\xC3", "f\xC3\xBCr 'x'"}) {
    const auto result = testing::RunProcess({"/bin/bash", "-c", "printf %s " + ShellWord(word)});
    EXPECT_EQ(result.out, word) << ShellWord(word);
  }
}

TEST(OpenCommand, BeginsAtTheMoment) {
  EXPECT_EQ(OpenCommand("/a b.mp4", 12.4), "mpv --start=12.4 '/a b.mp4'");
}

}  // namespace
}  // namespace scanline::cli
