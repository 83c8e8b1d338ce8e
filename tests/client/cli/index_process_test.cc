// The real `scanline index`, `search` and `export` against the service double: what is sent, exit
// codes, streams and formats. A clip is words for the double; its vector is (bytes, 1), that of a
// text (bytes, 0).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/digest.h"
#include "client/index/index_reader.h"
#include "client/index/index_writer.h"
#include "client/index/npy.h"
#include "client/utf8.h"
#include "tests/client/service_double.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace scanline::cli {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Process;
using testing::ProcessResult;
using testing::ServiceDouble;
using ::testing::UnorderedElementsAre;
using Words = std::vector<std::string>;

class IndexProcess : public ::testing::Test {
 protected:
  IndexProcess() {
    std::filesystem::create_directory(root_ + "/clips");
    StartServer();
  }

  void StartServer(char weights = 'a') {
    server_ = std::make_unique<ServiceDouble>();
    server_->SetEmbeds();
    server_->SetWeights(std::string(64, weights));
  }

  std::string Write(const std::string& name, const std::string& bytes) const {
    return folder_.Write("clips/" + name, bytes);
  }

  Words Command(const Words& words) const {
    Words argv = {SCANLINE_BIN_DIR "/scanline"};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.end(), {"--server", server_->host_port()});
    return argv;
  }
  ProcessResult Run(const Words& words) const { return testing::RunProcess(Command(words)); }
  static ProcessResult RunPlain(const Words& words) {
    Words argv = {SCANLINE_BIN_DIR "/scanline"};
    argv.insert(argv.end(), words.begin(), words.end());
    return testing::RunProcess(argv);
  }

  std::string Folder() const { return root_ + "/idx"; }
  ProcessResult Index(const Words& more = {}) const {
    Words words = {"index", root_ + "/clips", "-o", Folder()};
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  }
  // The summary of a run that ended with `exit_code`.
  nlohmann::json Summary(const Words& more = {}, int exit_code = 0) const {
    const ProcessResult result = Index(more);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    return nlohmann::json::parse(result.out, nullptr, false);
  }

  // File name and start of each row, "a.mp4 0.5".
  Words Rows() const {
    Words rows;
    const auto reader = IndexReader::Open(Folder());
    EXPECT_TRUE(reader.ok()) << reader.status();
    for (int64_t row = 0; reader.ok() && row < (*reader)->info().count; ++row) {
      const auto item = (*reader)->ItemAt(row);
      rows.push_back(absl::StrCat(std::filesystem::path(item->file.path).filename().native(), " ",
                                  item->start_seconds));
    }
    return rows;
  }

  static std::vector<nlohmann::json> Lines(const std::string& text) {
    std::vector<nlohmann::json> lines;
    for (const std::string& line : Words(absl::StrSplit(text, '\n', absl::SkipEmpty()))) {
      lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  }
  std::vector<nlohmann::json> Skipped() const {
    const auto bytes = testing::ReadBytes(Folder() + "/skipped.ndjson");
    return Lines(std::string(bytes.begin(), bytes.end()));
  }

  std::unique_ptr<ServiceDouble> server_;
  const testing::TempFolder folder_;
  const std::string root_ = folder_.path();
};

TEST_F(IndexProcess, ARowForEachWindowAndOnlyNewFilesAreSent) {
  Write("a.mp4", "walk a");
  Write("b.mp4", "windows of b");
  auto summary = Summary({"--window", "1", "--stride", "0.5"});
  EXPECT_EQ(summary["moments"], 3);
  EXPECT_EQ(summary["sent"], 2);
  EXPECT_THAT(Rows(), ElementsAre("a.mp4 0", "b.mp4 0", "b.mp4 0.5"));
  const v1::AnalysisSpec spec = server_->last_spec();
  EXPECT_THAT(spec.tasks(), ElementsAre(v1::TASK_EMBED));
  EXPECT_TRUE(spec.embed().per_window());
  EXPECT_EQ(spec.sampling().window().seconds(), 1);
  EXPECT_EQ(spec.sampling().window_stride().nanos(), 500'000'000);

  Write("c.mp4", "walk ccc");
  summary = Summary();
  EXPECT_EQ(summary["unchanged"], 2);
  EXPECT_EQ(summary["sent"], 1);
  EXPECT_EQ(server_->attempts(), 3);
  // The windows are the index's own when none are asked for.
  EXPECT_EQ(server_->last_spec().sampling().window_stride().nanos(), 500'000'000);
}

