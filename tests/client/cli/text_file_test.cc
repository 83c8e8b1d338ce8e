#include "client/cli/text_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/support/temp_folder.h"

namespace scanline::cli {
namespace {

using ::testing::HasSubstr;

std::string Refused(const std::string& path, uint64_t most = kMostTextBytes) {
  const auto text = ReadTextFile("the list", path, most);
  if (text.ok()) return "accepted";
  EXPECT_TRUE(absl::IsInvalidArgument(text.status()));
  return std::string(text.status().message());
}

TEST(ReadTextFile, ReadsFilesToTheirEnd) {
  const testing::TempFolder scratch;
  const std::string large(5'000'000, 'x');
  EXPECT_EQ(ReadTextFile("the list", scratch.Write("a.txt", large)).value(), large);
  EXPECT_EQ(ReadTextFile("the list", scratch.Write("b.txt", "")).value(), "");
  EXPECT_EQ(ReadTextFile("the list", "/dev/null").value(), "");
}

TEST(ReadTextFile, ReadsAPipeUntilItsWriterIsDone) {
  const testing::TempFolder scratch;
  const std::string pipe = (scratch / "pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] {
    const int fd = open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
    for (const char* part : {"some ", "text"}) EXPECT_GT(write(fd, part, strlen(part)), 0);
    close(fd);
  });
  const auto text = ReadTextFile("the list", pipe);
  writer.join();
  EXPECT_EQ(text.value(), "some text");
}

TEST(ReadTextFile, RefusesDevicesFoldersAndWhatIsMissing) {
  const testing::TempFolder scratch;
  EXPECT_EQ(Refused("/dev/zero"), "cannot read the list /dev/zero: it is a device");
  EXPECT_THAT(Refused((scratch / "")), HasSubstr(": it is a folder"));
  EXPECT_THAT(Refused((scratch / "none")), HasSubstr("No such file"));
}

TEST(ReadTextFile, HasALimit) {
  const testing::TempFolder scratch;
  const std::string file = scratch.Write("a.txt", "12345");
  EXPECT_EQ(ReadTextFile("the list", file, 5).value(), "12345");
  EXPECT_EQ(Refused(file, 4),
            absl::StrCat("cannot read the list ", file, ": it has more than 4 bytes"));
  std::filesystem::resize_file(file, uint64_t{1} << 40);  // a hole
  EXPECT_THAT(Refused(file), HasSubstr("more than 268435456 bytes"));
  // Of a pipe it shows on the way.
  const std::string pipe = (scratch / "pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int fd = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(write(fd, "12345", 5), 5);
  EXPECT_THAT(Refused(pipe, 4), HasSubstr("more than 4 bytes"));
  close(fd);
}

}  // namespace
}  // namespace scanline::cli
