#include "model/checkpoint/import.h"

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "client/cli/exit_code.h"
#include "client/cli/output.h"
#include "client/cli/same_file.h"
#include "client/cli/text_width.h"
#include "client/cli/verbs.h"

namespace scanline::cli {
namespace {

namespace fs = std::filesystem;

// The label lists: of the checkout that the program was built in, or of its installation.
std::string LabelsFolder() {
  std::error_code error;
  const fs::path bin = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path checkout = bin / "../../../assets/labels";
  const fs::path folder = fs::exists(checkout, error) ? checkout : bin / "../share/scanline/labels";
  return folder.lexically_normal();
}

// Names of tensors and files come from outside: none of them may drive the terminal.
void Say(const std::string& text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    fprintf(stderr, "%s\n", PrintableText(line).c_str());
  }
}

ExitCode ExitCodeOf(const absl::Status& status) {
  const auto reason = ReasonOf(status);
  if (reason == Reason::kFieldInvalid) return kExitUsage;
  return reason == Reason::kCancelled ? kExitInterrupted : kExitInputFailed;
}

ImportOptions OptionsOf(const Args::Import& a, const Interrupt& interrupt) {
  ImportOptions options;
  options.file = a.file;
  options.labels = a.labels;
  options.labels_folder = LabelsFolder();
  options.vocab = a.vocab;
  options.name = a.name;
  options.output = a.output;
  options.license = a.license;
  options.plan.architecture = {.mixer = a.mixer,
                               .frames = a.frames,
                               .size = a.size,
                               .tubelet = a.tubelet,
                               .detect = a.detect,
                               .multimodal = {.pool = a.pool,
                                              .keep_temporal = !a.no_keep_temporal,
                                              .heads = a.heads,
                                              .max_text_length = a.max_text_length}};
  options.plan.drop_unexpected = a.drop_unexpected;
  options.use = {
      .rule = a.rule, .temporal_views = a.temporal_views, .spatial_views = a.spatial_views};
  options.force = a.force;
  options.stop = &interrupt.raised();
  return options;
}

// With --force the model's folder is replaced as a whole; empty where that takes nothing that the
// command reads.
std::string WouldReplaceItsInput(const Args& args) {
  const Args::Import& a = args.import;
  if (!a.force) return "";
  const std::string folder = fs::path(a.output) / a.name;
  for (const auto& [name, path] : FilesRead(args, {})) {
    std::error_code error;
    if (!fs::exists(path, error) || !IsInside(path, folder)) continue;
    return absl::StrCat(name, " ", path, " is inside ", folder,
                        ", which --force would replace: name a file elsewhere, or another -o");
  }
  return "";
}

}  // namespace

int RunImport(const Args& args, Interrupt& interrupt) {
  if (const std::string wrong = WouldReplaceItsInput(args); !wrong.empty()) {
    Say(absl::StrCat("scanline: ", wrong));
    return kExitUsage;
  }
  interrupt.WatchFlag();
  const auto report = ImportCheckpoint(OptionsOf(args.import, interrupt));
  if (!report.ok()) {
    Say(absl::StrCat("scanline: ", args.import.file, ": ", report.status().message()));
    return ExitCodeOf(report.status());
  }
  for (const std::string& line : report->lines) Say(line);
  Say(report->unchanged ? "unchanged it was there already; nothing to do"
                        : absl::StrCat("wrote     ", report->bytes, " bytes of weights, SHA-256 ",
                                       report->weights_sha256));
  Output output;
  output.Write(report->folder + "\n");
  if (output.ok()) return kExitOk;
  ReportOutputError(output);
  return kExitInputFailed;
}

}  // namespace scanline::cli