TEST_F(IndexProcess, ChangedMovedGoneAndDoubledFiles) {
  Write("a.mp4", "walk a");
  Write("b.mp4", "walk bb");
  Write("c.mp4", "walk ccc");
  Summary();
  Write("a.mp4", "walk, and more");
  std::filesystem::rename(root_ + "/clips/b.mp4", root_ + "/clips/z.mp4");
  std::filesystem::remove(root_ + "/clips/c.mp4");
  Write("copy.mp4", "walk bb");
  auto summary = Summary();
  EXPECT_EQ(summary["changed"], 1);
  EXPECT_EQ(summary["sent"], 1);
  EXPECT_EQ(summary["moved"], 1);
  EXPECT_EQ(summary["missing"], 1);
  EXPECT_EQ(summary["duplicates"], 1);
  EXPECT_EQ(server_->attempts(), 4);
  EXPECT_THAT(Rows(), ElementsAre("copy.mp4 0", "c.mp4 0", "a.mp4 0"));
  ASSERT_EQ(Skipped().size(), 1U);
  EXPECT_THAT(Skipped()[0]["same_as"]["path"].get<std::string>(), HasSubstr("copy.mp4"));

  summary = Summary({"--prune"});
  EXPECT_EQ(summary["pruned"], 1);
  EXPECT_EQ(summary["unchanged"], 2);
  EXPECT_THAT(Rows(), ElementsAre("copy.mp4 0", "a.mp4 0"));
  EXPECT_EQ(server_->attempts(), 4);
}

TEST_F(IndexProcess, Exit1ListsWhatFailedAndDoesNotSendItAgainUntilItChangesOrIsAsked) {
  Write("a.mp4", "walk a");
  const std::string bad = Write("bad.mp4", "bad");
  const ProcessResult first = Index();
  EXPECT_EQ(first.exit_code, 1);
  EXPECT_THAT(first.err, AllOf(HasSubstr("bad.mp4: not a video (VIDEO_UNREADABLE)"),
                               HasSubstr("1 file skipped; ")));
  ASSERT_EQ(Skipped().size(), 1U);
  EXPECT_EQ(Skipped()[0]["path"], bad);
  EXPECT_EQ(Skipped()[0]["error"]["reason"], "VIDEO_UNREADABLE");
  EXPECT_THAT(Rows(), ElementsAre("a.mp4 0"));

  EXPECT_EQ(Summary({}, 1)["skipped"], 1);
  EXPECT_EQ(server_->attempts(), 2);
  Summary({"--retry"}, 1);
  EXPECT_EQ(server_->attempts(), 3);
  Write("bad.mp4", "walk now");
  EXPECT_EQ(Summary()["skipped"], 0);
  EXPECT_EQ(server_->attempts(), 4);
  EXPECT_THAT(Skipped(), IsEmpty());
}

TEST_F(IndexProcess, Exit1ForAMissingFileWhichIsTriedAgain) {
  Write("a.mp4", "walk a");
  std::filesystem::create_symlink("/nowhere.mp4", root_ + "/clips/link.mp4");
  EXPECT_EQ(Summary({}, 1)["skipped"], 1);
  EXPECT_EQ(Skipped()[0]["error"]["reason"], "FILE_NOT_FOUND");
  std::filesystem::remove(root_ + "/clips/link.mp4");
  Write("link.mp4", "walk link");
  EXPECT_EQ(Summary()["sent"], 1);
}

