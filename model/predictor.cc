#include "model/predictor.h"

#include <cmath>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "model/cuda/cuda_backbone.h"
#include "model/cuda/plan.h"
#include "model/detect/box_head.h"
#include "model/kernels/kernels.h"
#include "model/match.h"
#include "model/tensor_ops.h"
#include "model/text/text_encoder.h"
#include "model/vision_tower.h"
#include "model/weights.h"

namespace scanline {
namespace {

// Runs `body` where Torch or the allocator may throw.
template <typename Body>
absl::Status NoThrow(const Body& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return MakeError(Reason::kDeviceMemory, "not enough memory for a forward pass");
  } catch (const std::exception& error) {
    return MakeError(Reason::kInternal, absl::StrCat("the forward pass failed: ", error.what()));
  }
}

absl::StatusOr<const Kernels*> NamedKernels(const std::string& name) {
  const Kernels* kernels = name == "auto" ? &BestKernels() : FindKernels(name);
  if (kernels == nullptr) {
    return MakeError(Reason::kFieldInvalid,
                     absl::StrCat("kernel ", name, " is not known; expected auto or ",
                                  absl::StrJoin(KernelNames(), ", ")));
  }
  if (!kernels->runs_here()) {
    return MakeError(Reason::kFieldInvalid,
                     absl::StrCat("kernel ", name, " needs a CPU with its instructions"));
  }
  return kernels;
}

// "auto" is fp32 on CPUs: there a faster answer that is not the reference's is asked for by name.
absl::StatusOr<std::string> NamedPrecision(const std::string& name, const Kernels& kernels,
                                           bool gpu) {
  if (name == "fp32" || (name == "auto" && !gpu)) return "fp32";
  if (gpu && (name == "auto" || name == "bf16")) return "bf16";
  if (name != "bf16") {
    return MakeError(
        Reason::kFieldInvalid,
        absl::StrCat("precision ", name, " is not known; expected auto, fp32 or bf16"));
  }
  if (kernels.packed_linear_bf16 == nullptr) {
    return MakeError(Reason::kFieldInvalid,
                     absl::StrCat("precision bf16 needs a CPU with AVX512_BF16, and kernel ",
                                  kernels.name, " has no such products; expected fp32 or auto"));
  }
  return name;
}

absl::Status Unsupported(const ModelConfig& config, const char* what) {
  return MakeError(Reason::kTaskUnsupported, absl::StrCat(config.name, " has no ", what));
}

// That the bundle has the parts that the item needs.
absl::Status CheckItem(const PredictItem& item, const ModelConfig& config) {
  const TaskSet& tasks = item.tasks;
  const bool texts = item.texts != nullptr;
  const bool fusion = config.text_tower && config.text_tower->fusion_depth > 0;
  if (texts && !config.text_tower) return Unsupported(config, "text tower");
  if (item.clip == nullptr) return absl::OkStatus();
  if (tasks.classify && config.classify.labels.empty()) return Unsupported(config, "class head");
  if ((tasks.embed || tasks.match) && !config.embed) return Unsupported(config, "embedding");
  if (tasks.rerank && !fusion) return Unsupported(config, "fusion layers, which rerank needs");
  if (tasks.detect && !config.detect) return Unsupported(config, "box head");
  if (tasks.detect &&
      (item.people == nullptr || item.people->size() != item.clip->keyframes.size())) {
    return MakeError(Reason::kInternal, "there is one list of people for each keyframe");
  }
  if ((tasks.match && !texts) || (tasks.rerank && !tasks.match)) {
    return MakeError(Reason::kInternal, "a match needs texts, and rerank a match");
  }
  return absl::OkStatus();
}

absl::Status CheckFinite(absl::Span<const float> values, const char* what) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    return MakeError(Reason::kNonFiniteOutput,
                     absl::StrCat("the model gave ", values[i], " for row ", i, " of its ", what,
                                  "; expected finite numbers"));
  }
  return absl::OkStatus();
}

