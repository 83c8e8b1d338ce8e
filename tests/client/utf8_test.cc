#include "client/utf8.h"

#include <gtest/gtest.h>

namespace scanline {
namespace {

TEST(IsUtf8, TakesCharactersOfEveryLength) {
  for (const char* text :
       {"", "a b", "caf\u00E9", "\u0800\uD7FF\uE000\uFFFF", "\U00010000\U0010FFFF"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  EXPECT_TRUE(IsUtf8(absl::string_view("a\0b", 3)));
}

TEST(IsUtf8, RefusesWhatIsNone) {
  for (const char* text :
       {"\xFF", "a\x80", "\xC3", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
        "\xE2\x28\xA1", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80"}) {
    EXPECT_FALSE(IsUtf8(text)) << testing::PrintToString(std::string(text));
  }
}

}  // namespace
}  // namespace scanline
