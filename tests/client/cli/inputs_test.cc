#include "client/cli/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "client/client_error.h"

namespace scanline::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kMp4(
    "\0\0\0\x20"
    "ftypisom",
    12);

class ExpandInputsTest : public ::testing::Test {
 protected:
  ExpandInputsTest() {
    std::string pattern = ::testing::TempDir() + "/inputs-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~ExpandInputsTest() override { std::filesystem::remove_all(root_); }

  std::string Path(const std::string& name) const { return root_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }
  static std::string ErrorFor(const std::vector<std::string>& arguments) {
    return std::string(ExpandInputs(arguments).status().message());
  }

  std::string root_;
};

TEST_F(ExpandInputsTest, FindsVideosInAFolderByContentInSortedOrder) {
  const std::string b = Write("clips/b.mp4", kMp4);
  const std::string c = Write("clips/deep/er/c.dat", kMp4);
  const std::string a = Write("clips/a", kMp4);
  Write("clips/notes.mp4", "not a video, whatever its name says");
  Write("clips/empty.mp4", "");
  Write("clips/.hidden.mp4", kMp4);
  Write("clips/.git/d.mp4", kMp4);
  const auto inputs = ExpandInputs({Path("clips")});
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_THAT(*inputs, ElementsAre(a, b, c));
}

TEST_F(ExpandInputsTest, TakesFilesAsNamedInTheOrderNamed) {
  const std::string text = Write("notes.txt", "text");
  const auto inputs = ExpandInputs({Path("missing.mp4"), text, "-"});
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_THAT(*inputs, ElementsAre(Path("missing.mp4"), text, "-"));
}

TEST_F(ExpandInputsTest, ExpandsPatternsUnlessAFileHasThatName) {
  const std::string two = Write("2.mp4", kMp4);
  const std::string one = Write("1.mp4", kMp4);
  const std::string literal = Write("[x].mp4", kMp4);
  EXPECT_THAT(*ExpandInputs({Path("?.mp4")}), ElementsAre(one, two));
  EXPECT_THAT(*ExpandInputs({literal}), ElementsAre(literal));
}

TEST_F(ExpandInputsTest, ReadsLists) {
  const std::string one = Write("1.mp4", kMp4);
  const std::string list = Write("list.txt", "# a comment\n\n" + one + "\r\n" + Path("no.mp4"));
  EXPECT_THAT(*ExpandInputs({"@" + list}), ElementsAre(one, Path("no.mp4")));
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
