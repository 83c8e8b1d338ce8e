// `scanline detect` and `classify --save` as a user runs them, against the service double: real
// clips in, files out that are read again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/render/palette.h"
#include "tests/client/render/made_clip.h"
#include "tests/client/render/picture.h"
#include "tests/client/service_double.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace scanline::cli {
namespace {

using ::testing::AllOf;
using testing::Distance;
using ::testing::HasSubstr;
using testing::PixelAt;
using testing::ProcessResult;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

constexpr int kWidth = 320;
constexpr int kHeight = 192;
constexpr render::Color kGrey = {128, 128, 128};
constexpr int kTolerance = 30;  // of H.264 at half the colour resolution

class Detect : public ::testing::Test {
 protected:
  Detect() {
    server_.SetDetects();
    testing::MadeClip clip;
    clip.width = kWidth;
    clip.height = kHeight;
    clip.paint = [](int, int, int) { return kGrey; };
    clip_ = (scratch_ / "street.mp4");
    testing::WriteClip(clip_, clip);
  }

  ProcessResult Run(const Words& words) const {
    Words argv = {SCANLINE_BIN_DIR "/scanline"};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.end(), {"--server", server_.host_port()});
    return testing::RunProcess(argv);
  }
  std::string Refused(const Words& words) const {
    const ProcessResult result = Run(words);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(server_.attempts(), 0);
    return result.err;
  }

  testing::ServiceDouble server_;
  testing::TempFolder scratch_;
  std::string clip_;
};

// Whether the lower edge of a box of the double is there, a quarter of the picture wide.
bool HasBox(const render::TimedFrame& frame, double x_min, render::Color color) {
  int near = 0;
  for (const double x : {0.1, 0.5, 0.9}) {
    const auto column = static_cast<int>((x_min + x * 0.25) * frame.width);
    near += Distance(PixelAt(frame, column, frame.height * 3 / 4 - 1), color) <= kTolerance;
  }
  return near == 3;
}

