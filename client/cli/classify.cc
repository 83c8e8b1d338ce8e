#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/clip_format.h"
#include "client/cli/clip_run.h"
#include "client/cli/exit_code.h"
#include "client/cli/inputs.h"
#include "client/cli/outcome.h"
#include "client/cli/save.h"
#include "client/cli/session.h"
#include "client/cli/spec.h"
#include "client/cli/text_batch.h"
#include "client/cli/text_width.h"
#include "client/cli/verbs.h"
#include "client/cli/zero_shot.h"

namespace scanline::cli {
namespace {

using Labels = std::vector<std::string>;

std::unique_ptr<ClipFormat> MakeFormat(Format format, const Args& args, const Terminal& terminal,
                                       const std::vector<std::string>& inputs,
                                       const Labels& labels) {
  const bool texts = !args.texts_file.empty();
  if (format == Format::kNdjson) return MakeNdjson(args.include_logits);
  if (format == Format::kJson) return MakeJson(args.include_logits);
  if (format == Format::kCsv) return MakeCsv(texts);
  TableLook look{.columns = terminal.columns, .color = UseColor(args.color, terminal)};
  look.texts = texts;
  for (const std::string& input : inputs) {
    look.widest_input = std::max(look.widest_input, TextWidth(PrintableText(input)));
  }
  for (const std::string& label : labels) {
    look.widest_label = std::max(look.widest_label, TextWidth(PrintableText(label)));
  }
  return MakeTable(look);
}

int Refuse(const absl::Status& status) {
  SayOnError(status.message());
  return kExitUsage;
}

int RefuseLabels(const absl::Status& status) {
  const ClientError error = ErrorOf(status);
  if (IsAboutAText(error)) return Refuse(status);
  SayOnError(Sentence(error));
  return ExitCodeOf(error);
}

}  // namespace

int RunClassify(const Args& args, const Terminal& terminal, Interrupt& interrupt) {
  const auto inputs = ExpandInputs(args.inputs);
  if (!inputs.ok()) return Refuse(inputs.status());
  for (const std::string& note : inputs->notes) SayOnError(note);
  const std::vector<std::string>& files = inputs->files;
  const absl::Status can_save = CheckSave(args, files);
  if (!can_save.ok()) return Refuse(can_save);
  const bool by_texts = !args.texts_file.empty();
  const auto session =
      OpenSessionFor(args.server, args.model, by_texts ? v1::TASK_MATCH_TEXT : v1::TASK_CLASSIFY);
  if (!session.ok()) {
    fputs(NoSessionMessage(session.status()).c_str(), stderr);
    return ExitCodeOf(ErrorOf(session.status()));
  }
  const v1::Model& model = session->model;
  Labels labels(model.labels().begin(), model.labels().end());
  v1::AnalysisSpec spec = SpecOf(args);
  if (by_texts) {
    const auto lines = ReadLabels(args.texts_file, session->limits);
    if (!lines.ok()) return Refuse(lines.status());
    interrupt.Watch(session->client.get());
    const absl::Status readable =
        CheckLabels(args.texts_file, *lines, *session, absl::Seconds(args.timeout_seconds));
    interrupt.Watch(nullptr);
    if (interrupt.raised()) return kExitInterrupted;
    if (!readable.ok()) return RefuseLabels(readable);
    labels.clear();
    for (const TextLine& line : *lines) labels.push_back(line.text);
    AskForLabels(labels, spec);
  }
  ClipRun run(args, terminal, interrupt, static_cast<int>(files.size()),
              MakeFormat(ResolveFormat(args.format, terminal), args, terminal, files, labels),
              by_texts);
  std::optional<v1::ClipResult> answer;  // of the one input that is saved
  const auto refine = [&](absl::StatusOr<v1::ClipResult>& result) {
    if (by_texts) LabelByTexts(labels, model.temperature(), args, result);
    if (!args.save.empty() && result.ok()) answer = *result;
  };
  SendClips(args, interrupt, *session, files, spec, run, refine);
  const int exit_code = run.Finish();
  if (exit_code != kExitOk || !answer.has_value()) return exit_code;
  return Save(args, interrupt, files[0], AnnotateLabels(*answer));
}

}  // namespace scanline::cli
