#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/clip_run.h"
#include "client/cli/embed_file.h"
#include "client/cli/embed_format.h"
#include "client/cli/exit_code.h"
#include "client/cli/inputs.h"
#include "client/cli/ordered_run.h"
#include "client/cli/same_file.h"
#include "client/cli/session.h"
#include "client/cli/spec.h"
#include "client/cli/text_batch.h"
#include "client/cli/text_width.h"
#include "client/cli/verbs.h"

namespace scanline::cli {
namespace {

using Texts = std::vector<std::string>;

int Refuse(const absl::Status& status) {
  SayOnError(status.message());
  return kExitUsage;
}

v1::AnalysisSpec EmbedSpec(const Args& args) {
  v1::AnalysisSpec spec = SpecOf(args);
  spec.clear_tasks();
  spec.clear_classify();
  spec.add_tasks(v1::TASK_EMBED);
  spec.mutable_embed()->set_skip_normalize(args.embed.no_normalize);
  spec.mutable_embed()->set_per_window(args.embed.per_window);
  return spec;
}

std::unique_ptr<ClipFormat> MakeFormat(const Args& args, const Terminal& terminal,
                                       const Texts& inputs, bool texts, const v1::Model& model) {
  const Format format = ResolveFormat(args.format, terminal);
  if (format == Format::kNdjson) return MakeNdjson();
  if (format == Format::kJson) return MakeJson();
  if (format == Format::kCsv) return MakeEmbedCsv(static_cast<int>(model.embedding_dim()));
  TableLook look{.columns = terminal.columns, .color = UseColor(args.color, terminal)};
  look.texts = texts;
  for (const std::string& input : inputs) {
    look.widest_input = std::max(look.widest_input, TextWidth(PrintableText(input)));
  }
  return MakeEmbedTable(look);
}

// A text's answer in the form of a clip's.
Outcome OutcomeOf(const std::string& text, const v1::Model& model,
                  absl::StatusOr<TextVector> vector) {
  if (!vector.ok()) return {text, vector.status()};
  v1::ClipResult result;
  result.set_model(absl::StrCat(model.name(), "@", model.version()));
  *result.add_embeddings() = std::move(vector->embedding);
  for (v1::Warning& warning : vector->warnings) *result.add_warnings() = std::move(warning);
  return {text, std::move(result)};
}

void SendTexts(const Args& args, Interrupt& interrupt, const Session& session, const Texts& texts,
               ClipRun& run) {
  interrupt.Watch(session.client.get());
  const size_t step = TextsARequest(session.limits);
  const auto batches = static_cast<int>((texts.size() + step - 1) / step);
  std::atomic<bool> stop{false};
  RunInOrder<std::vector<Outcome>>(
      batches, args.jobs, stop,
      [&](int i) {
        const size_t from = static_cast<size_t>(i) * step;
        const size_t to = std::min(from + step, texts.size());
        const Texts batch(texts.begin() + static_cast<std::ptrdiff_t>(from),
                          texts.begin() + static_cast<std::ptrdiff_t>(to));
        auto vectors = EmbedTexts(*session.client, session.model.name(), batch,
                                  absl::Seconds(args.timeout_seconds));
        std::vector<Outcome> outcomes;
        for (size_t k = 0; k < batch.size(); ++k) {
          outcomes.push_back(OutcomeOf(batch[k], session.model, std::move(vectors[k])));
        }
        return outcomes;
      },
      [&](int, const std::vector<Outcome>& outcomes) {
        for (const Outcome& outcome : outcomes) {
          if (!run.over()) run.Take(outcome);
        }
        stop = run.over() || interrupt.raised();
      });
  interrupt.Watch(nullptr);
}

// What is to be embedded: clips, or texts.
struct Work {
  bool texts = false;
  Texts inputs;
};

absl::StatusOr<Work> WorkOf(const Args& args) {
  if (!args.embed.texts.empty()) return Work{true, args.embed.texts};
  if (!args.texts_file.empty()) {
    auto texts = ReadTexts(args.texts_file);
    if (!texts.ok()) return texts.status();
    return Work{true, *std::move(texts)};
  }
  auto inputs = ExpandInputs(args.inputs);
  if (!inputs.ok()) return inputs.status();
  for (const std::string& note : inputs->notes) SayOnError(note);
  return Work{false, std::move(inputs->files)};
}

// Commits what a run has to show for itself: not one that was broken off, whose rows would look
// like all of them.
int Finish(int exit_code, bool complete, EmbedFile& file) {
  if (!complete || (exit_code != kExitOk && exit_code != kExitInputFailed)) {
    SayOnError(absl::StrCat("the run did not end: nothing is written to ", file.npy()));
    return exit_code;
  }
  if (file.rows() == 0) {
    SayOnError(absl::StrCat("no vector to write: there is no ", file.npy()));
    return kExitInputFailed;
  }
  const absl::Status written = file.Commit();
  if (!written.ok()) {
    SayOnError(written.message());
    return kExitInputFailed;
  }
  Output output;
  output.Write(absl::StrCat(file.npy(), "\n", file.jsonl(), "\n"));
  return output.ok() ? exit_code : kExitInputFailed;
}

}  // namespace

int RunEmbed(const Args& args, const Terminal& terminal, Interrupt& interrupt) {
  const auto work = WorkOf(args);
  if (!work.ok()) return Refuse(work.status());
  std::unique_ptr<EmbedFile> file;
  if (const std::string& npy = args.embed.output; !npy.empty()) {
    const std::vector<std::string> clips = work->texts ? Texts() : work->inputs;
    const absl::Status can_write =
        CheckWritten({{"-o", npy}, {"-o", RowNamesOf(npy)}}, FilesRead(args, clips));
    if (!can_write.ok()) return Refuse(can_write);
    auto created = EmbedFile::Create(args.embed.output, work->texts, args.embed.force);
    if (!created.ok()) return Refuse(created.status());
    file = *std::move(created);
  }
  const auto session =
      OpenSessionFor(args.server, args.model, work->texts ? v1::TASK_MATCH_TEXT : v1::TASK_EMBED);
  if (!session.ok()) {
    fputs(NoSessionMessage(session.status()).c_str(), stderr);
    return ExitCodeOf(ErrorOf(session.status()));
  }
  auto format = file != nullptr
                    ? MakeEmbedFileFormat(*file)
                    : MakeFormat(args, terminal, work->inputs, work->texts, session->model);
  ClipRun run(args, terminal, interrupt, static_cast<int>(work->inputs.size()), std::move(format));
  if (work->texts) {
    SendTexts(args, interrupt, *session, work->inputs, run);
  } else {
    SendClips(args, interrupt, *session, work->inputs, EmbedSpec(args), run);
  }
  const int exit_code = run.Finish();
  return file != nullptr ? Finish(exit_code, run.complete(), *file) : exit_code;
}

}  // namespace scanline::cli
