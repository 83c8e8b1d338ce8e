// The real `scanline` program against the service double: exit codes, streams and formats.

#include "tests/support/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/client/service_double.h"
#include "tests/support/temp_folder.h"

namespace scanline::cli {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Process;
using testing::ProcessOptions;
using testing::ProcessResult;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

class Scanline : public ::testing::Test {
 protected:
  // A clip is words for the double (service_double.h); a folder is searched for what begins as mp4.
  std::string Write(const std::string& name, const std::string& bytes) const {
    return folder_.Write(name, bytes);
  }

  Words Command(const Words& words) const {
    Words argv = {SCANLINE_BIN_DIR "/scanline"};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.end(), {"--server", server_.host_port()});
    return argv;
  }
  ProcessResult Run(const Words& words, const ProcessOptions& options = {}) const {
    return testing::RunProcess(Command(words), options);
  }
  static ProcessResult RunPlain(const Words& words, const ProcessOptions& options = {}) {
    Words argv = {SCANLINE_BIN_DIR "/scanline"};
    argv.insert(argv.end(), words.begin(), words.end());
    return testing::RunProcess(argv, options);
  }

  testing::ServiceDouble server_;
  const testing::TempFolder folder_;
  const std::string root_ = folder_.path();
};

nlohmann::json Line(const ProcessResult& result, size_t i) {
  const Words lines = absl::StrSplit(result.out, '\n');
  return i < lines.size() ? nlohmann::json::parse(lines[i]) : nlohmann::json();
}

TEST_F(Scanline, Exit0AnswersEveryInputInOrderAsNdjsonInAPipe) {
  const std::string slow = Write("slow.mp4", "slow");
  const std::string quick = Write("quick.mp4", "walk");
  const ProcessResult result = Run({"classify", slow, quick});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(Line(result, 0)["input"], slow);
  EXPECT_EQ(Line(result, 1)["input"], quick);
  EXPECT_EQ(Line(result, 1)["result"]["classes"][0]["label"], "walking");
  EXPECT_EQ(Line(result, 1)["result"]["timing"]["inference"], "0.118s");
}

TEST_F(Scanline, Exit1NamesTheFailedInputAndStillAnswersTheOthers) {
  const std::string bad = Write("notes.txt", "bad");
  const std::string good = Write("walk.mp4", "walk");
  const ProcessResult result = Run({"classify", bad, good});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "scanline: " + bad +
                            ": not a video (VIDEO_UNREADABLE): no known container in the first "
                            "2.1 kB\nscanline: 1 of 2 inputs failed\n");
  EXPECT_EQ(Line(result, 0)["error"]["code"], "INVALID_ARGUMENT");
  EXPECT_EQ(Line(result, 0)["error"]["reason"], "VIDEO_UNREADABLE");
  EXPECT_EQ(Line(result, 1)["result"]["classes"][0]["label"], "walking");
}

TEST_F(Scanline, Exit1ForAMissingFileAndForOneOverTheUploadLimit) {
  const std::string large = Write("large.mp4", "walk");
  std::filesystem::resize_file(large, (64 << 20) + 1);
  const ProcessResult result = Run({"classify", root_ + "/missing.mp4", large});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(Line(result, 0)["error"]["reason"], "FILE_NOT_FOUND");
  EXPECT_EQ(Line(result, 1)["error"]["reason"], "CLIP_TOO_LARGE");
  EXPECT_THAT(result.err, HasSubstr("/missing.mp4: no such file (FILE_NOT_FOUND)\n"));
  EXPECT_THAT(result.err, HasSubstr("too large (CLIP_TOO_LARGE): clip is 67108865 bytes; this "
                                    "server takes up to 67108864 bytes"));
  EXPECT_EQ(server_.attempts(), 0);
}

TEST_F(Scanline, Exit1WhereStandardOutputCannotBeWritten) {
  const ProcessResult result = Run({"classify", Write("a.mp4", "walk")}, {.out_file = "/dev/full"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("cannot write to standard output: No space left on device"));
}

TEST_F(Scanline, Exit2ForUsageAndForInputsThatStandForNothing) {
  std::filesystem::create_directory(root_ + "/empty");
  const Words cases[] = {{"clasify", "x"},
                         {"classify"},
                         {"classify", "x", "--tpo-k", "3"},
                         {"classify", root_ + "/empty"},
                         {"classify", root_ + "/*.mp4"}};
  for (const Words& words : cases) {
    const ProcessResult result = RunPlain(words);
    EXPECT_EQ(result.exit_code, 2) << words.back();
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, StartsWith("scanline: "));
  }
  EXPECT_THAT(RunPlain({"clasify"}).err, HasSubstr("did you mean classify?"));
  EXPECT_EQ(RunPlain({}).exit_code, 2);
}

