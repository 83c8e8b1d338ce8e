#include "client/cli/progress.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "client/cli/terminal.h"

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

TEST(SentText, ShowsBytesAndTheirShare) {
  EXPECT_EQ(SentText(312'000'000, 2'048'000'000, true),
            "sent 312 of 2048 MB  [===>                    ]   15 %");
  EXPECT_EQ(SentText(312'000'000, 0, true), "sent 312 MB");
  EXPECT_EQ(SentText(52'000'000, 52'000'000, true), "sent 52 MB, waiting for the answer");
}

TEST(Progress, ShowsTheUploadOfOneInputOnATerminal) {
  Screen screen;
  Progress progress(When::kAuto, /*is_tty=*/true, /*total=*/1, screen.file());
  progress.Update(0, 0, At(0));
  EXPECT_EQ(screen.text(), "");
  const int upload = progress.NewUpload();
  progress.Sent(upload, 5'000'000, 20'000'000, At(1));
  progress.Sent(upload, 6'000'000, 20'000'000, At(1));  // sooner than anybody could see
  progress.Hide();
  const std::string drawn = "\r\x1b[Ksent 5 of 20 MB  [======>                 ]   25 %\r\x1b[K";
  EXPECT_EQ(screen.text(), drawn);
  progress.Sent(upload, 20'000'000, 20'000'000, At(2));  // hidden while other text is written
  EXPECT_EQ(screen.text(), drawn);
}

TEST(Progress, SaysThatItWaitsHoweverFastTheBytesWent) {
  Screen screen;
  Progress progress(When::kAuto, /*is_tty=*/true, /*total=*/1, screen.file());
  const int upload = progress.NewUpload();
  progress.Sent(upload, 500'000, 52'000'000, At(1));
  progress.Sent(upload, 52'000'000, 52'000'000, At(1));
  EXPECT_EQ(screen.text(),
            "\r\x1b[Ksent 0 of 52 MB  [>                       ]    0 %"
            "\r\x1b[Ksent 52 MB, waiting for the answer");
}

TEST(MayDrawOver, NotBesideAPipeUnlessAskedFor) {
  const Terminal terminal{.out_is_tty = true, .err_is_tty = true};
  const Terminal pipe{.err_is_tty = true, .out_is_pipe = true};
  const Terminal file{.err_is_tty = true};
  EXPECT_TRUE(MayDrawOver(When::kAuto, terminal));
  EXPECT_TRUE(MayDrawOver(When::kAuto, file));
  EXPECT_FALSE(MayDrawOver(When::kAuto, pipe));
  EXPECT_TRUE(MayDrawOver(When::kAlways, pipe));
  EXPECT_FALSE(MayDrawOver(When::kAlways, {}));
}

TEST(Progress, AddsTheBytesOfUploadsToTheLineOfManyInputs) {
  Screen screen;
  Progress progress(When::kAuto, /*is_tty=*/true, /*total=*/4, screen.file());
  const int first = progress.NewUpload(), second = progress.NewUpload();
  progress.Sent(first, 5'000'000, 20'000'000, At(1));
  progress.EndUpload(first);
  progress.Sent(second, 1'000'000, 2'000'000, At(2));
  EXPECT_EQ(screen.text(),
            "\r\x1b[K0 of 4  [>                       ]    0 %  sent 5 of 20 MB   25 %"
            "\r\x1b[K0 of 4  [>                       ]    0 %  sent 1 of 2 MB   50 %");
}

TEST(Progress, WritesNothingOfUploadsOffATerminal) {
  Screen screen;
  Progress progress(When::kAuto, /*is_tty=*/false, /*total=*/1, screen.file());
  progress.Sent(progress.NewUpload(), 1, 2, At(1));
  EXPECT_EQ(screen.text(), "");
}

TEST(Progress, NeverMeansNever) {
  Screen screen;
  Progress progress(When::kNever, /*is_tty=*/true, /*total=*/2, screen.file());
  progress.Update(1, 0, At(100));
  EXPECT_EQ(screen.text(), "");
}

}  // namespace
}  // namespace scanline::cli