class BundlePredictor : public Predictor {
 public:
  // `gpu`: what runs the backbone; null: the CPU. Heads and texts are the CPU's.
  BundlePredictor(std::shared_ptr<const ModelBundle> bundle, const Kernels& kernels,
                  Precision precision, int threads, std::unique_ptr<CudaBackbone> gpu)
      : bundle_(std::move(bundle)),
        kernels_(kernels),
        team_(threads),
        vision_(config(), bundle_->weights(), kernels, {.precision = precision, .team = &team_},
                std::move(gpu)) {}

  // The parts for texts, where the bundle has them.
  absl::Status MakeTextTower() {
    if (!config().text_tower) return absl::OkStatus();
    SCANLINE_ASSIGN_OR_RETURN(texts_, TextEncoder::Create(config(), bundle_->weights(), kernels_));
    if (config().text_tower->fusion_depth > 0) {
      fusion_ = FusionScorer::Create(config(), bundle_->weights(), kernels_);
    }
    return absl::OkStatus();
  }

  std::vector<absl::StatusOr<Prediction>> Predict(absl::Span<const PredictItem> items) override {
    std::vector<absl::StatusOr<Prediction>> results;
    results.reserve(items.size());
    const absl::Status expected = NoThrow([&] {
      vision_.Expect(SightsOf(items));
      return absl::OkStatus();
    });
    for (const PredictItem& item : items) {
      results.push_back(expected.ok() ? PredictOne(item) : expected);
    }
    return results;
  }

  const ModelBundle& bundle() const override { return *bundle_; }

 private:
  const ModelConfig& config() const { return bundle_->config(); }

  absl::StatusOr<Prediction> PredictOne(const PredictItem& item) {
    SCANLINE_RETURN_IF_ERROR(CheckItem(item, config()));
    Prediction prediction;
    SCANLINE_RETURN_IF_ERROR(NoThrow([&]() -> absl::Status {
      UseThreads(1);  // Torch's own would spin beside the team's.
      UseTeam(&team_);
      std::vector<Hidden> hidden;
      if (item.texts != nullptr) SCANLINE_RETURN_IF_ERROR(ReadTexts(item, &prediction, &hidden));
      if (item.clip != nullptr) SCANLINE_RETURN_IF_ERROR(ReadClip(item, hidden, &prediction));
      return absl::OkStatus();
    }));
    return prediction;
  }

  using Hidden = std::vector<float>;  // of one text, [tokens][text_tower.dim]

  absl::Status ReadTexts(const PredictItem& item, Prediction* prediction,
                         std::vector<Hidden>* hidden) {
    const bool rerank = item.clip != nullptr && item.tasks.rerank;
    SCANLINE_ASSIGN_OR_RETURN(std::vector<EncodedText> encoded,
                              texts_->Encode(*item.texts, rerank, *item.cancel));
    for (EncodedText& text : encoded) {
      SCANLINE_RETURN_IF_ERROR(CheckFinite(text.embedding.values, "text embedding"));
      prediction->texts.push_back(std::move(text.embedding));
      hidden->push_back(std::move(text.hidden));
    }
    return absl::OkStatus();
  }

  absl::Status ReadClip(const PredictItem& item, const std::vector<Hidden>& hidden,
                        Prediction* prediction) {
    const std::vector<View>& views = item.clip->views;
    const bool rerank = item.tasks.rerank;
    // All views score the same texts. Which they are is known before the last view only where every
    // text is; else each view is seen once more, which costs less than keeping all their tokens.
    const bool at_once = ReranksAtOnce(item);
    const std::vector<std::vector<int>> keyframes = KeyframesOfViews(item);
    prediction->actions.resize(item.tasks.detect ? item.clip->keyframes.size() : 0);
    for (size_t v = 0; v < views.size(); ++v) {
      const bool heads = views[v].window >= 0 && ReadsWindows(item.tasks);
      if (!heads && keyframes[v].empty()) continue;
      SCANLINE_RETURN_IF_ERROR(item.cancel->Check(Reason::kExpiredInInference));
      SCANLINE_RETURN_IF_ERROR(vision_.See(*item.clip, views[v], at_once || !keyframes[v].empty()));
      if (heads) SCANLINE_RETURN_IF_ERROR(ReadHeads(item.tasks, prediction));
      if (heads && at_once) SCANLINE_RETURN_IF_ERROR(Rerank(item, hidden, prediction));
      for (int keyframe : keyframes[v]) {
        SCANLINE_RETURN_IF_ERROR(
            ReadPeople((*item.people)[keyframe], &prediction->actions[keyframe]));
      }
      prediction->tokens += vision_.patch_count();
    }
    if (!rerank || at_once) return absl::OkStatus();
    for (const View& view : views) {
      if (view.window < 0) continue;
      SCANLINE_RETURN_IF_ERROR(item.cancel->Check(Reason::kExpiredInInference));
      SCANLINE_RETURN_IF_ERROR(vision_.See(*item.clip, view, true));
      SCANLINE_RETURN_IF_ERROR(Rerank(item, hidden, prediction));
    }
    return absl::OkStatus();
  }

