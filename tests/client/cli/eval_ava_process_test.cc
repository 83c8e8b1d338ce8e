// `scanline eval ava` as a user runs it, on the reference's vectors written as CSV files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/safetensors.h"
#include "tests/support/temp_folder.h"

namespace scanline::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ProcessResult;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

// Rows of keyframe, four sides, action[, score].
std::string AsCsv(const testing::StoredTensor& rows) {
  const auto values = rows.values<double>();
  const auto columns = static_cast<size_t>(rows.shape.at(1));
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t column = i % columns;
    if (column == 0) text += "clip";
    absl::StrAppend(&text, ",",
                    column == 5 ? absl::StrCat(static_cast<int>(values[i]))
                                : absl::StrFormat("%.17g", values[i]));
    if (column + 1 == columns) text += "\n";
  }
  return text;
}

class EvalAva : public ::testing::Test {
 protected:
  static ProcessResult Run(const Words& words) {
    Words argv = {SCANLINE_BIN_DIR "/scanline", "eval", "ava"};
    argv.insert(argv.end(), words.begin(), words.end());
    return testing::RunProcess(argv);
  }

  testing::TempFolder scratch_;
};

TEST_F(EvalAva, IsTheReferencesForItsVectors) {
  int checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(testing::ReferenceFolder())) {
    if (entry.path().filename().string().rfind("ava_map", 0) != 0) continue;
    SCOPED_TRACE(entry.path());
    const auto file = testing::ReadSafetensors(entry.path());
    const std::string truth = scratch_.Write("truth.csv", AsCsv(file.at("ground_truth")));
    const std::string found = scratch_.Write("found.csv", AsCsv(file.at("detections")));
    const std::string folder = (scratch_ / absl::StrCat("report", checked));
    const ProcessResult result = Run({"--truth", truth, "--detections", found, "-o", folder});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    const auto json = nlohmann::json::parse(result.out);
    EXPECT_NEAR(json["frame_map"].get<double>(), file.at("map").values<double>()[0], 1e-9);
    const auto ids = file.at("class_ids").values<int64_t>();
    const auto wanted = file.at("ap_per_class").values<double>();
    ASSERT_EQ(json["actions"].size(), ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(json["actions"][i]["action"], ids[i]);
      EXPECT_NEAR(json["actions"][i]["average_precision"].get<double>(), wanted[i], 1e-9);
    }
    EXPECT_EQ(scratch_.Read(absl::StrCat("report", checked, "/summary.json")), result.out);
    ++checked;
  }
  EXPECT_GE(checked, 1);
}

TEST_F(EvalAva, JudgesTheNamedActionsOfTheKeyframesThatAreNotExcluded) {
  const std::string truth = scratch_.Write(
      "t.csv", "a,1,0,0,1,1,1,7\na,2,0,0,1,1,1,7\na,1,0,0,1,1,2,7\na,1,0,0,1,1,5,7\nb,1\n");
  // Action 1: right at second 1, nothing at second 2. Action 2: not found. Action 5 is not judged.
  const std::string found = scratch_.Write("d.csv", "a,1,0,0,1,1,1,0.9\na,1,0,0,1,1,5,0.8\n");
  const std::string actions = scratch_.Write("a.tsv",
                                             "\xEF\xBB\xBF"
                                             "1\twalk\t1\n2\trun\t1\n5\tsit\t0\n");
  const Words words = {"--truth", truth, "--detections", found, "--actions", actions};
  const auto all = nlohmann::json::parse(Run(words).out);
  EXPECT_NEAR(all["frame_map"].get<double>(), 0.25, 1e-12);
  ASSERT_EQ(all["actions"].size(), 2U);
  EXPECT_EQ(all["actions"][0]["label"], "walk");
  EXPECT_EQ(all["actions"][0]["truths"], 2);
  EXPECT_EQ(all["actions"][0]["right"], 1);

  Words without = words;
  without.insert(without.end(), {"--exclude", scratch_.Write("e.csv", "a,2\n")});
  const auto part = nlohmann::json::parse(Run(without).out);
  EXPECT_NEAR(part["frame_map"].get<double>(), 0.5, 1e-12);
  EXPECT_EQ(part["excluded_rows"], 1);

  Words table = words;
  table.insert(table.end(), {"--format", "table"});
  EXPECT_THAT(Run(table).out,
              AllOf(StartsWith("frame mAP at IoU 0.5  25.00 %  over 2 actions and 2 keyframes\n\n"
                               "ID  ACTION   AP %  TRUE  FOUND  RIGHT\n"),
                    HasSubstr(" 1  walk    50.00     2      1      1\n")));
  Words csv = words;
  csv.insert(csv.end(), {"--format", "csv"});
  EXPECT_EQ(Run(csv).out,
            "action,label,average_precision,truths,detections,right\n1,walk,0.5,2,1,1\n"
            "2,run,0,1,0,0\n");
}

