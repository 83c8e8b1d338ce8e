// The card of the default model, made again by `scanline eval` against scanline-server.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/client/real_server.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace scanline {
namespace {

using testing::ProcessResult;
using testing::RealServer;
using Words = std::vector<std::string>;

nlohmann::json ReadJson(const std::string& path) {
  const std::vector<uint8_t> bytes = testing::ReadBytes(path);
  return nlohmann::json::parse(bytes.begin(), bytes.end());
}

double Rounded(const nlohmann::json& share) {
  return std::round(share["share"].get<double>() * 1e4) / 1e4;
}

class EvalEndToEnd : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.ready()); }

  ProcessResult Run(const std::string& manifest, const std::string& out) const {
    return testing::RunProcess({SCANLINE_BIN_DIR "/scanline", "eval", "classify", "--manifest",
                                manifest, "--server", server_.host_port(), "-o", out});
  }

  RealServer server_;
  const testing::TempFolder folder_;
  const std::string root_ = folder_.path();
};

const char kClips[] = SCANLINE_SOURCE_DIR "/assets/models/tagger24/clips";

TEST_F(EvalEndToEnd, TheCardOfTheDefaultModelIsReproduced) {
  const auto expected =
      ReadJson(SCANLINE_SOURCE_DIR "/tests/data/tagger24/expected.json").at("summary");
  const ProcessResult all = Run(std::string(kClips) + "/truth.json", root_ + "/all");
  ASSERT_EQ(all.exit_code, 0) << all.err;
  const auto summary = nlohmann::json::parse(all.out);
  EXPECT_EQ(summary["clips"], expected["clips"]);
  EXPECT_TRUE(summary["skipped"].empty());
  EXPECT_EQ(Rounded(summary["top1"]), expected["top1_all"]);
  EXPECT_EQ(Rounded(summary["top5"]), expected["top5_all"]);
  EXPECT_EQ(summary["classes"].size(), expected["top1_by_label"].size());
  for (const auto& row : summary["classes"]) {
    const std::string share =
        std::to_string(row["top1"].get<int>()) + "/" + std::to_string(row["clips"].get<int>());
    EXPECT_EQ(share, expected["top1_by_label"][row["label"].get<std::string>()]) << row["label"];
  }

  // The drawn clips alone, from a CSV elsewhere.
  std::ofstream csv(root_ + "/procedural.csv");
  csv << "path,label\n";
  for (const auto& clip : ReadJson(std::string(kClips) + "/truth.json")) {
    if (clip["background"] != "procedural") continue;
    csv << kClips << "/" << clip["file"].get<std::string>() << ","
        << clip["label"].get<std::string>() << "\n";
  }
  csv.close();
  const ProcessResult drawn = Run(root_ + "/procedural.csv", root_ + "/drawn");
  ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  const auto drawn_summary = nlohmann::json::parse(drawn.out);
  EXPECT_EQ(drawn_summary["clips"], expected["procedural_clips"]);
  EXPECT_EQ(Rounded(drawn_summary["top1"]), expected["top1_procedural"]);
}

TEST_F(EvalEndToEnd, ARunThatWasStoppedHalfWayEndsWithTheSameSummary) {
  const std::string manifest = std::string(kClips) + "/truth.json";
  ASSERT_EQ(Run(manifest, root_ + "/whole").exit_code, 0);
  std::filesystem::create_directory(root_ + "/half");
  std::filesystem::copy(root_ + "/whole/run.json", root_ + "/half/run.json");
  std::ifstream all(root_ + "/whole/predictions.ndjson");
  std::ofstream half(root_ + "/half/predictions.ndjson");
  std::string line, kept;
  for (int i = 0; i < 28 && std::getline(all, line); ++i) kept += line + "\n";
  half << kept << "{\"input\":\"m00";
  half.close();

  const ProcessResult resumed = Run(manifest, root_ + "/half");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(testing::ReadBytes(root_ + "/half/summary.json"),
            testing::ReadBytes(root_ + "/whole/summary.json"));
  const auto bytes = testing::ReadBytes(root_ + "/half/predictions.ndjson");
  const std::string text(bytes.begin(), bytes.end());
  EXPECT_EQ(text.substr(0, kept.size()), kept);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 56);
}

}  // namespace
}  // namespace scanline
