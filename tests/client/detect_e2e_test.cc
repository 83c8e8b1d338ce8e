// What people do from end to end: `scanline detect --boxes` and `eval ava --clips` against
// scanline-server with the default model, whose card's figures of boxes must come out again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
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
constexpr double kFramesASecond = 16;  // of those clips
const Words kMotions = {"left", "right", "up", "down", "grows", "shrinks"};

Json ReadJson(const std::string& path) {
  const auto bytes = testing::ReadBytes(path);
  return Json::parse(bytes.begin(), bytes.end());
}

// A box of the card: an object that moves.
struct TrueBox {
  std::string file;
  double seconds = 0;
  std::vector<double> sides;
  size_t motion = 0;           // of kMotions
  std::vector<double> scores;  // of the reference, one for each of kMotions

  std::string video() const { return file.substr(0, file.rfind('.')); }
  std::string place() const {
    return absl::StrCat(seconds, ",", sides[0], ",", sides[1], ",", sides[2], ",", sides[3]);
  }
};

std::vector<TrueBox> BoxesOfTheCard() {
  std::vector<TrueBox> boxes;
  const Json expected = ReadJson(SCANLINE_SOURCE_DIR "/tests/data/tagger24/expected.json");
  for (const Json& clip : expected.at("clips")) {
    if (!clip.contains("box") || clip["box"].is_null()) continue;
    const Json& box = clip["box"];
    const auto motion = std::find(kMotions.begin(), kMotions.end(), box["motion"]);
    if (motion == kMotions.end()) continue;  // The object appears or disappears.
    TrueBox made{clip["file"],
                 box["frame"].get<double>() / kFramesASecond,
                 box["box"],
                 static_cast<size_t>(motion - kMotions.begin()),
                 {}};
    for (const double logit : box["logits"]) made.scores.push_back(1 / (1 + std::exp(-logit)));
    boxes.push_back(made);
  }
  return boxes;
}

// Average precision over all points where each picture has one box and it is found: of `motion`
// among `boxes` by the reference's scores.
double AveragePrecision(std::vector<TrueBox> boxes, size_t motion) {
  std::sort(boxes.begin(), boxes.end(), [&](const TrueBox& a, const TrueBox& b) {
    return a.scores[motion] > b.scores[motion];
  });
  std::vector<double> precisions;  // at each that is right
  double right = 0;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (boxes[i].motion == motion) precisions.push_back(++right / static_cast<double>(i + 1));
  }
  double sum = 0, best = 0;
  for (auto p = precisions.rbegin(); p != precisions.rend(); ++p) sum += best = std::max(best, *p);
  return sum / right;
}

class DetectEndToEnd : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.ready()); }

  ProcessResult Run(const Words& words) const {
    Words argv = {SCANLINE_BIN_DIR "/scanline"};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.insert(argv.end(), {"--server", server_.host_port()});
    return testing::RunProcess(argv);
  }

  std::string TruthOf(const std::vector<TrueBox>& boxes) const {
    std::string rows;
    for (const TrueBox& box : boxes) {
      absl::StrAppend(&rows, box.video(), ",", box.place(), ",", box.motion, "\n");
    }
    return scratch_.Write("truth.csv", rows);
  }

  RealServer server_;
  testing::TempFolder scratch_;
};

