#include "client/cli/index_run.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/local_error.h"
#include "client/cli/ordered_run.h"
#include "client/cli/outcome.h"
#include "client/cli/progress.h"
#include "client/cli/send_clip.h"
#include "client/cli/spec.h"
#include "client/cli/text_width.h"

namespace scanline::cli {
namespace {

void SayOnError(absl::string_view text) {
  fprintf(stderr, "scanline: %s\n", PrintableText(text).c_str());
}

absl::Status AddRow(const v1::Embedding& embedding, int dim, std::vector<float>& rows) {
  if (embedding.values_size() != dim) {
    return MakeError(Reason::kInternal,
                     absl::StrCat("expected a vector of ", dim, " numbers, the server sent ",
                                  embedding.values_size()));
  }
  const auto is_finite = [](float x) { return std::isfinite(x); };
  if (!std::all_of(embedding.values().begin(), embedding.values().end(), is_finite)) {
    return MakeError(Reason::kInternal, "the server sent a vector that is not all numbers");
  }
  rows.insert(rows.end(), embedding.values().begin(), embedding.values().end());
  return absl::OkStatus();
}

absl::Status Unreadable(absl::string_view why) {
  return MakeClientError(absl::StatusCode::kFailedPrecondition, kFileUnreadable, why);
}

// Takes what came back, a file at a time in order, until something ends the run.
class IndexRun {
 public:
  IndexRun(const Interrupt& interrupt, const std::vector<FileStamp>& files, int done,
           IndexWriter& writer, Progress& progress)
      : interrupt_(interrupt), files_(files), done_(done), writer_(writer), progress_(progress) {
    progress_.Update(done_, 0, absl::Now());
  }

  void Take(size_t place, const DigestedAnswer& sent) {
    if (interrupt_.raised() && absl::IsCancelled(sent.result.status())) return;
    const FileStamp& file = files_[place];
    const absl::Status status = sent.result.ok() ? Keep(file, sent) : sent.result.status();
    if (!status.ok()) Fail(file, sent.sha256, status);
    progress_.Update(++done_, run_.failed, absl::Now());
  }

  bool over() const { return run_.stopped != kExitOk; }

  IndexSent Finish() {
    progress_.Hide();
    Check(writer_.Commit());
    if (interrupt_.raised()) run_.stopped = kExitInterrupted;
    run_.not_done = static_cast<int>(files_.size()) - run_.added - run_.failed;
    return run_;
  }

 private:
  absl::Status Keep(const FileStamp& file, const DigestedAnswer& sent) {
    std::vector<float> rows;
    const auto items = MomentsOf(*sent.result, file, sent.sha256, writer_.info().dim, rows);
    if (!items.ok()) return items.status();
    for (const v1::Warning& warning : sent.result->warnings()) {
      Say(absl::StrCat(file.path, ": warning (", warning.reason(), "): ", warning.message()));
    }
    ++run_.added;
    Check(writer_.Append(*items, rows));
    Check(writer_.CommitIfCheap());
    return absl::OkStatus();
  }

  void Fail(const FileStamp& file, const std::string& sha256, const absl::Status& status) {
    if (over()) return;  // For the reason that has been said.
    const ClientError error = ErrorOf(status);
    Say(absl::StrCat(file.path, ": ", Sentence(error)));
    // The request itself is not valid: so it is for every file.
    const bool usage = error.reason == ReasonName(Reason::kFieldInvalid);
    const ExitCode code = usage ? kExitUsage : ExitCodeOf(error);
    if (code != kExitInputFailed) {
      run_.stopped = code;
      return;
    }
    ++run_.failed;
    Check(AppendSkipped(writer_.folder(), {.file = file,
                                           .sha256 = sha256,
                                           .code = absl::StatusCodeToString(error.code),
                                           .reason = error.reason,
                                           .message = error.message}));
  }

  // The index cannot be written: nothing more is sent that could not be kept.
  void Check(const absl::Status& written) {
    if (written.ok() || run_.stopped != kExitOk) return;
    Say(written.message());
    run_.stopped = kExitInputFailed;
  }

  void Say(absl::string_view text) {
    progress_.Hide();
    SayOnError(text);
  }

