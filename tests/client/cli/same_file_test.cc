#include "client/cli/same_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "client/cli/args.h"
#include "tests/support/temp_folder.h"

namespace scanline::cli {
namespace {

namespace fs = std::filesystem;

class SameFile : public ::testing::Test {
 protected:
  std::string Path(const char* name) const { return (scratch_ / name); }
  std::string Refused(const std::vector<NamedFile>& written,
                      const std::vector<NamedFile>& read) const {
    const absl::Status status = CheckWritten(written, read);
    EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status));
    return std::string(status.message());
  }

  testing::TempFolder scratch_;
};

TEST_F(SameFile, IsOneHoweverItIsSpelt) {
  const std::string one = scratch_.Write("one.csv", "1");
  const std::string other = scratch_.Write("other.csv", "1");
  fs::create_symlink(one, Path("link.csv"));
  fs::create_hard_link(one, Path("hard.csv"));
  fs::create_directory(Path("folder"));
  fs::create_directory_symlink(Path("folder"), Path("way"));
  EXPECT_TRUE(IsSameFile(one, one));
  EXPECT_TRUE(IsSameFile(one, Path("./folder/../one.csv")));
  EXPECT_TRUE(IsSameFile(one, Path("link.csv")));
  EXPECT_TRUE(IsSameFile(one, Path("hard.csv")));
  EXPECT_TRUE(IsSameFile(Path("folder/new.csv"), Path("way/new.csv"))) << "neither is there yet";
  EXPECT_TRUE(IsSameFile("new.csv", "./new.csv"));
  EXPECT_FALSE(IsSameFile(one, other)) << "of the same content";
  EXPECT_FALSE(IsSameFile(Path("new.csv"), Path("folder/new.csv")));
}

TEST_F(SameFile, InsideIsWhereThePathLeads) {
  fs::create_directory(Path("folder"));
  fs::create_directory_symlink(Path("folder"), Path("way"));
  EXPECT_TRUE(IsInside(Path("way/deep/new.csv"), Path("folder")));
  EXPECT_TRUE(IsInside(Path("folder"), Path("folder/.")));
  EXPECT_FALSE(IsInside(Path("folder.csv"), Path("folder")));
  EXPECT_FALSE(IsInside(Path("way/../x.csv"), Path("folder")));
}

TEST_F(SameFile, WhatIsReadIsNotWritten) {
  const std::string one = scratch_.Write("one.csv", "1");
  fs::create_symlink(one, Path("link.csv"));
  EXPECT_EQ(Refused({{"--save", Path("new.csv")}}, {{"--boxes", one}}), "");
  EXPECT_EQ(Refused({{"--save", one}}, {{"the INPUT", "a.mp4"}, {"--boxes", one}}),
            "--save " + one + " is --boxes itself");
  EXPECT_EQ(Refused({{"--save", Path("link.csv")}}, {{"--boxes", one}}),
            "--save " + Path("link.csv") + " is --boxes itself (" + one + ")");
}

TEST_F(SameFile, NothingIsWrittenTwice) {
  EXPECT_EQ(Refused({{"--save", "a.csv"}, {"--save", "b.csv"}}, {}), "");
  EXPECT_EQ(Refused({{"--save", "a.csv"}, {"--save", "./a.csv"}}, {}),
            "--save ./a.csv is there twice, also as a.csv");
}

TEST(FilesRead, AreAllThatTheCommandNames) {
  Args args;
  args.inputs = {"@list.txt", "folder"};
  args.detect.boxes = "b.csv";
  args.config = "c.toml";
  std::string names;
  for (const auto& [name, path] : FilesRead(args, {"x.mp4", "-"})) names += name + "=" + path + " ";
  EXPECT_EQ(names, "the INPUT=x.mp4 the list=list.txt --boxes=b.csv --config=c.toml ");
}

}  // namespace
}  // namespace scanline::cli