TEST_F(DetectEndToEnd, TheBoxesOfTheCardAreReproduced) {
  const std::vector<TrueBox> boxes = BoxesOfTheCard();
  int right = 0;
  for (const TrueBox& box : boxes) {
    SCOPED_TRACE(box.file);
    const std::string file = scratch_.Write("boxes.csv", box.place() + "\n");
    const ProcessResult result =
        Run({"detect", kClips + "/" + box.file, "--boxes", file, "--top-k", "0"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json found = Json::parse(result.out)["result"]["detections"];
    ASSERT_EQ(found.size(), 1U);
    ASSERT_EQ(found[0]["classes"].size(), kMotions.size());
    for (const Json& action : found[0]["classes"]) {
      const size_t motion = action["class_index"];
      EXPECT_EQ(action["label"], kMotions[motion]);
      EXPECT_NEAR(action["score"].get<double>(), box.scores[motion], 1e-4);
    }
    right += found[0]["classes"][0]["class_index"] == box.motion;
  }
  EXPECT_EQ(boxes.size(), 26U);
  EXPECT_EQ(right, 24);  // 0.9231, as the card says.
}

// 24 frames of the first second, then none until 6 s, then 24 more.
TEST_F(DetectEndToEnd, ExportsOfAClipWithAGapHaveEachFrameOnce) {
  const std::string clip = SCANLINE_SOURCE_DIR "/tests/data/clips/mp4_vfr_gap.mp4";
  const ProcessResult result =
      Run({"detect", clip, "--boxes", scratch_.Write("boxes.csv", ",0.25,0.25,0.75,0.75\n"),
           "--interval", "0.5", "--tracks", "--save", (scratch_ / "a.json"), "--save",
           (scratch_ / "a.xml")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json sampling = Json::parse(result.out)["result"]["sampling"];
  const std::vector<int> looks = sampling["keyframe_indices"];
  EXPECT_EQ(looks.size(), 13U) << "0.5 s to 6.5 s";
  EXPECT_EQ(sampling["keyframe_offsets"].size(), looks.size());
  const std::set<int> frames(looks.begin(), looks.end());
  EXPECT_EQ(frames, (std::set<int>{12, 23, 24, 36}));

  const Json coco = Json::parse(scratch_.Read("a.json"));
  std::vector<int> images;
  for (const Json& image : coco["images"]) images.push_back(image["frame_index"]);
  EXPECT_EQ(images, std::vector<int>(frames.begin(), frames.end()));
  std::set<std::pair<int, int>> rows;
  for (const Json& row : coco["annotations"]) {
    EXPECT_TRUE(rows.emplace(row["image_id"], row["category_id"]).second) << row;
  }
  const std::string cvat = scratch_.Read("a.xml");
  EXPECT_THAT(cvat, HasSubstr("<size>48</size>"));
  size_t boxes = 0;
  for (size_t at = 0; (at = cvat.find("<box ", at)) != std::string::npos; ++at) ++boxes;
  EXPECT_EQ(boxes, frames.size() + 1) << "and the one that closes the track";
}

TEST_F(DetectEndToEnd, EvalAvaReadsWhatDetectSaves) {
  const TrueBox box = BoxesOfTheCard()[0];
  const std::string found = (scratch_ / "found.csv");
  const std::string file = scratch_.Write("boxes.csv", box.place() + "\n");
  const ProcessResult saved =
      Run({"detect", kClips + "/" + box.file, "--boxes", file, "--save", found});
  ASSERT_EQ(saved.exit_code, 0) << saved.err;
  EXPECT_EQ(testing::CountLines(scratch_.Read("found.csv")), static_cast<int>(kMotions.size()));
  const ProcessResult result =
      Run({"eval", "ava", "--truth", TruthOf({box}), "--detections", found});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json summary = Json::parse(result.out);
  EXPECT_EQ(summary["frame_map"], 1.0);
  EXPECT_EQ(summary["keyframes"], 1);
}

TEST_F(DetectEndToEnd, EvalAvaRunsTheServerOverAFolder) {
  const std::vector<TrueBox> boxes = BoxesOfTheCard();
  const ProcessResult result = Run({"eval", "ava", "--truth", TruthOf(boxes), "--clips", kClips,
                                    "--true-boxes", "-o", (scratch_ / "report")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json summary = Json::parse(result.out);
  EXPECT_EQ(summary["videos"], boxes.size());
  EXPECT_TRUE(summary["skipped"].empty());
  ASSERT_EQ(summary["actions"].size(), kMotions.size());
  double mean = 0;
  for (const Json& action : summary["actions"]) {
    EXPECT_EQ(action["detections"], boxes.size());
    EXPECT_EQ(action["right"], action["truths"]);
    const double wanted = AveragePrecision(boxes, action["action"]);
    EXPECT_NEAR(action["average_precision"].get<double>(), wanted, 1e-9) << action;
    mean += wanted / static_cast<double>(kMotions.size());
  }
  EXPECT_NEAR(summary["frame_map"].get<double>(), mean, 1e-9);
  EXPECT_EQ(testing::CountLines(scratch_.Read("report/detections.csv")),
            static_cast<int>(boxes.size() * kMotions.size()));
}

// Beside a server of at most three boxes a request, of which two are at each of eight keyframes.
TEST_F(DetectEndToEnd, EvalAvaIsTheSameInSeveralRequests) {
  const TrueBox box = BoxesOfTheCard()[0];
  std::string rows;
  for (int i = 1; i <= 8; ++i) {
    absl::StrAppend(&rows, box.video(), ",", i * 0.1, ",-0.001,0.1,0.6,1.0004,1\n");
    absl::StrAppend(&rows, box.video(), ",", i * 0.1, ",0.3,0.2,0.9,0.9,2\n");
  }
  absl::StrAppend(&rows, box.video(), ",99,0.3,0.2,0.9,0.9,2\n");
  const std::string truth = scratch_.Write("truth.csv", rows);
  const auto eval = [&](const std::string& server, const std::string& folder) {
    return testing::RunProcess({SCANLINE_BIN_DIR "/scanline", "eval", "ava", "--truth", truth,
                                "--clips", kClips, "--true-boxes", "-o", (scratch_ / folder),
                                "--server", server});
  };
  const RealServer narrow({"--max-boxes=3"});
  ASSERT_TRUE(narrow.ready());
  const ProcessResult whole = eval(server_.host_port(), "whole");
  const ProcessResult split = eval(narrow.host_port(), "split");
  EXPECT_EQ(whole.exit_code, 1) << whole.err;
  EXPECT_EQ(split.exit_code, 1) << split.err;
  EXPECT_THAT(split.err, HasSubstr("1 of 17 rows of " + truth + " left out"));
  const std::string found = scratch_.Read("whole/detections.csv");
  EXPECT_EQ(testing::CountLines(found), static_cast<int>(16 * kMotions.size()));
  EXPECT_EQ(scratch_.Read("split/detections.csv"), found);
  EXPECT_EQ(Json::parse(split.out)["actions"][0]["label"], kMotions[0]);
}

TEST_F(DetectEndToEnd, EvalAvaLeavesOutATruthBeyondTheClipAlone) {
  const TrueBox box = BoxesOfTheCard()[0];
  const std::string truth = TruthOf({box});
  const std::string row = absl::StrCat(box.video(), ",99,0,0,1,1,0\n");
  scratch_.Write("truth.csv", scratch_.Read("truth.csv") + row);
  const ProcessResult result = Run({"eval", "ava", "--truth", truth, "--clips", kClips,
                                    "--true-boxes", "-o", (scratch_ / "report")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr(box.video() + ": 1 of the truth's keyframes left out, such as "
                                                  "99 s: the clip is looked at from 0.000 s to "));
  EXPECT_THAT(result.err,
              HasSubstr("1 of 2 rows of " + truth + " left out: nothing was looked at there"));
  const Json summary = Json::parse(result.out);
  EXPECT_EQ(summary["frame_map"], 1.0) << "of the truth that the clip has";
  EXPECT_EQ(summary["keyframes"], 1);
  EXPECT_TRUE(summary["skipped"].empty());
  ASSERT_EQ(summary["left_out"].size(), 1U);
  EXPECT_EQ(summary["left_out"][0]["seconds"], 99.0);
  EXPECT_EQ(summary["left_out"][0]["rows"], 1);
}

TEST_F(DetectEndToEnd, EvalAvaSkipsWhatCannotBeAnswered) {
  const std::vector<TrueBox> boxes = BoxesOfTheCard();
  std::filesystem::create_directory((scratch_ / "clips"));
  std::filesystem::copy(kClips + "/" + boxes[0].file, (scratch_ / "clips"));
  scratch_.Write("clips/" + boxes[1].file, "no video");
  const std::string truth = TruthOf({boxes[0], boxes[1], boxes[2]});
  const ProcessResult result =
      Run({"eval", "ava", "--truth", truth, "--clips", (scratch_ / "clips"), "--true-boxes", "-o",
           (scratch_ / "report")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("2 of 3 clips skipped"));
  std::map<std::string, std::string> skipped;
  const Json summary = Json::parse(result.out);
  for (const Json& clip : summary["skipped"]) skipped[clip["video"]] = clip["reason"];
  ASSERT_EQ(skipped.size(), 2U);
  EXPECT_THAT(skipped[boxes[1].video()], HasSubstr("VIDEO_UNREADABLE"));
  EXPECT_THAT(skipped[boxes[2].video()], HasSubstr("no clip of this name"));
  EXPECT_EQ(summary["frame_map"], 1.0) << "of the clip that was answered";
}

}  // namespace
}  // namespace scanline
