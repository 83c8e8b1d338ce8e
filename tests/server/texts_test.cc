#include "server/texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace scanline {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const TextTowerConfig kTower = {.max_words = 24};

absl::Status NothingIn(const std::string& field) {
  return MakeError(Reason::kFieldInvalid, field + ": expected a known word, found none",
                   {{"field", field}, {"expected", "a known word"}});
}

TEST(NameText, PutsTheRequestsOwnPathInFront) {
  const absl::Status named = NameText(NothingIn("texts[3]"), "spec.match_text.", 1);
  EXPECT_EQ(ReasonOf(named), Reason::kFieldInvalid);
  EXPECT_EQ(named.message(), "spec.match_text.texts[3]: expected a known word, found none");
  EXPECT_THAT(MetadataOf(named), Contains(Pair("field", "spec.match_text.texts[3]")));
  EXPECT_THAT(MetadataOf(named), Contains(Pair("expected", "a known word")));
}

TEST(NameText, CountsTheClientsTextsWhereEachStandsInSeveralPrompts) {
  EXPECT_THAT(MetadataOf(NameText(NothingIn("texts[11]"), "", 4)),
              Contains(Pair("field", "texts[2]")));
}

TEST(NameText, LeavesOtherErrorsAndFieldsAlone) {
  for (const absl::Status& other :
       {MakeError(Reason::kNonFiniteOutput, "texts[3] is nan", {{"field", "texts[3]"}}),
        NothingIn("kernel"), NothingIn("texts[x]"), NothingIn("texts")}) {
    EXPECT_EQ(NameText(other, "spec.", 1), other);
  }
}

TEST(TextNotices, NameTheTextAndWhatIsWrongWithIt) {
  const std::vector<TextEmbedding> texts = {
      {}, {.unknown_words = {"zebra", "giraffe"}}, {.truncated = true}};
  const auto notices = TextNotices(texts, 1, kTower, "spec.match_text.");
  ASSERT_EQ(notices.size(), 2U);
  EXPECT_EQ(notices[0].reason, "UNKNOWN_TERMS");
  EXPECT_EQ(notices[0].message,
            "spec.match_text.texts[1]: the model does not know \"zebra\", \"giraffe\"");
  EXPECT_EQ(notices[1].reason, "TEXT_TRUNCATED");
  EXPECT_THAT(notices[1].message, HasSubstr("spec.match_text.texts[2]: longer than the 24 words"));
  EXPECT_THAT(TextNotices({}, 1, kTower, ""), IsEmpty());
}

TEST(TextNotices, AWordCountsOnceInAllPromptsOfAText) {
  const std::vector<TextEmbedding> texts = {
      {}, {}, {.unknown_words = {"zebra"}}, {.unknown_words = {"film", "zebra"}}};
  const auto notices = TextNotices(texts, 2, kTower, "");
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices[0].message, "texts[1]: the model does not know \"zebra\", \"film\"");
}

TEST(TextNotices, NameTwentyWordsAndCountTheRest) {
  TextEmbedding text;
  for (int i = 0; i < 33; ++i) text.unknown_words.push_back("word" + std::to_string(i));
  const std::string message = TextNotices({text}, 1, kTower, "").at(0).message;
  EXPECT_THAT(message, HasSubstr("\"word19\" and 13 more"));
}

}  // namespace
}  // namespace scanline
