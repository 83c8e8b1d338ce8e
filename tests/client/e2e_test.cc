// The built programs together: scanline against scanline-server with the default model.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "tests/client/real_server.h"
#include "tests/support/process.h"

namespace scanline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using testing::ProcessResult;
using testing::RealServer;
using Words = std::vector<std::string>;

std::string ModelClips() {
  const char* other = std::getenv("SCANLINE_MODEL_CLIPS_DIR");
  return other != nullptr ? other : SCANLINE_SOURCE_DIR "/assets/models/tagger24/clips";
}

std::string OneClip() {
  return SCANLINE_SOURCE_DIR "/assets/models/tagger24/clips/m00_zoom_in.mp4";
}

class EndToEnd : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new RealServer; }
  static void TearDownTestSuite() {
    EXPECT_EQ(server_->Stop().exit_code, 0);
    delete server_;
  }
  void SetUp() override { ASSERT_TRUE(server_->ready()); }

  static ProcessResult Run(const Words& words, const testing::ProcessOptions& options = {}) {
    Words argv = {SCANLINE_BIN_DIR "/scanline"};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.end(), {"--server", server_->host_port()});
    return testing::RunProcess(argv, options);
  }

  static RealServer* server_;
};
RealServer* EndToEnd::server_ = nullptr;

std::vector<nlohmann::json> Lines(const std::string& ndjson) {
  std::vector<nlohmann::json> lines;
  for (const std::string& line : Words(absl::StrSplit(ndjson, '\n', absl::SkipEmpty()))) {
    lines.push_back(nlohmann::json::parse(line));
  }
  return lines;
}

nlohmann::json ReadJson(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
}

// The answer's likeliest label of each clip in the folder, by the clip's file name.
std::map<std::string, nlohmann::json> TopLabels(const std::string& ndjson) {
  std::map<std::string, nlohmann::json> top;
  for (const auto& line : Lines(ndjson)) {
    const std::string file = std::filesystem::path(line["input"].get<std::string>()).filename();
    top[file] = line["result"]["classes"][0];
  }
  return top;
}