  static bool ReranksAtOnce(const PredictItem& item) {
    return item.tasks.rerank && item.texts->size() <= kRerankTexts;
  }

  // The views that ReadClip will see, in its order.
  std::vector<Sight> SightsOf(absl::Span<const PredictItem> items) const {
    std::vector<Sight> sights;
    for (const PredictItem& item : items) {
      if (item.clip == nullptr || !CheckItem(item, config()).ok()) continue;
      const std::vector<View>& views = item.clip->views;
      const std::vector<std::vector<int>> keyframes = KeyframesOfViews(item);
      const auto add = [&](const View& view, bool patches) {
        sights.push_back({item.clip, &view, patches, item.cancel});
      };
      for (size_t v = 0; v < views.size(); ++v) {
        const bool heads = views[v].window >= 0 && ReadsWindows(item.tasks);
        if (heads || !keyframes[v].empty()) {
          add(views[v], ReranksAtOnce(item) || !keyframes[v].empty());
        }
      }
      if (!item.tasks.rerank || ReranksAtOnce(item)) continue;
      for (const View& view : views) {
        if (view.window >= 0) add(view, true);
      }
    }
    return sights;
  }

  static bool ReadsWindows(const TaskSet& tasks) {
    return tasks.classify || tasks.embed || tasks.match;
  }

  // For each view the keyframes with people that look at it.
  static std::vector<std::vector<int>> KeyframesOfViews(const PredictItem& item) {
    std::vector<std::vector<int>> keyframes(item.clip->views.size());
    if (!item.tasks.detect) return keyframes;
    for (size_t k = 0; k < item.people->size(); ++k) {
      if ((*item.people)[k].empty()) continue;
      keyframes.at(item.clip->keyframes[k].view).push_back(static_cast<int>(k));
    }
    return keyframes;
  }

  // In the view seen last.
  absl::Status ReadPeople(const std::vector<PersonInPicture>& people,
                          std::vector<Actions>* actions) {
    std::vector<Box> boxes;
    for (const PersonInPicture& person : people) boxes.push_back(person.box);
    SCANLINE_ASSIGN_OR_RETURN(std::vector<std::vector<float>> logits, vision_.BoxLogits(boxes));
    for (size_t i = 0; i < people.size(); ++i) {
      SCANLINE_RETURN_IF_ERROR(CheckFinite(logits[i], "box head"));
      std::vector<float> scores = ActionScores(logits[i], config().detect->score, people[i].score);
      actions->push_back({std::move(logits[i]), std::move(scores)});
    }
    return absl::OkStatus();
  }

  // Of the view seen last.
  absl::Status ReadHeads(const TaskSet& tasks, Prediction* prediction) {
    if (tasks.classify) {
      prediction->logits.push_back(vision_.Logits());
      SCANLINE_RETURN_IF_ERROR(CheckFinite(prediction->logits.back(), "class head"));
    }
    if (tasks.embed || tasks.match) {
      VisionEmbedding embedding = vision_.Embed();
      SCANLINE_RETURN_IF_ERROR(CheckFinite(embedding.raw, "embedding"));
      prediction->embeddings.push_back(std::move(embedding.scored));
      prediction->raw_embeddings.push_back(std::move(embedding.raw));
    }
    return absl::OkStatus();
  }

