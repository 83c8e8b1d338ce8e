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

TEST(KnownWords, ReportsWhatIsNotAsciiWithAllThatItTouches) {
  const auto unknown = [](const std::string& text) { return Read(text).unknown_words; };
  EXPECT_THAT(unknown("\u0430 camera"), ElementsAre("\u0430"));  // the Cyrillic a
  EXPECT_THAT(unknown("the \u041A\u0420\u0410\u0421\u041D\u042B\u0419, the"),
              ElementsAre("\u043A\u0440\u0430\u0441\u043D\u044B\u0439"));
  EXPECT_THAT(unknown("\u76F8\u673A"), ElementsAre("\u76F8\u673A"));
  EXPECT_THAT(unknown("camera \U0001F3A5"), ElementsAre("\U0001F3A5"));
  EXPECT_THAT(unknown("the cam\u00E9ra, cam\u00E9ra"), ElementsAre("cam\u00E9ra"));
  EXPECT_THAT(unknown("the camera\u2019s"), ElementsAre("camera\u2019s"));
  EXPECT_THAT(unknown("the\u00E9camera"), ElementsAre("the\u00E9camera"));
  EXPECT_THAT(unknown("\u00E9/zebra"), ElementsAre("\u00E9", "zebra"));
  EXPECT_THAT(unknown("the\u00A0camera\u3000rolls. (the/camera)"), IsEmpty());  // spaces
  EXPECT_THAT(Read("\u0430 camera").ids, ElementsAre(3));
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
