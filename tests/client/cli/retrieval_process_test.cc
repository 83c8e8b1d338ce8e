// `scanline eval retrieval` against the double of a retrieval model: a clip's and a caption's words
// are their vectors, the third number is what reranking looks at (tests/client/retrieval_double.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/client/retrieval_double.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace scanline::cli {
namespace {

using ::testing::AllOf;
using testing::CountLines;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Le;
using testing::Process;
using testing::ProcessResult;
using Words = std::vector<std::string>;
using Json = nlohmann::json;

class EvalRetrieval : public ::testing::Test {
 protected:
  Words Command(const std::string& manifest, const Words& more, const char* model) const {
    Words argv = {
        SCANLINE_BIN_DIR "/scanline", "eval",    "retrieval", "--manifest", manifest, "--server",
        server_.host_port(),          "--model", model};
    argv.insert(argv.end(), more.begin(), more.end());
    return argv;
  }
  ProcessResult Run(const std::string& manifest, const Words& more = {},
                    const char* model = "finder") const {
    return testing::RunProcess(Command(manifest, more, model));
  }

  // `count` clips around a circle, each with a caption that is its vector. What reranking looks at
  // is the clip's number, but of clip 0, whose caption fits clip 1 better.
  std::string Circle(int count, const std::string& prefix = "") const {
    std::string rows = "path,caption\n";
    for (int i = 0; i < count; ++i) {
      const double angle = 6.28 * i / count;
      const std::string vector = absl::StrFormat("%.4f %.4f", std::cos(angle), std::sin(angle));
      const std::string name = absl::StrCat("clip", i, ".mp4");
      scratch_.Write(name, absl::StrCat(prefix, vector, " ", i));
      absl::StrAppend(&rows, name, ",", vector, " ", i == 0 ? 0.6 : i, "\n");
    }
    return scratch_.Write("circle.csv", rows);
  }