  // The fusion scores of the view seen last.
  absl::Status Rerank(const PredictItem& item, const std::vector<Hidden>& hidden,
                      Prediction* prediction) {
    std::vector<float> logits(hidden.size(), kNotLookedAt);
    const std::vector<size_t> best = BestTexts(*item.clip, *prediction, kRerankTexts);
    for (size_t begin = 0; begin < best.size(); begin += kTextsBetweenChecks) {
      SCANLINE_RETURN_IF_ERROR(item.cancel->Check(Reason::kExpiredInInference));
      const auto part = absl::MakeConstSpan(best).subspan(begin, kTextsBetweenChecks);
      std::vector<FusionText> texts;
      for (size_t i : part) texts.push_back({hidden[i].data(), prediction->texts[i].tokens});
      const auto scores = fusion_->Score(texts, vision_.patch_tokens(), vision_.patch_count());
      for (size_t k = 0; k < part.size(); ++k) logits[part[k]] = scores[k];
    }
    SCANLINE_RETURN_IF_ERROR(CheckFinite(logits, "match head"));
    prediction->match_logits.push_back(std::move(logits));
    return absl::OkStatus();
  }

  static constexpr float kNotLookedAt = -100;  // As the official evaluation has it.
  // Few enough to stop soon, enough to share what the fusion layers make of the clip.
  static constexpr size_t kTextsBetweenChecks = 32;

  std::shared_ptr<const ModelBundle> bundle_;
  const Kernels& kernels_;
  Team team_;
  VisionTower vision_;
  std::unique_ptr<TextEncoder> texts_;    // with a text tower
  std::unique_ptr<FusionScorer> fusion_;  // with fusion layers
};

}  // namespace

absl::StatusOr<EngineInfo> ResolveEngine(const PredictorOptions& options) {
  if (options.threads < 1) {
    return MakeError(Reason::kFieldInvalid,
                     absl::StrCat("threads must be at least 1, found ", options.threads));
  }
  SCANLINE_ASSIGN_OR_RETURN(const cuda::DeviceChoice device,
                            cuda::ChooseDevice(options.device, FindCuda()));
  SCANLINE_ASSIGN_OR_RETURN(const Kernels* const kernels, NamedKernels(options.kernel));
  SCANLINE_ASSIGN_OR_RETURN(std::string precision,
                            NamedPrecision(options.precision, *kernels, device.cuda >= 0));
  return EngineInfo{.device = device.cuda < 0 ? "cpu" : absl::StrCat("cuda:", device.cuda),
                    .kernel = kernels->name,
                    .precision = std::move(precision),
                    .threads = options.threads,
                    .note = device.note};
}

absl::StatusOr<std::unique_ptr<Predictor>> Predictor::Create(
    std::shared_ptr<const ModelBundle> bundle, const PredictorOptions& options) {
  const absl::StatusOr<EngineInfo> engine = ResolveEngine(options);
  if (!engine.ok()) return engine.status();
  std::unique_ptr<Predictor> predictor;
  SCANLINE_RETURN_IF_ERROR(NoThrow([&]() -> absl::Status {
    const bool bf16 = engine->precision == "bf16";
    std::unique_ptr<CudaBackbone> gpu;
    if (engine->device != "cpu") {
      SCANLINE_ASSIGN_OR_RETURN(const cuda::DeviceChoice device,
                                cuda::ChooseDevice(engine->device, FindCuda()));
      SCANLINE_ASSIGN_OR_RETURN(
          gpu, CudaBackbone::Create(device.cuda, bundle->config(), bundle->weights(),
                                    bf16 ? cuda::Element::kBfloat16 : cuda::Element::kFloat32));
    }
    auto made = std::make_unique<BundlePredictor>(std::move(bundle), *FindKernels(engine->kernel),
                                                  bf16 ? Precision::kBf16 : Precision::kFp32,
                                                  engine->threads, std::move(gpu));
    SCANLINE_RETURN_IF_ERROR(made->MakeTextTower());
    predictor = std::move(made);
    return absl::OkStatus();
  }));
  return predictor;
}

}  // namespace scanline