// 0.8: the card has 0.93 on its own 56 clips, and other sets of the form are as hard.
TEST_F(EndToEnd, LabelsAFolderOfClipsAsItsTruthSays) {
  const ProcessResult result = Run({"classify", ModelClips(), "--top-k", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  auto top = TopLabels(result.out);
  int right = 0;
  const auto truth = ReadJson(ModelClips() + "/truth.json");
  for (const auto& clip : truth) right += top[clip["file"]]["label"] == clip["label"] ? 1 : 0;
  ASSERT_GT(truth.size(), 0U);
  EXPECT_EQ(top.size(), truth.size());
  EXPECT_GE(right, 0.8 * static_cast<double>(truth.size())) << right << " of " << truth.size();
}

// Scores of the reference implementation. 0.02: its decoder converts colours by another library.
TEST_F(EndToEnd, AnswersWhatTheReferenceImplementationAnswers) {
  const auto expected = ReadJson(SCANLINE_SOURCE_DIR "/tests/data/tagger24/expected.json");
  auto top = TopLabels(
      Run({"classify", SCANLINE_SOURCE_DIR "/assets/models/tagger24/clips", "--top-k", "1"}).out);
  ASSERT_GT(expected["clips"].size(), 0U);
  for (const auto& clip : expected["clips"]) {
    const auto& answer = top[clip["file"]];
    ASSERT_FALSE(answer.is_null()) << clip["file"];
    EXPECT_EQ(answer["label"], clip["top5"][0][0]) << clip["file"];
    EXPECT_NEAR(answer["score"].get<double>(), clip["top5"][0][1].get<double>(), 0.02)
        << clip["file"];
  }
}

TEST_F(EndToEnd, ReportsSamplingTimingAndUsage) {
  const auto lines = Lines(Run({"classify", OneClip()}).out);
  ASSERT_EQ(lines.size(), 1U);
  const auto& answer = lines[0]["result"];
  EXPECT_EQ(answer["sampling"]["frame_indices"].size(), 16U);
  EXPECT_EQ(answer["sampling"]["frame_offsets"].size(), 16U);
  EXPECT_GT(answer["usage"]["tokens"], 0);
  for (const char* stage : {"decode", "batch_queue", "inference", "total"}) {
    EXPECT_THAT(answer["timing"][stage].get<std::string>(), MatchesRegex("[0-9.]+s")) << stage;
  }
}

TEST_F(EndToEnd, AnswersTheSameFromAFileAndFromStandardInput) {
  std::ifstream file(OneClip(), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  ASSERT_FALSE(bytes.empty());
  const auto from_file = Lines(Run({"classify", OneClip()}).out);
  const auto from_input = Lines(Run({"classify", "-"}, {.input = bytes}).out);
  ASSERT_EQ(from_file.size(), 1U);
  ASSERT_EQ(from_input.size(), 1U);
  EXPECT_EQ(from_file[0]["result"]["classes"], from_input[0]["result"]["classes"]);
  EXPECT_EQ(from_input[0]["input"], "-");
}

TEST_F(EndToEnd, LabelsEachWindow) {
  const auto lines =
      Lines(Run({"classify", OneClip(), "--window", "1", "--window-stride", "0.5"}).out);
  ASSERT_EQ(lines.size(), 1U);
  const auto& windows = lines[0]["result"]["windows"];
  ASSERT_GE(windows.size(), 2U);
  EXPECT_EQ(windows[1]["start_offset"], "0.500s");
  EXPECT_EQ(windows[1]["end_offset"], "1.500s");
}

TEST_F(EndToEnd, GivesTypedErrorsForWhatItCannotLabel) {
  const std::string no_video = SCANLINE_SOURCE_DIR "/CMakeLists.txt";
  const ProcessResult result = Run({"classify", no_video, OneClip()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("not a video (VIDEO_UNREADABLE)"),
                                HasSubstr("scanline: 1 of 2 inputs failed\n")));
  const auto lines = Lines(result.out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["error"]["reason"], "VIDEO_UNREADABLE");
  EXPECT_EQ(lines[1]["result"]["classes"][0]["label"], "zoom_in");

  const ProcessResult beyond = Run({"classify", OneClip(), "--start", "1000"});
  EXPECT_EQ(beyond.exit_code, 1);
  EXPECT_EQ(Lines(beyond.out).at(0)["error"]["reason"], "SEGMENT_OUT_OF_RANGE");
}

// OneClip with a box of zeros behind it that says "skip me"; its file takes no room on the disk.
std::string PaddedClip(const std::string& name, uint32_t bytes) {
  std::string path = ::testing::TempDir() + "/" + name;
  std::filesystem::copy_file(OneClip(), path, std::filesystem::copy_options::overwrite_existing);
  const auto size = static_cast<uint32_t>(bytes - std::filesystem::file_size(path));
  std::ofstream file(path, std::ios::binary | std::ios::app);
  for (int shift = 24; shift >= 0; shift -= 8) file.put(static_cast<char>(size >> shift));
  file << "free";
  file.close();
  std::filesystem::resize_file(path, bytes);
  return path;
}

TEST_F(EndToEnd, SendsAClipOverTheInlineLimitInPiecesFromAFileAndFromStandardInput) {
  constexpr uint32_t kBytes = 300 << 20;  // the server's inline limit is 16 MiB
  const std::string path = PaddedClip("large-clip.mp4", kBytes);
  const auto small = Lines(Run({"classify", OneClip()}).out).at(0);
  const ProcessResult from_file = Run({"classify", path});
  ASSERT_EQ(from_file.exit_code, 0) << from_file.err;
  EXPECT_EQ(Lines(from_file.out).at(0)["result"]["classes"], small["result"]["classes"]);

  const std::string command =
      SCANLINE_BIN_DIR "/scanline classify - --server " + server_->host_port() + " < " + path;
  for (const std::string& pipe :
       {command, "cat " + path + " | " + command.substr(0, command.find('<'))}) {
    const ProcessResult piped = testing::RunProcess({"/bin/sh", "-c", pipe});
    ASSERT_EQ(piped.exit_code, 0) << piped.err;
    EXPECT_EQ(Lines(piped.out).at(0)["result"]["classes"], small["result"]["classes"]);
  }
  rusage children{};
  getrusage(RUSAGE_CHILDREN, &children);
  EXPECT_LT(children.ru_maxrss, 200 << 10) << "KiB: the command holds the clip in memory";

  const ProcessResult seen = testing::RunInTerminal(
      {SCANLINE_BIN_DIR "/scanline", "classify", path, "--server", server_->host_port()}, 120);
  EXPECT_EQ(seen.exit_code, 0) << seen.out;
  EXPECT_THAT(seen.out, AllOf(HasSubstr("of 314 MB  ["), HasSubstr("zoom_in")));
  std::filesystem::remove(path);
}

// The pipe stays open and gives nothing more: only the signal can end the command.
TEST_F(EndToEnd, AnInterruptEndsAnUpload) {
  const std::string pipe = ::testing::TempDir() + "/upload-pipe";
  unlink(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  testing::Process upload(
      {SCANLINE_BIN_DIR "/scanline", "classify", pipe, "--server", server_->host_port()});
  std::ofstream writer(pipe, std::ios::binary);  // waits for the reader
  std::ifstream clip(OneClip(), std::ios::binary);
  writer << clip.rdbuf();
  const std::string padding(1 << 20, '\0');
  for (int i = 0; i < 24; ++i) writer << padding;
  writer.flush();
  upload.Signal(SIGINT);
  const ProcessResult result = upload.Finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("interrupted: 1 of 1 inputs not done"));
  unlink(pipe.c_str());
}

TEST_F(EndToEnd, RefusesAClipOverTheUploadLimitBeforeReadingIt) {
  const std::string path = ::testing::TempDir() + "/sparse-clip.mp4";
  std::ofstream(path).close();
  std::filesystem::resize_file(path, (uint64_t{2} << 30) + 1);  // The server's default is 2 GiB.
  const ProcessResult result = Run({"classify", path});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(Lines(result.out).at(0)["error"]["reason"], "CLIP_TOO_LARGE");
  std::filesystem::remove(path);
}

TEST_F(EndToEnd, NamesTheModelsThatThereAre) {
  const ProcessResult unknown = Run({"classify", OneClip(), "--model", "m61"});
  EXPECT_EQ(unknown.exit_code, 4);
  EXPECT_EQ(unknown.err, "scanline: no model \"m61\"; the server has: tagger24\n");
  const auto models = Lines(Run({"models"}).out);
  ASSERT_EQ(models.size(), 1U);
  EXPECT_EQ(models[0]["name"], "models/tagger24");
  EXPECT_EQ(models[0]["labels"].size(), 24U);
  EXPECT_EQ(Run({"health"}).exit_code, 0);
}

TEST_F(EndToEnd, PrintsATableInWhichEveryClipHasItsRow) {
  const ProcessResult result = Run({"classify", OneClip(), "--format", "table", "--top-k", "3"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  const Words lines = absl::StrSplit(result.out, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 4U) << result.out;
  EXPECT_THAT(lines[0],
              MatchesRegex("CLIP +LABEL +SCORE +SAMPLED +DECODE +QUEUE +INFERENCE +TOTAL"));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("  zoom_in  "), HasSubstr(" s (16) "), HasSubstr(" ms")));
}

}  // namespace
}  // namespace scanline
