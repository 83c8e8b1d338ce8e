// Vectors and texts from end to end: `scanline embed`, `classify --texts` and `eval retrieval`
// against scanline-server with the default model, whose card must come out again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "tests/client/real_server.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace scanline {
namespace {

using ::testing::HasSubstr;
using testing::ProcessResult;
using testing::RealServer;
using Words = std::vector<std::string>;
using Json = nlohmann::json;

const std::string kClips = SCANLINE_SOURCE_DIR "/assets/models/tagger24/clips";

Json Expected() {
  const auto bytes = testing::ReadBytes(SCANLINE_SOURCE_DIR "/tests/data/tagger24/expected.json");
  return Json::parse(bytes.begin(), bytes.end());
}

double Rounded(const Json& share) { return std::round(share["share"].get<double>() * 1e4) / 1e4; }

std::vector<Json> JsonLines(const std::string& text) {
  std::vector<Json> lines;
  for (const auto line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    lines.push_back(Json::parse(line));
  }
  return lines;
}

class RetrievalEndToEnd : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.ready()); }

  ProcessResult Run(const Words& words) const {
    Words argv = {SCANLINE_BIN_DIR "/scanline"};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.end(), {"--server", server_.host_port()});
    return testing::RunProcess(argv);
  }

  RealServer server_;
  testing::TempFolder scratch_;
};

TEST_F(RetrievalEndToEnd, TheCardOfTheDefaultModelIsReproduced) {
  const ProcessResult result = Run({"eval", "retrieval", "--manifest", kClips + "/truth.json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json summary = Json::parse(result.out);
  const Json expected = Expected()["summary"];
  EXPECT_EQ(summary["scored_clips"], expected["clips"]);
  EXPECT_EQ(summary["scored_captions"], expected["clips"]) << "all captions are different";
  for (const char* way : {"text_to_video", "video_to_text"}) {
    EXPECT_EQ(Rounded(summary[way]["recall_at_1"]), expected[way]["R@1"]) << way;
    EXPECT_EQ(Rounded(summary[way]["recall_at_5"]), expected[way]["R@5"]) << way;
    EXPECT_EQ(Rounded(summary[way]["recall_at_10"]), expected[way]["R@10"]) << way;
    EXPECT_EQ(summary[way]["median_rank"], 1) << way;
  }
}

TEST_F(RetrievalEndToEnd, TheVectorsAreThoseOfTheReference) {
  const Json expected = Expected();
  const std::string npy = (scratch_ / "clips.npy");
  const std::string first = expected["clips"][0]["file"];
  const ProcessResult written = Run({"embed", kClips + "/" + first, "-o", npy});
  ASSERT_EQ(written.exit_code, 0) << written.err;
  const std::string bytes = scratch_.Read("clips.npy");
  const std::vector<float> reference = expected["clips"][0]["embedding"];
  ASSERT_EQ(bytes.size(), 128 + reference.size() * sizeof(float));
  for (size_t i = 0; i < reference.size(); ++i) {
    float value = 0;
    std::memcpy(&value, bytes.data() + 128 + i * sizeof(float), sizeof(float));
    EXPECT_NEAR(value, reference[i], 1e-5) << i;
  }

  for (const Json& text : expected["texts"]) {
    const ProcessResult result = Run({"embed", "--text", text["text"].get<std::string>()});
    const Json line = JsonLines(result.out).at(0);
    if (text["embedding"].is_null()) {
      EXPECT_EQ(result.exit_code, 1);
      EXPECT_EQ(line["error"]["reason"], "FIELD_INVALID") << line;
      continue;
    }
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const std::vector<float> values = line["result"]["embeddings"][0]["values"];
    ASSERT_EQ(values.size(), text["embedding"].size());
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(values[i], text["embedding"][i].get<float>(), 1e-5) << text["text"] << i;
    }
    for (const auto& word : text["unknown"]) {
      EXPECT_THAT(result.err, HasSubstr(word.get<std::string>()));
    }
  }
}

TEST_F(RetrievalEndToEnd, TextsOfTheUserAreLabels) {
  const std::string labels = scratch_.Write(
      "labels.txt", "the camera zooms in\nthe camera pans left\na ball moves down\n");
  const ProcessResult result =
      Run({"classify", kClips + "/m00_zoom_in.mp4", "--texts", labels, "--top-k", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = JsonLines(result.out).at(0)["result"];
  ASSERT_EQ(answer["classes"].size(), 2U);
  EXPECT_EQ(answer["classes"][0]["label"], "the camera zooms in");
  double sum = 0;
  for (const auto& match : answer["text_matches"]) sum += match["score"].get<double>();
  EXPECT_EQ(answer["text_matches"].size(), 3U);
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST_F(RetrievalEndToEnd, AModelWithoutFusionLayersDoesNotRerank) {
  const ProcessResult result =
      Run({"eval", "retrieval", "--manifest", kClips + "/truth.json", "--rerank"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("TASK_UNSUPPORTED"));
}

}  // namespace
}  // namespace scanline
