#include "client/cli/text_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/zero_shot.h"
#include "tests/client/retrieval_double.h"
#include "tests/support/temp_folder.h"

namespace scanline::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

TEST(NameTexts, PutsTheTextForItsIndex) {
  const Texts texts = {"a dog", "a cat"};
  EXPECT_EQ(NameTexts("texts[1]: unknown words: cat", texts), "\"a cat\": unknown words: cat");
  EXPECT_EQ(NameTexts("match_text.texts[0] and texts[7]", texts), "\"a dog\" and texts[7]");
  EXPECT_EQ(NameTexts("see spec.match_text.texts[1]: no", texts), "see \"a cat\": no");
  EXPECT_EQ(NameTexts("texts[x] texts[", texts), "texts[x] texts[");
}

TEST(ReadTexts, TakesOneALine) {
  const testing::TempFolder scratch;
  const auto texts = ReadTexts(scratch.Write("t.txt",
                                             "\xEF\xBB\xBF"
                                             "a dog\r\n\n  a cat \nlast"));
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_THAT(*texts, ElementsAre("a dog", "a cat", "last"));
  EXPECT_THAT(ReadTexts(scratch.Write("e.txt", "\n \n")).status().message(),
              HasSubstr("no text in"));
  EXPECT_THAT(ReadTexts(scratch.Write("b.txt", "ok\n\xFF\n")).status().message(),
              HasSubstr("b.txt, line 2: the text is not UTF-8"));
  EXPECT_THAT(ReadTexts((scratch / "none")).status().message(), HasSubstr("cannot read"));
}

TEST(EmbedTexts, ATextThatIsNotUtf8IsItsOwnError) {
  const testing::RetrievalDouble server;
  const auto address = ParseServerAddress(server.host_port(), "test");
  ASSERT_TRUE(address.ok());
  const auto client = Client::Connect(*address, {});
  ASSERT_TRUE(client.ok()) << client.status();
  const auto vectors = EmbedTexts(**client, "models/finder", {"1 0", "a\xFF"}, absl::Seconds(20));
  ASSERT_EQ(vectors.size(), 2U);
  EXPECT_TRUE(vectors[0].ok()) << vectors[0].status();
  const ClientError error = ErrorOf(vectors[1].status());
  EXPECT_EQ(error.reason, "FIELD_INVALID");
  EXPECT_EQ(error.message, "texts[0]: the text is not UTF-8");
  EXPECT_EQ(server.texts(), 1);
  v1::AnalysisSpec spec;
  spec.mutable_match_text()->add_texts("\xFF");
  EXPECT_EQ(ErrorOf((*client)->Classify("", spec, absl::Seconds(20)).status()).reason,
            "FIELD_INVALID");
  EXPECT_EQ(ErrorOf((*client)->GetModel("\xFF").status()).reason, "FIELD_INVALID");
}

TEST(ReadLabels, RefusesWhatTheServerWould) {
  const testing::TempFolder scratch;
  v1::ServerLimits limits;
  limits.set_max_texts(2);
  limits.set_max_text_bytes(8);
  EXPECT_THAT(ReadLabels(scratch.Write("l", "a\n\nb\n \ta \n"), limits).status().message(),
              HasSubstr("the label \"a\" twice: lines 1 and 4"));
  EXPECT_THAT(ReadLabels(scratch.Write("l", "a\nb\nc\n"), limits).status().message(),
              HasSubstr("3 labels; this server takes up to 2 texts"));
  EXPECT_THAT(ReadLabels(scratch.Write("l", "a\nbbbbbbbbb\n"), limits).status().message(),
              HasSubstr("\"bbbbbbbbb\" is 9 bytes; this server takes up to 8"));
  EXPECT_TRUE(ReadLabels(scratch.Write("l", "a\nbbbbbbbb\n"), limits).ok());
}

TEST(LabelByTexts, GivesTheBestAsClassesTheEarlierFirstAmongEquals) {
  v1::ClipResult result;
  for (const float score : {0.1F, 0.4F, 0.1F, 0.4F}) {
    v1::TextMatch* match = result.add_text_matches();
    match->set_score(score);
    match->set_similarity(score / 2);
  }
  absl::StatusOr<v1::ClipResult> answer = result;
  LabelByTexts({"a", "b", "c", "d"}, 0.5F, {.top_k = 3, .min_score = 0}, answer);
  ASSERT_EQ(answer->classes_size(), 3);
  EXPECT_EQ(answer->classes(0).label(), "b");
  EXPECT_EQ(answer->classes(0).class_index(), 1U);
  EXPECT_EQ(answer->classes(0).score(), 0.4F);
  EXPECT_EQ(answer->classes(0).logit(), 0.4F);
  EXPECT_EQ(answer->classes(1).label(), "d");
  EXPECT_EQ(answer->classes(2).label(), "a");
  LabelByTexts({"a", "b", "c", "d"}, 0.5F, {.top_k = 3, .min_score = 0.2}, answer);
  EXPECT_EQ(answer->classes_size(), 2);
}

// The double refuses a text without a number and warns of words that are none.
TEST(EmbedTexts, KeepsARefusedTextToItself) {
  const testing::RetrievalDouble server;
  const auto address = ParseServerAddress(server.host_port(), "test");
  ASSERT_TRUE(address.ok());
  const auto client = Client::Connect(*address);
  ASSERT_TRUE(client.ok()) << client.status();
  const auto vectors =
      EmbedTexts(**client, "models/finder", {"1 0", "nothing", "0 1", "odd 0 1", "neither"},
                 absl::Seconds(10));
  ASSERT_EQ(vectors.size(), 5U);
  EXPECT_THAT(vectors[0]->embedding.values(), ElementsAre(1, 0));
  EXPECT_EQ(ErrorOf(vectors[1].status()).reason, "FIELD_INVALID");
  EXPECT_THAT(vectors[2]->embedding.values(), ElementsAre(0, 1));
  EXPECT_TRUE(vectors[2]->warnings.empty());
  ASSERT_EQ(vectors[3]->warnings.size(), 1U);
  EXPECT_EQ(vectors[3]->warnings[0].message(), "texts[0]: unknown words: odd");
  EXPECT_EQ(ErrorOf(vectors[4].status()).reason, "FIELD_INVALID");
}

}  // namespace
}  // namespace scanline::cli
