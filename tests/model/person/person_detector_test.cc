#include "model/person/person_detector.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/error.h"
#include "decode/decode_clip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/person/nms.h"
#include "tests/model/person/vectors.h"

namespace scanline {
namespace {

using ::testing::HasSubstr;

std::string Folder() {
  const char* folder = std::getenv("SCANLINE_PERSON_DETECTOR");
  return folder != nullptr && *folder != '\0' ? folder : PersonDetector::DefaultFolder();
}

// `./dev setup` makes the detector, so that a missing one is a failure. Only who says that the
// machine cannot reach the package (docs/models.md) is let off.
bool LetOff() {
  const char* unreachable = std::getenv("SCANLINE_NO_PERSON_DETECTOR");
  return unreachable != nullptr && std::string(unreachable) == "1" &&
         !std::filesystem::exists(Folder());
}

class PersonDetectorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (LetOff()) GTEST_SKIP() << "SCANLINE_NO_PERSON_DETECTOR=1: the package cannot be had here";
    auto detector = PersonDetector::Load(Folder());
    ASSERT_TRUE(detector.ok()) << detector.status()
                               << "\nRun ./dev setup. On a machine that cannot reach PyPI, set "
                                  "SCANLINE_NO_PERSON_DETECTOR=1.";
    detector_ = *std::move(detector);
  }

  std::unique_ptr<PersonDetector> detector_;
};

struct Picture {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;

  RgbPicture view() const { return {rgb.data(), width, height, ptrdiff_t{3} * width}; }
};

// Whole frames of a sample clip, by their index.
std::map<int64_t, Picture> Frames(const std::string& clip, const std::set<int64_t>& wanted) {
  const auto bytes = testing::ReadBytes(SCANLINE_SOURCE_DIR "/assets/clips/" + clip);
  FrameSpec spec;
  spec.size = 16;
  // More segments than the clip has frames: none is left out.
  spec.sampling = {.rule = SamplingRule::kUniform, .frames = 512};
  std::map<int64_t, Picture> frames;
  const auto watch = [&](const FullFrame& frame) {
    if (wanted.count(frame.index) == 0) return absl::OkStatus();
    Picture& picture = frames[frame.index];
    picture = {frame.width, frame.height, {}};
    for (int y = 0; y < frame.height; ++y) {
      const uint8_t* row = frame.rgb + y * frame.stride;
      picture.rgb.insert(picture.rgb.end(), row, row + ptrdiff_t{3} * frame.width);
    }
    return absl::OkStatus();
  };
  const auto decoded = DecodeClipWatched(bytes, spec, {}, Cancel(), watch);
  if (!decoded.ok()) throw std::runtime_error(decoded.status().ToString());
  if (frames.size() != wanted.size()) throw std::runtime_error(clip + " is too short");
  return frames;
}

std::string Sha256(const std::vector<uint8_t>& bytes) {
  Digest digest;
  digest.Add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return absl::BytesToHexString(digest.Finish());
}

// Boxes as the vectors store them: [boxes][4] (y1, x1, y2, x2) and [boxes].
std::vector<PersonBox> StoredBoxes(const testing::SafetensorsFile& file, const std::string& boxes,
                                   const std::string& scores) {
  const auto sides = file.at(boxes).values<float>();
  const auto score = file.at(scores).values<float>();
  std::vector<PersonBox> stored;
  for (size_t i = 0; i < score.size(); ++i) {
    stored.push_back(
        {sides[4 * i + 1], sides[4 * i], sides[4 * i + 3], sides[4 * i + 2], score[i]});
  }
  return stored;
}

double LargestDifference(const PersonBox& a, const PersonBox& b) {
  return std::max({std::abs(a.x_min - b.x_min), std::abs(a.y_min - b.y_min),
                   std::abs(a.x_max - b.x_max), std::abs(a.y_max - b.y_max),
                   std::abs(a.score - b.score)});
}

