#include "server/served_model.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"

namespace scanline {

std::string ServedModel::name() const { return absl::StrCat("models/", config.name); }

std::string ServedModel::full_name() const { return absl::StrCat(name(), "@", config.version); }

int64_t ServedModel::tokens_per_view() const {
  const BackboneConfig& b = config.backbone;
  return int64_t{b.steps()} * b.grid() * b.grid();
}

TaskSet ServedModel::tasks() const {
  TaskSet tasks = {.classify = false};
  for (const std::string& task : config.tasks) {
    tasks.classify |= task == "classify";
    tasks.embed |= task == "embed";
    tasks.match |= task == "match";
    tasks.detect |= task == "detect";
  }
  return tasks;
}

absl::StatusOr<ModelPtr> ModelTable::Find(absl::string_view name) const {
  if (name.empty() && !models_.empty()) return models_.front();
  for (const ModelPtr& model : models_) {
    if (name == model->name() || name == model->full_name()) return model;
  }
  const std::string known = absl::StrJoin(
      models_, ", ",
      [](std::string* out, const ModelPtr& model) { absl::StrAppend(out, model->full_name()); });
  const std::string asked(name.substr(0, 100));
  return MakeError(Reason::kModelNotFound,
                   absl::StrCat("no model is called \"", asked, "\"; this server has ", known,
                                " (the version may be left out, an empty name is the first)"),
                   {{"model", asked}, {"known", known}});
}

}  // namespace scanline
