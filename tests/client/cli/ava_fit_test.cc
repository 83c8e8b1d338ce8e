#include "client/cli/ava_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanline::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

AvaAction Row(const char* video, int64_t milliseconds, int action) {
  return {{video, milliseconds}, 0, 0, 1, 1, action, 1};
}

using Actions = std::vector<AvaAction>;

absl::StatusOr<std::vector<std::string>> Check(const Actions& truths, const Actions& findings,
                                               const std::set<AvaFrame>& nobody = {},
                                               const AvaOptions& options = {}) {
  std::set<AvaFrame> keyframes = nobody;
  for (const AvaAction& row : truths) keyframes.insert(row.frame);
  return CheckAvaFit({"t.csv", "d.csv"}, truths, keyframes, findings, options);
}

TEST(CheckAvaFit, SaysNothingWhereAllFits) {
  EXPECT_THAT(Check({Row("a", 1000, 1)}, {Row("a", 1000, 1), Row("a", 2000, 7)}).value(),
              IsEmpty());
  EXPECT_THAT(
      Check({Row("a", 1000, 1)}, {Row("a", 1000, 1), Row("b", 2000, 1)}, {{"b", 2000}}).value(),
      IsEmpty())
      << "nobody does anything in b, and that is known";
}

TEST(CheckAvaFit, NoVideoInCommonIsAnErrorWithBothNames) {
  const auto fit = Check({Row("a", 1000, 1), Row("b", 1000, 1)}, {Row("a.mp4", 1000, 1)});
  EXPECT_TRUE(absl::IsInvalidArgument(fit.status()));
  EXPECT_EQ(fit.status().message(),
            "d.csv has no video of t.csv: expected names such as \"a\", found names such as "
            "\"a.mp4\"");
}

TEST(CheckAvaFit, WarnsOfVideosThatOneSideHas) {
  const Actions truths = {Row("a", 1000, 1), Row("b", 1000, 1), Row("b", 2000, 1)};
  const Actions findings = {Row("a", 1000, 1), Row("c", 1000, 1), Row("d", 1000, 1)};
  EXPECT_THAT(
      Check(truths, findings).value(),
      ElementsAre("2 of 3 videos of d.csv are not in t.csv, such as \"c\": their 2 rows count as "
                  "wrong",
                  "1 of 2 videos of t.csv are not in d.csv, such as \"b\": their 2 rows count as "
                  "missed"));
}

TEST(CheckAvaFit, WarnsOfFindingsThatCannotBeRight) {
  const Actions truths = {Row("a", 902'000, 12)};
  EXPECT_THAT(Check(truths, {}).value(),
              ElementsAre("d.csv has no detection: all that t.csv has counts as missed"));
  EXPECT_THAT(Check(truths, {Row("a", 2500, 12)}).value(),
              ElementsAre("d.csv has no keyframe of t.csv: expected such as 902 s of \"a\", found "
                          "such as 2.5 s of \"a\""));
  EXPECT_THAT(Check(truths, {Row("a", 902'000, 0)}).value(),
              ElementsAre("d.csv has no action of t.csv: expected numbers such as 12, found such "
                          "as 0"));
  EXPECT_THAT(Check({}, {Row("a", 902'000, 0)}).value(), IsEmpty());
}

TEST(CheckAvaFit, WarnsWhereNoBoxOverlapsOne) {
  AvaAction left = Row("a", 1000, 1);
  left.x_max = 0.5;
  AvaAction right = Row("a", 1000, 1);
  right.x_min = 0.5;
  constexpr char kWarning[] =
      "no box of d.csv overlaps one of t.csv at the same keyframe: expected such as [0 0 0.5 1] at "
      "1 s of \"a\", found [0.5 0 1 1] at 1 s of \"a\"";
  EXPECT_THAT(Check({left}, {right, right}).value(), ElementsAre(kWarning));
  EXPECT_THAT(Check({left}, {right, Row("a", 2000, 1)}).value(), ElementsAre(kWarning))
      << "what is found elsewhere says nothing";
  EXPECT_THAT(Check({left}, {right, Row("a", 1000, 7)}).value(), IsEmpty());
  AvaOptions options;
  options.actions = {1};
  EXPECT_THAT(Check({left}, {right, Row("a", 1000, 7)}, {}, options).value(), ElementsAre(kWarning))
      << "action 7 is not judged";
}

TEST(CheckAvaFit, LooksAtWhatIsJudgedAlone) {
  AvaOptions options;
  options.actions = {1};
  options.excluded = {{"c", 1000}};
  const Actions truths = {Row("a", 1000, 1), Row("c", 1000, 1)};
  EXPECT_THAT(Check(truths, {Row("a", 1000, 1), Row("x", 1000, 2)}, {}, options).value(),
              IsEmpty());
  EXPECT_THAT(Check(truths, {Row("a", 1000, 2)}, {}, options).value(),
              ElementsAre("d.csv has no detection that is judged: all that t.csv has counts as "
                          "missed"));
}

}  // namespace
}  // namespace scanline::cli
