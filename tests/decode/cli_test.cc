// The program scanline-decode as a user runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "nlohmann/json.hpp"
#include "tests/support/files.h"
#include "tests/support/pattern.h"
#include "tests/support/process.h"

namespace scanline {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string kProgram = SCANLINE_BIN_DIR "/scanline-decode";
const std::string kClips = SCANLINE_SOURCE_DIR "/tests/data/clips/";

testing::ProcessResult RunDecode(std::vector<std::string> args,
                                 const testing::ProcessOptions& options = {}) {
  args.insert(args.begin(), kProgram);
  return testing::RunProcess(args, options);
}

std::vector<json> Lines(const std::string& text) {
  std::vector<json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

class Cli : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("scanline_cli_" + std::to_string(getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ / name; }

  fs::path folder_;
};

struct Npy {
  std::vector<int> shape;
  std::vector<uint8_t> data;
};

Npy ReadNpy(const std::string& path) {
  const auto bytes = testing::ReadBytes(path);
  EXPECT_EQ(std::string(bytes.begin() + 1, bytes.begin() + 6), "NUMPY");
  const size_t header = 10 + bytes[8] + 256 * bytes[9];
  EXPECT_EQ(header % 64, 0u);
  const std::string text(bytes.begin() + 10, bytes.begin() + static_cast<long>(header));
  EXPECT_THAT(text, ::testing::HasSubstr("'descr': '|u1'"));
  Npy npy;
  std::istringstream in(text.substr(text.find("'shape': (") + 10));
  for (int n = 0; in >> n; in.ignore(1)) npy.shape.push_back(n);
  npy.data.assign(bytes.begin() + static_cast<long>(header), bytes.end());
  return npy;
}

TEST_F(Cli, TellsItsVersionAndTimesToTheMicrosecond) {
  EXPECT_THAT(RunDecode({"--version"}).out, ::testing::MatchesRegex("scanline-decode [0-9.]+\n"));
  const std::string clip = SCANLINE_SOURCE_DIR "/assets/clips/pedestrians_12s.avi";
  const auto run = RunDecode({clip, "--count", "120"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, ::testing::Not(::testing::ContainsRegex("\"pts\":[0-9]+\\.[0-9]{7}")));
}

TEST_F(Cli, WritesLinesFramesInputAndSheet) {
  const auto run = RunDecode({kClips + "mp4_h264_b3.mp4", "--count", "8", "--rule", "uniform",
                              "--out", folder_.string(), "--size", "64"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto lines = Lines(run.out);
  ASSERT_EQ(lines.size(), 8u);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(lines[i]["index"], 3 + 6 * i);
    EXPECT_NEAR(lines[i]["pts"].get<double>(), (3 + 6 * i) / 24.0, 1e-6);
    const Npy frame = ReadNpy(Path(lines[i]["file"]));
    EXPECT_THAT(frame.shape, ::testing::ElementsAre(144, 192, 3));
    EXPECT_EQ(testing::ReadPattern(frame.data.data(), 192, 144, 192 * 3).number, 3 + 6 * i);
  }
  EXPECT_THAT(ReadNpy(Path("input.npy")).shape, ::testing::ElementsAre(8, 64, 64, 3));
  const auto sheet = testing::ReadBytes(Path("sheet.png"));
  ASSERT_GT(sheet.size(), 1000u);
  EXPECT_EQ(std::string(sheet.begin() + 1, sheet.begin() + 4), "PNG");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 10) << "nothing else is left";
}

TEST_F(Cli, WritesRepeatedFramesOfAShortClip) {
  const auto run =
      RunDecode({kClips + "mp4_2frames.mp4", "--count", "5", "--out", folder_.string()});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(testing::ReadBytes(Path("frame_00.npy")), testing::ReadBytes(Path("frame_01.npy")));
  EXPECT_NE(testing::ReadBytes(Path("frame_00.npy")), testing::ReadBytes(Path("frame_04.npy")));
}

TEST_F(Cli, AppliesTheAspectRatioWhereAsked) {
  const std::string clip = kClips + "mp4_sar.mp4";
  EXPECT_EQ(Lines(RunDecode({clip, "--count", "1"}).out).at(0)["width"], 144);
  EXPECT_EQ(Lines(RunDecode({clip, "--count", "1", "--sar", "ignore"}).out).at(0)["width"], 144);
  EXPECT_EQ(Lines(RunDecode({clip, "--count", "1", "--sar", "apply"}).out).at(0)["width"], 192);
}

TEST_F(Cli, ListsEveryTemporalView) {
  const auto run = RunDecode({kClips + "mp4_h264_b3.mp4", "--rule", "k400_sparse", "--count", "8",
                              "--views", "2", "--spatial-views", "3", "--out", folder_.string()});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto lines = Lines(run.out);
  ASSERT_EQ(lines.size(), 16u);
  EXPECT_EQ(lines[15]["view"], 1);
  EXPECT_THAT(ReadNpy(Path("input.npy")).shape, ::testing::ElementsAre(48, 224, 224, 3));
}

TEST_F(Cli, ReadsStandardInput) {
  const auto bytes = testing::ReadBytes(kClips + "mp4_h264_b3.mp4");
  const auto run =
      RunDecode({"-", "--count", "2"}, {.input = std::string(bytes.begin(), bytes.end())});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(Lines(run.out).size(), 2u);
}

TEST_F(Cli, SaysWhyInOneJsonLine) {
  const auto run = RunDecode({kClips + "wav_audio.wav", "--out", folder_.string()});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out, "");
  const auto problem = Lines(run.err);
  ASSERT_EQ(problem.size(), 1u);
  EXPECT_EQ(problem[0]["reason"], "NO_VIDEO_STREAM");
  EXPECT_EQ(Lines(RunDecode({kClips + "no_such_file.mp4"}).err).at(0)["reason"], "FILE_ERROR");
  EXPECT_EQ(RunDecode({kClips + "no_such_file.mp4"}).exit_code, 1);
  EXPECT_EQ(Lines(RunDecode({kClips + "mp4_h264_b3.mp4", "--max-bytes", "99"}).err).at(0)["reason"],
            "CLIP_TOO_LARGE");
}

TEST_F(Cli, WarnsOfDamageWherePartialClipsAreAllowed) {
  EXPECT_EQ(Lines(RunDecode({kClips + "mkv_cut.mkv"}).err).at(0)["reason"], "VIDEO_TRUNCATED");
  const auto run = RunDecode({kClips + "mkv_cut.mkv", "--allow-partial"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(Lines(run.err).at(0)["warning"], "VIDEO_TRUNCATED");
}

TEST_F(Cli, UsageErrorsExitWith2) {
  const std::string clip = kClips + "mp4_h264_b3.mp4";
  for (const std::vector<std::string>& args : {std::vector<std::string>{},
                                               {clip, "--rule", "unifrom"},
                                               {clip, "--nonsense"},
                                               {clip, "--count", "0"},
                                               {clip, "--count", "many"},
                                               {clip, "--max-bytes", "-5"},
                                               {clip, "--rule", "window", "--stride", "0"}}) {
    const auto run = RunDecode(args);
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_FALSE(Lines(run.err).at(0)["message"].get<std::string>().empty());
  }
}

TEST_F(Cli, SecondsAreFiniteNumbers) {
  for (const char* flag :
       {"--seconds", "--stride", "--single-up-to", "--start", "--end", "--timeout"}) {
    for (const char* value : {"nan", "inf", "1e400", "-1"}) {
      const auto run = RunDecode({kClips + "mp4_h264_b3.mp4", flag, value});
      EXPECT_EQ(run.exit_code, 2) << flag << " " << value;
      EXPECT_EQ(Lines(run.err).at(0)["reason"], "USAGE") << flag << " " << value;
    }
  }
}

TEST_F(Cli, HelpFitsOnAScreenAndHasExamples) {
  const auto run = RunDecode({"--help"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_LE(std::count(run.out.begin(), run.out.end(), '\n'), 25);
  EXPECT_THAT(run.out, ::testing::HasSubstr("examples:"));
}

}  // namespace
}  // namespace scanline