TEST_F(Scanline, Exit3WhereNoServerListensAndSaysWhatToDo) {
  const std::string address = server_.host_port();
  server_.Shutdown();
  for (const Words& words :
       {Words{"classify", Write("a.mp4", "walk")}, Words{"models"}, Words{"health"}}) {
    const ProcessResult result = RunPlain(words, {.env = {"SCANLINE_SERVER=" + address}});
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err, "scanline: no server at " + address +
                              " (SCANLINE_SERVER): connection refused\n"
                              "  start one:   scanline-server\n"
                              "  or point to: --server HOST:PORT or SCANLINE_SERVER\n");
  }
}

TEST_F(Scanline, Exit3WhereTheServerIsNotReady) {
  server_.SetServing(false);
  const ProcessResult classify = Run({"classify", Write("a.mp4", "walk")});
  EXPECT_EQ(classify.exit_code, 3);
  EXPECT_EQ(classify.err,
            "scanline: the server at " + server_.host_port() + " (--server) is not ready\n");
  const ProcessResult health = Run({"health"});
  EXPECT_EQ(health.exit_code, 3);
  EXPECT_EQ(health.out,
            "{\"server\":\"" + server_.host_port() + "\",\"status\":\"NOT_SERVING\"}\n");
}

TEST_F(Scanline, Exit3StopsARunWhoseServerIsDraining) {
  const std::string draining = Write("a.mp4", "draining");
  const std::string good = Write("b.mp4", "walk");
  const ProcessResult result = Run({"classify", draining, good, good, good, "--jobs", "1"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(Line(result, 0)["error"]["reason"], "DRAINING");
  EXPECT_THAT(result.err, HasSubstr("inputs not done"));
}

TEST_F(Scanline, Exit3WhereTheServerGoesAwayMidway) {
  const std::string walk = Write("walk.mp4", "walk");
  const std::string stuck = Write("stuck.mp4", "stuck");
  Process process(Command({"classify", walk, stuck, walk, walk, walk, "--jobs", "1"}));
  ASSERT_TRUE(process.WaitForText("walking"));
  while (server_.attempts() < 2) absl::SleepFor(absl::Milliseconds(5));
  server_.Shutdown();
  const ProcessResult result = process.Finish();
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(Line(result, 0)["input"], walk);
  EXPECT_EQ(Line(result, 1)["error"]["code"], "UNAVAILABLE");
  // The next one may have begun before the first's failure was known; none is left uncounted.
  const auto failed = std::count(result.out.begin(), result.out.end(), '\n') - 1;
  EXPECT_THAT(failed, AnyOf(1, 2));
  EXPECT_THAT(result.err, AllOf(HasSubstr("no server at " + server_.host_port()),
                                EndsWith(absl::StrCat("scanline: ", failed, " of 5 inputs failed\n",
                                                      "scanline: stopped: ", 4 - failed,
                                                      " of 5 inputs not done\n"))));
}

TEST_F(Scanline, Exit4ForAnUnknownModelAndNamesThoseThatThereAre) {
  const ProcessResult result = Run({"classify", Write("a.mp4", "walk"), "--model", "m61"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.err, "scanline: no model \"m61\"; the server has: walker\n");
}

TEST_F(Scanline, Exit4ForATaskThatTheModelDoesNotDo) {
  const ProcessResult result = Run({"classify", Write("a.mp4", "task")});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, HasSubstr("TASK_UNSUPPORTED"));
}

TEST_F(Scanline, Exit5WhereCredentialsAreRefused) {
  const ProcessResult result = Run({"classify", Write("a.mp4", "auth")});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, HasSubstr("AUTH_INVALID"));
}

TEST_F(Scanline, Exit130OnInterruptPrintsWhatIsFinished) {
  const std::string walk = Write("walk.mp4", "walk");
  const std::string stuck = Write("stuck.mp4", "stuck");
  Process process(Command({"classify", walk, stuck, stuck, stuck, stuck}));
  ASSERT_TRUE(process.WaitForText("walking"));
  while (server_.attempts() < 2) absl::SleepFor(absl::Milliseconds(5));
  process.Signal(SIGINT);
  const ProcessResult result = process.Finish();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(Line(result, 0)["input"], walk);
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1);
  EXPECT_EQ(result.err, "scanline: interrupted: 4 of 5 inputs not done\n");
}

