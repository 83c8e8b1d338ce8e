#include "client/index/search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/cli/exit_code.h"
#include "client/cli/index_run.h"
#include "client/cli/ordered_run.h"
#include "client/cli/outcome.h"
#include "client/cli/output.h"
#include "client/cli/same_file.h"
#include "client/cli/search_format.h"
#include "client/cli/search_sheet.h"
#include "client/cli/send_clip.h"
#include "client/cli/session.h"
#include "client/cli/spec.h"
#include "client/cli/text_width.h"
#include "client/cli/verbs.h"
#include "client/index/index_reader.h"
#include "client/index/index_writer.h"

namespace scanline::cli {
namespace {

void SayOnError(absl::string_view text) {
  fprintf(stderr, "scanline: %s\n", PrintableText(text).c_str());
}

int Refuse(const absl::Status& status, int exit_code) {
  SayOnError(status.message());
  return exit_code;
}

// Of a call or a file: with its reason.
int Fail(absl::string_view what, const absl::Status& status) {
  const ClientError error = ErrorOf(status);
  SayOnError(absl::StrCat(what, what.empty() ? "" : ": ", Sentence(error)));
  return ExitCodeOf(error);
}

template <typename Warnings>
void SayWarnings(const Warnings& warnings) {
  for (const v1::Warning& warning : warnings) {
    SayOnError(absl::StrCat("warning (", warning.reason(), "): ", warning.message()));
  }
}

// The vector of what is searched for, of the length of the index's.
absl::StatusOr<std::vector<float>> QueryVector(const Args& args, const Session& session, int dim) {
  const absl::Duration timeout = absl::Seconds(args.timeout_seconds);
  v1::Embedding embedding;
  if (!args.search.text.empty()) {
    SCANLINE_ASSIGN_OR_RETURN(
        v1::EmbedTextResponse answer,
        session.client->EmbedText(session.model.name(), {args.search.text}, timeout));
    SayWarnings(answer.warnings());
    if (!answer.embeddings().empty()) embedding = std::move(*answer.mutable_embeddings(0));
  } else {
    v1::AnalysisSpec spec;
    spec.set_model(session.model.name());
    spec.add_tasks(v1::TASK_EMBED);
    SCANLINE_ASSIGN_OR_RETURN(
        v1::ClipResult answer,
        SendClip(args.search.clip, *session.client, session.limits, spec, timeout, nullptr));
    SayWarnings(answer.warnings());
    if (!answer.embeddings().empty()) embedding = std::move(*answer.mutable_embeddings(0));
  }
  if (embedding.values_size() != dim) {
    return MakeError(Reason::kInternal,
                     absl::StrCat("expected a vector of ", dim, " numbers, the server sent ",
                                  embedding.values_size()));
  }
  return std::vector<float>(embedding.values().begin(), embedding.values().end());
}

v1::AnalysisSpec RerankSpec(const Args& args, const Session& session, const Item& item) {
  v1::AnalysisSpec spec;
  spec.set_model(session.model.name());
  spec.add_tasks(v1::TASK_MATCH_TEXT);
  spec.mutable_match_text()->add_texts(args.search.text);
  spec.mutable_match_text()->set_rerank(true);
  SetSeconds(item.start_seconds, spec.mutable_sampling()->mutable_start_offset());
  SetSeconds(item.end_seconds, spec.mutable_sampling()->mutable_end_offset());
  return spec;
}

// Asks for each hit's matching score and sorts by it; hits that have none (their file is gone, or
// is another one by now) come last. Returns what ended it before its time, or kExitOk.
int Rerank(const Args& args, const Session& session, std::vector<Hit>& hits) {
  std::atomic<bool> stop{false};
  int exit_code = kExitOk;
  RunInOrder<DigestedAnswer>(
      static_cast<int>(hits.size()), args.jobs, stop,
      [&](int i) {
        const Hit& hit = hits[static_cast<size_t>(i)];
        const Item& item = hit.moment.item;
        if (hit.missing || hit.changed) return DigestedAnswer{"", absl::NotFoundError("")};
        return SendDigested(item.file.path, *session.client, session.limits,
                            RerankSpec(args, session, item), absl::Seconds(args.timeout_seconds),
                            nullptr);
      },
      [&](int i, const DigestedAnswer& sent) {
        Hit& hit = hits[static_cast<size_t>(i)];
        const absl::StatusOr<v1::ClipResult>& answer = sent.result;
        if (hit.missing || hit.changed) return;
        hit.changed = !sent.sha256.empty() && sent.sha256 != hit.moment.item.sha256;
        if (hit.changed) return;
        if (answer.ok() && !answer->text_matches().empty()) {
          hit.match_logit = answer->text_matches(0).match_logit();
        } else if (!stop) {
          const int code = Fail(hit.moment.item.file.path,
                                answer.ok() ? MakeError(Reason::kInternal, "no match in the answer")
                                            : answer.status());
          exit_code = code;
          stop = code != kExitInputFailed;
          if (code == kExitNoModel) SayOnError("leave out --rerank to search by similarity alone");
        }
      });
  std::stable_sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
    constexpr float kNone = -std::numeric_limits<float>::infinity();
    return a.match_logit.value_or(kNone) > b.match_logit.value_or(kNone);
  });
  return exit_code;
}

