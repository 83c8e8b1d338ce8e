#include "model/person/person_detector.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <new>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "model/person/parts.h"
#include "model/safetensors.h"
#include "model/strict_json.h"
#include "model/weights.h"

namespace scanline {
namespace {

// Two looks at one person differ by more than two boxes of one look.
constexpr float kSamePersonIou = 0.4F;
constexpr char kFormat[] = "scanline_person_detector_1";

struct Description {
  std::vector<AnchorLayer> layers;
  BoxCoder coder;
  float max_iou = 0;
  std::string weights_sha256;
};

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return MakeError(Reason::kBundleInvalid, absl::StrCat(parts...));
}

absl::string_view Text(absl::Span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void ReadReal(JsonSection* section, const char* key, double low, double high, float* out) {
  double value = 0;
  section->Real(key, low, high, &value);
  *out = static_cast<float>(value);
}

// `count` positive numbers.
void ReadReals(JsonSection* section, const char* key, int count, std::vector<float>* out) {
  const nlohmann::json* list = section->Take(key);
  if (list == nullptr) return;
  const auto positive = [](const nlohmann::json& v) { return v.is_number() && v > 0 && v < 100; };
  if (!list->is_array() || list->size() != static_cast<size_t>(count) ||
      !std::all_of(list->begin(), list->end(), positive)) {
    section->Wrong(key, absl::StrCat(count, " numbers over 0 and under 100"), list);
    return;
  }
  *out = list->get<std::vector<float>>();
}

absl::StatusOr<std::vector<AnchorLayer>> ReadLayers(const nlohmann::json& list) {
  std::vector<AnchorLayer> layers;
  for (const nlohmann::json& entry : list) {
    JsonSection section(entry, absl::StrCat("anchors[", layers.size(), "]"));
    AnchorLayer& layer = layers.emplace_back();
    const int shapes = Ssdlite::Shapes()[layers.size() - 1];
    ReadReals(&section, "scales", shapes, &layer.scales);
    ReadReals(&section, "aspect_ratios", shapes, &layer.aspect_ratios);
    SCANLINE_RETURN_IF_ERROR(section.Finish());
  }
  return layers;
}

absl::StatusOr<Description> ParseDescription(absl::string_view text) {
  SCANLINE_ASSIGN_OR_RETURN(const nlohmann::json root, ParseStrictJson(text, "config.json"));
  Description description;
  JsonSection section(root, "");
  bool known = false;
  section.Choice("format", {{kFormat, true}}, &known);
  section.Choice("architecture", {{"ssdlite_mobilenet_v2", true}}, &known);
  std::string source;
  section.String("source", &source);
  section.String("weights_sha256", &description.weights_sha256);
  ReadReal(&section, "centre_scale", 1e-3, 1e3, &description.coder.centre_scale);
  ReadReal(&section, "size_scale", 1e-3, 1e3, &description.coder.size_scale);
  ReadReal(&section, "max_iou", 0, 1, &description.max_iou);
  const nlohmann::json* anchors = section.Take("anchors");
  const size_t maps = Ssdlite::Grids().size();
  if (anchors != nullptr && (!anchors->is_array() || anchors->size() != maps)) {
    section.Wrong("anchors", absl::StrCat(maps, " layers"), anchors);
  }
  SCANLINE_RETURN_IF_ERROR(section.Finish());
  SCANLINE_ASSIGN_OR_RETURN(description.layers, ReadLayers(*anchors));
  return description;
}

absl::Status ReadTensor(const SafetensorsEntry& entry, Weights* weights) {
  float* values = weights->Add(entry.name, entry.shape);
  SCANLINE_RETURN_IF_ERROR(ReadFloats(entry, values));
  if (!std::all_of(values, values + entry.size(), [](float v) { return std::isfinite(v); })) {
    return Invalid("weights must be finite numbers; not so in ", entry.name);
  }
  return absl::OkStatus();
}

absl::Status ReadWeights(const std::string& path, const std::string& sha256, Weights* weights) {
  SCANLINE_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  Digest digest;
  digest.Add(Text(file.bytes()));
  const std::string found = absl::BytesToHexString(digest.Finish());
  if (found != sha256) {
    return Invalid("model.safetensors has SHA-256 ", found, ", config.json says ", sha256);
  }
  SCANLINE_ASSIGN_OR_RETURN(const Safetensors all, ParseSafetensors(file.bytes()));
  std::map<std::string, const SafetensorsEntry*> entries;
  for (const SafetensorsEntry& entry : all.tensors) entries[entry.name] = &entry;
  for (const TensorSpec& spec : Ssdlite::ExpectedTensors()) {
    const auto at = entries.find(spec.name);
    if (at == entries.end()) return Invalid("model.safetensors has no tensor ", spec.name);
    if (at->second->shape != spec.shape) {
      return Invalid("model.safetensors: ", spec.name, " has another shape than the network's");
    }
    SCANLINE_RETURN_IF_ERROR(ReadTensor(*at->second, weights));
    entries.erase(at);
  }
  if (entries.empty()) return absl::OkStatus();
  return Invalid("model.safetensors has a tensor that the network lacks: ", entries.begin()->first);
}

absl::StatusOr<Description> ReadFolder(const std::string& folder, Weights* weights) {
  SCANLINE_ASSIGN_OR_RETURN(const MappedFile config, MappedFile::Open(folder + "/config.json"));
  SCANLINE_ASSIGN_OR_RETURN(Description description, ParseDescription(Text(config.bytes())));
  SCANLINE_RETURN_IF_ERROR(
      ReadWeights(folder + "/model.safetensors", description.weights_sha256, weights));
  return description;
}

absl::Status CheckPicture(const RgbPicture& picture) {
  if (picture.data != nullptr && picture.width > 0 && picture.height > 0) return absl::OkStatus();
  return MakeError(Reason::kFieldInvalid, absl::StrCat("a picture of ", picture.width, "x",
                                                       picture.height, " has no people to find"));
}

PersonBox Inside(PersonBox box) {
  box.x_min = std::clamp(box.x_min, 0.0F, 1.0F);
  box.y_min = std::clamp(box.y_min, 0.0F, 1.0F);
  box.x_max = std::clamp(box.x_max, 0.0F, 1.0F);
  box.y_max = std::clamp(box.y_max, 0.0F, 1.0F);
  return box;
}

bool Empty(const PersonBox& box) { return !(box.x_max > box.x_min && box.y_max > box.y_min); }

}  // namespace

std::string PersonDetector::DefaultFolder() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  std::string cache = variable("SCANLINE_CACHE");
  if (cache.empty()) {
    const std::string user = variable("XDG_CACHE_HOME");
    cache = (user.empty() ? variable("HOME") + "/.cache" : user) + "/scanline";
  }
  return cache + "/person-detector-0.2";
}

