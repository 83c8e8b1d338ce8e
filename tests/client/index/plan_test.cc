#include "client/index/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace scanline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// A disk: path -> bytes. A file's time is what the test says, its length that of its bytes.
class Plan : public ::testing::Test {
 protected:
  static FileStamp Stamp(const std::string& path, const std::string& bytes, int64_t mtime = 1) {
    return {path, bytes.size(), mtime};
  }
  void Write(const std::string& path, const std::string& bytes, int64_t mtime = 1) {
    disk_[path] = bytes;
    found_.push_back(Stamp(path, bytes, mtime));
  }
  void Indexed(const std::string& path, const std::string& bytes, int64_t mtime = 1) {
    indexed_.push_back({Stamp(path, bytes, mtime), "sha of " + bytes, row_, 2});
    row_ += 2;
  }
  IndexPlan Make(bool prune = false) {
    return PlanIndex(indexed_, found_, prune,
                     {.exists = [&](const std::string& path) { return disk_.count(path) > 0; },
                      .sha256 =
                          [&](const std::string& path) {
                            read_.push_back(path);
                            return disk_.count(path) > 0 ? "sha of " + disk_[path] : "";
                          }});
  }
  static std::vector<std::string> Kept(const IndexPlan& plan) {
    std::vector<std::string> paths;
    for (const IndexedFile& file : plan.kept) paths.push_back(file.stamp.path);
    return paths;
  }

  std::map<std::string, std::string> disk_;
  std::vector<FileStamp> found_;
  std::vector<IndexedFile> indexed_;
  std::vector<std::string> read_;
  int64_t row_ = 0;
};

TEST_F(Plan, SendsNewFilesWithoutReadingThem) {
  Write("/a", "one");
  Write("/b", "three");
  const IndexPlan plan = Make();
  EXPECT_THAT(plan.send, ElementsAre(0, 1));
  EXPECT_FALSE(plan.rewrite);
  EXPECT_THAT(read_, IsEmpty());
}

TEST_F(Plan, LeavesAFileOfTheSameLengthAndTimeAlone) {
  Indexed("/a", "one");
  Write("/a", "one");
  const IndexPlan plan = Make();
  EXPECT_THAT(plan.send, IsEmpty());
  EXPECT_EQ(plan.unchanged, 1);
  EXPECT_FALSE(plan.rewrite);
  EXPECT_THAT(read_, IsEmpty());
}

TEST_F(Plan, ReadsAFileOfAnotherTimeAndKeepsTheSameBytes) {
  Indexed("/a", "one");
  Write("/a", "one", 2);
  const IndexPlan plan = Make();
  EXPECT_THAT(plan.send, IsEmpty());
  EXPECT_EQ(plan.unchanged, 1);
  EXPECT_THAT(read_, ElementsAre("/a"));
  EXPECT_TRUE(plan.rewrite);
  EXPECT_EQ(plan.kept[0].stamp.mtime_ns, 2);
}

TEST_F(Plan, SendsChangedBytesAndDropsTheirEarlierRows) {
  Indexed("/a", "one");
  Indexed("/b", "three");
  Write("/a", "two", 2);
  Write("/b", "three");
  const IndexPlan plan = Make();
  EXPECT_THAT(plan.send, ElementsAre(0));
  EXPECT_EQ(plan.changed, 1);
  EXPECT_TRUE(plan.rewrite);
  EXPECT_THAT(Kept(plan), ElementsAre("/b"));
}

TEST_F(Plan, SaysWhatIsGoneAndDropsItOnlyWhenAsked) {
  Indexed("/a", "one");
  Indexed("/b", "three");
  Write("/b", "three");
  IndexPlan plan = Make();
  EXPECT_THAT(plan.missing, ElementsAre("/a"));
  EXPECT_FALSE(plan.rewrite);
  plan = Make(/*prune=*/true);
  EXPECT_THAT(plan.missing, IsEmpty());
  EXPECT_EQ(plan.pruned, 1);
  EXPECT_THAT(Kept(plan), ElementsAre("/b"));
}

TEST_F(Plan, KeepsWhatIsIndexedAndThereButNotLookedFor) {
  Indexed("/elsewhere/a", "one");
  disk_["/elsewhere/a"] = "one";
  Write("/b", "three");
  const IndexPlan plan = Make(/*prune=*/true);
  EXPECT_THAT(Kept(plan), ElementsAre("/elsewhere/a"));
  EXPECT_THAT(plan.send, ElementsAre(0));
}

TEST_F(Plan, AMovedFileKeepsItsRows) {
  Indexed("/old", "one");
  Write("/new", "one", 5);
  const IndexPlan plan = Make(/*prune=*/true);
  EXPECT_THAT(plan.send, IsEmpty());
  EXPECT_EQ(plan.moved, 1);
  EXPECT_EQ(plan.pruned, 0);
  ASSERT_EQ(plan.kept.size(), 1U);
  EXPECT_EQ(plan.kept[0].stamp, found_[0]);
}

TEST_F(Plan, FilesThatChangedNamesKeepTheirRows) {
  Indexed("/a", "one");
  Indexed("/b", "two");
  Write("/a", "two", 2);
  Write("/b", "one", 2);
  const IndexPlan plan = Make();
  EXPECT_THAT(plan.send, IsEmpty());
  EXPECT_EQ(plan.moved, 2);
  EXPECT_THAT(Kept(plan), ElementsAre("/b", "/a"));
}

TEST_F(Plan, TheSameBytesAreSentOnce) {
  Indexed("/a", "one");
  Write("/a", "one");
  Write("/copy", "one");
  Write("/c", "four");
  Write("/d", "four");
  Write("/e", "five");
  const IndexPlan plan = Make();
  EXPECT_THAT(plan.send, ElementsAre(2, 4));
  EXPECT_THAT(plan.duplicates, ElementsAre(Pair(1, "/a"), Pair(3, "/c")));
}

TEST_F(Plan, WhatCannotBeReadIsSentSoThatTheSenderSaysWhy) {
  Indexed("/a", "one");
  found_.push_back({"/a", 3, 9});
  found_.push_back({"/b", 0, 0});
  found_.push_back({"/c", 0, 0});
  const IndexPlan plan = Make();
  EXPECT_THAT(plan.send, ElementsAre(0, 1, 2));
  EXPECT_THAT(plan.duplicates, IsEmpty());
}

}  // namespace
}  // namespace scanline