// Whichever way it is sent and replaced: no row has the vector of other bytes than its SHA-256.
TEST_F(IndexProcess, AFileThatIsReplacedWhileItIsSentIsLeftForTheNextRun) {
  for (const bool renamed : {false, true}) {
    for (const size_t bytes : {size_t{10}, size_t{5} << 20}) {  // in one message, in an upload
      SCOPED_TRACE(absl::StrCat(renamed ? "renamed " : "in place ", bytes));
      std::filesystem::remove_all(Folder());
      StartServer();
      Write("a.mp4", "walk " + std::string(bytes, 'a'));
      const std::string other = "walk " + std::string(bytes, 'b');
      server_->OnClip([&, done = false]() mutable {
        if (std::exchange(done, true)) return;
        if (!renamed) Write("a.mp4", other);
        if (renamed) std::filesystem::rename(Write("part", other), root_ + "/clips/a.mp4");
      });
      const ProcessResult result = Index();
      EXPECT_EQ(result.exit_code, 1);
      EXPECT_THAT(result.err, HasSubstr("a.mp4: changed while it was read (FILE_CHANGED)"));
      EXPECT_THAT(Rows(), IsEmpty());
      ASSERT_EQ(Skipped().size(), 1U);
      EXPECT_EQ(Skipped()[0]["error"]["reason"], "FILE_CHANGED");

      EXPECT_EQ(Summary()["sent"], 1);
      const auto reader = IndexReader::Open(Folder());
      ASSERT_TRUE(reader.ok() && (*reader)->info().count == 1);
      Digest digest;
      digest.Add(other);
      EXPECT_EQ((*reader)->ItemAt(0)->sha256, absl::BytesToHexString(digest.Finish()));
      EXPECT_THAT(Skipped(), IsEmpty());
    }
  }
}

TEST_F(IndexProcess, AnEmptiedFolderIsPrunedOnlyWhenAsked) {
  std::filesystem::create_directory(root_ + "/clips/deep");
  const std::string clip = Write("a.mp4", "walk a");
  Summary();
  std::filesystem::remove(clip);
  const ProcessResult kept = Index();
  EXPECT_EQ(kept.exit_code, 2);
  EXPECT_THAT(kept.err, AllOf(HasSubstr("no video in the folder " + root_ + "/clips"),
                              HasSubstr("--prune drops what " + Folder())));
  EXPECT_THAT(Rows(), ElementsAre("a.mp4 0"));
  EXPECT_EQ(Summary({"--prune"})["pruned"], 1);
  EXPECT_THAT(Rows(), IsEmpty());
  // Where there is no index yet an empty folder is a mistake.
  EXPECT_EQ(Run({"index", root_ + "/clips", "-o", root_ + "/new", "--prune"}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(root_ + "/new"));
}

// To root every folder can be read: then its video is indexed (inputs_test gives up being root).
TEST_F(IndexProcess, AFolderThatMayNotBeReadCountsAsSkipped) {
  Write("a.mp4", "walk a");
  const std::string locked = root_ + "/clips/locked";
  std::filesystem::create_directory(locked);
  Write("locked/b.mp4", "walk bb");
  std::filesystem::permissions(locked, std::filesystem::perms::none);
  const bool readable = access(locked.c_str(), R_OK | X_OK) == 0;
  const auto summary = Summary({}, readable ? 0 : 1);
  EXPECT_EQ(summary["skipped"], readable ? 0 : 1);
  EXPECT_EQ(summary["sent"], readable ? 2 : 1);
  ASSERT_EQ(Skipped().size(), readable ? 0U : 1U);
  if (!readable) {
    EXPECT_EQ(Skipped()[0]["path"], locked);
    EXPECT_EQ(Skipped()[0]["error"]["reason"], "FILE_UNREADABLE");
  }
  std::filesystem::permissions(locked, std::filesystem::perms::owner_all);
  EXPECT_EQ(Summary()["moments"], 2);
  EXPECT_THAT(Skipped(), IsEmpty());
}

TEST_F(IndexProcess, WindowsThatTheServerRefusesDoNotStayWithTheIndex) {
  server_->RefuseWindows();
  Write("a.mp4", "walk a");
  const ProcessResult refused = Index({"--window", "9"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("(FIELD_INVALID)"), HasSubstr("1 of 1 files not done"),
                                 Not(HasSubstr("the same command"))));
  EXPECT_FALSE(std::filesystem::exists(Folder()));
  EXPECT_EQ(Summary()["sent"], 1);
  // Nor with one that is rebuilt, beside files of others.
  std::ofstream(Folder() + "/notes.txt") << "mine";
  EXPECT_EQ(Index({"--window", "9", "--rebuild"}).exit_code, 2);
  EXPECT_TRUE(std::filesystem::exists(Folder() + "/notes.txt"));
  EXPECT_EQ(Summary()["sent"], 1);
}

TEST_F(IndexProcess, Exit2ForOtherWeightsUntilItIsRebuilt) {
  Write("a.mp4", "walk a");
  Summary();
  StartServer('b');
  const ProcessResult refused = Index();
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("made with models/walker@1 (weights aaaaaaaaaaaa)"),
                                 HasSubstr("the server has models/walker@1 (weights bbbbbbbbbbbb)"),
                                 HasSubstr("--rebuild")));
  const ProcessResult search = Run({"search", Folder(), "x"});
  EXPECT_EQ(search.exit_code, 2);
  EXPECT_THAT(search.err,
              AllOf(HasSubstr("aaaaaaaaaaaa"), HasSubstr("bbbbbbbbbbbb"), HasSubstr("--rebuild")));
  EXPECT_EQ(search.out, "");
  EXPECT_EQ(server_->attempts(), 0);
  EXPECT_EQ(Summary({"--rebuild"})["sent"], 1);
  EXPECT_EQ(Run({"search", Folder(), "x"}).exit_code, 0);
}

