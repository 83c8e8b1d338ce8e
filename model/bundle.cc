#include "model/bundle.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "model/position.h"
#include "model/safetensors.h"
#include "model/tensor_spec.h"
#include "model/text_list.h"
#include "model/weights.h"

namespace scanline {
namespace {

constexpr char kTemperature[] = "temp";

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return MakeError(Reason::kBundleInvalid, absl::StrCat(parts...));
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  SCANLINE_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  if (file.bytes().size() > kMaxListBytes) {
    return Invalid(path, " has ", file.bytes().size(), " bytes; at most ", kMaxListBytes);
  }
  return std::string(file.bytes().begin(), file.bytes().end());
}

absl::StatusOr<std::vector<std::string>> ReadList(const std::string& dir, const std::string& name) {
  SCANLINE_ASSIGN_OR_RETURN(const std::string text, ReadText(dir + name));
  auto list = ParseTextList(text, name);
  if (!list.ok()) return Invalid(list.status().message());
  return list;
}

absl::Status ReadLists(const std::string& dir, ModelConfig* config) {
  if (!config->labels_source.empty()) {
    SCANLINE_ASSIGN_OR_RETURN(config->classify.labels, ReadList(dir, config->labels_source));
  }
  if (config->text_tower) {
    SCANLINE_ASSIGN_OR_RETURN(config->text_tower->vocab,
                              ReadList(dir, config->text_tower->vocab_file));
  }
  if (config->detect && !config->detect->labels_file.empty()) {
    SCANLINE_ASSIGN_OR_RETURN(config->detect->labels, ReadList(dir, config->detect->labels_file));
  }
  return absl::OkStatus();
}

std::string Sha256(absl::Span<const uint8_t> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw std::bad_alloc();  // The only way a digest of memory fails.
  }
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest.data()), size));
}

