// `scanline eval` against the service double: what is counted, kept, gone on from and refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "tests/client/service_double.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace scanline::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Process;
using testing::ProcessResult;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

class Eval : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_ / name; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    return folder_.Write(name, bytes);
  }
  std::string Read(const std::string& name) const { return folder_.Read(name); }

  // A manifest of `count` clips, each of which is `bytes` for the double.
  std::string ManifestOf(int count, const std::string& bytes) const {
    std::string rows = "path,label\n";
    for (int i = 0; i < count; ++i) {
      const std::string name = "clip" + std::to_string(i) + ".mp4";
      Write(name, bytes);
      rows += name + ",walking\n";
    }
    return Write("many.csv", rows);
  }

  Words Command(const std::string& manifest, const Words& more) const {
    Words argv = {
        SCANLINE_BIN_DIR "/scanline", "eval", "classify", "--manifest", manifest, "--server",
        server_.host_port()};
    argv.insert(argv.end(), more.begin(), more.end());
    return argv;
  }
  ProcessResult Run(const std::string& manifest, const Words& more = {}) const {
    return testing::RunProcess(Command(manifest, more));
  }

  // Starts a run and ends it by `signal` once `lines` answers are kept.
  ProcessResult RunUntil(int lines, int signal, const Words& command) const {
    Process process(command);
    const std::string file = Path("out/predictions.ndjson");
    for (int waited = 0; waited < 30'000; waited += 5) {
      if (std::filesystem::exists(file) &&
          testing::CountLines(Read("out/predictions.ndjson")) >= lines)
        break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    process.Signal(signal);
    return process.Finish();
  }

  testing::ServiceDouble server_;
  const testing::TempFolder folder_;
  const std::string root_ = folder_.path();
};

TEST_F(Eval, AClipThatIsReplacedWhileItIsSentIsAskedAgainByTheNextRun) {
  const std::string manifest = ManifestOf(1, "walk one");
  server_.OnClip([this, done = false]() mutable {
    if (!std::exchange(done, true)) Write("clip0.mp4", "run, two");
  });
  const Words into = {"--output", Path("out")};
  const ProcessResult first = Run(manifest, into);
  EXPECT_EQ(first.exit_code, 1);
  EXPECT_THAT(first.err, HasSubstr("clip0.mp4: changed while it was read (FILE_CHANGED)"));
  const ProcessResult second = Run(manifest, into);
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(server_.attempts(), 2);
}

TEST_F(Eval, CountsWhatIsRightWrongAndSkipped) {
  Write("a.mp4", "walk");
  Write("b.mp4", "run");
  Write("c.mp4", "walk");
  Write("d.mp4", "bad");
  const std::string manifest = Write("m.csv",
                                     "path,label\na.mp4,walking\nb.mp4,walking\nc.mp4,0\n"
                                     "d.mp4,\"running, fast\"\ne.mp4,walking\n");
  const ProcessResult result = Run(manifest, {"-o", Path("out")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("scanline: d.mp4: not a video (VIDEO_UNREADABLE)"),
                                HasSubstr("scanline: e.mp4: no such file (FILE_NOT_FOUND)"),
                                HasSubstr("scanline: 2 of 5 clips skipped\n")));
  const auto summary = nlohmann::json::parse(result.out);
  EXPECT_EQ(summary["clips"], 5);
  EXPECT_EQ(summary["scored"], 3);
  EXPECT_EQ(summary["top1"]["right"], 2);
  EXPECT_EQ(summary["top1"]["of"], 3);
  EXPECT_EQ(summary["top5"]["right"], 3);
  EXPECT_NEAR(summary["mean_class_top1"].get<double>(), 2.0 / 3, 1e-12);
  EXPECT_THAT(
      summary["classes"],
      ElementsAre(nlohmann::json(
          {{"class_index", 0}, {"label", "walking"}, {"clips", 3}, {"top1", 2}, {"top5", 3}})));
  EXPECT_EQ(summary["confusions"][0]["taken_for"], "running, fast");
  EXPECT_EQ(summary["confusions"][0]["clips"], Words{"b.mp4"});
  EXPECT_EQ(summary["skipped"][0]["input"], "d.mp4");
  EXPECT_EQ(summary["skipped"][0]["label"], "running, fast");
  EXPECT_EQ(summary["skipped_by_reason"],
            nlohmann::json({{"VIDEO_UNREADABLE", 1}, {"FILE_NOT_FOUND", 1}}));
  EXPECT_EQ(Read("out/summary.json"), result.out);
  EXPECT_EQ(testing::CountLines(Read("out/predictions.ndjson")), 5);

  // What may be otherwise now is tried again; what the server judged is not.
  const int sent = server_.attempts();
  EXPECT_EQ(sent, 4);
  Write("e.mp4", "walk");
  const ProcessResult again = Run(manifest, {"-o", Path("out")});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_EQ(server_.attempts(), sent + 1);
  EXPECT_EQ(nlohmann::json::parse(again.out)["scored"], 4);
  EXPECT_EQ(testing::CountLines(Read("out/predictions.ndjson")), 5) << "one line a clip";
}

