#include "client/cli/clip_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "client/cli/text_width.h"

namespace scanline::cli {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

void Milliseconds(int ms, google::protobuf::Duration* duration) {
  duration->set_seconds(ms / 1000);
  duration->set_nanos(ms % 1000 * 1'000'000);
}

Outcome Answered() {
  v1::ClipResult result;
  result.set_model("models/walker@1");
  const std::pair<const char*, float> scores[] = {{"walking", 0.91F}, {"running, fast", 0.05F}};
  for (const auto& [label, score] : scores) {
    v1::ClassScore* c = result.add_classes();
    c->set_label(label);
    c->set_score(score);
    c->set_class_index(static_cast<uint32_t>(result.classes_size()));
  }
  for (int i = 0; i < 16; ++i) {
    Milliseconds(31 + 62 * i, result.mutable_sampling()->add_frame_offsets());
    result.mutable_sampling()->add_frame_indices(static_cast<uint32_t>(i));
  }
  Milliseconds(42, result.mutable_timing()->mutable_decode());
  Milliseconds(1, result.mutable_timing()->mutable_decode_queue());
  Milliseconds(2, result.mutable_timing()->mutable_batch_queue());
  Milliseconds(118, result.mutable_timing()->mutable_inference());
  Milliseconds(1163, result.mutable_timing()->mutable_total());
  return {"clips/walk.mp4", std::move(result)};
}

Outcome WithWindows() {
  Outcome outcome = Answered();
  for (int i = 0; i < 2; ++i) {
    v1::WindowResult* window = outcome.result->add_windows();
    Milliseconds(500 * i, window->mutable_start_offset());
    Milliseconds(500 * i + 1000, window->mutable_end_offset());
    *window->mutable_classes() = outcome.result->classes();
  }
  return outcome;
}

Outcome Failed() {
  return {"no\"tes.txt", MakeClientError(absl::StatusCode::kInvalidArgument, "VIDEO_UNREADABLE",
                                         "no known container")};
}

std::string All(ClipFormat& format, const std::vector<Outcome>& outcomes) {
  std::string text = format.Head();
  for (const Outcome& outcome : outcomes) text += format.Row(outcome);
  return text + format.Tail();
}

TEST(Ndjson, IsOneObjectALineInTheProtosOwnNames) {
  const std::string text = All(*MakeNdjson(), {Answered(), Failed()});
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[2], "");
  const auto answered = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(answered["input"], "clips/walk.mp4");
  EXPECT_EQ(answered["result"]["classes"][0]["class_index"], 1);
  EXPECT_EQ(answered["result"]["sampling"]["frame_indices"][15], 15);
  EXPECT_EQ(answered["result"]["timing"]["batch_queue"], "0.002s");
  EXPECT_EQ(lines[1], R"({"input":"no\"tes.txt","error":{"code":"INVALID_ARGUMENT",)"
                      R"("reason":"VIDEO_UNREADABLE","message":"no known container"}})");
}

TEST(Ndjson, StaysJsonWhateverAFileIsCalled) {
  Outcome outcome = Failed();
  outcome.input = "a\xFF\n";
  const std::string row = MakeNdjson()->Row(outcome);
  EXPECT_EQ(nlohmann::json::parse(row)["input"], "a\uFFFD\n");
  EXPECT_EQ(nlohmann::json::parse(row)["input_bytes"], "Yf8K");
  EXPECT_EQ(nlohmann::json::parse(MakeNdjson()->Row(Failed())).count("input_bytes"), 0U);
}

TEST(Ndjson, HasLogitsOnlyWhereTheyWereAskedFor) {
  const auto first_classes = [](const std::unique_ptr<ClipFormat>& format) {
    auto row = nlohmann::json::parse(All(*format, {WithWindows()}));
    if (row.is_array()) row = row[0];
    EXPECT_EQ(row["result"]["windows"][1]["classes"].size(), 2U);
    return std::vector<nlohmann::json>{row["result"]["classes"][0],
                                       row["result"]["windows"][1]["classes"][0]};
  };
  for (const auto& one : {first_classes(MakeNdjson()), first_classes(MakeJson())}) {
    for (const nlohmann::json& answer : one) {
      EXPECT_EQ(answer.dump(), R"({"class_index":1,"label":"walking","score":0.91})");
    }
  }
  for (const auto& one : {first_classes(MakeNdjson(true)), first_classes(MakeJson(true))}) {
    for (const nlohmann::json& answer : one) EXPECT_EQ(answer["logit"], 0);
  }
}

TEST(Ndjson, HasOnlyWhatWasAskedFor) {
  const auto keys = [](const Outcome& outcome) {
    std::vector<std::string> names;
    const auto row = nlohmann::json::parse(MakeNdjson(true)->Row(outcome));
    for (const auto& [name, value] : row["result"].items()) names.push_back(name);
    return names;
  };
  EXPECT_THAT(keys(Answered()), ElementsAre("classes", "model", "sampling", "timing", "warnings"));
  EXPECT_THAT(keys(WithWindows()),
              ElementsAre("classes", "model", "sampling", "timing", "warnings", "windows"));
  Outcome cached = Answered();
  cached.result->set_from_cache(true);
  EXPECT_THAT(keys(cached), Contains("from_cache"));
  EXPECT_THAT(MakeNdjson()->Row(WithWindows()),
              Not(AnyOf(HasSubstr("text_matches"), HasSubstr("frames\":"))));
}