absl::StatusOr<std::vector<Hit>> Find(const Args& args, const IndexReader& index,
                                      const std::vector<float>& query) {
  const std::vector<float> scores = ScoreRows(index.rows(), query);
  const auto is_finite = [](float x) { return std::isfinite(x); };
  if (!std::all_of(query.begin(), query.end(), is_finite)) {
    return MakeError(Reason::kInternal, "the server sent a vector that is not all numbers");
  }
  const auto bad = std::find_if_not(scores.begin(), scores.end(), is_finite);
  if (bad != scores.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the index ", args.search.folder, " is damaged: row ", bad - scores.begin(), " of ",
        "embeddings.npy is not all numbers; scanline index --rebuild makes it again"));
  }
  SCANLINE_ASSIGN_OR_RETURN(
      std::vector<Moment> moments,
      BestMoments(index, scores, args.search.top_k,
                  args.search.per_file ? Distinct::kFiles : Distinct::kMoments));
  std::vector<Hit> hits;
  for (Moment& moment : moments) {
    std::error_code unknown;
    const bool missing = !std::filesystem::exists(moment.item.file.path, unknown);
    const bool changed = !missing && StampOf(moment.item.file.path) != moment.item.file;
    hits.push_back({std::move(moment), std::nullopt, missing, changed});
  }
  return hits;
}

void SayStale(const std::vector<Hit>& hits) {
  const auto say = [&hits](bool Hit::*what, absl::string_view text) {
    const auto count = std::count_if(hits.begin(), hits.end(), std::mem_fn(what));
    if (count > 0) SayOnError(absl::StrCat(count, " of ", hits.size(), text));
  };
  say(&Hit::missing, " are in files that are gone; scanline index --prune drops these");
  say(&Hit::changed,
      " are in files that changed since they were indexed; scanline index sends these again");
}

int Search(const Args& args, const Terminal& terminal, const IndexReader& index,
           const Session& session) {
  const auto query = QueryVector(args, session, index.info().dim);
  if (!query.ok()) return Fail(args.search.clip, query.status());
  auto hits = Find(args, index, *query);
  if (!hits.ok()) return Refuse(hits.status(), kExitUsage);
  int exit_code = kExitOk;
  if (args.search.rerank) exit_code = Rerank(args, session, *hits);
  SayStale(*hits);
  if (exit_code > kExitInputFailed) return exit_code;
  Output output;
  output.Write(
      RenderHits(*hits, ResolveFormat(args.format, terminal), UseColor(args.color, terminal)));
  if (!output.ok()) {
    ReportOutputError(output);
    return kExitInputFailed;
  }
  if (!args.search.save.empty() && !hits->empty()) {
    const absl::Status saved = SaveSheet(args.search, session.model.name(), *hits);
    if (!saved.ok()) return Refuse(saved, kExitInputFailed);
  }
  return exit_code;
}

}  // namespace

int RunSearch(const Args& args, const Terminal& terminal, Interrupt& interrupt) {
  const Args::Search& a = args.search;
  const auto index = IndexReader::Open(a.folder);
  if (!index.ok()) return Refuse(index.status(), kExitUsage);
  const IndexInfo& info = (*index)->info();
  if (!a.save.empty()) {
    const absl::Status can_write = CheckWritten({{"--save", a.save}}, FilesRead(args, {}));
    if (!can_write.ok()) return Refuse(can_write, kExitUsage);
  }
  if (!a.save.empty() && !a.force && std::filesystem::exists(a.save)) {
    SayOnError(absl::StrCat(a.save, " is there already; --force replaces it"));
    return kExitUsage;
  }
  const std::filesystem::path into = std::filesystem::path(a.save).parent_path();
  if (!into.empty() && !std::filesystem::is_directory(into)) {
    SayOnError(absl::StrCat("--save ", a.save, ": no folder ", into.native()));
    return kExitUsage;
  }
  const std::string own = info.model.substr(0, info.model.find('@'));
  const auto session = OpenSession(args.server, args.model.empty() ? own : args.model);
  if (!session.ok()) {
    fputs(NoSessionMessage(session.status()).c_str(), stderr);
    return ExitCodeOf(ErrorOf(session.status()));
  }
  const std::string why = WhyNotSameIndex(info, InfoOf(session->model));
  if (!why.empty()) {
    SayOnError(absl::StrCat(a.folder, " was ", why,
                            ": name another --model or --server, or make it again with scanline "
                            "index --rebuild"));
    return kExitUsage;
  }
  if (info.count == 0) SayOnError(absl::StrCat("the index ", a.folder, " is empty"));
  interrupt.Watch(session->client.get());
  const int exit_code = Search(args, terminal, **index, *session);
  interrupt.Watch(nullptr);
  return interrupt.raised() ? kExitInterrupted : exit_code;
}

}  // namespace scanline::cli