// Frames of the real clips, each with the vectors' name and the picture that they were made of.
void ForEachFrame(const testing::SafetensorsFile& file,
                  const std::function<void(const std::string&, const Picture&)>& look) {
  std::map<std::string, std::set<int64_t>> wanted;
  for (const std::string& name : testing::NamesBefore(file, "/raw_boxes")) {
    const size_t slash = name.rfind('/');
    wanted[name.substr(0, slash)].insert(std::stoll(name.substr(slash + 1)));
  }
  for (const auto& [clip, indices] : wanted) {
    for (const auto& [index, picture] : Frames(clip, indices)) {
      const std::string name = absl::StrCat(clip, "/", index);
      ASSERT_EQ(Sha256(picture.rgb), file.metadata.at(name))
          << name << ": decode/ gives other pixels than those that the vectors were made of; "
          << "tests/data/person/make_vectors.py makes them anew";
      look(name, picture);
    }
  }
}

// Agreed for this detector: an independent run of the same graph within 1e-3.
constexpr double kTolerance = 1e-3;

TEST_F(PersonDetectorTest, EveryAnchorIsAsTensorFlowSays) {
  const auto file = testing::PersonVectors();
  int frames = 0;
  double largest = 0;
  ForEachFrame(file, [&](const std::string& name, const Picture& picture) {
    const auto raw = detector_->DetectRaw(picture.view());
    ASSERT_TRUE(raw.ok()) << raw.status();
    const auto stored = StoredBoxes(file, name + "/raw_boxes", name + "/raw_scores");
    ASSERT_EQ(raw->size(), stored.size());
    for (size_t i = 0; i < stored.size(); ++i) {
      const double difference = LargestDifference((*raw)[i], stored[i]);
      ASSERT_LE(difference, kTolerance) << name << ", anchor " << i;
      largest = std::max(largest, difference);
    }
    ++frames;
  });
  EXPECT_GE(frames, 10);
  std::printf("%d frames, largest difference %.2g\n", frames, largest);
}

TEST_F(PersonDetectorTest, PeopleAreThoseOfTheWholeGraph) {
  const auto file = testing::PersonVectors();
  int people = 0;
  ForEachFrame(file, [&](const std::string& name, const Picture& picture) {
    const auto found = detector_->Detect(picture.view(), {.min_score = 0.1F, .closer = false});
    ASSERT_TRUE(found.ok()) << found.status();
    auto stored = StoredBoxes(file, name + "/boxes", name + "/scores");
    stored.resize(std::count_if(stored.begin(), stored.end(),
                                [](const PersonBox& box) { return box.score > 0.1F; }));
    ASSERT_EQ(found->size(), stored.size()) << name;
    for (size_t i = 0; i < stored.size(); ++i) {
      EXPECT_LE(LargestDifference((*found)[i], stored[i]), kTolerance) << name << ", person " << i;
    }
    people += static_cast<int>(stored.size());
  });
  EXPECT_GE(people, 40);
}

TEST_F(PersonDetectorTest, TheSamePictureGivesTheSameBits) {
  const auto frames = Frames("pedestrians_12s.avi", {0, 50});
  const auto first = detector_->DetectRaw(frames.at(0).view());
  ASSERT_TRUE(detector_->DetectRaw(frames.at(50).view()).ok());
  const auto again = detector_->DetectRaw(frames.at(0).view());
  ASSERT_TRUE(first.ok() && again.ok());
  for (size_t i = 0; i < first->size(); ++i) {
    EXPECT_EQ(LargestDifference((*first)[i], (*again)[i]), 0) << i;
  }
}

TEST_F(PersonDetectorTest, ThresholdsAreTheCallers) {
  const auto frames = Frames("pedestrians_12s.avi", {119});
  const RgbPicture picture = frames.at(119).view();
  const auto all = detector_->Detect(picture, {.min_score = 0, .closer = false});
  const auto some = detector_->Detect(picture, {.min_score = 0.7F, .closer = false});
  const auto two = detector_->Detect(picture, {.max_people = 2});
  const auto apart = detector_->Detect(picture, {.min_score = 0.1F, .max_iou = 0.01F});
  ASSERT_TRUE(all.ok() && some.ok() && two.ok() && apart.ok());
  EXPECT_EQ(all->size(), 100);
  EXPECT_EQ(some->size(), 6);
  EXPECT_EQ(two->size(), 2);
  for (size_t i = 0; i < apart->size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      EXPECT_LE(IntersectionOverUnion((*apart)[i], (*apart)[k]), 0.02);
    }
  }
  for (const PersonBox& box : *all) {
    EXPECT_TRUE(box.x_min >= 0 && box.x_min < box.x_max && box.x_max <= 1) << box.x_min;
    EXPECT_TRUE(box.y_min >= 0 && box.y_min < box.y_max && box.y_max <= 1) << box.y_min;
  }
}

