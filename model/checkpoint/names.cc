#include "model/checkpoint/names.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"

namespace scanline {
namespace {

// Data-parallel wrappers, torch.compile, and the names of the backbone in code around it.
constexpr const char* kPrefixes[] = {"module.", "_orig_mod.", "model.", "backbone.", "encoder."};
// Heads and teachers of training alone, and the word-by-word head of BERT.
constexpr const char* kTraining[] = {"clip_decoder.", "clip_teacher.", "clip_pos_embed",
                                     "distill_head.", "text_encoder.cls."};
constexpr char kVision[] = "vision_encoder.";
constexpr char kText[] = "text_encoder.";
constexpr char kBert[] = "text_encoder.bert.";

// position_ids are the numbers 0, 1, ... that older BERT code saved.
bool IsOfTraining(absl::string_view name) {
  return std::any_of(std::begin(kTraining), std::end(kTraining),
                     [&](const char* start) { return absl::StartsWith(name, start); }) ||
         (absl::StartsWith(name, kText) && absl::EndsWith(name, ".position_ids"));
}

std::string TakePrefixes(std::string name, std::vector<std::string>* taken) {
  for (bool found = true; found;) {
    found = false;
    for (const char* prefix : kPrefixes) {
      if (!absl::StartsWith(name, prefix)) continue;
      name.erase(0, std::string(prefix).size());
      if (std::find(taken->begin(), taken->end(), prefix) == taken->end()) {
        taken->emplace_back(prefix);
      }
      found = true;
    }
  }
  return name;
}

// "layers.12.norm.weight" -> "layers.*.norm.weight", "clip_teacher.proj" -> "clip_teacher.*"
std::string GroupOf(const std::string& name) {
  for (const absl::string_view head : kTraining) {
    if (absl::StartsWith(name, head)) return absl::StrCat(head, "*");
  }
  for (const absl::string_view layers : {"layers.", "text_encoder.encoder.layer."}) {
    if (!absl::StartsWith(name, layers)) continue;
    const size_t end = name.find_first_not_of("0123456789", layers.size());
    if (end == std::string::npos || end == layers.size()) return name;
    return absl::StrCat(layers, "*", name.substr(end));
  }
  return name;
}

}  // namespace

absl::StatusOr<NamedTensors> NormaliseNames(const std::vector<CheckpointTensor>& tensors) {
  NamedTensors result;
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::string name = TakePrefixes(tensors[i].name, &result.prefixes);
    if (absl::StartsWith(name, kVision)) name.erase(0, sizeof kVision - 1);
    if (IsOfTraining(name)) {
      result.training.push_back(std::move(name));
      continue;
    }
    // With its word-by-word head, the official code calls the same tensors so.
    if (absl::StartsWith(name, kBert)) name.replace(0, sizeof kBert - 1, kText);
    const auto added = result.index.emplace(std::move(name), i);
    if (!added.second) {
      return MakeError(Reason::kBundleInvalid,
                       absl::StrCat(ShortGroups({tensors[added.first->second].name}), " and ",
                                    ShortGroups({tensors[i].name}), " are both ",
                                    ShortGroups({added.first->first}), " without their prefixes"));
    }
  }
  // The pre-training student and the multimodal code call the last norm so.
  for (const char* part : {"weight", "bias"}) {
    if (result.index.count(absl::StrCat("norm_f.", part)) != 0) continue;
    auto node = result.index.extract(absl::StrCat("norm.", part));
    if (node.empty()) continue;
    node.key() = absl::StrCat("norm_f.", part);
    result.index.insert(std::move(node));
  }
  return result;
}

std::string WithoutPrefixes(const std::string& name) {
  std::vector<std::string> taken;
  return TakePrefixes(name, &taken);
}

std::string ShortGroups(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  std::vector<std::pair<std::string, int>> groups;  // The first name of each, and how many it has.
  std::map<std::string, size_t> place;
  for (const std::string& name : names) {
    const auto added = place.emplace(GroupOf(name), groups.size());
    if (added.second) groups.emplace_back(name, 0);
    ++groups[added.first->second].second;
  }
  std::string text;
  for (size_t i = 0; i < std::min(kShown, groups.size()); ++i) {
    const auto& [first, count] = groups[i];
    absl::StrAppend(&text, i == 0 ? "" : ", ", count == 1 ? first : GroupOf(first));
    if (count > 1) absl::StrAppend(&text, " (", count, ")");
  }
  if (groups.size() > kShown) absl::StrAppend(&text, " and ", groups.size() - kShown, " more");
  std::replace_if(text.begin(), text.end(), absl::ascii_iscntrl, '?');
  return text;
}

}  // namespace scanline