// "a, b, c and 4 more": the names that matter, short enough for one line.
std::string Short(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  const auto end = names.begin() + static_cast<ptrdiff_t>(std::min(kShown, names.size()));
  std::string text = absl::StrJoin(names.begin(), end, ", ");
  if (names.size() > kShown) absl::StrAppend(&text, " and ", names.size() - kShown, " more");
  return text;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

bool ShapeFits(const std::vector<int64_t>& found, const std::vector<int64_t>& wanted) {
  return std::equal(found.begin(), found.end(), wanted.begin(), wanted.end(),
                    [](int64_t a, int64_t b) { return a == b || (b == -1 && a > 0); });
}

// Head rows first: a label list of the wrong length is the usual mistake, and says so.
absl::Status CheckLabelCount(const Safetensors& file, const char* head, size_t labels) {
  for (const SafetensorsEntry& entry : file.tensors) {
    if (entry.name != std::string(head) + ".weight" || entry.shape.empty()) continue;
    if (entry.shape[0] == static_cast<int64_t>(labels)) continue;
    return Invalid(entry.name, " has ", entry.shape[0], " rows, the label list has ", labels,
                   " entries");
  }
  return absl::OkStatus();
}

absl::Status CheckTensors(const Safetensors& file, const std::vector<TensorSpec>& specs) {
  std::map<std::string, const SafetensorsEntry*> found;
  for (const SafetensorsEntry& entry : file.tensors) found[entry.name] = &entry;
  std::vector<std::string> missing;
  std::vector<std::string> misshaped;
  std::vector<std::string> left_over;
  for (const TensorSpec& spec : specs) {
    const auto at = found.find(spec.name);
    if (at == found.end()) {
      missing.push_back(spec.name);
      continue;
    }
    if (!ShapeFits(at->second->shape, spec.shape)) {
      misshaped.push_back(absl::StrCat(spec.name, " is ", ShapeText(at->second->shape), ", not ",
                                       ShapeText(spec.shape)));
    }
    found.erase(at);
  }
  for (const auto& item : found) left_over.push_back(item.first);
  std::vector<std::string> problems;
  if (!missing.empty()) problems.push_back("missing: " + Short(missing));
  if (!misshaped.empty()) problems.push_back("wrong shape: " + Short(misshaped));
  if (!left_over.empty()) problems.push_back("not described by config.json: " + Short(left_over));
  if (problems.empty()) return absl::OkStatus();
  return Invalid("tensors do not fit config.json; ", absl::StrJoin(problems, "; "));
}

absl::Status ReadTensors(const Safetensors& file, Weights* weights) {
  std::vector<std::string> bad;
  for (const SafetensorsEntry& entry : file.tensors) {
    float* values = weights->Add(entry.name, entry.shape);
    SCANLINE_RETURN_IF_ERROR(ReadFloats(entry, values));
    if (!std::all_of(values, values + entry.size(), [](float v) { return std::isfinite(v); })) {
      bad.push_back(entry.name);
    }
  }
  if (bad.empty()) return absl::OkStatus();
  return Invalid("weights must be finite numbers; not so in ", Short(bad));
}

absl::Status CheckTemperature(const Weights& weights) {
  const float temperature = *weights.Data(kTemperature);
  if (temperature > 0) return absl::OkStatus();
  return Invalid("temp, the temperature of similarities, is ", temperature,
                 "; expected more than 0");
}

absl::Status LoadWeights(const std::string& dir, const ModelConfig& config, Weights* weights,
                         std::string* sha256) {
  SCANLINE_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(dir + config.weights.file));
  *sha256 = Sha256(file.bytes());
  if (!config.weights.sha256.empty() && config.weights.sha256 != *sha256) {
    return Invalid(config.weights.file, " has SHA-256 ", *sha256, ", config.json says ",
                   config.weights.sha256);
  }
  SCANLINE_ASSIGN_OR_RETURN(const Safetensors tensors, ParseSafetensors(file.bytes()));
  if (!config.classify.labels.empty()) {
    SCANLINE_RETURN_IF_ERROR(CheckLabelCount(tensors, "head", config.classify.labels.size()));
  }
  if (config.detect) {
    SCANLINE_RETURN_IF_ERROR(CheckLabelCount(tensors, "box_head", config.detect->labels.size()));
  }
  SCANLINE_RETURN_IF_ERROR(CheckTensors(tensors, ExpectedTensors(config)));
  SCANLINE_RETURN_IF_ERROR(ReadTensors(tensors, weights));
  if (config.text_tower) SCANLINE_RETURN_IF_ERROR(CheckTemperature(*weights));
  return FitPositions(config.backbone, config.fixed_size(), weights);
}

}  // namespace

ModelBundle::~ModelBundle() = default;

float ModelBundle::temperature() const {
  return config_.text_tower ? *weights_->Data(kTemperature) : 0;
}

absl::StatusOr<std::shared_ptr<const ModelBundle>> ModelBundle::Load(absl::string_view dir) {
  const std::string folder = absl::StrCat(dir, "/");
  const auto with_folder = [&](const absl::Status& status) {
    return MakeError(Reason::kBundleInvalid,
                     absl::StrCat("model folder ", dir, ": ", status.message()));
  };
  try {
    std::shared_ptr<ModelBundle> bundle(new ModelBundle());
    auto text = ReadText(folder + "config.json");
    if (!text.ok()) return with_folder(text.status());
    auto config = ParseModelConfig(*text);
    if (!config.ok()) return with_folder(config.status());
    bundle->config_ = *std::move(config);
    bundle->weights_ = std::make_unique<Weights>();
    absl::Status status = ReadLists(folder, &bundle->config_);
    if (status.ok()) {
      status =
          LoadWeights(folder, bundle->config_, bundle->weights_.get(), &bundle->weights_sha256_);
    }
    if (!status.ok()) return with_folder(status);
    return bundle;
  } catch (const std::bad_alloc&) {
    return MakeError(Reason::kDeviceMemory,
                     absl::StrCat("model folder ", dir, ": not enough memory for its weights"));
  }
}

}  // namespace scanline
