#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/cli/csv.h"
#include "client/cli/exit_code.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/session.h"
#include "client/cli/table.h"
#include "client/cli/verbs.h"

namespace scanline::cli {
namespace {

std::string Word(const std::string& enum_name, absl::string_view prefix) {
  return absl::AsciiStrToLower(absl::StripPrefix(enum_name, prefix));
}

std::vector<std::string> Fields(const v1::Model& model) {
  std::vector<std::string> tasks;
  for (const int task : model.tasks()) {
    tasks.push_back(Word(v1::Task_Name(static_cast<v1::Task>(task)), "TASK_"));
  }
  return {std::string(absl::StripPrefix(model.name(), "models/")),
          model.version(),
          Word(v1::Model::State_Name(model.state()), "STATE_"),
          absl::StrJoin(tasks, " "),
          absl::StrCat(model.frame_count()),
          absl::StrCat(model.input_size_px()),
          absl::StrCat(model.labels_size()),
          Word(v1::ScoreKind_Name(model.score_kind()), "SCORE_KIND_"),
          model.precision()};
}

std::string Table(const std::vector<v1::Model>& models, bool color) {
  std::vector<std::vector<std::string>> rows;
  for (const v1::Model& model : models) rows.push_back(Fields(model));
  return WholeTable({{"MODEL"},
                     {"VERSION"},
                     {"STATE"},
                     {"TASKS"},
                     {"FRAMES", 0, Align::kRight},
                     {"PIXELS", 0, Align::kRight},
                     {"LABELS", 0, Align::kRight},
                     {"SCORE"},
                     {"PRECISION"}},
                    rows, color);
}

std::string Csv(const std::vector<v1::Model>& models) {
  std::string out = CsvLine({"model", "version", "state", "tasks", "frame_count", "input_size_px",
                             "labels", "score_kind", "precision"});
  for (const v1::Model& model : models) absl::StrAppend(&out, CsvLine(Fields(model)));
  return out;
}

std::string Render(const std::vector<v1::Model>& models, Format format, bool color) {
  if (format == Format::kTable) return Table(models, color);
  if (format == Format::kCsv) return Csv(models);
  std::vector<std::string> objects;
  for (const v1::Model& model : models) objects.push_back(ProtoJson(model));
  if (format == Format::kJson) return absl::StrCat("[\n", absl::StrJoin(objects, ",\n"), "\n]\n");
  return objects.empty() ? "" : absl::StrCat(absl::StrJoin(objects, "\n"), "\n");
}

absl::StatusOr<std::vector<v1::Model>> List(const ServerAddress& address) {
  auto client = Client::Connect(address);
  if (!client.ok()) return client.status();
  return (*client)->ListModels();
}

}  // namespace

int RunModels(const Args& args, const Terminal& terminal, Interrupt&) {
  const auto models = List(args.server);
  if (!models.ok()) {
    fputs(NoSessionMessage(models.status()).c_str(), stderr);
    return ExitCodeOf(ErrorOf(models.status()));
  }
  Output output;
  output.Write(
      Render(*models, ResolveFormat(args.format, terminal), UseColor(args.color, terminal)));
  if (output.ok()) return kExitOk;
  ReportOutputError(output);
  return kExitInputFailed;
}

}  // namespace scanline::cli
