#include "client/cli/progress.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace scanline::cli {
namespace {

constexpr int kBarWidth = 24;
constexpr absl::Duration kLineEvery = absl::Seconds(10);

}  // namespace

std::string ProgressText(int done, int failed, int total, bool with_bar) {
  const int percent = total == 0 ? 100 : static_cast<int>(100LL * done / total);
  std::string text = absl::StrFormat("%d of %d", done, total);
  if (with_bar) {
    const int filled = kBarWidth * percent / 100;
    std::string bar(static_cast<size_t>(filled), '=');
    if (filled < kBarWidth) bar += '>';
    bar.resize(kBarWidth, ' ');
    absl::StrAppend(&text, "  [", bar, "]");
  }
  absl::StrAppendFormat(&text, "  %3d %%", percent);
  if (failed > 0) absl::StrAppend(&text, "  ", failed, " failed");
  return text;
}

Progress::Progress(When when, bool is_tty, int total, FILE* out)
    : mode_(when == When::kNever    ? Mode::kOff
            : is_tty                ? (when == When::kAlways || total > 1 ? Mode::kBar : Mode::kOff)
            : when == When::kAlways ? Mode::kEveryLine
                                    : Mode::kLines),
      total_(total),
      out_(out) {}

void Progress::Update(int done, int failed, absl::Time now) {
  if (last_line_ == absl::InfinitePast()) last_line_ = now;
  if (mode_ == Mode::kBar) {
    if (done == total_) return Hide();  // The summary and the rows say the rest.
    absl::FPrintF(out_, "\r\x1b[K%s", ProgressText(done, failed, total_, true));
    fflush(out_);
    shown_ = true;
  } else if (mode_ == Mode::kEveryLine ||
             (mode_ == Mode::kLines && now - last_line_ >= kLineEvery)) {
    absl::FPrintF(out_, "scanline: %s\n", ProgressText(done, failed, total_, false));
    last_line_ = now;
  }
}

void Progress::Hide() {
  if (!shown_) return;
  absl::FPrintF(out_, "\r\x1b[K");
  fflush(out_);
  shown_ = false;
}

}  // namespace scanline::cli
