#include "client/cli/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "client/client_error.h"
#include "tests/support/temp_folder.h"

namespace scanline::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kMp4(
    "\0\0\0\x20"
    "ftypisom",
    12);

class ExpandInputsTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_ / name; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    return folder_.Write(name, bytes);
  }
  static std::string ErrorFor(const std::vector<std::string>& arguments) {
    return std::string(ExpandInputs(arguments).status().message());
  }

  const testing::TempFolder folder_;
  const std::string root_ = folder_.path();
};

// In a process of its own, which gives up being root: to root every folder can be read.
TEST_F(ExpandInputsTest, AFolderInAFolderThatMayNotBeReadIsAFileThatFails) {
  const std::string video = Write("clips/a.mp4", kMp4);
  Write("clips/locked/b.mp4", kMp4);
  chmod(root_.c_str(), 0755);
  chmod(Path("clips/locked").c_str(), 0);
  const std::vector<std::string> expected = {video, Path("clips/locked")};
  const auto look = [&] {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) exit(3);
    const auto inputs = ExpandInputs({Path("clips")});
    exit(inputs.ok() && inputs->files == expected ? 0 : 2);
  };
  EXPECT_EXIT(look(), ::testing::ExitedWithCode(0), "");
  chmod(Path("clips/locked").c_str(), 0755);
}

TEST_F(ExpandInputsTest, AnEmptyFolderIsAnErrorUnlessItMayBe) {
  std::filesystem::create_directory(Path("none"));
  EXPECT_TRUE(absl::IsNotFound(ExpandInputs({Path("none")}).status()));
  for (const char* argument : {"none", "non*"}) {
    const auto inputs = ExpandInputs({Path(argument)}, true);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    EXPECT_THAT(inputs->files, ElementsAre());
    EXPECT_THAT(inputs->notes, ElementsAre("no video in the folder " + Path("none")));
  }
  EXPECT_TRUE(absl::IsNotFound(ExpandInputs({Path("x*")}, true).status()));
}

TEST_F(ExpandInputsTest, FindsVideosInAFolderByContentInSortedOrder) {
  const std::string b = Write("clips/b.mp4", kMp4);
  const std::string c = Write("clips/deep/er/c.dat", kMp4);
  const std::string a = Write("clips/a", kMp4);
  Write("clips/notes.txt", "not a video");
  Write("clips/empty.log", "");
  std::filesystem::create_symlink("nowhere", Path("clips/link"));
  Write("clips/.hidden.mp4", kMp4);
  Write("clips/.git/d.mp4", kMp4);
  const auto inputs = ExpandInputs({Path("clips")});
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_THAT(inputs->files, ElementsAre(a, b, c));
  EXPECT_THAT(inputs->notes, ElementsAre());
}

TEST_F(ExpandInputsTest, LosesNothingInAFolderThatIsNamedLikeAVideo) {
  const std::string empty = Write("clips/Empty.MP4", "");
  const std::string text = Write("clips/text.mkv", "not a video, whatever its name says");
  std::filesystem::create_symlink("nowhere", Path("clips/dangling.mp4"));
  std::filesystem::create_symlink("loop.mp4", Path("clips/loop.mp4"));
  Write("clips/folder.mp4/readme.txt", "a folder is searched whatever its name");
  const auto inputs = ExpandInputs({Path("clips")});
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_THAT(inputs->files,
              ElementsAre(empty, Path("clips/dangling.mp4"), Path("clips/loop.mp4"), text));
  EXPECT_THAT(inputs->notes, ElementsAre());
}

TEST_F(ExpandInputsTest, LeavesOutPipesSocketsAndDevicesOfFoldersAndPatternsAndSaysSo) {
  const std::string clip = Write("clips/a.mp4", kMp4);
  for (const char* name : {"1.mp4", "2.mp4", "3.mp4", "4.mp4", "5.mp4", "6.mp4", "not-named-so"}) {
    ASSERT_EQ(mkfifo(Path(std::string("clips/") + name).c_str(), 0600), 0);
  }
  std::filesystem::create_symlink("/dev/null", Path("clips/null.mp4"));
  const auto folder = ExpandInputs({Path("clips")});
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_THAT(folder->files, ElementsAre(clip));
  ASSERT_EQ(folder->notes.size(), 1U);
  EXPECT_THAT(folder->notes[0], StartsWith(Path("clips") + ": skipped 7: "));
  EXPECT_THAT(folder->notes[0], EndsWith(" and 2 more"));

  const auto pattern = ExpandInputs({Path("clips/[a1n]*.mp4")});
  ASSERT_TRUE(pattern.ok()) << pattern.status();
  EXPECT_THAT(pattern->files, ElementsAre(clip));
  EXPECT_THAT(pattern->notes,
              ElementsAre(Path("clips/[a1n]*.mp4") + ": skipped 2: " + Path("clips/1.mp4") +
                          " (a named pipe), " + Path("clips/null.mp4") + " (a device)"));

  EXPECT_EQ(ErrorFor({Path("clips/1*")}), "nothing matches " + Path("clips/1*") + "; skipped 1: " +
                                              Path("clips/1.mp4") + " (a named pipe)");
  // A name says that it is meant.
  EXPECT_THAT(ExpandInputs({Path("clips/1.mp4")})->files, ElementsAre(Path("clips/1.mp4")));
}

TEST_F(ExpandInputsTest, TakesFilesAsNamedInTheOrderNamed) {
  const std::string text = Write("notes.txt", "text");
  const auto inputs = ExpandInputs({Path("missing.mp4"), text, "-"});
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_THAT(inputs->files, ElementsAre(Path("missing.mp4"), text, "-"));
}

TEST_F(ExpandInputsTest, ExpandsPatternsUnlessAFileHasThatName) {
  const std::string two = Write("2.mp4", kMp4);
  const std::string one = Write("1.mp4", kMp4);
  const std::string literal = Write("[x].mp4", kMp4);
  EXPECT_THAT(ExpandInputs({Path("?.mp4")})->files, ElementsAre(one, two));
  EXPECT_THAT(ExpandInputs({literal})->files, ElementsAre(literal));
  std::filesystem::create_symlink("nowhere", Path("[y].mp4"));
  EXPECT_THAT(ExpandInputs({Path("[y].mp4")})->files, ElementsAre(Path("[y].mp4")));
}

TEST_F(ExpandInputsTest, ReadsLists) {
  const std::string one = Write("1.mp4", kMp4);
  const std::string list = Write("list.txt", "# a comment\n\n" + one + "\r\n" + Path("no.mp4"));
  EXPECT_THAT(ExpandInputs({"@" + list})->files, ElementsAre(one, Path("no.mp4")));
}

TEST_F(ExpandInputsTest, RefusesWhatStandsForNothing) {
  std::filesystem::create_directories(Path("empty"));
  EXPECT_THAT(ErrorFor({Path("empty")}), HasSubstr("no video in the folder"));
  EXPECT_THAT(ErrorFor({Path("*.avi")}), HasSubstr("nothing matches"));
  EXPECT_THAT(ErrorFor({"@" + Path("none.txt")}), HasSubstr("cannot read the list"));
  EXPECT_THAT(ErrorFor({"@" + Write("list.txt", "# nothing\n")}),
              HasSubstr("no input in the list"));
  EXPECT_THAT(ErrorFor({"-", "-"}), HasSubstr("only once"));
}

}  // namespace
}  // namespace scanline::cli