// People counted by eye: docs/person_detector.md has the pictures.
TEST_F(PersonDetectorTest, FindsThePeopleOfTheSampleClip) {
  struct Count {
    size_t at_once;  // found in one look
    size_t closer;
  };
  const std::map<int64_t, Count> counts = {{0, {2, 3}}, {50, {4, 6}}, {100, {5, 7}}};
  const auto frames = Frames("pedestrians_12s.avi", {0, 50, 100});
  for (const auto& [index, count] : counts) {
    const RgbPicture picture = frames.at(index).view();
    const auto at_once = detector_->Detect(picture, {.closer = false});
    const auto closer = detector_->Detect(picture, {});
    ASSERT_TRUE(at_once.ok() && closer.ok());
    EXPECT_EQ(at_once->size(), count.at_once) << "frame " << index;
    EXPECT_EQ(closer->size(), count.closer) << "frame " << index;
  }
}

TEST_F(PersonDetectorTest, APictureMayHaveAnyShape) {
  const std::vector<uint8_t> grey(3 * 4000, 128);
  for (const auto& [width, height] : {std::pair(1, 1), std::pair(4000, 1), std::pair(1, 4000)}) {
    EXPECT_TRUE(detector_->Detect({grey.data(), width, height, ptrdiff_t{3} * width}, {}).ok());
  }
  EXPECT_EQ(ReasonOf(detector_->Detect({}, {}).status()), Reason::kFieldInvalid);
  EXPECT_EQ(ReasonOf(detector_->Detect({grey.data(), 0, 5, 0}, {}).status()),
            Reason::kFieldInvalid);
}

// A copy of the detector's folder to be damaged.
class DamagedDetectorTest : public PersonDetectorTest {
 protected:
  void SetUp() override {
    PersonDetectorTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::copy(Folder(), folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Complaint() const {
    const auto loaded = PersonDetector::Load(folder_.string());
    EXPECT_EQ(ReasonOf(loaded.status()), Reason::kBundleInvalid);
    return std::string(loaded.status().message());
  }
  void ReplaceInConfig(const std::string& from, const std::string& to) const {
    const auto bytes = testing::ReadBytes((folder_ / "config.json").string());
    std::string text(bytes.begin(), bytes.end());
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    std::ofstream(folder_ / "config.json") << text.replace(at, from.size(), to);
  }

  std::filesystem::path folder_;
};

TEST_F(DamagedDetectorTest, AMissingFolderSaysWhatToDo) {
  std::filesystem::remove_all(folder_);
  EXPECT_THAT(Complaint(), HasSubstr("./dev setup"));
}

TEST_F(DamagedDetectorTest, OtherWeightsAreRefused) {
  std::fstream(folder_ / "model.safetensors", std::ios::in | std::ios::out)
      .seekp(1'000'000)
      .write("wrong", 5);
  EXPECT_THAT(Complaint(), HasSubstr("SHA-256"));
}

TEST_F(DamagedDetectorTest, ADescriptionOfAnotherShapeIsRefused) {
  ReplaceInConfig("ssdlite_mobilenet_v2", "yolo");
  EXPECT_THAT(Complaint(), HasSubstr("architecture"));
}

TEST_F(DamagedDetectorTest, AnchorsOfTheWrongNumberAreRefused) {
  ReplaceInConfig("\"aspect_ratios\": [1.0, ", "\"aspect_ratios\": [");
  EXPECT_THAT(Complaint(), HasSubstr("anchors[0].aspect_ratios"));
}

TEST_F(DamagedDetectorTest, AnUnknownKeyIsRefused) {
  ReplaceInConfig("\"format\"", "\"colour\": 1, \"format\"");
  EXPECT_THAT(Complaint(), HasSubstr("colour"));
}

}  // namespace
}  // namespace scanline
