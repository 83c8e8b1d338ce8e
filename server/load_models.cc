#include "server/load_models.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "model/bundle.h"
#include "model/predictor.h"
#include "server/load_person_finder.h"

namespace scanline {

namespace {

PredictorOptions EngineOf(const Settings& settings, const std::string& device) {
  return {.threads = settings.threads,
          .kernel = settings.kernel,
          .precision = settings.precision,
          .device = device};
}

// The devices that --device names, and what the first of them is.
struct Engines {
  std::vector<std::string> devices;
  EngineInfo first;
};

// FIELD_INVALID where this machine lacks one of them, or they do not go together.
absl::StatusOr<Engines> ResolveEngines(const Settings& settings) {
  Engines engines;
  for (const std::string& device : std::vector<std::string>(absl::StrSplit(settings.device, ','))) {
    if (device.empty()) {
      return MakeError(
          Reason::kFieldInvalid,
          absl::StrCat("expected --device to be cpu, auto or GPUs as cuda:0,cuda:1, found \"",
                       settings.device, "\""));
    }
    const absl::StatusOr<EngineInfo> engine = ResolveEngine(EngineOf(settings, device));
    if (!engine.ok()) return engine.status();
    if (engines.devices.empty()) engines.first = *engine;
    const auto before = std::count(engines.devices.begin(), engines.devices.end(), engine->device);
    if (before > 0 || (!engines.devices.empty() && engine->device == "cpu")) {
      return MakeError(
          Reason::kFieldInvalid,
          absl::StrCat("expected --device to be cpu or GPUs, each once, found ", settings.device));
    }
    engines.devices.push_back(engine->device);
  }
  const auto gpus = static_cast<int>(engines.devices.size());
  if (engines.first.device != "cpu" && settings.workers != 0 && settings.workers != gpus) {
    return MakeError(
        Reason::kFieldInvalid,
        absl::StrCat("a GPU has one worker: expected --workers 0 or ", gpus, " with --device ",
                     settings.device, ", found ", settings.workers));
  }
  return engines;
}

absl::StatusOr<std::shared_ptr<ServedModel>> Load(const std::string& folder,
                                                  const Settings& settings) {
  SCANLINE_ASSIGN_OR_RETURN(const std::shared_ptr<const ModelBundle> bundle,
                            ModelBundle::Load(folder));
  auto model = std::make_shared<ServedModel>();
  model->config = bundle->config();
  model->weights_sha256 = bundle->weights_sha256();
  model->temperature = bundle->temperature();
  SCANLINE_ASSIGN_OR_RETURN(const Engines engines, ResolveEngines(settings));
  model->engine = engines.first;
  model->devices = engines.devices;
  model->make_predictor = [bundle, settings, devices = engines.devices](int worker) {
    const std::string& device = devices[static_cast<size_t>(worker) % devices.size()];
    return Predictor::Create(bundle, EngineOf(settings, device));
  };
  return model;
}

absl::Status AddPersonFinder(const Settings& settings,
                             std::vector<std::shared_ptr<ServedModel>>& models) {
  const bool needed = std::any_of(models.begin(), models.end(),
                                  [](const auto& model) { return model->tasks().detect; });
  if (!needed && settings.person_detector.empty()) return absl::OkStatus();
  SCANLINE_ASSIGN_OR_RETURN(const PersonFinder finder,
                            LoadPersonFinder(settings.person_detector, settings.threads));
  for (const auto& model : models) {
    if (model->tasks().detect) model->find_people = finder;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelPtr> LoadModel(const std::string& folder, const Settings& settings) {
  return Load(folder, settings);
}

absl::StatusOr<std::vector<ModelPtr>> LoadModels(const Settings& settings) {
  SCANLINE_RETURN_IF_ERROR(ResolveEngines(settings).status());
  std::vector<std::string> folders = settings.models;
  if (folders.empty()) {
    SCANLINE_ASSIGN_OR_RETURN(const std::string folder,
                              DefaultBundle(std::filesystem::read_symlink("/proc/self/exe")));
    folders.push_back(folder);
  }
  std::vector<std::shared_ptr<ServedModel>> models;
  std::map<std::string, std::string> folder_of;
  for (const std::string& folder : folders) {
    SCANLINE_ASSIGN_OR_RETURN(std::shared_ptr<ServedModel> model, Load(folder, settings));
    const auto [at, is_new] = folder_of.emplace(model->full_name(), folder);
    if (!is_new) {
      return MakeError(Reason::kBundleInvalid,
                       absl::StrCat("two models are called ", at->first, ": ", at->second, " and ",
                                    folder, "; name one folder, or give one another version"));
    }
    models.push_back(std::move(model));
  }
  SCANLINE_RETURN_IF_ERROR(AddPersonFinder(settings, models));
  return std::vector<ModelPtr>(models.begin(), models.end());
}

DecodeLimits DecodeLimitsOf(const Settings& settings) {
  DecodeLimits limits;
  limits.max_bytes = settings.max_clip_mib << 20;
  limits.max_pixels = settings.max_pixels;
  limits.max_duration_seconds = settings.max_clip_seconds;
  limits.max_frames = settings.max_frames;
  limits.max_cpu_seconds = settings.max_decode_seconds;
  limits.max_packets_without_frame = settings.max_packets_without_frame;
  limits.max_clip_bytes = settings.max_pictures_mib << 20;
  return limits;
}

}  // namespace scanline