  const Interrupt& interrupt_;
  const std::vector<FileStamp>& files_;
  int done_;
  IndexWriter& writer_;
  Progress& progress_;
  IndexSent run_;
};

}  // namespace

FileStamp StampOf(const std::string& path) {
  FileStamp stamp{.path = path};
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return stamp;
  stamp.bytes = static_cast<uint64_t>(info.st_size);
  stamp.mtime_ns = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  return stamp;
}

IndexInfo InfoOf(const v1::Model& model) {
  return {.model = absl::StrCat(model.name(), "@", model.version()),
          .weights_sha256 = model.weights_sha256(),
          .dim = static_cast<int>(model.embedding_dim())};
}

v1::AnalysisSpec IndexSpec(const IndexInfo& info, const std::string& model, bool allow_partial) {
  v1::AnalysisSpec spec;
  spec.set_model(model);
  spec.add_tasks(v1::TASK_EMBED);
  spec.set_priority(v1::PRIORITY_BULK);
  spec.set_allow_partial(allow_partial);
  spec.mutable_embed()->set_per_window(true);
  v1::SamplingSpec& sampling = *spec.mutable_sampling();
  if (info.window_seconds > 0) SetSeconds(info.window_seconds, sampling.mutable_window());
  if (info.stride_seconds > 0) SetSeconds(info.stride_seconds, sampling.mutable_window_stride());
  return spec;
}

absl::StatusOr<std::vector<Item>> MomentsOf(const v1::ClipResult& result, const FileStamp& file,
                                            const std::string& sha256, int dim,
                                            std::vector<float>& rows) {
  std::vector<Item> items;
  rows.clear();
  const auto add = [&](const v1::Embedding& embedding, double start, double end) {
    items.push_back({ItemId(sha256, start), file, start, end, sha256});
    return AddRow(embedding, dim, rows);
  };
  for (const v1::WindowResult& window : result.windows()) {
    const absl::Status added =
        add(window.embedding(), Seconds(window.start_offset()), Seconds(window.end_offset()));
    if (!added.ok()) return added;
  }
  if (!items.empty()) return items;
  // A model whose rule has no windows looks at the clip as one.
  if (result.embeddings().empty()) {
    return MakeError(Reason::kInternal, "expected a vector of the clip, the server sent none");
  }
  const v1::Embedding& whole = result.embeddings(0);
  const absl::Status added = add(whole, Seconds(whole.start_offset()), Seconds(whole.end_offset()));
  if (!added.ok()) return added;
  return items;
}

IndexSent SendToIndex(const Args& args, const Terminal& terminal, const Interrupt& interrupt,
                      const Session& session, const std::vector<FileStamp>& files, int total,
                      int done, IndexWriter& writer) {
  Progress progress(args.progress, MayDrawOver(args.progress, terminal), total);
  IndexRun run(interrupt, files, done, writer, progress);
  const v1::AnalysisSpec spec = IndexSpec(writer.info(), session.model.name(), args.allow_partial);
  std::atomic<bool> stop{false};
  RunInOrder<DigestedAnswer>(
      static_cast<int>(files.size()), args.jobs, stop,
      [&](int i) {
        const std::string& path = files[static_cast<size_t>(i)].path;
        std::error_code unknown;
        // Reading a named pipe that nobody meant may never end.
        if (std::filesystem::exists(path, unknown) &&
            !std::filesystem::is_regular_file(path, unknown) &&
            !std::filesystem::is_directory(path, unknown)) {
          return DigestedAnswer{"", Unreadable("no regular file")};
        }
        const auto upload = progress.NewUpload();
        const auto on_sent = [&](uint64_t sent, uint64_t bytes) {
          progress.Sent(upload, sent, bytes, absl::Now());
        };
        auto sent = SendDigested(path, *session.client, session.limits, spec,
                                 absl::Seconds(args.timeout_seconds), on_sent);
        progress.EndUpload(upload);
        return sent;
      },
      [&](int i, const DigestedAnswer& sent) {
        run.Take(static_cast<size_t>(i), sent);
        stop = run.over() || interrupt.raised();
      });
  return run.Finish();
}

}  // namespace scanline::cli