TEST(Json, IsOneArray) {
  EXPECT_EQ(nlohmann::json::parse(All(*MakeJson(), {Answered(), Failed()})).size(), 2U);
  EXPECT_EQ(nlohmann::json::parse(All(*MakeJson(), {})).size(), 0U);
}

TEST(Csv, IsOneRowALabelWithSeconds) {
  EXPECT_EQ(
      All(*MakeCsv(), {Answered(), Failed()}),
      "input,start,end,label,score,class_index,model,frames,decode_seconds,queue_seconds,"
      "inference_seconds,total_seconds,error\n"
      "clips/walk.mp4,,,walking,0.91,1,models/walker@1,16,0.042,0.003,0.118,1.163,\n"
      "clips/walk.mp4,,,\"running, fast\",0.05,2,models/walker@1,16,0.042,0.003,0.118,1.163,\n"
      "\"no\"\"tes.txt\",,,,,,,,,,,,VIDEO_UNREADABLE\n");
}

TEST(Csv, NamesTheWindowsSeconds) {
  const std::string text = MakeCsv()->Row(WithWindows());
  EXPECT_THAT(text, HasSubstr("clips/walk.mp4,0,1,walking,0.91"));
  EXPECT_THAT(text, HasSubstr("clips/walk.mp4,0.5,1.5,walking,0.91"));
}

TableLook Look(int columns) { return {.columns = columns, .widest_input = 14, .widest_label = 13}; }

TEST(Table, HasAColumnForTheSampledTimesWhereThereIsRoom) {
  EXPECT_EQ(
      All(*MakeTable(Look(120)), {Answered(), Failed()}),
      "CLIP                  LABEL          SCORE  SAMPLED                      DECODE   QUEUE "
      "INFERENCE   TOTAL\n"
      "clips/walk.mp4        walking        0.910  0.03 0.09 … 0.96 s (16)       42 ms  3.0 ms "
      "   118 ms 1163 ms\n"
      "                      running, fast  0.050\n");
}

TEST(Table, PutsTheSampledTimesUnderTheNameInEightyColumns) {
  EXPECT_EQ(All(*MakeTable(Look(80)), {Answered()}),
            "CLIP                  LABEL          SCORE  DECODE   QUEUE INFERENCE   TOTAL\n"
            "clips/walk.mp4        walking        0.910   42 ms  3.0 ms    118 ms 1163 ms\n"
            "  0.03 … 0.96 s (16)  running, fast  0.050\n");
}

TEST(Table, ShowsTheWholeSampledTextInEveryWidth) {
  Outcome outcome = Answered();
  v1::SamplingReport& sampling = *outcome.result->mutable_sampling();
  sampling.clear_frame_offsets();
  for (int i = 0; i < 368; ++i)
    Milliseconds(i / 3 * 100 - i / 300 * 300, sampling.add_frame_offsets());
  const auto text = [&](int columns) {
    return MakeTable({.columns = columns, .widest_input = 44, .widest_label = 17})->Row(outcome);
  };
  for (const int columns : {0, 120, 140}) {
    EXPECT_THAT(text(columns), HasSubstr("  0.00 0.10 … 11.90 s (368) ")) << columns;
  }
  EXPECT_THAT(text(80), HasSubstr("\n0.00 … 11.90 s (368)  running, fast"));
}

TEST(Table, CutsNothingWhereNoTerminalLimitsIt) {
  Outcome outcome = Answered();
  outcome.input = std::string(60, 'n') + ".mp4";
  outcome.result->mutable_classes(0)->set_label(std::string(40, 'l'));
  const TableLook look{.columns = 0, .widest_input = 64, .widest_label = 40};
  EXPECT_THAT(MakeTable(look)->Row(outcome),
              HasSubstr(outcome.input + "  " + std::string(40, 'l')));
}

TEST(Table, HasNoTitlesWithoutRows) {
  EXPECT_EQ(All(*MakeTable(Look(120)), {Failed()}), "");
  EXPECT_THAT(All(*MakeTable(Look(120)), {Failed(), Answered()}), StartsWith("CLIP "));
}

TEST(Table, ShowsEachWindowWithItsLabels) {
  const std::string text = MakeTable(Look(120))->Row(WithWindows());
  EXPECT_THAT(text, HasSubstr("  0.00-1.00 s         walking        0.910\n"));
  EXPECT_THAT(text, HasSubstr("  0.50-1.50 s         walking        0.910\n"));
}

TEST(Table, NeverGetsWiderThanTheTerminal) {
  Outcome outcome = WithWindows();
  outcome.input = "a/rather/long/path/to/a/clip/動画動画動画.mp4";
  outcome.result->mutable_classes(0)->set_label("passing American football (not in game)");
  for (const int columns : {70, 80, 100, 120, 200}) {
    const TableLook look{.columns = columns, .widest_input = 46, .widest_label = 39};
    const std::string text = All(*MakeTable(look), {outcome});
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
      EXPECT_LE(TextWidth(line), columns) << line;
    }
    EXPECT_THAT(text, HasSubstr("動画.mp4")) << "the end of a path tells clips apart";
  }
}

}  // namespace
}  // namespace scanline::cli
