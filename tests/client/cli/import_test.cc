// `scanline import` as a user runs it: exit codes, and what goes to which stream.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace scanline::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ProcessResult;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

class ImportVerb : public ::testing::Test {
 protected:
  ImportVerb() { std::ofstream(root_ + "/labels.txt") << "run\njump\nswim\n"; }

  ProcessResult Run(const std::string& file, const std::string& labels = "",
                    const std::string& name = "m", const Words& more = {}) const {
    Words argv = {SCANLINE_BIN_DIR "/scanline",
                  "import",
                  file,
                  "--labels",
                  labels.empty() ? root_ + "/labels.txt" : labels,
                  "--name",
                  name,
                  "-o",
                  root_ + "/models"};
    argv.insert(argv.end(), more.begin(), more.end());
    return testing::RunProcess(argv);
  }
  static std::string Fixture(const std::string& name) {
    return SCANLINE_SOURCE_DIR "/tests/data/checkpoints/" + name;
  }

  const testing::TempFolder folder_;
  const std::string root_ = folder_.path();
};

TEST_F(ImportVerb, PrintsTheFolderAndSaysOnErrorWhatItInferred) {
  const ProcessResult first = Run(Fixture("training.pth"));
  EXPECT_EQ(first.exit_code, 0);
  EXPECT_EQ(first.out, root_ + "/models/m\n");
  EXPECT_THAT(first.err, AllOf(HasSubstr("inferred  VideoMamba"), HasSubstr("wrote     14004")));
  const ProcessResult second = Run(Fixture("training.pth"));
  EXPECT_EQ(second.exit_code, 0);
  EXPECT_EQ(second.out, first.out);
  EXPECT_THAT(second.err, HasSubstr("nothing to do"));
}

TEST_F(ImportVerb, AFileThatCannotBeImportedIsExitCode1) {
  for (const char* file : {"legacy.pth", "missing.pth", "evil_root.pth", "none.pth"}) {
    const ProcessResult result = Run(Fixture(file));
    EXPECT_EQ(result.exit_code, 1) << file;
    EXPECT_EQ(result.out, "") << file;
    EXPECT_THAT(result.err, HasSubstr(file));
  }
  EXPECT_FALSE(fs::exists("scanline-ran-a-pickle"));
}

TEST_F(ImportVerb, WrongUseIsExitCode2) {
  const ProcessResult labels = Run(Fixture("training.pth"), "ucf101");
  EXPECT_EQ(labels.exit_code, 2);
  EXPECT_THAT(labels.err, HasSubstr("the head has 3 classes, the labels are 101"));
  const ProcessResult mixer =
      Run(Fixture("training.pth"), "", "m", {"--mixer", "videomambapro_v1"});
  EXPECT_EQ(mixer.exit_code, 2);
  EXPECT_THAT(mixer.err, HasSubstr("does not fit the file"));
  const ProcessResult name = Run(Fixture("training.pth"), "", "a/b");
  EXPECT_EQ(name.exit_code, 2);
  EXPECT_THAT(name.err, HasSubstr("--name a/b"));
  EXPECT_EQ(Run("").exit_code, 2);
  EXPECT_EQ(Run(Fixture("training.pth")).exit_code, 0);
  const ProcessResult taken = Run(Fixture("layernorm.pth"));
  EXPECT_EQ(taken.exit_code, 2);
  EXPECT_THAT(taken.err, HasSubstr("--force"));
}

TEST_F(ImportVerb, ForceDoesNotReplaceWhatIsRead) {
  ASSERT_EQ(Run(Fixture("training.pth")).exit_code, 0);
  const std::string labels = root_ + "/models/m/labels.txt";
  fs::copy_file(root_ + "/labels.txt", labels, fs::copy_options::overwrite_existing);
  const ProcessResult result = Run(Fixture("layernorm.pth"), labels, "m", {"--force"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--labels " + labels + " is inside " + root_ + "/models/m"));
  EXPECT_TRUE(fs::exists(labels));
}

TEST_F(ImportVerb, WhatAFileSaysDoesNotDriveTheTerminal) {
  const std::string file = root_ + "/\x1b[31mred.pth";
  std::ofstream(file) << "GIF89a";
  const ProcessResult result = Run(file);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace scanline::cli