PersonDetector::PersonDetector(const Weights& weights, const std::vector<AnchorLayer>& layers,
                               BoxCoder coder, float max_iou)
    : network_([&](const std::string& name) { return weights.Data(name); }),
      anchors_(MakeAnchors(layers, Ssdlite::Grids())),
      coder_(coder),
      max_iou_(max_iou) {}

absl::StatusOr<std::unique_ptr<PersonDetector>> PersonDetector::Load(const std::string& folder) {
  try {
    Weights weights;
    auto description = ReadFolder(folder, &weights);
    if (!description.ok()) {
      return Invalid("person detector in ", folder, ": ", description.status().message(),
                     " (./dev setup makes it)");
    }
    return std::unique_ptr<PersonDetector>(
        new PersonDetector(weights, description->layers, description->coder, description->max_iou));
  } catch (const std::bad_alloc&) {
    return MakeError(Reason::kDeviceMemory, "not enough memory for the person detector");
  } catch (const std::exception& error) {
    return MakeError(Reason::kInternal,
                     absl::StrCat("the person detector cannot be made: ", error.what()));
  }
}

absl::StatusOr<std::vector<PersonBox>> PersonDetector::DetectRaw(const RgbPicture& picture) const {
  SCANLINE_RETURN_IF_ERROR(CheckPicture(picture));
  try {
    const AlignedFloats input = AllocateFloats(size_t{3} * Ssdlite::kSide * Ssdlite::kSide);
    ResizeToSquare(picture, Ssdlite::kSide, input.get());
    const Ssdlite::Answer answer = network_.Run(input.get());
    std::vector<PersonBox> boxes(anchors_.size());
    for (size_t i = 0; i < boxes.size(); ++i) {
      boxes[i] = DecodeBox(anchors_[i], answer.codes.data() + 4 * i, coder_);
      boxes[i].score = 1.0F / (1.0F + std::exp(-answer.logits[i]));
    }
    return boxes;
  } catch (const std::bad_alloc&) {
    return MakeError(Reason::kDeviceMemory, "not enough memory to find people");
  } catch (const std::exception& error) {
    return MakeError(Reason::kInternal, absl::StrCat("finding people failed: ", error.what()));
  }
}

absl::StatusOr<std::vector<PersonBox>> PersonDetector::Look(const RgbPicture& picture,
                                                            const SuppressOptions& options) const {
  SCANLINE_ASSIGN_OR_RETURN(std::vector<PersonBox> boxes, DetectRaw(picture));
  // Suppressed first and clipped afterwards, as the graph does.
  boxes = SuppressOverlaps(std::move(boxes), options);
  std::transform(boxes.begin(), boxes.end(), boxes.begin(), Inside);
  boxes.erase(std::remove_if(boxes.begin(), boxes.end(), Empty), boxes.end());
  return boxes;
}

absl::StatusOr<std::vector<PersonBox>> PersonDetector::Detect(const RgbPicture& picture,
                                                              const PersonOptions& options) const {
  SuppressOptions suppress = {.min_score = options.min_score,
                              .max_iou = options.max_iou > 0 ? options.max_iou : max_iou_,
                              .max_boxes = options.max_people};
  SCANLINE_ASSIGN_OR_RETURN(std::vector<PersonBox> people, Look(picture, suppress));
  if (!options.closer) return people;
  for (const PicturePart& part : CornerParts(picture.width, picture.height)) {
    SCANLINE_ASSIGN_OR_RETURN(const std::vector<PersonBox> found,
                              Look(PartOf(picture, part), suppress));
    for (const PersonBox& box : found) {
      if (!CutOff(box, part, picture)) people.push_back(InWhole(box, part, picture));
    }
  }
  suppress.max_iou = std::min(suppress.max_iou, kSamePersonIou);
  return SuppressOverlaps(std::move(people), suppress);
}

}  // namespace scanline
