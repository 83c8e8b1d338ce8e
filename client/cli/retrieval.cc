#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/clip_run.h"
#include "client/cli/eval_folder.h"
#include "client/cli/eval_run.h"
#include "client/cli/exit_code.h"
#include "client/cli/local_error.h"
#include "client/cli/ordered_run.h"
#include "client/cli/outcome.h"
#include "client/cli/progress.h"
#include "client/cli/retrieval_answers.h"
#include "client/cli/retrieval_gallery.h"
#include "client/cli/retrieval_report.h"
#include "client/cli/retrieval_set.h"
#include "client/cli/same_file.h"
#include "client/cli/send_clip.h"
#include "client/cli/session.h"
#include "client/cli/spec.h"
#include "client/cli/text_batch.h"
#include "client/cli/text_width.h"
#include "client/cli/verbs.h"

namespace scanline::cli {
namespace {

using Texts = std::vector<std::string>;

v1::AnalysisSpec EmbedSpec(const Args& args) {
  v1::AnalysisSpec spec = SpecOf(args);
  spec.clear_tasks();
  spec.clear_classify();
  spec.add_tasks(v1::TASK_EMBED);
  spec.set_include_sampling(false);
  return spec;
}

v1::AnalysisSpec RerankSpec(const v1::AnalysisSpec& embed, const Texts& texts) {
  v1::AnalysisSpec spec = embed;
  spec.set_tasks(0, v1::TASK_MATCH_TEXT);
  spec.mutable_match_text()->set_rerank(true);
  for (const std::string& text : texts) spec.mutable_match_text()->add_texts(text);
  return spec;
}

// One evaluation under way: the steps, each of which returns kExitOk or the exit code of what ended
// the run before its time.
class RetrievalRun {
 public:
  RetrievalRun(const Args& args, const Terminal& terminal, Interrupt& interrupt,
               const RetrievalSet& set, const Session& session)
      : args_(args),
        terminal_(terminal),
        interrupt_(interrupt),
        set_(set),
        session_(session),
        spec_(EmbedSpec(args)),
        captions_(set.captions.size()),
        answers_(set) {}

  int OpenFolder();
  int EmbedCaptions();
  int EmbedClips();
  int Rerank();
  int Report();

  // What to say of a run that was ended, if anything.
  void SayWhatIsLeft() const;

 private:
  absl::Duration timeout() const { return absl::Seconds(args_.timeout_seconds); }
  int Fatal(const absl::Status& status) const;
  void TakeCaption(size_t place, absl::StatusOr<TextVector> vector);
  absl::Status CheckEmbedding(const v1::ClipResult& result) const;
  int CheckThatItReranks(const std::vector<EvalClip>& clips);
  absl::Status AskForMatches(const EvalClip& clip, const Texts& texts, const OnSent& on_sent);

