#include "model/checkpoint/plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "model/tensor_spec.h"

namespace scanline {
namespace {

using From = PlannedTensor::From;

// Kinetics-710 numbers the classes of Kinetics-400 first.
constexpr int kKinetics710 = 710;
constexpr char kKinetics400[] = "kinetics400";

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

bool Fits(const std::vector<int64_t>& found, const std::vector<int64_t>& wanted) {
  return std::equal(found.begin(), found.end(), wanted.begin(), wanted.end(),
                    [](int64_t a, int64_t b) { return a == b || (b == -1 && a > 0); });
}

bool IsFloat(const std::string& dtype) {
  return dtype == "F32" || dtype == "F16" || dtype == "BF16" || dtype == "F64";
}

absl::Status WrongWords(const char* field, const std::string& message) {
  return MakeError(Reason::kFieldInvalid, message, {{"field", field}});
}

absl::Status CheckLabels(int classes, const LabelList& labels, const std::string& folder) {
  const auto count = static_cast<int>(labels.labels.size());
  if (count == 0) {
    return WrongWords("labels", absl::StrCat("the model has ", classes,
                                             " classes: --labels names them, a list or a file"));
  }
  if (count == classes) return absl::OkStatus();
  if (classes == kKinetics710 && labels.name == kKinetics400) return absl::OkStatus();
  std::string hint;
  if (classes == kKinetics710) hint = absl::StrCat("; --labels ", kKinetics400, " takes its first");
  const auto fitting = ListsOfSize(folder, static_cast<size_t>(classes));
  if (!fitting.empty()) hint = absl::StrCat("; --labels ", absl::StrJoin(fitting, " or "), "?");
  return WrongWords(
      "labels", absl::StrCat("the head has ", classes, " classes, the labels are ", count, hint));
}

absl::Status CheckVocabulary(int words, const WordLists& lists) {
  if (!lists.labels.labels.empty()) {
    return WrongWords("labels",
                      "this is a multimodal model, which has no classes: --labels is for those "
                      "that have");
  }
  if (lists.vocab.empty()) {
    return WrongWords("vocab",
                      "this is a multimodal model: --vocab FILE says what its words are "
                      "(bert-base-uncased's vocab.txt for the released ones)");
  }
  if (lists.vocab.size() == static_cast<size_t>(words)) return absl::OkStatus();
  return WrongWords("vocab", absl::StrCat("the text tower has ", words, " words, the vocabulary ",
                                          lists.vocab.size()));
}

absl::Status CheckWords(const Architecture& architecture, const WordLists& lists,
                        const std::string& folder) {
  if (architecture.multimodal) return CheckVocabulary(architecture.multimodal->words, lists);
  if (!lists.vocab.empty()) {
    return WrongWords("vocab", "this model has no text tower: --vocab is for multimodal ones");
  }
  return CheckLabels(architecture.classes, lists.labels, folder);
}

// The parts that a bundle of this architecture has.
ModelConfig ConfigOf(const Architecture& architecture, const WordLists& lists) {
  ModelConfig config;
  config.backbone = architecture.backbone;
  if (architecture.detect) {
    config.detect.emplace().labels = lists.labels.labels;
  } else {
    config.classify.labels = lists.labels.labels;
  }
  if (architecture.multimodal) {
    config.embed = architecture.multimodal->embed;
    config.text_tower = architecture.multimodal->text;
    config.text_tower->vocab = lists.vocab;
  }
  return config;
}

// The head of MCG-NJU/VideoMAE-Action-Detection, which has a classifier's names, under its own.
NamedTensors WithBoxHead(NamedTensors names) {
  for (const char* part : {"weight", "bias"}) {
    auto node = names.index.extract(absl::StrCat("head.", part));
    if (node.empty()) continue;
    node.key() = absl::StrCat("box_head.", part);
    names.index.insert(std::move(node));
  }
  return names;
}

class Planner {
 public:
  Planner(const std::vector<CheckpointTensor>& tensors, const NamedTensors& names)
      : tensors_(tensors), left_(names.index) {}

  void Add(const TensorSpec& spec, const Architecture& architecture, ImportPlan* plan) {
    PlannedTensor planned = {.name = spec.name, .shape = spec.shape};
    const auto at = left_.find(spec.name);
    if (at == left_.end()) {
      if (!architecture.image || spec.name != "temporal_pos_embedding") {
        missing_.push_back(spec.name);
        return;
      }
      planned.from = From::kZeros;
      planned.shape[1] = architecture.backbone.steps();
    } else {
      planned.source = at->second;
      left_.erase(at);
      if (!Match(architecture, &planned)) return;
    }
    plan->tensors.push_back(std::move(planned));
  }