// Whatever a clip is waited for, one interrupt ends it. Its standard input stays open meanwhile.
TEST_F(Scanline, OneInterruptEndsTheWaitForInput) {
  const std::string pipe = root_ + "/pipe.mp4";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    for (const std::string& input : {std::string("-"), pipe}) {
      Process process(Command({"classify", Write("walk.mp4", "walk"), input}));
      ASSERT_TRUE(process.WaitForText("walking")) << input;
      process.Signal(signal);
      ASSERT_TRUE(process.WaitForText("1 of 2 inputs not done", 10)) << input;
      const ProcessResult result = process.Finish();
      EXPECT_EQ(result.exit_code, 130) << input;
      EXPECT_EQ(result.err, "scanline: interrupted: 1 of 2 inputs not done\n");
    }
  }
}

// Neither a pipe that nobody writes to nor one that never ends holds a run up for ever.
TEST_F(Scanline, TheTimeoutCoversReading) {
  const std::string pipe = root_ + "/pipe.mp4";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Process process(Command({"classify", pipe, "-", "--timeout", "0.5"}));
  ASSERT_TRUE(process.WaitForText("2 of 2 inputs failed", 10));
  const ProcessResult result = process.Finish();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("pipe.mp4: out of time (NO_ANSWER_IN_TIME): not read to its "
                                    "end within 500ms\n"));
  EXPECT_EQ(Line(result, 1)["error"]["reason"], "NO_ANSWER_IN_TIME");
}

TEST_F(Scanline, ReadsANamedPipeAndAProcessSubstitution) {
  const std::string pipe = root_ + "/pipe.mp4";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string script = "(sleep 0.3; printf walk; sleep 0.3; printf ' on') > " + pipe +
                             " & exec \"$0\" \"$@\" " + pipe +
                             " <(sleep 0.3; printf walk; sleep 0.3; printf ' on')";
  Words argv = {"/bin/bash", "-c", script};
  const Words command = Command({"classify"});
  argv.insert(argv.end(), command.begin(), command.end());
  const ProcessResult result = testing::RunProcess(argv);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Line(result, 0)["input"], pipe);
  EXPECT_EQ(Line(result, 0)["result"]["classes"][0]["label"], "walking");
  EXPECT_EQ(Line(result, 1)["result"]["classes"][0]["label"], "walking");
}

TEST_F(Scanline, AFolderLosesNoInputSilently) {
  Write("1_empty.mp4", "");
  std::filesystem::create_symlink("nowhere", root_ + "/2_dangling.mp4");
  Write("3_walk.mp4", "walk");
  ASSERT_EQ(mkfifo((root_ + "/4_pipe.mp4").c_str(), 0600), 0);
  Write("notes.txt", "");
  const ProcessResult result = Run({"classify", root_});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(Line(result, 0)["error"]["reason"], "FILE_EMPTY");
  EXPECT_EQ(Line(result, 1)["error"]["reason"], "FILE_NOT_FOUND");
  EXPECT_EQ(Line(result, 2)["result"]["classes"][0]["label"], "walking");
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 3);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("scanline: " + root_ + ": skipped 1: 4_pipe.mp4 (a named pipe)\n"),
                    HasSubstr("scanline: 2 of 3 inputs failed\n")));
}