  const Args& args_;
  const Terminal& terminal_;
  Interrupt& interrupt_;
  const RetrievalSet& set_;
  const Session& session_;
  const v1::AnalysisSpec spec_;
  std::vector<CaptionAnswer> captions_;
  RetrievalAnswers answers_;
  std::unique_ptr<EvalFolder> folder_;
};

int RetrievalRun::Fatal(const absl::Status& status) const {
  if (interrupt_.raised()) return kExitInterrupted;
  const ClientError error = ErrorOf(status);
  SayOnError(Sentence(error));
  return ExitCodeOf(error);
}

int RetrievalRun::OpenFolder() {
  if (args_.eval.output.empty()) return kExitOk;
  std::map<size_t, std::string> digests;  // A clip may have many lines.
  const auto digest_of = [&](size_t place) {
    const auto [found, is_new] = digests.try_emplace(place);
    if (is_new) found->second = ContentDigest(set_.clips[place].file, NotCancelled(session_));
    return found->second;
  };
  auto opened =
      EvalFolder::Open(args_.eval.output, "retrieval", session_.model, spec_,
                       [&](absl::string_view line) { return answers_.TakeLine(line, digest_of); });
  if (!opened.ok()) {
    SayOnError(opened.status().message());
    return kExitUsage;
  }
  folder_ = *std::move(opened);
  answers_.WriteTo(folder_.get());
  return kExitOk;
}

void RetrievalRun::TakeCaption(size_t place, absl::StatusOr<TextVector> vector) {
  const std::string& text = set_.captions[place].text;
  CaptionAnswer& caption = captions_[place];
  if (!vector.ok()) {
    caption.error = ErrorOf(vector.status());
    SayOnError(absl::StrCat("\"", text, "\": ", Sentence(*caption.error)));
    return;
  }
  caption.vector.assign(vector->embedding.values().begin(), vector->embedding.values().end());
  for (const v1::Warning& warning : vector->warnings) {
    caption.warnings.push_back(NameTexts(warning.message(), {text}));
    SayOnError(absl::StrCat("warning (", warning.reason(), "): ", caption.warnings.back()));
  }
}

int RetrievalRun::EmbedCaptions() {
  using Vectors = std::vector<absl::StatusOr<TextVector>>;
  const size_t total = set_.captions.size();
  const size_t step = TextsARequest(session_.limits);
  Progress progress(args_.progress, MayDrawOver(args_.progress, terminal_),
                    static_cast<int>(total));
  std::optional<absl::Status> fatal;
  std::atomic<bool> stop{false};
  interrupt_.Watch(session_.client.get());
  RunInOrder<Vectors>(
      static_cast<int>((total + step - 1) / step), args_.jobs, stop,
      [&](int i) {
        const size_t from = static_cast<size_t>(i) * step;
        Texts texts;
        for (size_t k = from; k < std::min(from + step, total); ++k) {
          texts.push_back(set_.captions[k].text);
        }
        return EmbedTexts(*session_.client, session_.model.name(), texts, timeout());
      },
      [&](int i, const Vectors& vectors) {
        progress.Hide();
        for (size_t k = 0; k < vectors.size(); ++k) {
          // A caption that cannot be read is skipped; any other error is that of the next one too.
          const absl::Status& status = vectors[k].status();
          if (!status.ok() && !IsAboutAText(ErrorOf(status))) {
            if (!fatal.has_value()) fatal = status;
          } else {
            TakeCaption(static_cast<size_t>(i) * step + k, vectors[k]);
          }
        }
        progress.Update(static_cast<int>(std::min(total, (static_cast<size_t>(i) + 1) * step)), 0,
                        absl::Now());
        stop = fatal.has_value() || interrupt_.raised();
      });
  interrupt_.Watch(nullptr);
  progress.Hide();
  if (interrupt_.raised()) return kExitInterrupted;
  return fatal.has_value() ? Fatal(*fatal) : kExitOk;
}

absl::Status RetrievalRun::CheckEmbedding(const v1::ClipResult& result) const {
  const int found = result.embeddings().empty() ? 0 : result.embeddings(0).values_size();
  for (const CaptionAnswer& caption : captions_) {
    if (caption.vector.empty()) continue;
    if (static_cast<size_t>(found) == caption.vector.size()) break;
    return MakeClientError(
        absl::StatusCode::kInternal, ReasonName(Reason::kInternal),
        absl::StrCat("the clip's vector has ", found, " values, a text's ", caption.vector.size()));
  }
  return absl::OkStatus();
}

// Whether the model can rerank at all is said by the first clip, before all of them are embedded.
int RetrievalRun::CheckThatItReranks(const std::vector<EvalClip>& clips) {
  if (!args_.eval.rerank || clips.empty()) return kExitOk;
  const v1::AnalysisSpec spec = RerankSpec(spec_, {set_.captions[0].text});
  interrupt_.Watch(session_.client.get());
  const auto result =
      SendClip(clips[0].file, *session_.client, session_.limits, spec, timeout(), nullptr);
  interrupt_.Watch(nullptr);
  // What is wrong with the clip is said when its turn comes.
  return IsAboutTheClip(result.status()) ? kExitOk : Fatal(result.status());
}

int RetrievalRun::EmbedClips() {
  const std::vector<RetrievalAnswer> known = answers_.all();
  std::vector<EvalClip> clips;
  for (size_t i = 0; i < set_.clips.size(); ++i) {
    if (!known[i].embedding.empty() || known[i].skipped()) continue;
    clips.push_back({set_.clips[i].path, set_.clips[i].file, i});
  }
  if (const int code = CheckThatItReranks(clips); code != kExitOk) return code;
  return AskForClips(
      args_, terminal_, interrupt_, session_, clips, set_.clips.size(),
      [&](const EvalClip& clip, const OnSent& on_sent) {
        auto [sha256, result] =
            SendDigested(clip.file, *session_.client, session_.limits, spec_, timeout(), on_sent);
        if (result.ok()) {
          const absl::Status fits = CheckEmbedding(*result);
          if (!fits.ok()) result = fits;
        }
        // Written as it comes, not in order: a run that is killed loses no answer it has.
        if (IsAboutTheClip(result.status())) answers_.AddEmbedding(clip.place, sha256, result);
        return result.status();
      },
      [&] { return answers_.written(); });
}

// As many texts a request as the server reranks.
absl::Status RetrievalRun::AskForMatches(const EvalClip& clip, const Texts& texts,
                                         const OnSent& on_sent) {
  const size_t limit = session_.limits.max_texts();
  const size_t step = limit == 0 ? kRerankedItems : std::min(limit, kRerankedItems);
  for (size_t from = 0; from < texts.size(); from += step) {
    const auto begin = texts.begin() + static_cast<std::ptrdiff_t>(from);
    const auto end =
        texts.begin() + static_cast<std::ptrdiff_t>(std::min(from + step, texts.size()));
    const Texts some(begin, end);
    auto [sha256, result] = SendDigested(clip.file, *session_.client, session_.limits,
                                         RerankSpec(spec_, some), timeout(), on_sent);
    // Its embedding, of an earlier request, has to be of the same bytes.
    if (result.ok() && sha256 != answers_.Sha256(clip.place)) {
      result = MakeClientError(absl::StatusCode::kAborted, kFileChanged,
                               "changed since it was embedded");
    }
    if (IsAboutTheClip(result.status())) answers_.AddMatches(clip.place, sha256, some, result);
    if (!result.ok()) return result.status();
  }
  return absl::OkStatus();
}

int RetrievalRun::Rerank() {
  // A clip that fails leaves its place among the candidates to others, which are asked for then.
  for (;;) {
    const std::vector<RetrievalAnswer> known = answers_.all();
    const auto missing = RetrievalGallery(set_, known, captions_).MissingMatches();
    if (missing.empty()) return kExitOk;
    std::vector<EvalClip> clips;
    for (const auto& [place, texts] : missing) {
      clips.push_back({set_.clips[place].path, set_.clips[place].file, place});
    }
    const int stopped = AskForClips(
        args_, terminal_, interrupt_, session_, clips, clips.size(),
        [&](const EvalClip& clip, const OnSent& on_sent) {
          return AskForMatches(clip, missing.at(clip.place), on_sent);
        },
        [&] { return answers_.written(); });
    if (stopped != kExitOk) return stopped;
  }
}

int RetrievalRun::Report() {
  const std::vector<RetrievalAnswer> clips = answers_.all();
  const RetrievalGallery gallery(set_, clips, captions_);
  RetrievalReport report{session_.model, spec_, args_.eval.manifest, set_, clips, captions_,
                         gallery,        {},    std::nullopt};
  report.by_similarity = {gallery.TextToVideo(false), gallery.VideoToText(false)};
  if (args_.eval.rerank) report.reranked = {gallery.TextToVideo(true), gallery.VideoToText(true)};
  const int given = GiveReport(args_, terminal_, folder_.get(),
                               {.table = [&](bool color) { return RetrievalTable(report, color); },
                                .csv = [&] { return RetrievalCsv(report); },
                                .json = [&](int indent) { return RetrievalJson(report, indent); }});
  if (given != kExitOk) return given;
  const size_t clips_skipped = SkippedClips(report), captions_skipped = SkippedCaptions(report);
  if (clips_skipped == 0 && captions_skipped == 0) return kExitOk;
  SayOnError(absl::StrCat(clips_skipped, " of ", set_.clips.size(), " clips and ", captions_skipped,
                          " of ", set_.captions.size(), " captions skipped"));
  return kExitInputFailed;
}

void RetrievalRun::SayWhatIsLeft() const {
  const std::vector<RetrievalAnswer> clips = answers_.all();
  const auto left = std::count_if(clips.begin(), clips.end(), [](const RetrievalAnswer& clip) {
    return clip.embedding.empty() && !clip.skipped();
  });
  SayOnError(absl::StrCat(interrupt_.raised() ? "interrupted: " : "stopped: ", left, " of ",
                          clips.size(), " clips not embedded",
                          args_.eval.rerank && left == 0 ? ", reranking not done" : "",
                          folder_ == nullptr ? "" : "; the same command goes on from here"));
}

}  // namespace

int RunEvalRetrieval(const Args& args, const Terminal& terminal, Interrupt& interrupt) {
  const absl::Status can_write = CheckWritten(FilesOfEval(args.eval.output), FilesRead(args, {}));
  if (!can_write.ok()) {
    SayOnError(can_write.message());
    return kExitUsage;
  }
  const auto set = ReadRetrievalSet(args.eval.manifest);
  if (!set.ok()) {
    SayOnError(set.status().message());
    return kExitUsage;
  }
  const auto session = OpenSessionFor(args.server, args.model, v1::TASK_MATCH_TEXT);
  if (!session.ok()) {
    fputs(NoSessionMessage(session.status()).c_str(), stderr);
    return ExitCodeOf(ErrorOf(session.status()));
  }
  RetrievalRun run(args, terminal, interrupt, *set, *session);
  int code = run.OpenFolder();
  if (code != kExitOk) return code;
  code = run.EmbedCaptions();
  if (code == kExitOk) code = run.EmbedClips();
  if (code == kExitOk && args.eval.rerank) code = run.Rerank();
  if (code == kExitOk) return run.Report();
  run.SayWhatIsLeft();
  return code;
}

}  // namespace scanline::cli
