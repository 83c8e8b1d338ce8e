#include "client/cli/retrieval_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanline::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseRetrievalSet, JoinsClipsAndCaptionsThatAreThereAgain) {
  const auto set = ParseRetrievalSet(
      "path,caption\na.mp4,a dog\nb.mp4,\"a cat, sitting\"\n./a.mp4,a cat runs\nb.mp4,a dog\n"
      "a.mp4,a dog\n",
      "clips");
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->clips.size(), 2U);
  EXPECT_EQ(set->clips[0].path, "a.mp4");
  EXPECT_EQ(set->clips[0].file, "clips/a.mp4");
  ASSERT_EQ(set->captions.size(), 3U);
  EXPECT_EQ(set->captions[1].text, "a cat, sitting");
  EXPECT_THAT(set->clips[0].captions, ElementsAre(0, 2));
  EXPECT_THAT(set->clips[1].captions, ElementsAre(0, 1));
  EXPECT_THAT(set->captions[0].clips, ElementsAre(0, 1));
}

TEST(ParseRetrievalSet, SpacesAroundACaptionDoNotCount) {
  const auto set = ParseRetrievalSet(
      R"([{"path": "a.mp4", "caption": [" a dog", "a cat\t"]}, {"path": "b.mp4", "caption": "a dog "}])",
      "");
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->captions.size(), 2U);
  EXPECT_EQ(set->captions[0].text, "a dog");
  EXPECT_EQ(set->captions[1].text, "a cat");
  EXPECT_THAT(set->captions[0].clips, ElementsAre(0, 1));
  EXPECT_THAT(std::string(ParseRetrievalSet("path,caption\na.mp4,  \n", "").status().message()),
              HasSubstr("line 2: no caption for a.mp4"));
}

TEST(ParseRetrievalSet, TakesAListOfCaptionsFromJson) {
  const auto set = ParseRetrievalSet(
      R"([{"file": "a.mp4", "caption": ["one", "two"], "label": 3},
          {"file": "b.mp4", "caption": "three"}])",
      "");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->clips[0].captions, ElementsAre(0, 1));
  EXPECT_EQ(set->captions[2].text, "three");
}

TEST(ParseRetrievalSet, NamesThePlaceOfWhatIsMissing) {
  const auto refused = [](const char* text) {
    return std::string(ParseRetrievalSet(text, "").status().message());
  };
  EXPECT_THAT(refused("path,label\na.mp4,walking\n"),
              HasSubstr("one column path (or file) and one column caption, found: path,label"));
  EXPECT_THAT(refused("path,caption\na.mp4,\n"), HasSubstr("line 2: no caption for a.mp4"));
  EXPECT_THAT(refused(R"([{"path": "a.mp4", "caption": 5}])"),
              HasSubstr("entry 1: no caption for a.mp4"));
  EXPECT_THAT(refused(R"([{"path": "a.mp4", "caption": []}])"), HasSubstr("no caption"));
  EXPECT_THAT(refused(R"({"path": "a.mp4"})"),
              HasSubstr(R"([{"path": "a.mp4", "caption": "a dog jumps"}, ...])"));
  EXPECT_THAT(refused("path,caption\n"), HasSubstr("it lists no clip"));
}

}  // namespace
}  // namespace scanline::cli