TEST_F(IndexProcess, Exit2ForOtherWindowsAndFoldersThatAreNone) {
  Write("a.mp4", "walk a");
  Summary({"--window", "2", "--stride", "1"});
  const ProcessResult windows = Index({"--stride", "0.5"});
  EXPECT_EQ(windows.exit_code, 2);
  EXPECT_THAT(windows.err, HasSubstr("made with windows of 2 s, stride 1 s"));
  EXPECT_EQ(Run({"index", root_ + "/none", "-o", Folder()}).exit_code, 1);
  EXPECT_EQ(Run({"index", Folder(), "-o", root_ + "/other"}).exit_code, 2);  // no video in it
  EXPECT_EQ(Run({"search", root_ + "/none", "x"}).exit_code, 2);
  EXPECT_EQ(RunPlain({"export", root_ + "/clips"}).exit_code, 2);
}

TEST_F(IndexProcess, Exit3WhenTheServerGoesAwayKeepsWhatIsDoneAndGoesOn) {
  Write("a.mp4", "walk a");
  Write("b.mp4", "draining");
  Write("c.mp4", "walk ccc");
  const ProcessResult stopped = Index({"--jobs", "1"});
  EXPECT_EQ(stopped.exit_code, 3);
  EXPECT_EQ(stopped.out, "");
  EXPECT_THAT(stopped.err, AllOf(HasSubstr("b.mp4: server is stopping (DRAINING)"),
                                 HasSubstr(" of 3 files not done; the same command goes on")));
  EXPECT_THAT(Skipped(), IsEmpty());
  // c.mp4 may have been under way.
  const Words kept = Rows();
  EXPECT_THAT(kept, AnyOf(ElementsAre("a.mp4 0"), ElementsAre("a.mp4 0", "c.mp4 0")));
  const int sent = server_->attempts();
  Write("b.mp4", "walk bb");
  EXPECT_EQ(Summary()["unchanged"], kept.size());
  EXPECT_EQ(server_->attempts(), sent + 3 - static_cast<int>(kept.size()));
  EXPECT_THAT(Rows(), UnorderedElementsAre("a.mp4 0", "b.mp4 0", "c.mp4 0"));
}

TEST_F(IndexProcess, Exit4WhereTheModelMakesNoVectors) {
  Write("a.mp4", "walk a");
  server_ = std::make_unique<ServiceDouble>();
  const ProcessResult result = Index();
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, HasSubstr("walker makes no vectors"));
  EXPECT_FALSE(std::filesystem::exists(Folder()));
}

TEST_F(IndexProcess, AnInterruptKeepsWhatIsDone) {
  Write("a.mp4", "walk a");
  Write("b.mp4", "stuck");
  Process index(Command({"index", root_ + "/clips", "-o", Folder(), "--progress", "always"}));
  ASSERT_TRUE(index.WaitForText("1 of 2"));
  index.Signal(SIGINT);
  const ProcessResult result = index.Finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("interrupted: 1 of 2 files not done"));
  EXPECT_THAT(Rows(), ElementsAre("a.mp4 0"));
}

