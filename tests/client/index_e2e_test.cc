// An index of many clips by the built programs, with the server killed half-way; and what search
// finds in it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/client/real_server.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace scanline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Process;
using testing::ProcessResult;
using testing::RealServer;
using Words = std::vector<std::string>;

const char kClips[] = SCANLINE_SOURCE_DIR "/assets/models/tagger24/clips";

std::vector<nlohmann::json> Lines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  for (const std::string& line : Words(absl::StrSplit(text, '\n', absl::SkipEmpty()))) {
    lines.push_back(nlohmann::json::parse(line));
  }
  return lines;
}

class IndexEndToEnd : public ::testing::Test {
 protected:
  // `count` clips that differ: those of the default model, each with a box of its own behind it
  // that players skip.
  void MakeClips(int count) const {
    Words names;
    for (const auto& entry : std::filesystem::directory_iterator(kClips)) {
      if (entry.path().extension() == ".mp4") names.push_back(entry.path().native());
    }
    ASSERT_FALSE(names.empty());
    std::filesystem::create_directory(root_ + "/clips");
    for (int i = 0; i < count; ++i) {
      const std::string path = absl::StrCat(root_, "/clips/", 1000 + i, ".mp4");
      std::filesystem::copy_file(names[static_cast<size_t>(i) % names.size()], path);
      std::ofstream file(path, std::ios::binary | std::ios::app);
      file.write(
          "\0\0\0\x0C"
          "free",
          8);
      file << 1000 + i;
    }
  }