  testing::RetrievalDouble server_;
  testing::TempFolder scratch_;
};

TEST_F(EvalRetrieval, RanksBothWays) {
  scratch_.Write("a.mp4", "1 0");
  scratch_.Write("b.mp4", "0 1");
  scratch_.Write("c.mp4", "1 1");
  // "2 0" finds a, "1 5" finds b, "1 4" is c's but finds b first and c second.
  const std::string manifest =
      scratch_.Write("m.csv", "path,caption\na.mp4,2 0\nb.mp4,1 5\nc.mp4,1 4\n");
  const ProcessResult result = Run(manifest, {"-o", (scratch_ / "out")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const Json summary = Json::parse(result.out);
  EXPECT_EQ(summary["task"], "retrieval");
  EXPECT_EQ(summary["scored_clips"], 3);
  EXPECT_EQ(summary["text_to_video"]["queries"], 3);
  EXPECT_EQ(summary["text_to_video"]["recall_at_1"]["right"], 2);
  EXPECT_EQ(summary["text_to_video"]["recall_at_5"]["right"], 3);
  EXPECT_EQ(summary["text_to_video"]["median_rank"], 1);
  EXPECT_EQ(summary["text_to_video"]["misses"],
            Json::array({{{"caption", "1 4"}, {"rank", 2}, {"first", "b.mp4"}}}));
  EXPECT_EQ(summary["video_to_text"]["recall_at_1"]["right"], 3);
  EXPECT_FALSE(summary.contains("reranked"));
  EXPECT_EQ(scratch_.Read("out/summary.json"), result.out);
  EXPECT_EQ(CountLines(scratch_.Read("out/predictions.ndjson")), 3);
}

TEST_F(EvalRetrieval, CountsTheFirstOfSeveralRightOnes) {
  scratch_.Write("a.mp4", "1 0");
  scratch_.Write("b.mp4", "0 1");
  const std::string manifest =
      scratch_.Write("m.json", R"([{"path": "a.mp4", "caption": ["1 0", "0 1"]}, {"path": "b.mp4",
                  "caption": ["0 1", "0 1"]}])");
  const Json summary = Json::parse(Run(manifest).out);
  EXPECT_EQ(summary["captions"], 2);
  EXPECT_EQ(summary["text_to_video"]["queries"], 2) << "a caption of two clips is one query";
  EXPECT_EQ(summary["text_to_video"]["recall_at_1"]["right"], 2);
  EXPECT_EQ(summary["video_to_text"]["recall_at_1"]["right"], 2);
}

TEST_F(EvalRetrieval, ListsWhatIsSkippedAndScoresTheRestAsIfItWereAll) {
  scratch_.Write("a.mp4", "1 0");
  scratch_.Write("b.mp4", "bad");
  scratch_.Write("d.mp4", "0 1");
  const std::string manifest = scratch_.Write(
      "m.csv", "path,caption\na.mp4,1 0\nb.mp4,0 1\nc.mp4,1 1\nd.mp4,nothing\na.mp4,odd 2 0\n");
  const ProcessResult result = Run(manifest, {"-o", (scratch_ / "out")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("scanline: b.mp4: not a video (VIDEO_UNREADABLE)"),
                    HasSubstr("scanline: c.mp4: no such file (FILE_NOT_FOUND)"),
                    HasSubstr("scanline: \"nothing\": the request is not valid (FIELD_INVALID)"),
                    HasSubstr("warning (UNKNOWN_TERMS): \"odd 2 0\": unknown words: odd"),
                    HasSubstr("2 of 4 clips and 1 of 5 captions skipped\n")));
  const Json summary = Json::parse(result.out);
  EXPECT_EQ(summary["scored_clips"], 1) << "d has no caption that the model can read";
  EXPECT_EQ(summary["scored_captions"], 2);
  EXPECT_EQ(summary["text_to_video"]["recall_at_1"]["right"], 2);
  EXPECT_EQ(summary["skipped_by_reason"], Json({{"FILE_NOT_FOUND", 1}, {"VIDEO_UNREADABLE", 1}}));
  EXPECT_EQ(summary["skipped_captions"][0]["caption"], "nothing");
  EXPECT_EQ(summary["captions_with_warning"][0]["caption"], "odd 2 0");

  // What the server judged is not sent again; what was not there is tried.
  const int before = server_.clips();
  scratch_.Write("c.mp4", "1 1");
  EXPECT_EQ(Json::parse(Run(manifest, {"-o", (scratch_ / "out")}).out)["scored_clips"], 2);
  EXPECT_EQ(server_.clips(), before + 1);
}

TEST_F(EvalRetrieval, AClipThatIsReplacedBetweenItsEmbeddingAndItsMatchesIsAskedAgain) {
  const std::string manifest = Circle(12);
  server_.OnMatch([this, done = false]() mutable {  // with jobs 1 by the first of twelve
    if (!std::exchange(done, true)) scratch_.Write("clip11.mp4", "1 0 11");
  });
  const Words how = {"--rerank", "--jobs", "1", "-o", (scratch_ / "out")};
  const ProcessResult first = Run(manifest, how);
  EXPECT_EQ(first.exit_code, 1);
  EXPECT_THAT(first.err, HasSubstr("clip11.mp4: changed since it was embedded (FILE_CHANGED)"));
  const int embedded = server_.clips();
  const ProcessResult second = Run(manifest, how);
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(server_.clips(), embedded + 1);
}

TEST_F(EvalRetrieval, RerankingDecidesWithinTheBest) {
  const std::string manifest = Circle(12);
  const ProcessResult result = Run(manifest, {"--rerank", "-o", (scratch_ / "out")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const Json summary = Json::parse(result.out);
  EXPECT_EQ(summary["text_to_video"]["recall_at_1"]["right"], 12);
  const Json& reranked = summary["reranked"];
  EXPECT_EQ(reranked["items"], 128);
  EXPECT_EQ(reranked["text_to_video"]["recall_at_1"]["right"], 11);
  EXPECT_EQ(reranked["text_to_video"]["misses"][0]["first"], "clip1.mp4");
  EXPECT_EQ(reranked["text_to_video"]["misses"][0]["rank"], 2);
  // 12 texts in requests of the 5 that the double takes, and one that asks whether it reranks.
  const auto sizes = server_.match_sizes();
  EXPECT_THAT(sizes, Each(Le(5)));
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), 0), 12 * 12 + 1);

  // All is kept, also for a run without reranking.
  const size_t asked = sizes.size();
  EXPECT_EQ(Run(manifest, {"--rerank", "-o", (scratch_ / "out")}).out, result.out);
  EXPECT_EQ(Run(manifest, {"-o", (scratch_ / "out")}).exit_code, 0);
  EXPECT_EQ(server_.match_sizes().size(), asked);
  EXPECT_EQ(server_.clips(), 12);
}

