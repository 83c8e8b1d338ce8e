#include "model/checkpoint/import.h"

#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "model/checkpoint/file_writer.h"
#include "model/checkpoint/names.h"
#include "model/checkpoint/sha256.h"
#include "model/checkpoint/staging.h"
#include "model/checkpoint/weights_file.h"
#include "model/safetensors.h"
#include "model/text_list.h"

namespace scanline {
namespace {

namespace fs = std::filesystem;

template <typename... Parts>
absl::Status WrongOption(const Parts&... parts) {
  return MakeError(Reason::kFieldInvalid, absl::StrCat(parts...));
}

// The name is a folder's and goes into addresses: letters, digits and - _ .
absl::Status CheckName(const std::string& name) {
  if (IsModelId(name)) return absl::OkStatus();
  return WrongOption("--name ", name,
                     ": expected up to 64 of a-z 0-9 - _ ., the first a letter or digit");
}

// A head that is there but in a type that no weight has would else count as missing.
absl::Status CheckHead(const Checkpoint& checkpoint, const NamedTensors& names) {
  if (names.index.count("head.weight") != 0) return absl::OkStatus();
  for (size_t i = 0; i < checkpoint.not_tensors().size(); ++i) {
    if (WithoutPrefixes(checkpoint.not_tensors()[i]) != "head.weight") continue;
    return MakeError(
        Reason::kBundleInvalid,
        absl::StrCat("head.weight has type ", ShortGroups({checkpoint.types_not_read()[i]}),
                     ", which is not read: expected F32, F16, BF16 or F64"));
  }
  return absl::OkStatus();
}

std::string SourceNote(const Checkpoint& checkpoint, const NamedTensors& names) {
  std::string note = checkpoint.format();
  if (!checkpoint.wrapper().empty()) absl::StrAppend(&note, ", state under ", checkpoint.wrapper());
  if (!names.prefixes.empty()) {
    absl::StrAppend(&note, ", prefix ", absl::StrJoin(names.prefixes, " "));
  }
  return note;
}

void ReportRead(const Checkpoint& checkpoint, const NamedTensors& names, ImportReport* report) {
  std::vector<std::string>& lines = report->lines;
  lines.push_back(absl::StrCat("read      ", SourceNote(checkpoint, names), ": ",
                               checkpoint.tensors().size(), " tensors; nothing was executed"));
  if (!checkpoint.beside().empty()) {
    lines.push_back(absl::StrCat("ignored   beside the state: ", ShortGroups(checkpoint.beside())));
  }
  if (!names.training.empty()) {
    lines.push_back(absl::StrCat("ignored   of pre-training: ", ShortGroups(names.training)));
  }
  if (!checkpoint.not_tensors().empty()) {
    lines.push_back(
        absl::StrCat("ignored   no plain tensors: ", ShortGroups(checkpoint.not_tensors())));
  }
}

void ReportText(const Multimodal& m, std::vector<std::string>* lines) {
  const TextTowerConfig& text = m.text;
  lines->push_back(absl::StrCat("inferred  text: BERT, ", text.depth, " layers of width ", text.dim,
                                ", then ", text.fusion_depth, " fusion layers; embeddings of ",
                                m.embed.dim, " values"));
  lines->push_back(absl::StrCat("assumed   ", text.heads, " attention heads (--heads), texts of ",
                                text.max_length, " tokens (--max-text-length), pool ",
                                PoolName(m.pool), m.embed.keep_temporal ? " of each frame" : "",
                                " (--pool, --no-keep-temporal)"));
}

void ReportPlan(const ImportPlan& plan, const WordLists& lists, const BundleUse& use,
                ImportReport* report) {
  const Architecture& a = plan.architecture;
  const BackboneConfig& b = a.backbone;
  std::vector<std::string>& lines = report->lines;
  lines.push_back(absl::StrCat(
      "inferred  ", a.Name(), ": ", b.depth, " layers of width ", b.embed_dim, ", ", b.frames,
      " frames, ", b.size, " px",
      a.multimodal ? ""
                   : absl::StrCat(", ", a.classes, a.detect ? " classes of boxes" : " classes")));
  if (a.multimodal) ReportText(*a.multimodal, &lines);
  lines.push_back(absl::StrCat(
      "mixer     ", a.mixer,
      a.mixer_known ? " (both directions share their parameters)"
                    : " (VideoMamba and VideoMambaPro v2 have the same tensors; --mixer tells)"));
  lines.push_back(absl::StrCat("sampling  ", use.rule, ", ", use.temporal_views, " x ",
                               use.spatial_views, " views of a clip"));
  for (const std::string& change : plan.changes) lines.push_back("changed   " + change);
  if (!plan.dropped.empty()) {
    lines.push_back(absl::StrCat("dropped   ", ShortGroups(plan.dropped)));
  }
  lines.push_back(absl::StrCat("checked   ", plan.tensors.size(), " tensors, none missing; ",
                               a.multimodal ? lists.vocab.size() : lists.labels.labels.size(),
                               a.multimodal ? " words" : " labels"));
}

bool SameBytes(const std::string& one, const std::string& other) {
  const auto a = MappedFile::Open(one);
  const auto b = MappedFile::Open(other);
  return a.ok() && b.ok() && a->bytes().size() == b->bytes().size() &&
         (a->bytes().empty() ||
          std::memcmp(a->bytes().data(), b->bytes().data(), a->bytes().size()) == 0);
}

// What stands in the way of the new bundle; "" if the same is there already. The card is not
// compared: people write in it.
std::string Difference(const std::string& there, const std::string& made) {
  std::error_code error;
  for (const char* name : {"config.json", "model.safetensors", "labels.txt", "vocab.txt"}) {
    const std::string ours = absl::StrCat(made, "/", name);
    if (fs::exists(ours, error) && !SameBytes(absl::StrCat(there, "/", name), ours)) return name;
  }
  return "";
}

absl::Status Place(Staging staging, bool force, ImportReport* report) {
  const std::string& target = report->folder;
  std::error_code error;
  if (fs::exists(fs::symlink_status(target, error))) {
    const std::string difference = Difference(target, staging.path());
    report->unchanged = difference.empty();
    if (report->unchanged) return absl::OkStatus();
    if (!fs::exists(target + "/config.json", error)) {
      return WrongOption(target, " exists and is no model; choose another --name or -o");
    }
    if (!force) {
      return WrongOption(target, " holds another model (", difference,
                         " differs); --force replaces it");
    }
    SCANLINE_ASSIGN_OR_RETURN(const std::string foreign, ForeignEntry(target));
    if (!foreign.empty()) {
      return WrongOption(target, " holds ", foreign,
                         ", which no import wrote and --force would delete; move it away, or "
                         "choose another --name or -o");
    }
  }
  return staging.Commit();
}

// The strict reader that the server uses has the last word on what was written.
absl::Status CheckConfig(const std::string& text) {
  const auto parsed = ParseModelConfig(text);
  if (parsed.ok()) return absl::OkStatus();
  return MakeError(Reason::kBundleInvalid,
                   absl::StrCat("no bundle can describe this model: ", parsed.status().message()));
}

absl::Status WriteWords(const WordLists& lists, const std::string& folder) {
  const bool labels = lists.vocab.empty();
  return WriteFile(folder + (labels ? "/labels.txt" : "/vocab.txt"),
                   absl::StrJoin(labels ? lists.labels.labels : lists.vocab, "\n") + "\n");
}

absl::Status WriteBundle(const ImportOptions& options, const Checkpoint& checkpoint,
                         const ImportPlan& plan, const WordLists& lists, const BundleUse& use,
                         BundleFacts facts, ImportReport* report) {
  report->folder = (fs::path(options.output) / options.name).string();
  const LabelList& labels = lists.labels;
  facts.weights_sha256 = std::string(64, '0');  // Known later; the rest is checked before writing.
  SCANLINE_RETURN_IF_ERROR(CheckConfig(ConfigText(plan.architecture, labels, use, facts)));
  SCANLINE_ASSIGN_OR_RETURN(Staging staging, Staging::Create(report->folder));
  SCANLINE_ASSIGN_OR_RETURN(
      const WrittenWeights weights,
      WriteWeights(checkpoint, plan, staging.path() + "/model.safetensors", options.stop));
  facts.weights_sha256 = report->weights_sha256 = weights.sha256;
  facts.parameters = weights.values;
  report->bytes = weights.bytes;
  SCANLINE_RETURN_IF_ERROR(WriteFile(staging.path() + "/config.json",
                                     ConfigText(plan.architecture, labels, use, facts)));
  SCANLINE_RETURN_IF_ERROR(WriteWords(lists, staging.path()));
  SCANLINE_RETURN_IF_ERROR(
      WriteFile(staging.path() + "/README.md", CardText(plan.architecture, labels, use, facts)));
  return Place(std::move(staging), options.force, report);
}

// Both may be wanted of a model that turns out to have but one: PlanImport says so.
absl::StatusOr<WordLists> ReadWords(const ImportOptions& options) {
  WordLists lists;
  if (!options.labels.empty()) {
    SCANLINE_ASSIGN_OR_RETURN(lists.labels, ReadLabelList(options.labels, options.labels_folder));
  }
  if (!options.vocab.empty()) {
    SCANLINE_ASSIGN_OR_RETURN(lists.vocab, ReadVocabulary(options.vocab));
  }
  return lists;
}

// Options that only one kind of model has.
absl::Status CheckUse(const ImportOptions& options, const Architecture& architecture) {
  if (architecture.multimodal) {
    if (options.use.spatial_views <= 1) return absl::OkStatus();
    return WrongOption("--spatial-views ", options.use.spatial_views,
                       ": a multimodal model sees the whole picture in one");
  }
  const MultimodalOptions& only = options.plan.architecture.multimodal;
  const char* flag = !only.pool.empty()          ? "--pool"
                     : !only.keep_temporal       ? "--no-keep-temporal"
                     : only.heads > 0            ? "--heads"
                     : only.max_text_length != 0 ? "--max-text-length"
                                                 : nullptr;
  if (flag == nullptr) return absl::OkStatus();
  return WrongOption(flag, " is for multimodal models, and this one has no text tower");
}

}  // namespace

absl::StatusOr<ImportReport> ImportCheckpoint(const ImportOptions& options) {
  ImportReport report;
  SCANLINE_RETURN_IF_ERROR(CheckName(options.name));
  SCANLINE_ASSIGN_OR_RETURN(const WordLists lists, ReadWords(options));
  SCANLINE_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(options.file));
  SCANLINE_ASSIGN_OR_RETURN(const std::unique_ptr<Checkpoint> checkpoint,
                            Checkpoint::Open(file.bytes()));
  SCANLINE_ASSIGN_OR_RETURN(const NamedTensors names, NormaliseNames(checkpoint->tensors()));
  SCANLINE_RETURN_IF_ERROR(CheckHead(*checkpoint, names));
  ReportRead(*checkpoint, names, &report);
  const auto file_values = static_cast<int64_t>(file.bytes().size() / 2);  // The least is 2 bytes.
  SCANLINE_ASSIGN_OR_RETURN(const ImportPlan plan,
                            PlanImport(checkpoint->tensors(), names, lists, options.labels_folder,
                                       options.plan, file_values));
  SCANLINE_RETURN_IF_ERROR(CheckUse(options, plan.architecture));
  const BundleUse use = UseFor(plan.architecture, lists.labels, options.use);
  ReportPlan(plan, lists, use, &report);

  Sha256 sha256;
  sha256.Add(file.bytes());
  const BundleFacts facts = {.name = options.name,
                             .license = options.license,
                             .source_file = fs::path(options.file).filename(),
                             .source_sha256 = sha256.Hex(),
                             .source_note = SourceNote(*checkpoint, names)};
  SCANLINE_RETURN_IF_ERROR(WriteBundle(options, *checkpoint, plan, lists, use, facts, &report));
  return report;
}

}  // namespace scanline
