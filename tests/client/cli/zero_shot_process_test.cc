// `scanline classify --texts` against the double of a retrieval model: a clip's and a label's words
// are their vectors (tests/client/retrieval_double.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/client/retrieval_double.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace scanline::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ProcessResult;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

class ZeroShot : public ::testing::Test {
 protected:
  ProcessResult Run(const Words& words) const {
    Words argv = {SCANLINE_BIN_DIR "/scanline", "classify"};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.end(), {"--server", server_.host_port()});
    return testing::RunProcess(argv);
  }

  testing::RetrievalDouble server_;
  testing::TempFolder scratch_;
};

TEST_F(ZeroShot, AnswersAsIfTheTextsWereTheClasses) {
  const std::string clip = scratch_.Write("a.mp4", "1 0");
  const std::string labels = scratch_.Write("labels.txt", "0 1\n1 0\n-1 0\n");
  const ProcessResult result =
      Run({clip, "--texts", labels, "--model", "finder", "--top-k", "2", "--include-logits"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto line = nlohmann::json::parse(result.out);
  EXPECT_EQ(line["input"], clip);
  const auto& classes = line["result"]["classes"];
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_EQ(classes[0]["label"], "1 0");
  EXPECT_EQ(classes[0]["class_index"], 1);
  // exp(1 / T) over the sum with exp(0) and exp(-1 / T), T = 0.5.
  EXPECT_NEAR(classes[0]["score"].get<double>(), 0.866814, 1e-5);
  EXPECT_EQ(classes[0]["logit"], 2);
  EXPECT_EQ(classes[1]["label"], "0 1");
  EXPECT_EQ(line["result"]["text_matches"].size(), 3U) << "in the order of the file";
  EXPECT_EQ(line["result"]["text_matches"][2]["similarity"], -1);
  EXPECT_TRUE(server_.used_prompts());
}

TEST_F(ZeroShot, ShowsTheSimilarityInTableAndCsv) {
  const std::string clip = scratch_.Write("a.mp4", "1 0");
  const std::string labels = scratch_.Write("labels.txt", "0 1\n1 0\n");
  const Words words = {clip, "--texts", labels, "--model", "finder"};
  Words csv = words;
  csv.insert(csv.end(), {"--format", "csv"});
  EXPECT_THAT(Run(csv).out,
              AllOf(StartsWith("input,start,end,label,score,similarity,class_index,model,"),
                    HasSubstr(clip + ",,,1 0,0.880797,1,1,models/finder@1,")));
  Words table = words;
  table.insert(table.end(), {"--format", "table"});
  EXPECT_THAT(Run(table).out, AllOf(HasSubstr("LABEL  SCORE  SIMILARITY    TOTAL\n"),
                                    HasSubstr("1 0    0.881       1.000")));
}

TEST_F(ZeroShot, SaysAWarningAboutALabelOnce) {
  const Words clips = {scratch_.Write("a.mp4", "1 0"), scratch_.Write("b.mp4", "0 1")};
  const std::string labels = scratch_.Write("labels.txt", "0 1\nodd 1 0\n");
  const ProcessResult result = Run({clips[0], clips[1], "--texts", labels, "--model", "finder"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "scanline: warning (UNKNOWN_TERMS): \"odd 1 0\": unknown words: odd\n");
}

TEST_F(ZeroShot, Exit2NamesTheLineOfALabelThatTheModelCannotReadBeforeAnyClip) {
  const std::string clip = scratch_.Write("a.mp4", "1 0");
  const std::string labels = scratch_.Write("labels.txt", "0 1\n1 1\n\n2 1\n3 1\n  # comment\n");
  const ProcessResult result = Run({clip, "--texts", labels, "--model", "finder"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "scanline: " + labels + ", line 6: \"# comment\": expected a known word, found none\n");
  EXPECT_TRUE(server_.match_sizes().empty());
}

TEST_F(ZeroShot, Exit4NamesTheModelsThatTakeTexts) {
  const std::string clip = scratch_.Write("a.mp4", "1 0");
  const std::string labels = scratch_.Write("labels.txt", "0 1\n");
  const ProcessResult no_texts = Run({clip, "--texts", labels});
  EXPECT_EQ(no_texts.exit_code, 4);
  EXPECT_EQ(no_texts.out, "");
  EXPECT_EQ(no_texts.err,
            "scanline: the model does not do this (TASK_UNSUPPORTED): walker takes no texts; "
            "models of this server that take them: finder, finder2\n");
  const ProcessResult no_classes = Run({clip, "--model", "finder"});
  EXPECT_EQ(no_classes.exit_code, 4);
  EXPECT_THAT(no_classes.err,
              HasSubstr("finder has no class head; models of this server that have one: walker; "
                        "labels of your own: --texts FILE\n"));
}

TEST_F(ZeroShot, Exit2ForLabelsThatCannotBe) {
  const std::string clip = scratch_.Write("a.mp4", "1 0");
  const auto refused = [&](const std::string& labels) {
    const ProcessResult result = Run({clip, "--model", "finder", "--texts", labels});
    EXPECT_EQ(result.exit_code, 2);
    return result.err;
  };
  EXPECT_THAT(refused((scratch_ / "none.txt")), HasSubstr("cannot read the texts of"));
  EXPECT_THAT(refused(scratch_.Write("l", "1\n2\n3\n4\n5\n6\n")), HasSubstr("takes up to 5 texts"));
  EXPECT_TRUE(server_.match_sizes().empty());
}

}  // namespace
}  // namespace scanline::cli