TEST_F(EvalRetrieval, Exit4BeforeAllIsEmbeddedWhereTheModelDoesNotRerank) {
  const ProcessResult result = Run(Circle(12), {"--rerank"}, "finder2");
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, HasSubstr("(TASK_UNSUPPORTED): finder2 has no fusion layers"));
  EXPECT_EQ(server_.clips(), 0);
  const ProcessResult walker = Run(Circle(2), {}, "walker");
  EXPECT_EQ(walker.exit_code, 4);
  EXPECT_THAT(walker.err, HasSubstr("walker takes no texts; models of this server that take them: "
                                    "finder, finder2"));
}

TEST_F(EvalRetrieval, AKilledRunGoesOnAndSendsNothingTwice) {
  const std::string manifest = Circle(12, "slow ");
  const std::string whole = Run(manifest).out;
  const int before = server_.clips();
  const Words command = Command(manifest, {"-o", (scratch_ / "out"), "--jobs", "2"}, "finder");
  {
    Process process(command);
    for (int waited = 0; waited < 30'000; waited += 5) {
      if (scratch_.Has("out/predictions.ndjson") &&
          CountLines(scratch_.Read("out/predictions.ndjson")) >= 4) {
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    process.Signal(SIGKILL);
    EXPECT_EQ(process.Finish().exit_code, 128 + SIGKILL);
  }
  const int kept = CountLines(scratch_.Read("out/predictions.ndjson"));
  ASSERT_LT(kept, 12);
  EXPECT_LE(server_.clips(), before + kept + 2) << "but for the two under way";
  const int killed_at = server_.clips();
  const ProcessResult result = testing::RunProcess(command);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(server_.clips(), killed_at + 12 - kept);
  EXPECT_EQ(result.out, whole);
}

TEST_F(EvalRetrieval, RefusesTheFolderOfAnotherTask) {
  scratch_.Write("a.mp4", "1 0");
  const std::string manifest = scratch_.Write("m.csv", "path,caption\na.mp4,1 0\n");
  ASSERT_EQ(Run(manifest, {"-o", (scratch_ / "out")}).exit_code, 0);
  std::string run = scratch_.Read("out/run.json");
  run.replace(run.find("retrieval"), 9, "classify");
  scratch_.Write("out/run.json", run);
  const ProcessResult result = Run(manifest, {"-o", (scratch_ / "out")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("holds answers of eval classify: name another folder"));
}

TEST_F(EvalRetrieval, PrintsATableForPeopleAndRowsForSpreadsheets) {
  const std::string manifest = Circle(4);
  const ProcessResult table = Run(manifest, {"--format", "table", "--rerank"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_EQ(
      table.out,
      "                                       R@1 %                R@5 %               R@10 %  "
      "MEDIAN RANK\n"
      "text to video            100.0 [51.0, 100.0]  "
      "100.0 [51.0, 100.0]  100.0 [51.0, 100.0]          1.0\n"
      "video to text            100.0 [51.0, 100.0]  "
      "100.0 [51.0, 100.0]  100.0 [51.0, 100.0]          1.0\n"
      "text to video, reranked    75.0 [30.1, 95.4]  "
      "100.0 [51.0, 100.0]  100.0 [51.0, 100.0]          1.0\n"
      "video to text, reranked  100.0 [51.0, 100.0]  "
      "100.0 [51.0, 100.0]  100.0 [51.0, 100.0]          1.0\n"
      "4 captions, 4 clips\n"
      "\n"
      "CAPTION            RANK  FOUND FIRST\n"
      "1.0000 0.0000 0.6     2  clip1.mp4\n");
  EXPECT_EQ(Run(manifest, {"--format", "csv"}).out,
            "direction,reranked,queries,recall_at_1,recall_at_5,recall_at_10,median_rank\n"
            "text to video,false,4,1,1,1,1\nvideo to text,false,4,1,1,1,1\n");
  EXPECT_EQ(CountLines(Run(manifest, {"--format", "ndjson"}).out), 1);
}

TEST_F(EvalRetrieval, Exit2ForAManifestThatCannotBe) {
  const ProcessResult result = Run(scratch_.Write("m.csv", "path,label\na.mp4,walking\n"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("one column caption, found: path,label"));
  EXPECT_EQ(Run((scratch_ / "none.csv")).exit_code, 2);
}

}  // namespace
}  // namespace scanline::cli