// Rows are committed before the next file is counted, so a kill costs only what is under way.
TEST_F(IndexProcess, AKilledCommandLosesNothingThatItHasCounted) {
  for (int i = 0; i < 5; ++i) Write(absl::StrCat(i, ".mp4"), absl::StrCat("walk ", i));
  Write("9.mp4", "stuck");
  Process index(Command({"index", root_ + "/clips", "-o", Folder(), "--progress", "always"}));
  ASSERT_TRUE(index.WaitForText("5 of 6"));
  const ProcessResult busy = Index();
  EXPECT_EQ(busy.exit_code, 2);
  EXPECT_THAT(busy.err, HasSubstr("another scanline index is at work"));
  index.Signal(SIGKILL);
  EXPECT_EQ(index.Finish().exit_code, 128 + SIGKILL);
  // CommitIfCheap may put the last of them off, never the first.
  EXPECT_GE(Rows().size(), 1U);
  const size_t kept = Rows().size();
  const int sent = server_->attempts();
  Write("9.mp4", "walk 9");
  EXPECT_EQ(Summary()["unchanged"], kept);
  EXPECT_EQ(server_->attempts(), sent + 6 - static_cast<int>(kept));
}

TEST_F(IndexProcess, SearchFindsTheBestMomentsAndHowToOpenThem) {
  Write("short.mp4", "walk");
  const std::string spaced = Write("longer clip.mp4", "walk, for longer");
  Write("windows.mp4", "windows");
  Summary();
  // The text's vector is (4, 0): the score is four times the clip's bytes.
  const ProcessResult result = Run({"search", Folder(), "text", "-k", "3"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto lines = Lines(result.out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["rank"], 1);
  EXPECT_EQ(lines[0]["path"], spaced);
  EXPECT_EQ(lines[0]["score"], 64);
  EXPECT_EQ(lines[0]["end_s"], 1.5);
  EXPECT_EQ(lines[0]["open"], "mpv --start=0.0 '" + spaced + "'");
  EXPECT_EQ(lines[1]["score"], 28);
  // [0, 1) and [0.5, 1.5) of the same file overlap: one of them is enough.
  EXPECT_EQ(lines[2]["score"], 16);

  const ProcessResult table = Run({"search", Folder(), "text", "-k", "1", "--format", "table"});
  EXPECT_THAT(table.out, ::testing::MatchesRegex(" *SCORE +FILE +FROM +TO +OPEN\n64.000 +.*longer "
                                                 "clip.mp4 +0.0 +1.5 +mpv --start=0.0 '.*'\n"));
  const ProcessResult csv = Run({"search", Folder(), "text", "-k", "1", "--format", "csv"});
  EXPECT_THAT(
      csv.out,
      HasSubstr(
          "rank,score,match_logit,path,start_s,end_s,id,missing,changed,open,path_bytes\n1,64,,"));
  const auto json =
      nlohmann::json::parse(Run({"search", Folder(), "text", "--format", "json"}).out);
  EXPECT_EQ(json.size(), 3U);
}

TEST_F(IndexProcess, CsvIsUtf8AndHasTheBytesOfAPathThatIsNot) {
  const std::string path = Write("caf\xE9.mp4", "walk a");
  Summary();
  for (const Words& words : {Words{"search", Folder(), "text", "--format", "csv"},
                             Words{"export", Folder(), "--to", "csv"}}) {
    const ProcessResult result = words[0] == "export" ? RunPlain(words) : Run(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(IsUtf8(result.out)) << result.out;
    EXPECT_THAT(result.out, AllOf(HasSubstr("/caf\uFFFD.mp4,"),
                                  ::testing::EndsWith("," + absl::Base64Escape(path) + "\n")));
  }
}

TEST_F(IndexProcess, SearchByAClipFindsItself) {
  const std::string clip = Write("a.mp4", "walk a");
  Write("b.mp4", "walk b, which is longer");
  Summary();
  const auto lines = Lines(Run({"search", Folder(), "--clip", clip}).out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["path"], clip);
  EXPECT_EQ(lines[1]["score"], 6 * 6 + 1);
  const ProcessResult missing = Run({"search", Folder(), "--clip", root_ + "/none.mp4"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, HasSubstr("none.mp4: no such file (FILE_NOT_FOUND)"));
}

TEST_F(IndexProcess, SearchSaysWhichFilesAreGone) {
  Write("a.mp4", "walk a");
  Summary();
  std::filesystem::remove(root_ + "/clips/a.mp4");
  const ProcessResult result = Run({"search", Folder(), "text"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("1 of 1 are in files that are gone"));
  EXPECT_EQ(Lines(result.out).at(0)["missing"], true);
  EXPECT_THAT(Run({"search", Folder(), "text", "--format", "table"}).out,
              HasSubstr("(no such file any more)"));
}

TEST_F(IndexProcess, RerankOrdersByTheMatchAndSaysWhatItCannot) {
  Write("a.mp4", "walk a");
  Write("b.mp4", "task");
  Summary({}, 4);  // The double's model does not do "task".
  const ProcessResult result = Run({"search", Folder(), "text", "--rerank"});
  const v1::AnalysisSpec spec = server_->last_spec();
  EXPECT_THAT(spec.tasks(), ElementsAre(v1::TASK_MATCH_TEXT));
  EXPECT_THAT(spec.match_text().texts(), ElementsAre("text"));
  EXPECT_TRUE(spec.match_text().rerank());
  EXPECT_EQ(spec.sampling().end_offset().nanos(), 500'000'000);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("no match in the answer"));
}

TEST_F(IndexProcess, SearchSaysWhichFilesChangedAndDoesNotMatchThem) {
  const std::string clip = Write("a.mp4", "walk a");
  Summary();
  Write("a.mp4", "walk, and more");
  const int sent = server_->attempts();
  const ProcessResult result = Run({"search", Folder(), "text", "--rerank"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1 of 1 are in files that changed since they were indexed"));
  EXPECT_EQ(server_->attempts(), sent + 1);  // the text alone
  const auto hit = Lines(result.out).at(0);
  EXPECT_EQ(hit["changed"], true);
  EXPECT_EQ(hit["missing"], false);
  EXPECT_FALSE(hit.contains("match_logit"));
  EXPECT_THAT(Run({"search", Folder(), "text", "--format", "table"}).out,
              HasSubstr("(changed since)"));

  // Also where length and time are as they were: the bytes that are sent are looked at.
  Write("a.mp4", "walk a");
  Summary();
  const auto time = std::filesystem::last_write_time(clip);
  Write("a.mp4", "walk b");
  std::filesystem::last_write_time(clip, time);
  const ProcessResult same_stamp = Run({"search", Folder(), "text", "--rerank"});
  EXPECT_THAT(same_stamp.err, HasSubstr("1 of 1 are in files that changed"));
  EXPECT_EQ(Lines(same_stamp.out).at(0)["changed"], true);
}

TEST_F(IndexProcess, SaveAndExportRefuseWhereTheyCannotOrMustNotWrite) {
  Write("a.mp4", "walk a");
  Summary();
  const int sent = server_->attempts();
  const ProcessResult save = Run({"search", Folder(), "text", "--save", root_ + "/none/sheet.png"});
  EXPECT_EQ(save.exit_code, 2);
  EXPECT_EQ(save.out, "");
  EXPECT_THAT(save.err, HasSubstr("no folder " + root_ + "/none"));
  EXPECT_EQ(server_->attempts(), sent);

  std::filesystem::create_directory_symlink(Folder(), root_ + "/link");
  for (const std::string& file : {Folder() + "/embeddings.npy", root_ + "/link/items.jsonl",
                                  root_ + "/clips/../idx/new.csv"}) {
    const ProcessResult result = RunPlain({"export", Folder(), "-o", file, "--force"});
    EXPECT_EQ(result.exit_code, 2) << file;
    EXPECT_THAT(result.err, HasSubstr("is inside the index"));
  }
  EXPECT_THAT(Rows(), ElementsAre("a.mp4 0"));
  EXPECT_FALSE(std::filesystem::exists(Folder() + "/new.csv"));

  const std::string clip = folder_.Write("clip.png", "walk a");
  std::filesystem::create_hard_link(clip, root_ + "/other.png");
  const ProcessResult query =
      Run({"search", Folder(), "--clip", clip, "--save", root_ + "/other.png", "--force"});
  EXPECT_EQ(query.exit_code, 2);
  EXPECT_THAT(query.err, HasSubstr("other.png is --clip itself (" + clip));
  const ProcessResult list = Run({"index", "@" + Folder() + "/items.jsonl", "-o", Folder()});
  EXPECT_EQ(list.exit_code, 2);
  EXPECT_THAT(list.err, HasSubstr("items.jsonl is the list itself"));
}

TEST_F(IndexProcess, SearchSaysThatStoredVectorsAreNoNumbers) {
  Write("a.mp4", "walk a");
  Write("b.mp4", "walk b");
  Summary();
  for (const float bad : {NAN, INFINITY}) {
    std::fstream rows(Folder() + "/embeddings.npy",
                      std::ios::binary | std::ios::in | std::ios::out);
    rows.seekp(kNpyHeaderBytes + 2 * sizeof(float));
    rows.write(reinterpret_cast<const char*>(&bad), sizeof bad);
    rows.close();
    const ProcessResult result = Run({"search", Folder(), "text"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, AllOf(HasSubstr("is damaged: row 1 "), HasSubstr("--rebuild")));
  }
}

// A clip's vector is the mean of its windows', shorter than 1: it is taken as it is.
TEST_F(IndexProcess, TheScoreIsTheDotProductAlsoWhereTheIndexIsNormalised) {
  const std::string clip = Write("a.mp4", "walk a");
  {
    IndexInfo info{.model = "models/walker@1", .weights_sha256 = std::string(64, 'a'), .dim = 2};
    auto writer = IndexWriter::Open(Folder(), info);
    ASSERT_TRUE(writer.ok()) << writer.status();
    const std::string sha256(64, '0');
    const Item item{ItemId(sha256, 0), {clip, 1, 1}, 0, 1, sha256};
    const float row[] = {0.6F, 0.8F};
    ASSERT_TRUE((*writer)->Append({&item, 1}, row).ok() && (*writer)->Commit().ok());
    ASSERT_TRUE((*writer)->info().normalised);
  }
  const ProcessResult result = Run({"search", Folder(), "--clip", clip});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FLOAT_EQ(Lines(result.out).at(0)["score"].get<float>(), 6 * 0.6F + 1 * 0.8F);
}

TEST_F(IndexProcess, AnEmptyIndexAnswersNothing) {
  Write("bad.mp4", "bad");
  Summary({}, 1);
  const ProcessResult result = Run({"search", Folder(), "text"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("is empty"));
}

TEST_F(IndexProcess, ExportsEachForm) {
  Write("a.mp4", "walk a");
  Write("w.mp4", "windows, two of them");
  Summary();
  const auto lines = Lines(RunPlain({"export", Folder()}).out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["vector"], nlohmann::json({6, 1}));
  EXPECT_EQ(lines[2]["vector"], nlohmann::json({20, 1}));
  EXPECT_EQ(lines[2]["start_s"], 0.5);
  EXPECT_THAT(RunPlain({"export", Folder(), "--to", "csv"}).out,
              AllOf(HasSubstr("id,path,start_s,end_s,sha256,vector,path_bytes\n"),
                    HasSubstr(",0.5,1.5,"), HasSubstr(",\"[20,1]\",\n")));

  const std::string file = root_ + "/out.npy";
  EXPECT_EQ(RunPlain({"export", Folder(), "-o", file}).exit_code, 0);
  const auto bytes = testing::ReadBytes(file);
  const auto shape = ParseNpyHeader({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->rows, 3);
  EXPECT_EQ(shape->dim, 2);
  ASSERT_EQ(bytes.size(), shape->data_at + 3 * 2 * sizeof(float));
  float last[2];
  std::memcpy(last, bytes.data() + bytes.size() - sizeof last, sizeof last);
  EXPECT_THAT(last, ElementsAre(20, 1));

  const ProcessResult again = RunPlain({"export", Folder(), "-o", file});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("--force"));
  EXPECT_EQ(RunPlain({"export", Folder(), "-o", file, "--force"}).exit_code, 0);
  EXPECT_EQ(RunPlain({"export", Folder(), "-o", "/nowhere/x.csv"}).exit_code, 1);
}

TEST_F(IndexProcess, UsageErrorsSayWhatIsExpected) {
  const std::pair<Words, const char*> cases[] = {
      {{"index", "x"}, "no -o"},
      {{"index", "-o", "x"}, "no INPUT"},
      {{"index", "-", "-o", "x"}, "- has no name"},
      {{"search"}, "no INDEX"},
      {{"search", "x"}, "nothing to search for"},
      {{"search", "x", "y", "--clip", "z"}, "found both"},
      {{"search", "x", "--clip", "z", "--rerank"}, "--rerank compares"},
      {{"search", "x", "y", "--save", "z.jpg"}, "ends with .png"},
      {{"export"}, "no INDEX"},
      {{"export", "x", "--to", "parquet"}, "expected npy, jsonl, csv"}};
  for (const auto& [words, message] : cases) {
    const ProcessResult result = RunPlain(words);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr(message));
  }
}

}  // namespace
}  // namespace scanline::cli