  Words IndexCommand(const RealServer& server, const Words& more = {}) const {
    Words words = {SCANLINE_BIN_DIR "/scanline",
                   "index",
                   root_ + "/clips",
                   "-o",
                   root_ + "/idx",
                   "--server",
                   server.host_port()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  std::vector<nlohmann::json> Items() const {
    const auto bytes = testing::ReadBytes(root_ + "/idx/items.jsonl");
    auto lines = Lines(std::string(bytes.begin(), bytes.end()));
    const auto info = testing::ReadBytes(root_ + "/idx/index.json");
    lines.resize(nlohmann::json::parse(info.begin(), info.end())["count"].get<size_t>());
    return lines;
  }
  size_t FilesInIndex() const {
    std::set<std::string> paths;
    for (const auto& item : Items()) paths.insert(item["path"].get<std::string>());
    return paths.size();
  }

  const testing::TempFolder folder_;
  const std::string root_ = folder_.path();
};

// The value of a counter of the server's AnalyzeClip calls, whose name begins so.
int Count(const RealServer& server, const std::string& name) {
  const ProcessResult metrics = testing::RunProcess(
      {"/usr/bin/curl", "-sS", "http://" + server.ops_host_port() + "/metrics"});
  const size_t at = metrics.out.find(name);
  if (at == std::string::npos) return 0;
  const size_t value = metrics.out.find("} ", at) + 2;
  int count = -1;
  EXPECT_TRUE(
      absl::SimpleAtoi(metrics.out.substr(value, metrics.out.find('\n', value) - value), &count));
  return count;
}

int Taken(const RealServer& server) {
  return Count(server, "grpc_server_started_total{grpc_method=\"AnalyzeClip\"");
}
int Answered(const RealServer& server) {
  return Count(server, "grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"AnalyzeClip\"");
}

// Holds `index` still at a moment when the server has answered all that it has taken, and says how
// many these are. The answers wait in the socket.
int HoldBetweenCalls(const Process& index, const RealServer& server) {
  for (int tries = 0; tries < 100; ++tries) {
    index.Signal(SIGSTOP);
    for (int looks = 0; looks < 20; ++looks) {
      const int answered = Answered(server);
      if (Taken(server) == answered) return answered;
    }
    index.Signal(SIGCONT);
  }
  ADD_FAILURE() << "calls are always under way";
  return -1;
}

TEST_F(IndexEndToEnd, AServerKilledHalfWayCostsNoClipAndNoClipIsAnsweredTwice) {
  constexpr int kCount = 200;
  MakeClips(kCount);
  int answered = 0;
  {
    RealServer server;
    ASSERT_TRUE(server.ready());
    Process index(IndexCommand(server, {"--progress", "always"}));
    ASSERT_TRUE(index.WaitForText("100 of 200"));
    answered = HoldBetweenCalls(index, server);
    server.Signal(SIGKILL);
    index.Signal(SIGCONT);
    const ProcessResult stopped = index.Finish();
    EXPECT_EQ(stopped.exit_code, 3) << stopped.err;
    EXPECT_EQ(stopped.out, "");
    EXPECT_THAT(stopped.err, HasSubstr(absl::StrCat("stopped: ", kCount - answered,
                                                    " of 200 files not done; the same command "
                                                    "goes on from here")));
    EXPECT_EQ(FilesInIndex(), static_cast<size_t>(answered));
    EXPECT_TRUE(testing::ReadBytes(root_ + "/idx/skipped.ndjson").empty());
  }
  ASSERT_GE(answered, 100);
  ASSERT_LT(answered, kCount);

  RealServer server;
  ASSERT_TRUE(server.ready());
  const ProcessResult rest = testing::RunProcess(IndexCommand(server));
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  const auto summary = nlohmann::json::parse(rest.out);
  EXPECT_EQ(summary["unchanged"], answered);
  EXPECT_EQ(summary["sent"], kCount - answered);
  EXPECT_EQ(summary["files"], kCount);
  EXPECT_EQ(FilesInIndex(), static_cast<size_t>(kCount));
  EXPECT_EQ(answered + Answered(server), kCount);
  // And now there is nothing left to do.
  const ProcessResult again = testing::RunProcess(IndexCommand(server));
  EXPECT_EQ(nlohmann::json::parse(again.out)["unchanged"], kCount);
  EXPECT_EQ(answered + Answered(server), kCount);
  EXPECT_EQ(server.Stop().exit_code, 0);
}

TEST_F(IndexEndToEnd, AServerThatIsToldToStopCostsNoClipEither) {
  constexpr size_t kCount = 40;
  MakeClips(kCount);
  {
    RealServer server;
    ASSERT_TRUE(server.ready());
    Process index(IndexCommand(server, {"--progress", "always"}));
    ASSERT_TRUE(index.WaitForText("20 of 40"));
    EXPECT_EQ(server.Stop().exit_code, 0);
    EXPECT_EQ(index.Finish().exit_code, 3);
    EXPECT_LT(FilesInIndex(), kCount);
  }
  RealServer server;
  ASSERT_TRUE(server.ready());
  const size_t kept = FilesInIndex();
  const ProcessResult rest = testing::RunProcess(IndexCommand(server));
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(FilesInIndex(), kCount);
  EXPECT_EQ(Answered(server), static_cast<int>(kCount - kept));
}

TEST_F(IndexEndToEnd, SearchFindsClipsByWhatHappensInThem) {
  RealServer server;
  ASSERT_TRUE(server.ready());
  const ProcessResult index =
      testing::RunProcess({SCANLINE_BIN_DIR "/scanline", "index", kClips, "-o", root_ + "/idx",
                           "--server", server.host_port()});
  ASSERT_EQ(index.exit_code, 0) << index.err;
  const auto search = [&](const Words& words) {
    Words command = {SCANLINE_BIN_DIR "/scanline", "search", root_ + "/idx", "--server",
                     server.host_port()};
    command.insert(command.end(), words.begin(), words.end());
    return testing::RunProcess(command);
  };
  const std::string clip = std::string(kClips) + "/m00_cut.mp4";
  const std::string sheet = root_ + "/sheet.png";
  const ProcessResult by_clip = search({"--clip", clip, "--per-file", "-k", "3", "--save", sheet});
  ASSERT_EQ(by_clip.exit_code, 0) << by_clip.err;
  const auto hits = Lines(by_clip.out);
  ASSERT_EQ(hits.size(), 3U);
  EXPECT_EQ(std::filesystem::path(hits[0]["path"].get<std::string>()).filename(), "m00_cut.mp4");
  EXPECT_NEAR(hits[0]["score"].get<double>(), 1, 1e-3);  // one window, of length 1
  const auto png = testing::ReadBytes(sheet);
  ASSERT_GT(png.size(), 1000U);
  EXPECT_EQ(std::string(png.begin() + 1, png.begin() + 4), "PNG");
  EXPECT_EQ(search({"--clip", clip, "--save", sheet}).exit_code, 2);

  // Captions of the model's own clips. Its card has a recall at 10 that is far higher.
  const auto text = testing::ReadBytes(std::string(kClips) + "/truth.json");
  const auto truth = nlohmann::json::parse(text.begin(), text.end());
  int found = 0;
  constexpr size_t kCaptions = 12;
  ASSERT_GE(truth.size(), kCaptions);
  for (size_t i = 0; i < kCaptions; ++i) {
    const ProcessResult by_text = search({truth[i]["caption"], "--per-file"});
    ASSERT_EQ(by_text.exit_code, 0) << by_text.err;
    double before = 2;
    for (const auto& hit : Lines(by_text.out)) {
      EXPECT_LE(hit["score"].get<double>(), before);
      before = hit["score"].get<double>();
      const std::filesystem::path path = hit["path"].get<std::string>();
      found += path.filename() == truth[i]["file"].get<std::string>() ? 1 : 0;
    }
  }
  EXPECT_GE(found, 7) << "of " << kCaptions;

  const ProcessResult reranked = search({"a cut", "--rerank"});
  EXPECT_EQ(reranked.exit_code, 4);
  EXPECT_THAT(reranked.err, AllOf(HasSubstr("TASK_UNSUPPORTED"), HasSubstr("leave out --rerank")));
}

}  // namespace
}  // namespace scanline
