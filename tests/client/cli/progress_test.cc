#include "client/cli/progress.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

namespace scanline::cli {
namespace {

// What a Progress writes, kept in memory.
class Screen {
 public:
  ~Screen() {
    fclose(file_);
    free(text_);
  }
  FILE* file() { return file_; }
  std::string text() {
    fflush(file_);
    return std::string(text_, size_);
  }

 private:
  char* text_ = nullptr;
  size_t size_ = 0;
  FILE* file_ = open_memstream(&text_, &size_);
};

absl::Time At(int seconds) { return absl::UnixEpoch() + absl::Seconds(seconds); }

TEST(ProgressText, ShowsCountShareAndFailures) {
  EXPECT_EQ(ProgressText(5, 0, 14, false), "5 of 14   35 %");
  EXPECT_EQ(ProgressText(7, 2, 14, true), "7 of 14  [============>           ]   50 %  2 failed");
  EXPECT_EQ(ProgressText(14, 0, 14, true), "14 of 14  [========================]  100 %");
}

TEST(Progress, WritesNoEscapesAndOneLineEveryTenSecondsOffATerminal) {
  Screen screen;
  Progress progress(When::kAuto, /*is_tty=*/false, /*total=*/100, screen.file());
  progress.Update(0, 0, At(0));
  progress.Update(10, 0, At(5));
  EXPECT_EQ(screen.text(), "");
  progress.Update(20, 1, At(10));
  progress.Update(30, 1, At(15));
  EXPECT_EQ(screen.text(), "scanline: 20 of 100   20 %  1 failed\n");
}

TEST(Progress, DrawsOverItsLineOnATerminalAndLeavesNothingBehind) {
  Screen screen;
  Progress progress(When::kAuto, /*is_tty=*/true, /*total=*/2, screen.file());
  progress.Update(1, 0, At(0));
  progress.Update(2, 0, At(1));
  EXPECT_EQ(screen.text(), "\r\x1b[K1 of 2  [============>           ]   50 %\r\x1b[K");
}

TEST(Progress, NeverMeansNever) {
  Screen screen;
  Progress progress(When::kNever, /*is_tty=*/true, /*total=*/2, screen.file());
  progress.Update(1, 0, At(100));
  EXPECT_EQ(screen.text(), "");
}

}  // namespace
}  // namespace scanline::cli