TEST_F(Scanline, FailFastStops) {
  const std::string bad = Write("bad.mp4", "bad");
  const ProcessResult result =
      Run({"classify", bad, bad, bad, bad, bad, "--jobs", "1", "--fail-fast"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_LT(server_.attempts(), 5);
  EXPECT_THAT(result.err, HasSubstr("stopped: "));
}

TEST_F(Scanline, KeepsJobsUnderWayAtOnceAndNoMore) {
  const std::string slow = Write("slow.mp4", "slow");
  const ProcessResult result =
      Run({"classify", slow, slow, slow, slow, slow, slow, slow, slow, "--jobs", "3"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(server_.most_at_once(), 3);
}

TEST_F(Scanline, ReadsAClipFromStandardInput) {
  const ProcessResult result = Run({"classify", "-"}, {.input = "walk" + std::string(300'000, 0)});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Line(result, 0)["input"], "-");
}

TEST_F(Scanline, SendsWhatTheFlagsSay) {
  const ProcessResult result = Run({"classify", Write("a.mp4", "windows"), "--model", "walker",
                                    "--top-k", "2", "--window", "1", "--window-stride", "0.5"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const v1::AnalysisSpec spec = server_.last_spec();
  EXPECT_EQ(spec.model(), "models/walker");
  EXPECT_EQ(spec.classify().top_k(), 2U);
  EXPECT_EQ(spec.sampling().window_stride().nanos(), 500'000'000);
  EXPECT_EQ(Line(result, 0)["result"]["windows"].size(), 2U);
}

TEST_F(Scanline, WritesJsonAndCsv) {
  const std::string clip = Write("a.mp4", "walk");
  const ProcessResult json = Run({"classify", clip, clip, "--format", "json"});
  EXPECT_EQ(nlohmann::json::parse(json.out).size(), 2U);
  const ProcessResult csv = Run({"classify", clip, "--format", "csv"});
  EXPECT_EQ(csv.out,
            "input,start,end,label,score,class_index,model,frames,decode_seconds,queue_seconds,"
            "inference_seconds,total_seconds,error\n" +
                clip + ",,,walking,0.91,0,models/walker@1,16,0.042,0.003,0.118,0.163,\n" + clip +
                ",,,\"running, fast\",0.05,1,models/walker@1,16,0.042,0.003,0.118,0.163,\n");
}

TEST_F(Scanline, DrawsATableOfItsOwnAccordOnATerminal) {
  std::filesystem::current_path(root_);
  Write("walk.mp4", "walk");
  const ProcessResult wide =
      testing::RunInTerminal(Command({"classify", "walk.mp4"}), 120, {"NO_COLOR=1", "TERM=xterm"});
  EXPECT_EQ(wide.exit_code, 0);
  EXPECT_EQ(
      wide.out,
      "CLIP                  LABEL          SCORE  SAMPLED                      DECODE   QUEUE "
      "INFERENCE   TOTAL\r\n"
      "walk.mp4              walking        0.910  0.03 0.09 … 0.96 s (16)       42 ms  3.0 ms "
      "   118 ms  163 ms\r\n"
      "                      running, fast  0.050\r\n");
}

TEST_F(Scanline, ColoursATerminalUnlessToldNotTo) {
  const Words command = Command({"classify", Write("walk.mp4", "walk")});
  const std::string bold = "\x1b[1mCLIP";
  EXPECT_THAT(testing::RunInTerminal(command, 80, {"NO_COLOR=", "TERM=xterm"}).out,
              HasSubstr(bold));
  EXPECT_THAT(testing::RunInTerminal(command, 80, {"NO_COLOR=1", "TERM=xterm"}).out,
              Not(HasSubstr("\x1b[1m")));
  Words always = command;
  always.insert(always.end(), {"--color", "always", "--format", "table"});
  EXPECT_THAT(testing::RunProcess(always).out, StartsWith(bold));
}

TEST_F(Scanline, ClearsItsProgressBarOffATerminal) {
  const std::string slow = Write("slow.mp4", "slow");
  const ProcessResult result = testing::RunInTerminal(
      Command({"classify", slow, slow, slow, "--jobs", "1"}), 80, {"NO_COLOR=1", "TERM=xterm"});
  EXPECT_THAT(result.out, HasSubstr("1 of 3  [=======>                ]   33 %\r\x1b[K"));
  const ProcessResult piped = Run({"classify", slow, slow, "--progress", "always"});
  EXPECT_THAT(piped.err, AllOf(HasSubstr("scanline: 1 of 2   50 %\n"), Not(HasSubstr("\x1b"))));
}

TEST_F(Scanline, ListsModels) {
  const ProcessResult table = Run({"models", "--format", "table"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_EQ(table.out,
            "MODEL   VERSION  STATE  TASKS     FRAMES  PIXELS  LABELS  SCORE    PRECISION\n"
            "walker  1        ready  classify      16     224       2  softmax  fp32\n");
  EXPECT_EQ(Line(Run({"models"}), 0)["name"], "models/walker");
  EXPECT_THAT(Run({"models", "--format", "csv"}).out,
              EndsWith("walker,1,ready,classify,16,224,2,softmax,fp32\n"));
}

TEST_F(Scanline, SaysThatTheServerIsHealthy) {
  const ProcessResult result = Run({"health"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "{\"server\":\"" + server_.host_port() + "\",\"status\":\"SERVING\"}\n");
}

TEST_F(Scanline, TellsItsVersion) {
  const ProcessResult result = RunPlain({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, StartsWith("scanline "));
}

}  // namespace
}  // namespace scanline::cli
