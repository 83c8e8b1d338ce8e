// `scanline embed` against the double of a retrieval model: a clip's and a text's words are its
// vector (tests/client/retrieval_double.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "client/index/npy.h"
#include "tests/client/retrieval_double.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace scanline::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ProcessResult;
using Words = std::vector<std::string>;
using Json = nlohmann::json;

std::vector<Json> JsonLines(const std::string& text) {
  std::vector<Json> lines;
  for (const auto line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    lines.push_back(Json::parse(line));
  }
  return lines;
}

class Embed : public ::testing::Test {
 protected:
  ProcessResult Run(const Words& words) const {
    Words argv = {SCANLINE_BIN_DIR "/scanline", "embed", "--model", "finder"};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.end(), {"--server", server_.host_port()});
    return testing::RunProcess(argv);
  }

  // The rows of a written file.
  std::vector<std::vector<float>> Rows(const std::string& name) const {
    const std::string bytes = scratch_.Read(name);
    const auto shape = ParseNpyHeader(bytes);
    EXPECT_TRUE(shape.ok()) << shape.status();
    if (!shape.ok()) return {};
    const auto dim = static_cast<size_t>(shape->dim);
    std::vector<std::vector<float>> rows(static_cast<size_t>(shape->rows), std::vector<float>(dim));
    EXPECT_EQ(bytes.size(), shape->data_at + rows.size() * dim * sizeof(float));
    for (size_t i = 0; i < rows.size(); ++i) {
      std::memcpy(rows[i].data(), bytes.data() + shape->data_at + i * dim * sizeof(float),
                  dim * sizeof(float));
    }
    return rows;
  }

  testing::RetrievalDouble server_;
  testing::TempFolder scratch_;
};

TEST_F(Embed, GivesClipsAsNdjson) {
  const std::string a = scratch_.Write("a.mp4", "3 4"), b = scratch_.Write("b.mp4", "slow 0 1");
  const ProcessResult result = Run({b, a});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto lines = JsonLines(result.out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["input"], b);
  EXPECT_EQ(lines[1]["result"]["embeddings"][0]["values"], Json({0.6, 0.8}));
  EXPECT_EQ(lines[1]["result"]["embeddings"][0]["end_offset"], "2s");
  EXPECT_FALSE(lines[1]["result"].contains("classes")) << lines[1];
}

TEST_F(Embed, CarriesItsFlagsToTheServer) {
  const std::string a = scratch_.Write("a.mp4", "3 4");
  const auto raw = JsonLines(Run({a, "--no-normalize"}).out);
  EXPECT_EQ(raw[0]["result"]["embeddings"][0]["values"], Json({3, 4}));
  const auto windows = JsonLines(Run({a, "--per-window"}).out);
  EXPECT_EQ(windows[0]["result"]["windows"][1]["embedding"]["values"], Json({-0.8, 0.6}));
}

TEST_F(Embed, SendsTextsInBatchesOfWhatTheServerTakes) {
  std::string texts;
  for (int i = 0; i < 12; ++i) texts += std::to_string(i + 1) + " 0\n";
  const ProcessResult result = Run({"--texts", scratch_.Write("t.txt", texts)});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto lines = JsonLines(result.out);
  ASSERT_EQ(lines.size(), 12U);
  EXPECT_EQ(lines[11]["input"], "12 0");
  EXPECT_EQ(lines[11]["result"]["model"], "models/finder@1");
  EXPECT_EQ(lines[11]["result"]["embeddings"][0]["values"], Json({1, 0}));
  EXPECT_EQ(server_.texts(), 12);
  EXPECT_EQ(server_.most_texts(), 5);
}

TEST_F(Embed, Exit1NamesTheTextThatCannotBeReadAndAnswersTheOthers) {
  const ProcessResult result = Run({"--text", "1 0", "--text", "nothing", "--text", "odd 0 1"});
  EXPECT_EQ(result.exit_code, 1);
  const auto lines = JsonLines(result.out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1]["error"]["reason"], "FIELD_INVALID");
  EXPECT_EQ(lines[2]["result"]["warnings"][0]["reason"], "UNKNOWN_TERMS");
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("scanline: nothing: the request is not valid (FIELD_INVALID)"),
                    HasSubstr("scanline: odd 0 1: warning (UNKNOWN_TERMS)"),
                    HasSubstr("1 of 3 inputs failed")));
}

