#include "model/checkpoint/label_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/model/bundle_folder.h"

namespace scanline::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char kShipped[] = SCANLINE_SOURCE_DIR "/assets/labels";

LabelList Read(const std::string& wanted) {
  const auto list = ReadLabelList(wanted, kShipped);
  if (!list.ok()) {
    ADD_FAILURE() << list.status();
    return {};
  }
  return *list;
}

std::string Refusal(const std::string& wanted, const std::string& folder = kShipped) {
  const auto list = ReadLabelList(wanted, folder);
  if (list.ok()) return "accepted";
  EXPECT_EQ(list.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(list.status().message());
}

TEST(LabelList, TheShippedListsHaveTheirClasses) {
  struct Known {
    const char* name;
    size_t count;
    int row;
    const char* label;
  };
  for (const Known& known :
       {Known{"kinetics400", 400, 0, "abseiling"}, Known{"kinetics400", 400, 399, "zumba"},
        Known{"ssv2", 174, 0, "Approaching something with your camera"},
        Known{"ucf101", 101, 36, "HandstandPushups"}, Known{"hmdb51", 51, 50, "wave"},
        Known{"ava", 80, 79, "watch (a person)"}}) {
    const LabelList list = Read(known.name);
    ASSERT_EQ(list.labels.size(), known.count) << known.name;
    EXPECT_EQ(list.labels[known.row], known.label) << known.name;
    EXPECT_EQ(std::set<std::string>(list.labels.begin(), list.labels.end()).size(), known.count);
    EXPECT_EQ(list.name, known.name);
    EXPECT_EQ(list.exclusive, list.name != "ava");  // People do several things at once.
    EXPECT_EQ(list.index_offset, list.name == "ava" ? 1 : 0);
  }
}

TEST(LabelList, ReadsAFileOfTheUser) {
  TempFolder folder;
  folder.Write("mine.txt", "run\r\njump, high\n");
  const LabelList list = Read(folder.path() + "/mine.txt");
  EXPECT_THAT(list.labels, ElementsAre("run", "jump, high"));
  EXPECT_EQ(list.name, "");
}

TEST(LabelList, SaysWhatIsWrong) {
  TempFolder folder;
  folder.Write("gap.txt", "run\n\njump\n");
  folder.Write("ava.tsv", "1\tstand\t1\n3\tsit\t1\n");
  folder.Write("latin.txt", "run\ncaf\xe9\n");
  folder.Write("twice.txt", "run\njump\nrun\n");
  EXPECT_THAT(Refusal(folder.path() + "/latin.txt"), HasSubstr("latin.txt:2: expected UTF-8"));
  EXPECT_THAT(Refusal(folder.path() + "/twice.txt"),
              HasSubstr("twice.txt:3: \"run\" is in line 1 already"));
  TempFolder ids;
  ids.Write("ava.tsv", "1\tstand\t1\n2\tstand\t1\n");
  EXPECT_THAT(Refusal("ava", ids.path()), HasSubstr("is in line 1 already"));
  EXPECT_THAT(Refusal(folder.path() + "/gap.txt"), HasSubstr("gap.txt:2: the line is empty"));
  EXPECT_THAT(Refusal("kinetics700"), AllOf(HasSubstr("neither a file nor a list"),
                                            HasSubstr("ava, hmdb51, kinetics400, ssv2, ucf101")));
  EXPECT_THAT(Refusal("ava", folder.path()), HasSubstr("ava.tsv:2: expected the id 2"));
  EXPECT_THAT(Refusal("ssv2", folder.path() + "/none"), HasSubstr("missing in"));
}

TEST(LabelList, FindsTheListOfASize) {
  EXPECT_THAT(ListsOfSize(kShipped, 174), ElementsAre("ssv2"));
  EXPECT_THAT(ListsOfSize(kShipped, 5), IsEmpty());
}

}  // namespace
}  // namespace scanline::testing