TEST_F(Eval, AKilledRunGoesOnAndSendsNothingTwice) {
  const std::string manifest = ManifestOf(12, "slow");
  ASSERT_EQ(Run(manifest, {"-o", Path("whole")}).exit_code, 0);
  const int before = server_.attempts();
  const Words command = Command(manifest, {"-o", Path("out"), "--jobs", "2"});
  EXPECT_EQ(RunUntil(4, SIGKILL, command).exit_code, 128 + SIGKILL);
  EXPECT_FALSE(std::filesystem::exists(Path("out/summary.json")));
  const std::string kept = Read("out/predictions.ndjson");
  ASSERT_GE(testing::CountLines(kept), 4);
  ASSERT_LT(testing::CountLines(kept), 12);
  EXPECT_LE(server_.attempts(), before + testing::CountLines(kept) + 2)
      << "but for the two under way";

  // The last line was torn by the kill: its clip counts as not answered.
  std::ofstream(Path("out/predictions.ndjson"), std::ios::app) << R"({"input":"clip9.mp4","tr)";
  const int killed_at = server_.attempts();
  const ProcessResult result = testing::RunProcess(command);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(server_.attempts(), killed_at + 12 - testing::CountLines(kept));
  EXPECT_THAT(Read("out/predictions.ndjson"), StartsWith(kept));
  EXPECT_EQ(testing::CountLines(Read("out/predictions.ndjson")), 12);
  EXPECT_EQ(Read("out/summary.json"), Read("whole/summary.json"));

  const int done_at = server_.attempts();
  EXPECT_EQ(testing::RunProcess(command).out, result.out);
  EXPECT_EQ(server_.attempts(), done_at) << "all was there";
}

TEST_F(Eval, AnInterruptKeepsWhatIsThere) {
  const std::string manifest = ManifestOf(12, "slow");
  const Words command = Command(manifest, {"-o", Path("out"), "--jobs", "2"});
  const ProcessResult result = RunUntil(3, SIGINT, command);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, AllOf(HasSubstr("scanline: interrupted: "),
                                HasSubstr("of 12 clips not done; the same command goes on")));
  const int kept = testing::CountLines(Read("out/predictions.ndjson"));
  const int before = server_.attempts();
  EXPECT_EQ(testing::RunProcess(command).exit_code, 0);
  EXPECT_EQ(server_.attempts(), before + 12 - kept);
}

TEST_F(Eval, RefusesAFolderOfAnotherModelOrOfOtherSettings) {
  const std::string manifest = ManifestOf(1, "walk");
  ASSERT_EQ(Run(manifest, {"-o", Path("out")}).exit_code, 0);
  const ProcessResult settings = Run(manifest, {"-o", Path("out"), "--temporal-views", "4"});
  EXPECT_EQ(settings.exit_code, 2);
  EXPECT_THAT(settings.err, HasSubstr("/out holds answers for other settings (run.json has them)"));
  server_.SetWeights(std::string(64, 'b'));
  const ProcessResult model = Run(manifest, {"-o", Path("out")});
  EXPECT_EQ(model.exit_code, 2);
  EXPECT_THAT(model.err, HasSubstr("/out holds answers of walker@1 (weights aaaaaaaaaaaa), the "
                                   "server has walker@1 (weights bbbbbbbbbbbb)"));
  std::filesystem::create_directory(Path("mine"));
  Write("mine/predictions.ndjson", "{}\n");
  const ProcessResult mine = Run(manifest, {"-o", Path("mine")});
  EXPECT_EQ(mine.exit_code, 2);
  EXPECT_THAT(mine.err, HasSubstr("not a folder of eval"));
  EXPECT_EQ(Read("mine/predictions.ndjson"), "{}\n");
  EXPECT_EQ(server_.attempts(), 1);
}

