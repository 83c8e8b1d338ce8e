#include "model/text/known_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string> kVocab = {"<pad>", "counterclockwise", "the", "camera", "rolls",
                                         "k9"};

Tokens Read(const std::string& text, int max_words = 8) {
  return KnownWords(kVocab, "-'", max_words).Read(DecodeUtf8(text).value());
}

TEST(KnownWords, RemovedCharactersJoinAndOthersSeparate) {
  EXPECT_THAT(Read("The CAMERA/rolls\ncounter-clockwise!").ids, ElementsAre(2, 3, 4, 1));
  EXPECT_THAT(Read("the\xC3\xA9"
                   "camera")
                  .ids,
              ElementsAre(2, 3));
}

TEST(KnownWords, LowersAsPythonDoes) {
  EXPECT_THAT(Read("\xE2\x84\xAA"
                   "9")
                  .ids,
              ElementsAre(5));  // The Kelvin sign is a capital k.
}

TEST(KnownWords, SkipsAndReportsTheUnknownOnce) {
  const Tokens tokens = Read("zebra the Zebra giraffe");
  EXPECT_THAT(tokens.ids, ElementsAre(2));
  EXPECT_THAT(tokens.unknown_words, ElementsAre("zebra", "giraffe"));
}

TEST(KnownWords, PaddingIsNoWord) {
  const Tokens tokens = Read("<pad>");
  EXPECT_THAT(tokens.ids, IsEmpty());
  EXPECT_THAT(tokens.unknown_words, ElementsAre("pad"));
}

TEST(KnownWords, CutsAfterTheLastWordThatItTakes) {
  EXPECT_FALSE(Read("the the the", 3).truncated);
  const Tokens tokens = Read("the camera the the", 3);
  EXPECT_THAT(tokens.ids, ElementsAre(2, 3, 2));
  EXPECT_TRUE(tokens.truncated);
}

}  // namespace
}  // namespace scanline