TEST_F(EvalAva, Exit2ForFilesThatAreNone) {
  const std::string truth = scratch_.Write("t.csv", "a,1,0,0,1,1,1\n");
  const std::string found = scratch_.Write("d.csv", "a,1,0,0,1,1,1,0.9\n");
  const auto refused = [](const Words& words) {
    const ProcessResult result = Run(words);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  const std::string none = (scratch_ / "none.csv");
  EXPECT_THAT(refused({"--truth", none, "--detections", found}),
              HasSubstr("cannot read the file " + none));
  const std::string bad = scratch_.Write("bad.csv", "a,1,0,0,1,1,1,0.9\na,1,nan,0,1,1,1,0.9\n");
  EXPECT_THAT(refused({"--truth", truth, "--detections", bad}),
              HasSubstr("bad.csv, line 2: x_min: expected a number, found \"nan\""));
  EXPECT_THAT(refused({"--truth", truth, "--detections", found, "--exclude", found}),
              HasSubstr("d.csv, line 1: expected video,seconds"));
  EXPECT_THAT(refused({"--truth", truth, "--detections", found, "--actions", truth}),
              HasSubstr("t.csv, line 1: expected number<tab>name"));
  const std::string twice = scratch_.Write("twice.tsv", "1\twalk\n2\trun\n1\tsit\n");
  EXPECT_THAT(refused({"--truth", truth, "--detections", found, "--actions", twice}),
              HasSubstr("twice.tsv, line 3: action 1 is in line 1 already"));
  EXPECT_THAT(refused({"--truth", truth, "--detections", "/dev/zero"}),
              HasSubstr("cannot read the file /dev/zero: it is a device"));
}

TEST_F(EvalAva, Exit2WhereNoVideoIsInBothFiles) {
  const std::string truth = scratch_.Write("t.csv", "street,1,0,0,1,1,1\n");
  const std::string found = scratch_.Write("d.csv", "street.mp4,1,0,0,1,1,1,0.9\n");
  const ProcessResult result = Run({"--truth", truth, "--detections", found});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, absl::StrCat("scanline: ", found, " has no video of ", truth,
                                     ": expected names such as \"street\", found names such as "
                                     "\"street.mp4\"\n"));
}

TEST_F(EvalAva, Exit2WhereTheReportWouldReplaceWhatIsRead) {
  const std::string rows = "a,1,0,0,1,1,1,0.9\n";
  std::filesystem::create_directory((scratch_ / "report"));
  const std::string found = scratch_.Write("report/summary.json", rows);
  const ProcessResult result = Run({"--truth", scratch_.Write("t.csv", "a,1,0,0,1,1,1\n"),
                                    "--detections", found, "-o", (scratch_ / "report")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("summary.json is --detections itself"));
  EXPECT_EQ(scratch_.Read("report/summary.json"), rows);
}

TEST_F(EvalAva, SaysWhyNothingIsFound) {
  const std::string truth = scratch_.Write("t.csv", "street,1,0,0,1,1,1\n");
  const std::string found = scratch_.Write("d.csv", "");
  const ProcessResult result = Run({"--truth", truth, "--detections", found});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, absl::StrCat("scanline: ", found, " has no detection: all that ", truth,
                                     " has counts as missed\n"));
  EXPECT_EQ(nlohmann::json::parse(result.out)["frame_map"], 0.0);
}

TEST_F(EvalAva, SaysThatNoBoxOverlapsOne) {
  const std::string truth = scratch_.Write("t.csv", "street,1,0,0,0.5,0.5,1\n");
  const std::string found = scratch_.Write("d.csv", "street,1,0.5,0.5,1,1,1,0.9\n");
  const ProcessResult result = Run({"--truth", truth, "--detections", found});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr(absl::StrCat("no box of ", found, " overlaps one of ", truth)));
  const std::string pixels = scratch_.Write("p.csv", "street,1,0,0,160,96,1,0.9\n");
  const ProcessResult refused = Run({"--truth", truth, "--detections", pixels});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("p.csv, line 1: x_max: expected a number from 0 to 1"));
}

TEST_F(EvalAva, SaysThatNothingIsJudged) {
  const std::string truth = scratch_.Write("t.csv", "a,1\n");
  const std::string found = scratch_.Write("d.csv", "");
  const ProcessResult result = Run({"--truth", truth, "--detections", found});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("has no action that is judged: no mAP"));
  EXPECT_TRUE(nlohmann::json::parse(result.out)["frame_map"].is_null());
}

}  // namespace
}  // namespace scanline::cli