TEST_F(Eval, DoesNotReplaceItsManifest) {
  std::filesystem::create_directory(Path("out"));
  const std::string rows = "path,label\na.mp4,walking\n";
  const std::string manifest = Write("out/summary.json", rows);
  const ProcessResult result = Run(manifest, {"-o", Path("out")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("summary.json is --manifest itself"));
  EXPECT_EQ(Read("out/summary.json"), rows);
  EXPECT_THAT(Run("/dev/zero").err,
              HasSubstr("cannot read the manifest /dev/zero: it is a device"));
}

TEST_F(Eval, AsksAgainForAnotherClipOfTheSameName) {
  for (const char* set : {"one", "two"}) std::filesystem::create_directory(Path(set));
  for (const char* clip : {"one/a.mp4", "one/b.mp4", "two/a.mp4"}) Write(clip, "walk");
  Write("two/b.mp4", "run");
  const std::string rows = "path,label\na.mp4,walking\nb.mp4,walking\n";
  const ProcessResult one = Run(Write("one/m.csv", rows), {"-o", Path("out")});
  EXPECT_EQ(nlohmann::json::parse(one.out)["top1"]["right"], 2) << one.err;
  EXPECT_EQ(server_.attempts(), 2);
  const ProcessResult two = Run(Write("two/m.csv", rows), {"-o", Path("out")});
  EXPECT_EQ(nlohmann::json::parse(two.out)["top1"]["right"], 1) << two.err;
  EXPECT_EQ(server_.attempts(), 3) << "a.mp4 has the same bytes, b.mp4 has not";
  EXPECT_EQ(testing::CountLines(Read("out/predictions.ndjson")), 2);
}

TEST_F(Eval, OneRunHoldsTheFolder) {
  const std::string manifest = ManifestOf(1, "stuck");
  Process first(Command(manifest, {"-o", Path("out")}));
  for (int i = 0; i < 2'000 && server_.attempts() == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const ProcessResult second = Run(manifest, {"-o", Path("out")});
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.err, HasSubstr("another eval is at work in "));
}

TEST_F(Eval, LabelsAreCheckedBeforeTheFirstClip) {
  Write("a.mp4", "walk");
  const ProcessResult result = Run(Write("m.csv", "path,label\na.mp4,waling\n"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            "scanline: 1 label is none of the 2 of walker, neither by name nor as an index from 0\n"
            "  line 2: waling; did you mean walking?\n");
  EXPECT_EQ(server_.attempts(), 0);
}

TEST_F(Eval, StopsWhereTheNextClipWouldFailToo) {
  Write("a.mp4", "walk");
  Write("b.mp4", "auth");
  Write("c.mp4", "walk");
  const std::string manifest = Write("m.csv", "path,label\na.mp4,0\nb.mp4,0\nc.mp4,0\n");
  const ProcessResult result = Run(manifest, {"-o", Path("out"), "--jobs", "1"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("scanline: stopped: "));
  EXPECT_EQ(Run(Path("none.csv")).exit_code, 2);
  EXPECT_EQ(Run(manifest, {"--model", "m61"}).exit_code, 4);
  server_.SetServing(false);
  EXPECT_EQ(Run(manifest).exit_code, 3);
}

TEST_F(Eval, PrintsATableForPeopleAndRowsForSpreadsheets) {
  Write("a.mp4", "walk");
  Write("b.mp4", "run");
  const std::string manifest =
      Write("m.json", R"([{"file": "a.mp4", "label": "walking"}, {"file": "b.mp4", "label": 0}])");
  const ProcessResult table = Run(manifest, {"--format", "table"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_EQ(table.out,
            "top-1        50.0 %  [9.5, 90.5]  1 of 2\n"
            "top-5       100.0 %  [34.2, 100.0]  2 of 2\n"
            "mean class   50.0 %  over 1 of 2 classes\n"
            "\n"
            "CLASS    CLIPS  TOP-1 %  TOP-5 %\n"
            "walking      2     50.0    100.0\n"
            "\n"
            "CLASS    TAKEN FOR      TIMES  FOR EXAMPLE\n"
            "walking  running, fast      1  b.mp4\n");
  EXPECT_EQ(Run(manifest, {"--format", "csv"}).out,
            "class_index,label,clips,top1,top5\n0,walking,2,1,2\n");
  EXPECT_EQ(testing::CountLines(Run(manifest, {"--format", "ndjson"}).out), 1);
}

}  // namespace
}  // namespace scanline::cli