TEST_F(Embed, WritesAnNpyWithItsRowsNamedBesideIt) {
  const std::string a = scratch_.Write("a.mp4", "3 4"), bad = scratch_.Write("b.mp4", "bad");
  const std::string npy = (scratch_ / "x.npy");
  const ProcessResult result = Run({a, bad, "--per-window", "-o", npy});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_EQ(result.out, npy + "\n" + (scratch_ / "x.jsonl") + "\n");
  EXPECT_THAT(Rows("x.npy"), ElementsAre(ElementsAre(0.6F, 0.8F), ElementsAre(0.6F, 0.8F),
                                         ElementsAre(-0.8F, 0.6F)));
  const auto lines = JsonLines(scratch_.Read("x.jsonl"));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], Json({{"path", a}, {"start_s", 0.0}, {"end_s", 2.0}}));
  EXPECT_EQ(lines[2], Json({{"path", a}, {"window", 1}, {"start_s", 0.5}, {"end_s", 2.0}}));
  EXPECT_FALSE(scratch_.Has("x.npy.part") || scratch_.Has("x.jsonl.part"));
}

TEST_F(Embed, ReplacesAFileOnlyIfToldTo) {
  const std::string npy = scratch_.Write("x.npy", "mine");
  const Words command = {"--text", "0 2", "-o", npy};
  const ProcessResult refused = Run(command);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("x.npy is there already; --force replaces it"));
  EXPECT_EQ(scratch_.Read("x.npy"), "mine");
  EXPECT_EQ(server_.texts(), 0);
  Words forced = command;
  forced.emplace_back("--force");
  EXPECT_EQ(Run(forced).exit_code, 0);
  EXPECT_THAT(Rows("x.npy"), ElementsAre(ElementsAre(0, 1)));
  EXPECT_EQ(scratch_.Read("x.jsonl"), "{\"text\":\"0 2\"}\n");
}

TEST_F(Embed, DoesNotReplaceWhatItReads) {
  const std::string texts = scratch_.Write("x.jsonl", "0 2\n");
  const ProcessResult result = Run({"--texts", texts, "-o", (scratch_ / "x.npy"), "--force"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("x.jsonl is --texts itself"));
  EXPECT_EQ(scratch_.Read("x.jsonl"), "0 2\n");
  const ProcessResult endless = Run({"--texts", "/dev/zero"});
  EXPECT_EQ(endless.exit_code, 2);
  EXPECT_THAT(endless.err, HasSubstr("cannot read the texts of /dev/zero: it is a device"));
  EXPECT_EQ(server_.texts(), 0);
}

TEST_F(Embed, WritesNothingOfARunThatDidNotEnd) {
  const std::string bad = scratch_.Write("bad.mp4", "bad"), npy = (scratch_ / "x.npy");
  Words words = {scratch_.Write("a.mp4", "1 0"), bad};  // More than are under way at once.
  for (int i = 0; i < 8; ++i) words.push_back(scratch_.Write(std::to_string(i) + ".mp4", "1 0"));
  words.insert(words.end(), {"-o", npy, "--fail-fast", "--jobs", "1"});
  const ProcessResult fast = Run(words);
  EXPECT_EQ(fast.exit_code, 1);
  EXPECT_EQ(fast.out, "");
  EXPECT_THAT(fast.err, HasSubstr("the run did not end: nothing is written to " + npy));
  const ProcessResult none = Run({bad, "-o", npy});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("no vector to write"));
  EXPECT_FALSE(scratch_.Has("x.npy") || scratch_.Has("x.jsonl") || scratch_.Has("x.npy.part"));
}

TEST_F(Embed, PrintsATableForPeopleAndRowsForSpreadsheets) {
  const std::string a = scratch_.Write("a.mp4", "3 4");
  EXPECT_EQ(Run({"--text", "3 4", "--format", "table"}).out,
            "TEXT                   DIM   NORM  VALUES\n"
            "3 4                      2  1.000   0.6000  0.8000\n");
  EXPECT_THAT(Run({a, "--format", "table", "--per-window"}).out,
              AllOf(HasSubstr("INPUT"), HasSubstr("0.00-2.00         2  1.000   0.6000  0.8000\n"),
                    HasSubstr("  window 1")));
  EXPECT_EQ(Run({a, "--format", "csv"}).out,
            "input,window,start,end,model,error,v0,v1\n" + a +
                ",,0,2,models/finder@1,,0.600000024,0.800000012\n");
}

TEST_F(Embed, Exit4WhereTheModelGivesNoVectors) {
  const std::string a = scratch_.Write("a.mp4", "3 4");
  const ProcessResult result = testing::RunProcess(
      {SCANLINE_BIN_DIR "/scanline", "embed", a, "--server", server_.host_port()});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, HasSubstr("walker gives no embeddings; models of this server that give "
                                    "them: finder, finder2\n"));
}

}  // namespace
}  // namespace scanline::cli
