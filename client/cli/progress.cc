#include "client/cli/progress.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace scanline::cli {
namespace {

constexpr int kBarWidth = 24;
constexpr absl::Duration kLineEvery = absl::Seconds(10);
constexpr absl::Duration kDrawEvery = absl::Milliseconds(100);
constexpr uint64_t kMegabyte = 1'000'000;

std::string Bar(int percent) {
  const int filled = kBarWidth * percent / 100;
  std::string bar(static_cast<size_t>(filled), '=');
  if (filled < kBarWidth) bar += '>';
  bar.resize(kBarWidth, ' ');
  return absl::StrCat("  [", bar, "]");
}

}  // namespace

std::string ProgressText(int done, int failed, int total, bool with_bar) {
  const int percent = total == 0 ? 100 : static_cast<int>(100LL * done / total);
  std::string text = absl::StrFormat("%d of %d", done, total);
  if (with_bar) absl::StrAppend(&text, Bar(percent));
  absl::StrAppendFormat(&text, "  %3d %%", percent);
  if (failed > 0) absl::StrAppend(&text, "  ", failed, " failed");
  return text;
}

std::string SentText(uint64_t sent, uint64_t total, bool with_bar) {
  if (total == 0) return absl::StrCat("sent ", sent / kMegabyte, " MB");
  if (sent >= total) return absl::StrCat("sent ", sent / kMegabyte, " MB, waiting for the answer");
  const int percent =
      static_cast<int>(100.0 * static_cast<double>(sent) / static_cast<double>(total));
  return absl::StrCat("sent ", sent / kMegabyte, " of ", total / kMegabyte, " MB",
                      with_bar ? Bar(percent) : "", absl::StrFormat("  %3d %%", percent));
}

Progress::Progress(When when, bool is_tty, int total, FILE* out)
    : mode_(when == When::kNever ? Mode::kOff
            : is_tty ? (when == When::kAlways || total > 1 ? Mode::kBar : Mode::kUploads)
            : when == When::kAlways ? Mode::kEveryLine
                                    : Mode::kLines),
      total_(total),
      out_(out) {}

void Progress::Update(int done, int failed, absl::Time now) {
  MutexLock lock(mu_);
  done_ = done;
  failed_ = failed;
  hidden_ = false;
  if (last_line_ == absl::InfinitePast()) last_line_ = now;
  if (mode_ == Mode::kBar) {
    if (done == total_) return Erase();  // The summary and the rows say the rest.
    Draw();
  } else if (mode_ == Mode::kEveryLine ||
             (mode_ == Mode::kLines && now - last_line_ >= kLineEvery)) {
    absl::FPrintF(out_, "scanline: %s\n", ProgressText(done, failed, total_, false));
    last_line_ = now;
  }
}

void Progress::Hide() {
  MutexLock lock(mu_);
  hidden_ = true;
  Erase();
}

int Progress::NewUpload() {
  MutexLock lock(mu_);
  return next_upload_++;
}

void Progress::Sent(int upload, uint64_t sent, uint64_t total, absl::Time now) {
  MutexLock lock(mu_);
  uploads_[upload] = {sent, total};
  const bool on_terminal = mode_ == Mode::kBar || mode_ == Mode::kUploads;
  // The last piece is shown however soon it comes: nothing more does until the answer.
  const bool all_sent = total > 0 && sent >= total;
  if (!on_terminal || hidden_ || (!all_sent && now - last_drawn_ < kDrawEvery)) return;
  last_drawn_ = now;
  Draw();
}

void Progress::EndUpload(int upload) {
  MutexLock lock(mu_);
  uploads_.erase(upload);
}

std::string Progress::UploadsText() const {
  Bytes all;
  bool known = true;
  for (const auto& [upload, bytes] : uploads_) {
    all.sent += bytes.sent;
    all.total += bytes.total;
    known = known && bytes.total > 0;
  }
  return SentText(all.sent, known ? all.total : 0, mode_ == Mode::kUploads);
}

void Progress::Draw() {
  std::string text;
  if (mode_ == Mode::kBar) text = ProgressText(done_, failed_, total_, true);
  if (!uploads_.empty()) absl::StrAppend(&text, text.empty() ? "" : "  ", UploadsText());
  absl::FPrintF(out_, "\r\x1b[K%s", text);
  fflush(out_);
  shown_ = true;
}

void Progress::Erase() {
  if (!shown_) return;
  absl::FPrintF(out_, "\r\x1b[K");
  fflush(out_);
  shown_ = false;
}

}  // namespace scanline::cli