TEST_F(Detect, SavesAVideoWithTheBoxesWhereAndWhenTheyAre) {
  const std::string out = (scratch_ / "out.mp4");
  const ProcessResult result = Run({"detect", clip_, "--save", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto frames = testing::ReadFrames(out, {0.04, 0.24});
  EXPECT_EQ(frames[0].width, kWidth);
  const render::Color color = render::PaletteColor(0);
  EXPECT_TRUE(HasBox(frames[0], 0.125, color));
  EXPECT_FALSE(HasBox(frames[0], 0.625, color));
  EXPECT_FALSE(HasBox(frames[1], 0.125, color));
  EXPECT_TRUE(HasBox(frames[1], 0.625, color));
  // What is inside of the box is seen.
  EXPECT_LE(Distance(PixelAt(frames[0], kWidth / 4, kHeight * 5 / 8), kGrey), kTolerance);
}

TEST_F(Detect, MovesTheBoxOfALinkedPerson) {
  const std::string out = (scratch_ / "out.mp4");
  ASSERT_EQ(Run({"detect", clip_, "--tracks", "--save", out}).exit_code, 0);
  EXPECT_TRUE(server_.last_spec().detect().link_tracks());
  const auto frames = testing::ReadFrames(out, {0, 0.08, 0.2});
  const render::Color color = render::PaletteColor(0);
  // Each of the box's steps is where its middle is, half a frame ahead.
  EXPECT_TRUE(HasBox(frames[0], 0.125 + 0.5 * 0.02 / 0.2, color));
  EXPECT_TRUE(HasBox(frames[1], 0.125 + 0.5 * 0.1 / 0.2, color));
  EXPECT_FALSE(HasBox(frames[1], 0.125, color));
  EXPECT_TRUE(HasBox(frames[2], 0.625, color));
}

TEST_F(Detect, SavesWhatOtherToolsRead) {
  Words words = {"detect", clip_, "--tracks"};
  for (const char* name : {"a.csv", "a.json", "a.xml", "a.vtt", "a.ass"}) {
    words.insert(words.end(), {"--save", (scratch_ / name)});
  }
  const ProcessResult result = Run(words);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(scratch_.Read("a.csv"),
            "street,0,0.125,0.25,0.375,0.75,1,0.9\nstreet,0.2,0.625,0.25,0.875,0.75,1,0.9\n");
  const auto coco = nlohmann::json::parse(scratch_.Read("a.json"));
  EXPECT_EQ(coco["videos"][0]["name"], "street.mp4");
  EXPECT_EQ(coco["videos"][0]["width"], kWidth);
  ASSERT_EQ(coco["images"].size(), 3U);
  EXPECT_EQ(coco["images"][1]["frame_index"], 3) << "nobody was seen there";
  EXPECT_EQ(coco["images"][2]["frame_index"], 5);
  ASSERT_EQ(coco["annotations"].size(), 2U);
  EXPECT_EQ(coco["annotations"][1]["bbox"], nlohmann::json({200, 48, 80, 96}));
  EXPECT_EQ(coco["annotations"][1]["track_id"], 1);
  EXPECT_EQ(coco["annotations"][1]["person_score"], 0.75);
  const std::string cvat = scratch_.Read("a.xml");
  EXPECT_THAT(cvat, HasSubstr("<box frame=\"5\" outside=\"0\" occluded=\"0\" keyframe=\"1\" "
                              "xtl=\"200.000\" ytl=\"48.000\" xbr=\"280.000\" ybr=\"144.000\""));
  EXPECT_THAT(cvat, HasSubstr("<size>8</size>"));
  EXPECT_THAT(cvat, HasSubstr("<box frame=\"1\" outside=\"1\""));
  EXPECT_THAT(scratch_.Read("a.vtt"), AllOf(StartsWith("WEBVTT"), HasSubstr("#1 walking 0.90")));
  EXPECT_THAT(scratch_.Read("a.ass"),
              AllOf(HasSubstr("PlayResX: 320"), HasSubstr("PlayResY: 192")));
}

// Frames every 10 s, the last at 70 s; a person at 1 s, 2 s (on the same frame), 6 s and 79 s.
TEST_F(Detect, NumbersTheFramesOfASlowClipAsADecoderCountsThem) {
  const std::string slow = SCANLINE_SOURCE_DIR "/tests/data/clips/mp4_fps_low.mp4";
  const std::string boxes =
      scratch_.Write("b.csv", "1,0,0,0.5,1\n2,0,0,0.6,1\n6,0,0,0.7,1\n79,0,0,0.8,1\n");
  const ProcessResult result =
      Run({"detect", slow, "--boxes", boxes, "--tracks", "--save", (scratch_ / "a.json"), "--save",
           (scratch_ / "a.xml"), "--save", (scratch_ / "a.png")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto coco = nlohmann::json::parse(scratch_.Read("a.json"));
  std::vector<int> frames;
  for (const auto& image : coco["images"]) frames.push_back(image["frame_index"]);
  EXPECT_EQ(frames, (std::vector<int>{0, 1, 7})) << "the frames nearest to the looks";
  EXPECT_EQ(coco["annotations"].size(), 3U);
  EXPECT_EQ(coco["annotations"][0]["bbox"][2], 96) << "of the look at 1 s";
  const std::string cvat = scratch_.Read("a.xml");
  EXPECT_THAT(cvat, HasSubstr("<size>8</size>"));
  EXPECT_THAT(cvat, HasSubstr("<box frame=\"7\" outside=\"0\""));
  EXPECT_THAT(cvat, ::testing::Not(HasSubstr("frame=\"8\""))) << "there is no such frame";
}

TEST_F(Detect, ItsAvaFileHasAllActionsUnlessTopKIsGiven) {
  server_.SetActions(5);
  const std::string csv = (scratch_ / "a.csv"), coco = (scratch_ / "a.json");
  Words words = {"detect", clip_, "--save", csv, "--save", coco, "--format", "ndjson"};
  const auto shown = [](const ProcessResult& result) {
    return nlohmann::json::parse(result.out)["result"]["detections"][1]["classes"].size();
  };
  EXPECT_EQ(shown(Run(words)), 3U);
  EXPECT_EQ(server_.last_spec().detect().top_k(), 0U);
  EXPECT_EQ(testing::CountLines(scratch_.Read("a.csv")), 2 * 5);
  EXPECT_EQ(nlohmann::json::parse(scratch_.Read("a.json"))["annotations"].size(), 2U * 3);

  words.insert(words.end(), {"--force", "--top-k", "4"});
  EXPECT_EQ(shown(Run(words)), 4U);
  EXPECT_EQ(server_.last_spec().detect().top_k(), 4U);
  EXPECT_EQ(testing::CountLines(scratch_.Read("a.csv")), 2 * 4);
  EXPECT_EQ(nlohmann::json::parse(scratch_.Read("a.json"))["annotations"].size(), 2U * 4);

  EXPECT_EQ(shown(Run({"detect", clip_, "--force", "--save", coco, "--format", "ndjson"})), 3U);
  EXPECT_EQ(server_.last_spec().detect().top_k(), 3U) << "no AVA file is asked for";
}

TEST_F(Detect, ItsAvaFileIsReadByEvalAva) {
  const std::string found = (scratch_ / "found.csv");
  ASSERT_EQ(Run({"detect", clip_, "--save", found}).exit_code, 0);
  const std::string truth =
      scratch_.Write("truth.csv", "street,0,0.1,0.25,0.4,0.75,1\nstreet,0.2,0,0,0.1,0.1,1\n");
  const ProcessResult result = Run({"eval", "ava", "--truth", truth, "--detections", found});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NEAR(nlohmann::json::parse(result.out)["frame_map"].get<double>(), 0.5, 1e-12);
}

TEST_F(Detect, EvalAvaFindsInAFolderAtTheTruthsTimes) {
  scratch_.Write("broken.mp4", "no video");
  const std::string truth = scratch_.Write("truth.csv",
                                           "street,0,0.1,0.25,0.4,0.75,1\n"
                                           "street,0.2,0.1,0.25,0.4,0.75,1\n"
                                           "street,0.2,0,0,0.1,0.1,1\n"
                                           "street,7,0,0,0.1,0.1,1\n"
                                           "gone,0,0,0,0.1,0.1,1\n");
  const std::string folder = (scratch_ / "report");
  Words words = {"eval", "ava", "--truth", truth, "--clips", (scratch_ / ""), "-o", folder};
  const ProcessResult result = Run(words);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(
      result.err,
      AllOf(HasSubstr("gone: no clip of this name in "), HasSubstr("1 of 2 clips skipped"),
            HasSubstr("street: 2 of the truth's keyframes left out, such as 0 s: the server "
                      "looked for people 2 times from 0.200 s to 0.400 s"),
            HasSubstr("2 of 5 rows of " + truth + " left out: nothing was looked at")));
  const v1::DetectOptions asked = server_.last_spec().detect();
  EXPECT_EQ(asked.keyframe_interval().nanos(), 200'000'000) << "through 0, 0.2 and 1";
  EXPECT_EQ(asked.top_k(), 0U) << "all actions";
  // What was found at second 0.4, where the truth says nothing, does not count.
  EXPECT_EQ(scratch_.Read("report/detections.csv"), "street,0.2,0.125,0.25,0.375,0.75,1,0.9\n");
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_NEAR(json["frame_map"].get<double>(), 0.5, 1e-12);
  EXPECT_EQ(json["videos"], 2);
  EXPECT_EQ(json["keyframes"], 1) << "that were looked at";
  ASSERT_EQ(json["skipped"].size(), 1U);
  EXPECT_EQ(json["skipped"][0]["video"], "gone");
  ASSERT_EQ(json["left_out"].size(), 2U);
  EXPECT_EQ(json["left_out"][0]["seconds"], 0.0);
  EXPECT_EQ(json["left_out"][1]["seconds"], 7.0);
  EXPECT_EQ(scratch_.Read("report/summary.json"), result.out);

  words.insert(words.end(), {"--interval", "0.3"});
  const ProcessResult off = Run(words);
  EXPECT_EQ(off.exit_code, 1);
  EXPECT_THAT(off.err, AllOf(HasSubstr("2 of 4 keyframes of " + truth + " are no multiple"),
                             HasSubstr("4 of 5 rows of " + truth + " left out")));
  EXPECT_EQ(server_.last_spec().detect().keyframe_interval().nanos(), 300'000'000);
}

// Six boxes, two at a keyframe: one request with all, which is refused, then one a keyframe.
TEST_F(Detect, EvalAvaAsksForMoreTrueBoxesThanARequestTakes) {
  server_.SetMostBoxes(2);
  std::string rows;
  for (const char* time : {"0.1", "0.2", "0.3"}) {
    absl::StrAppend(&rows, "street,", time, ",0,0,0.25,1,2\nstreet,", time, ",0.5,0,0.75,1,2\n");
  }
  const ProcessResult result =
      Run({"eval", "ava", "--truth", scratch_.Write("truth.csv", rows), "--clips", (scratch_ / ""),
           "--true-boxes", "-o", (scratch_ / "report")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(server_.attempts(), 4);
  EXPECT_NEAR(json["frame_map"].get<double>(), 1, 1e-12);
  EXPECT_EQ(json["actions"][0]["truths"], 6);
  EXPECT_EQ(json["actions"][0]["detections"], 6);
  EXPECT_EQ(json["actions"][0]["label"], "running, fast") << "as the model names it";
  EXPECT_TRUE(json["skipped"].empty());
}

TEST_F(Detect, EvalAvaSkipsAVideoWhereTheServerTakesNoBoxAtAll) {
  server_.SetMostBoxes(0);
  const std::string truth = scratch_.Write(
      "truth.csv", "street,0.1,0,0,0.25,1,2\nstreet,0.1,0.5,0,0.75,1,2\nstreet,0.2,0,0,1,1,2\n");
  const ProcessResult result = Run({"eval", "ava", "--truth", truth, "--clips", (scratch_ / ""),
                                    "--true-boxes", "-o", (scratch_ / "report")});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("too many boxes"));
  EXPECT_EQ(server_.attempts(), 2) << "of three boxes and of one";
}

TEST_F(Detect, Exit2WhereNoClipIsNamedAsInTheTruth) {
  const std::string truth = scratch_.Write("truth.csv", "street.mp4,0,0.1,0.25,0.4,0.75,1\n");
  EXPECT_THAT(Refused({"eval", "ava", "--truth", truth, "--clips", (scratch_ / ""), "-o",
                       (scratch_ / "report")}),
              HasSubstr(" has no clip of " + truth +
                        ": expected names such as \"street.mp4\", "
                        "found names such as \"street\""));
}

TEST_F(Detect, SavesASheetOfTheKeyframes) {
  const std::string out = (scratch_ / "sheet.png");
  const ProcessResult result = Run({"detect", clip_, "--save", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const render::TimedFrame sheet = testing::ReadFrames(out)[0];
  EXPECT_GE(sheet.width, kWidth);
  int coloured = 0;
  for (int y = 0; y < sheet.height; ++y) {
    for (int x = 0; x < sheet.width; ++x) {
      coloured += Distance(PixelAt(sheet, x, y), render::PaletteColor(0)) <= 5;
    }
  }
  // Two boxes of 80 x 96, two pixels thick, at the least.
  EXPECT_GE(coloured, 2 * 2 * (80 + 96));
}

TEST_F(Detect, AnswersInEveryFormat) {
  const auto line = nlohmann::json::parse(Run({"detect", clip_, "--format", "ndjson"}).out);
  EXPECT_EQ(line["input"], clip_);
  const auto& result = line["result"];
  EXPECT_FALSE(result.contains("classes"));
  ASSERT_EQ(result["detections"].size(), 2U);
  EXPECT_EQ(result["detections"][1]["box"]["x_min"], 0.625);
  EXPECT_EQ(result["detections"][1]["keyframe_offset"], "0.200s");
  EXPECT_EQ(result["detections"][1]["classes"][0]["label"], "walking");
  EXPECT_FALSE(result["detections"][1]["classes"][0].contains("logit"));
  EXPECT_EQ(
      Run({"detect", clip_, "--format", "csv"}).out,
      absl::StrCat("input,time,x_min,y_min,x_max,y_max,track_id,person_score,label,score,"
                   "class_index,model,error\n",
                   clip_, ",0,0.125,0.25,0.375,0.75,0,0.75,walking,0.9,1,models/walker@1,\n", clip_,
                   ",0.2,0.625,0.25,0.875,0.75,0,0.75,walking,0.9,1,models/walker@1,\n"));
  EXPECT_THAT(Run({"detect", clip_, "--tracks", "--format", "table"}).out,
              AllOf(HasSubstr("SECOND  TRACK  PERSON  BOX"), HasSubstr("walking"),
                    HasSubstr("0.20      1    0.75  0.62 0.25 0.88 0.75")));
}

TEST_F(Detect, NobodyIsAnAnswer) {
  const std::string nobody = scratch_.Write("nobody.mp4", "nobody");
  const ProcessResult json = Run({"detect", nobody, "--format", "ndjson"});
  EXPECT_EQ(json.exit_code, 0);
  EXPECT_TRUE(nlohmann::json::parse(json.out)["result"]["detections"].empty());
  const ProcessResult bad = Run({"detect", scratch_.Write("bad.mp4", "bad"), nobody});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.err, HasSubstr("1 of 2 inputs failed"));
}

TEST_F(Detect, SendsTheBoxesOfAFile) {
  const std::string boxes = scratch_.Write("b.csv", "time,x1,y1,x2,y2\n0.12,0,0.5,0.25,1\n");
  const ProcessResult result =
      Run({"detect", clip_, "--boxes", boxes, "--interval", "0.1", "--format", "csv"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const v1::DetectOptions sent = server_.last_spec().detect();
  ASSERT_EQ(sent.proposals_size(), 1);
  EXPECT_EQ(sent.proposals(0).time_offset().nanos(), 120'000'000);
  EXPECT_EQ(sent.proposals(0).x_max(), 0.25F);
  EXPECT_EQ(sent.keyframe_interval().nanos(), 100'000'000);
  EXPECT_THAT(result.out, HasSubstr(clip_ + ",0.12,0,0.5,0.25,1,0,0.75,\"running, fast\",0.9,2,"));
}

TEST_F(Detect, Exit2ForHostileBoxesAndFilesThatCannotBeSaved) {
  const auto boxes = [&](const std::string& rows) {
    return Refused({"detect", clip_, "--boxes", scratch_.Write("b.csv", rows)});
  };
  EXPECT_THAT(boxes("0,0,0,1,1\n0,nan,0,1,1\n"), HasSubstr("b.csv, line 2: x1"));
  EXPECT_THAT(boxes("0,0.5,0,0.4,1\n"), HasSubstr("b.csv, line 1: x2"));
  EXPECT_THAT(Refused({"detect", clip_, "--boxes", (scratch_ / "none.csv")}),
              HasSubstr("cannot read the boxes of"));

  EXPECT_THAT(Refused({"detect", clip_, clip_, "--save", (scratch_ / "x.vtt")}),
              HasSubstr("--save shows one INPUT, found 2"));
  EXPECT_THAT(Refused({"classify", "-", "--save", (scratch_ / "x.vtt")}),
              HasSubstr("not standard input"));
  const std::string there = scratch_.Write("there.vtt", "mine");
  EXPECT_THAT(Refused({"detect", clip_, "--save", there}), HasSubstr("--force replaces it"));
  EXPECT_EQ(scratch_.Read("there.vtt"), "mine");
  EXPECT_THAT(Refused({"detect", clip_, "--force", "--save", clip_}),
              HasSubstr("is the INPUT itself"));
  EXPECT_THAT(Refused({"detect", clip_, "--save", (scratch_ / "no/x.vtt")}),
              HasSubstr("no folder"));
  EXPECT_EQ(Run({"detect", clip_, "--force", "--save", there}).exit_code, 0);
  EXPECT_THAT(scratch_.Read("there.vtt"), StartsWith("WEBVTT"));
}

TEST_F(Detect, Exit2ForFilesThatWouldReplaceWhatIsRead) {
  const std::string rows = "0,0,0,1,1\n";
  const std::string boxes = scratch_.Write("b.csv", rows);
  std::filesystem::create_symlink(boxes, (scratch_ / "link.csv"));
  std::filesystem::create_hard_link(clip_, (scratch_ / "hard.mp4"));
  const auto refused = [&](const std::string& file) {
    return Refused({"detect", clip_, "--boxes", boxes, "--force", "--save", file});
  };
  EXPECT_THAT(refused(boxes), HasSubstr("b.csv is --boxes itself"));
  EXPECT_THAT(refused((scratch_ / "link.csv")), HasSubstr("is --boxes itself (" + boxes));
  EXPECT_THAT(refused((scratch_ / "hard.mp4")), HasSubstr("is the INPUT itself (" + clip_));
  EXPECT_EQ(scratch_.Read("b.csv"), rows);
  EXPECT_THAT(
      Refused({"detect", clip_, "--save", (scratch_ / "x.vtt"), "--save", (scratch_ / "./x.vtt")}),
      HasSubstr("is there twice, also as "));
  const std::string list = scratch_.Write("list.csv", clip_ + "\n");
  EXPECT_THAT(Refused({"detect", "@" + list, "--force", "--save", list}),
              HasSubstr("is the list itself"));
  EXPECT_THAT(Refused({"detect", clip_, "--boxes", "/dev/zero"}),
              HasSubstr("cannot read the boxes of /dev/zero: it is a device"));
}

TEST_F(Detect, AFileThatCannotBeWrittenCostsNoAnswer) {
  const std::string broken = scratch_.Write("walk.mp4", "walk, and no video");
  const std::string out = (scratch_ / "out.mp4");
  const ProcessResult result = Run({"detect", broken, "--save", out, "--format", "csv"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("walking"));
  EXPECT_THAT(result.err, HasSubstr("cannot save " + out));
  EXPECT_FALSE(scratch_.Has("out.mp4"));
}

TEST_F(Detect, Exit4WhereTheServerFindsNobodyByItselfNamesBoxes) {
  const ProcessResult result = Run({"detect", scratch_.Write("a.mp4", "task")});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, AllOf(HasSubstr("(TASK_UNSUPPORTED)"),
                                HasSubstr("for people that you know of: --boxes FILE")));
}

TEST_F(Detect, SavesTheLabelsOfClassifyToo) {
  const std::string sheet = (scratch_ / "sheet.png");
  const std::string video = (scratch_ / "out.mp4");
  const std::string titles = (scratch_ / "a.vtt");
  const ProcessResult result = Run(
      {"classify", clip_, "--save", sheet, "--save", video, "--save", titles, "--format", "csv"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(scratch_.Read("a.vtt"), HasSubstr("walking 0.91\nrunning, fast 0.05"));
  EXPECT_GE(testing::ReadFrames(sheet)[0].width, kWidth);
  // The caption is in the upper left corner, the rest is as it was.
  const render::TimedFrame frame = testing::ReadFrames(video, {0.12})[0];
  int changed = 0;
  for (int y = 0; y < kHeight / 4; ++y) {
    for (int x = 0; x < kWidth / 2; ++x) changed += Distance(PixelAt(frame, x, y), kGrey) > 60;
  }
  EXPECT_GT(changed, 200);
  EXPECT_LE(Distance(PixelAt(frame, kWidth - 20, kHeight - 20), kGrey), kTolerance);
}

TEST(DetectWithoutTheTask, Exit4NamesTheModelsThatDoIt) {
  const testing::ServiceDouble server;
  const testing::TempFolder scratch;
  const ProcessResult result =
      testing::RunProcess({SCANLINE_BIN_DIR "/scanline", "detect", scratch.Write("a.mp4", "walk"),
                           "--server", server.host_port()});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "scanline: the model does not do this (TASK_UNSUPPORTED): walker detects no actions of "
            "people; models of this server that do: none\n");
  EXPECT_EQ(server.attempts(), 0);
}

}  // namespace
}  // namespace scanline::cli
