#include "model/checkpoint/multimodal.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace scanline {
namespace {

constexpr int kHeadWidth = 64;      // of BERT, base and large
constexpr int kMaxTextLength = 32;  // of the released models' pre-training and of MSRVTT
constexpr int64_t kMaxWords = 1 << 21;
constexpr char kLayers[] = "text_encoder.encoder.layer.";
constexpr char kEmbeddings[] = "text_encoder.embeddings.";

constexpr std::array<std::pair<const char*, PoolKind>, 3> kPools = {
    {{"cls", PoolKind::kCls}, {"avg", PoolKind::kAvg}, {"cls+avg", PoolKind::kClsPlusAvg}}};

template <typename... Parts>
absl::Status WrongOption(const Parts&... parts) {
  return MakeError(Reason::kFieldInvalid, absl::StrCat(parts...));
}

absl::Status InferEmbed(const TensorShapes& shapes, const MultimodalOptions& options,
                        Multimodal* out) {
  SCANLINE_ASSIGN_OR_RETURN(const auto projection, ShapeOf(shapes, "vision_proj.weight", {2}));
  out->embed.dim = static_cast<int>(projection[0]);
  out->embed.pool_norm = shapes.count("pool_norm.weight") != 0;
  bool known = options.pool.empty();
  for (const auto& [name, pool] : kPools) {
    if (options.pool != name) continue;
    out->pool = pool;
    known = true;
  }
  if (!known) return WrongOption("--pool ", options.pool, ": expected cls, avg or cls+avg");
  out->embed.keep_temporal = options.keep_temporal && out->pool != PoolKind::kCls;
  return absl::OkStatus();
}

// Layers that read text alone come first, then those that read the video too.
absl::Status InferLayers(const TensorShapes& shapes, TextTowerConfig* out) {
  const int layers = LayersUnder(shapes, kLayers);
  const auto fuses = [&](int layer) {
    return shapes.count(absl::StrCat(kLayers, layer, ".crossattention.self.query.weight")) != 0;
  };
  while (out->depth < layers && !fuses(out->depth)) ++out->depth;
  out->fusion_depth = layers - out->depth;
  if (out->depth > 0) return absl::OkStatus();
  return MakeError(
      Reason::kBundleInvalid,
      absl::StrCat("expected layers that read text alone under ", kLayers, "0., found ",
                   layers == 0 ? "none" : "cross-attention in the first"));
}

absl::Status InferHeads(int wanted, TextTowerConfig* out) {
  out->heads = wanted > 0 ? wanted : out->dim / kHeadWidth;
  if (out->heads > 0 && out->dim % out->heads == 0) return absl::OkStatus();
  if (wanted > 0) {
    return WrongOption("--heads ", wanted, " do not share the text tower's width ", out->dim,
                       " evenly");
  }
  return WrongOption("the text tower's width ", out->dim, " is no multiple of ", kHeadWidth,
                     ", so its attention heads are not BERT's; --heads says how many there are");
}

}  // namespace

absl::Status InferMultimodal(const TensorShapes& shapes, const MultimodalOptions& options,
                             Multimodal* out) {
  SCANLINE_RETURN_IF_ERROR(InferEmbed(shapes, options, out));
  const std::string embeddings = kEmbeddings;
  SCANLINE_ASSIGN_OR_RETURN(const auto words,
                            ShapeOf(shapes, embeddings + "word_embeddings.weight", {2}, kMaxWords));
  SCANLINE_ASSIGN_OR_RETURN(const auto positions,
                            ShapeOf(shapes, embeddings + "position_embeddings.weight", {2}));
  SCANLINE_ASSIGN_OR_RETURN(
      const auto intermediate,
      ShapeOf(shapes, absl::StrCat(kLayers, 0, ".intermediate.dense.weight"), {2}));
  TextTowerConfig& text = out->text;
  text.type = TextTowerType::kBert;
  out->words = static_cast<int>(words[0]);
  text.dim = static_cast<int>(words[1]);
  text.max_positions = static_cast<int>(positions[0]);
  text.intermediate = static_cast<int>(intermediate[0]);
  SCANLINE_RETURN_IF_ERROR(InferLayers(shapes, &text));
  SCANLINE_RETURN_IF_ERROR(InferHeads(options.heads, &text));
  text.max_length = options.max_text_length > 0 ? options.max_text_length : kMaxTextLength;
  if (options.max_text_length > text.max_positions) {
    return WrongOption("--max-text-length ", options.max_text_length,
                       ": the position embeddings end at ", text.max_positions);
  }
  text.max_length = std::min(text.max_length, text.max_positions);
  return absl::OkStatus();
}

const char* PoolName(PoolKind pool) {
  for (const auto& [name, kind] : kPools) {
    if (kind == pool) return name;
  }
  return "cls+avg|delta|max";
}

}  // namespace scanline