  absl::Status Finish(bool drop_unexpected, ImportPlan* plan) {
    std::vector<std::string> unexpected;
    for (const auto& item : left_) unexpected.push_back(item.first);
    if (drop_unexpected) plan->dropped = std::exchange(unexpected, {});
    std::string text;
    if (!missing_.empty()) absl::StrAppend(&text, "\n  missing: ", ShortGroups(missing_));
    if (!misshaped_.empty()) {
      absl::StrAppend(&text, "\n  wrong shape or type: ", ShortGroups(misshaped_), " (", detail_,
                      ")");
    }
    if (!unexpected.empty()) {
      absl::StrAppend(&text, "\n  unexpected: ", ShortGroups(unexpected),
                      "; --drop-unexpected leaves them out");
    }
    if (text.empty()) return absl::OkStatus();
    return MakeError(Reason::kBundleInvalid,
                     absl::StrCat("the tensors are not those of ", plan->architecture.Name(), ", ",
                                  plan->architecture.backbone.depth, " layers of width ",
                                  plan->architecture.backbone.embed_dim, ":", text));
  }

 private:
  // Whether the source can become the planned tensor.
  bool Match(const Architecture& architecture, PlannedTensor* planned) {
    const CheckpointTensor& source = tensors_[planned->source];
    const std::vector<int64_t> wanted = planned->shape;
    if (IsFloat(source.dtype) && Fits(source.shape, wanted)) {
      planned->shape = source.shape;
      return true;
    }
    std::vector<int64_t> other = wanted;
    if (planned->name == "patch_embed.proj.weight" && architecture.image) {
      other.erase(other.begin() + 2);
      planned->from = From::kInflated;
    } else if (planned->name == "head.weight" || planned->name == "head.bias") {
      other[0] = architecture.classes;  // More than labels only where CheckLabels allows it.
      planned->from = From::kFirstRows;
    }
    if (planned->from != From::kCopy && IsFloat(source.dtype) && source.shape == other) return true;
    if (misshaped_.empty()) {
      detail_ = absl::StrCat(planned->name, " is ", source.dtype, " ", ShapeText(source.shape),
                             ", not F32 ", ShapeText(wanted));
    }
    misshaped_.push_back(planned->name);
    return false;
  }

  const std::vector<CheckpointTensor>& tensors_;
  std::map<std::string, size_t> left_;
  std::vector<std::string> missing_;
  std::vector<std::string> misshaped_;
  std::string detail_;  // of the first that is mis-shaped
};

void NoteChanges(const PlanOptions& options, size_t labels, ImportPlan* plan) {
  const Architecture& a = plan->architecture;
  std::vector<std::string>& notes = plan->changes;
  if (static_cast<size_t>(a.classes) != labels) {
    notes.push_back(absl::StrCat("the head's ", a.classes, " rows cut to the first ", labels));
  }
  if (a.image) {
    notes.push_back(
        absl::StrCat("an image model: patch weights inflated to ", a.backbone.tubelet,
                     " frames, temporal embedding zero; it has learnt nothing of time"));
  }
  if (options.architecture.frames > 0 && a.stored_frames > 0 &&
      a.stored_frames != a.backbone.frames) {
    notes.push_back(absl::StrCat("temporal embedding of ", a.stored_frames,
                                 " frames, interpolated to ", a.backbone.frames));
  }
  if (a.stored_size != a.backbone.size) {
    notes.push_back(absl::StrCat("spatial embedding of ", a.stored_size, " px, interpolated to ",
                                 a.backbone.size));
  }
}

// Tensors may share storages, and a hostile file could claim one storage a thousand times.
absl::Status CheckTotal(const std::vector<CheckpointTensor>& tensors, const ImportPlan& plan,
                        int64_t file_values) {
  int64_t total = 0;
  for (const PlannedTensor& planned : plan.tensors) {
    if (planned.from != From::kZeros) total += tensors[planned.source].size();
    if (total > file_values) {
      return MakeError(Reason::kBundleInvalid,
                       "the tensors claim more values than the file has: they share their data");
    }
  }
  return absl::OkStatus();
}

}  // namespace

int64_t PlannedTensor::size() const {
  int64_t count = 1;
  for (int64_t side : shape) count *= side;
  return count;
}

absl::StatusOr<ImportPlan> PlanImport(const std::vector<CheckpointTensor>& tensors,
                                      const NamedTensors& names, const WordLists& lists,
                                      const std::string& labels_folder, const PlanOptions& options,
                                      int64_t file_values) {
  TensorShapes shapes;
  for (const auto& [name, index] : names.index) shapes[name] = tensors[index].shape;
  ImportPlan plan;
  SCANLINE_ASSIGN_OR_RETURN(plan.architecture, InferArchitecture(shapes, options.architecture));
  SCANLINE_RETURN_IF_ERROR(CheckWords(plan.architecture, lists, labels_folder));
  Planner planner(tensors, plan.architecture.detect ? WithBoxHead(names) : names);
  for (const TensorSpec& spec : ExpectedTensors(ConfigOf(plan.architecture, lists))) {
    planner.Add(spec, plan.architecture, &plan);
  }
  SCANLINE_RETURN_IF_ERROR(planner.Finish(options.drop_unexpected, &plan));
  SCANLINE_RETURN_IF_ERROR(CheckTotal(tensors, plan, file_values));
  std::sort(plan.tensors.begin(), plan.tensors.end(),
            [](const PlannedTensor& a, const PlannedTensor& b) { return a.name < b.name; });
  NoteChanges(options, lists.labels.labels.size(), &plan);
  return plan;
}

}  // namespace scanline
