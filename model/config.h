#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clip.h"

namespace scanline {

// The six switches of the mixer; presets in config.cc. Formulas: docs/models.md.
struct MixerConfig {
  enum class ScanInput { kConv, kRaw };
  enum class Init { kZero, kFirstToken };
  enum class Residual { kNone, kCumulative };

  bool shared = false;                      // one parameter set for both directions (A_b_log stays)
  ScanInput scan_input = ScanInput::kConv;  // what the scan reads: conv output, or x as projected
  Init init = Init::kZero;                  // state before the first token
  bool mask_backward = false;               // own token left out of the backward read-out
  Residual residual = Residual::kNone;
  bool gate = true;  // multiply by SiLU(z)
};

enum class ScanOrder { kSpatialFirst, kTemporalFirst, kAlternating };
enum class NormKind { kRms, kLayer };
enum class PoolKind { kCls, kAvg, kClsPlusAvg, kClsPlusAvgDeltaMax };
enum class ScoreKind { kSoftmax, kSigmoid };

struct BackboneConfig {
  int embed_dim = 192;
  int depth = 24;
  int d_state = 16;
  int d_conv = 4;
  int expand = 2;
  int dt_rank = 12;
  NormKind norm = NormKind::kRms;
  float norm_eps = 1e-5f;
  int patch = 16;
  int tubelet = 1;
  int frames = 8;
  int size = 224;
  ScanOrder scan_order = ScanOrder::kSpatialFirst;
  MixerConfig mixer;
  PoolKind pool = PoolKind::kCls;
  bool still_as_image = false;  // a view of one picture alone is one step without time (StillOf)
  bool time = true;             // the temporal embedding is added

  // Of the pictures, where they are not size x size (ForPictures); 0: size.
  int height = 0;
  int width = 0;

  int grid() const { return size / patch; }  // patches a side of size x size pictures
  int d_inner() const { return expand * embed_dim; }
  int rows() const { return (height > 0 ? height : size) / patch; }   // of patches
  int columns() const { return (width > 0 ? width : size) / patch; }  // of patches
  int cells() const { return rows() * columns(); }
  int steps() const { return frames / tubelet; }
  int tokens() const { return 1 + steps() * cells(); }  // cls included
  int pooled_dim() const {
    return pool == PoolKind::kClsPlusAvgDeltaMax ? 3 * embed_dim : embed_dim;
  }
};

// The same backbone on pictures of height x width, multiples of patch.
BackboneConfig ForPictures(const BackboneConfig& config, int height, int width);

// Tokens of one view of such pictures, cls not counted: what admission and batching count.
int64_t PatchTokens(const BackboneConfig& config, int height, int width);

// The same backbone as it sees a single picture: one step, and no temporal embedding. The
// multimodal reference gives images so (video_mm/models/backbones/videomamba/videomamba.py).
BackboneConfig StillOf(const BackboneConfig& config);

struct ClassifyConfig {
  ScoreKind score = ScoreKind::kSoftmax;
  std::vector<std::string> labels;  // as many as the head has rows; none: there is no class head
  int label_index_offset = 0;       // class_index of the answer = row + offset
};

// Of the space that video and text share.
struct EmbedConfig {
  int dim = 0;
  bool normalize = true;       // to unit length; per frame where keep_temporal says so
  bool keep_temporal = false;  // one vector a step, each normalised, then their mean (not
                               // normalised again): the mean over frames of the reference's scores
  bool pool_norm = false;      // LayerNorm `pool_norm.*` between pooling and projection
  std::vector<std::string> prompts = {"{}"};  // templates for labels; {} stands for the label
};

enum class TextTowerType { kGatedConv, kBert };

// A text tower (docs/models.md).
struct TextTowerConfig {
  TextTowerType type = TextTowerType::kGatedConv;
  std::string vocab_file;
  std::vector<std::string> vocab;  // word or word piece of each id; id 0 is padding
  int dim = 0;                     // hidden size
  int depth = 0;                   // layers that read text alone

  // kGatedConv.
  int kernel = 5;
  int max_words = 0;
  std::string removed_characters;  // taken out of a text before it is split into words

  // kBert (bert-base-uncased: dim 768, depth 9, fusion_depth 3, heads 12, intermediate 3072).
  int fusion_depth = 0;  // layers with cross-attention after them; 0: no rerank
  int heads = 0;
  int intermediate = 0;
  int max_positions = 512;       // rows of the position embeddings
  int max_length = 0;            // tokens of a text, [CLS] and [SEP] included; the rest is cut
  bool official_cleanup = true;  // the official evaluation's clean-up of captions before WordPiece
  bool special_tokens = false;   // literal "[MASK]" in a text is that token
};

// Actions of given boxes: tokens -> features over time -> RoIAlign -> maximum -> linear.
struct DetectConfig {
  enum class Feature { kAvg, kAvgDelta };

  ScoreKind score = ScoreKind::kSigmoid;
  std::vector<std::string> labels;  // as many as the box head has rows
  std::string labels_file;          // where config.json names a file instead
  int label_index_offset = 0;       // class_index of the answer = row + offset; AVA: 1
  Feature feature = Feature::kAvg;  // of the patch tokens over time
  int roi_size = 7;
  int sampling_ratio = 0;
  bool aligned = false;
  // Pixels as squares that have a number: a box covers x_max - x_min + 1 of them and ends at width
  // - 1. Else the corners are places on a line from 0 to width.
  bool inclusive = false;
  std::array<double, 2> enlarge{};  // share of width and height added to a box, half on each side
  int box_frame = 0;                // sampled frame that a box belongs to
  double keyframe_interval = 1;     // seconds; what a request may change
  double min_score = 0;             // of a class in the answer
  double min_person_score = 0;      // of a person that the server found
};

struct WeightsConfig {
  std::string file;
  std::string sha256;  // hex; empty: not stated
};

// config.json of a bundle, checked (docs/models.md).
struct ModelConfig {
  std::string name;
  std::string version;
  std::string license;
  std::vector<std::string> tasks;  // served ones: "classify", "embed", "match", "detect"
  BackboneConfig backbone;
  FrameSpec frame_spec;
  std::array<float, 3> mean{};  // of pixel / 255, RGB
  std::array<float, 3> std{};
  ClassifyConfig classify;
  std::string labels_source;  // file name or list name; empty: no classify section
  std::optional<EmbedConfig> embed;
  std::optional<TextTowerConfig> text_tower;
  std::optional<DetectConfig> detect;
  WeightsConfig weights;

  bool serves(absl::string_view task) const;
  // Whether all pictures are backbone.size squares; else their shape is the clip's (pad16).
  bool fixed_size() const { return frame_spec.resize != ResizeRule::kShortSide256Pad16; }
};

// The text of a config.json. Lists that live in files of their own (labels, vocabulary) are left
// empty for the loader. An unknown, missing or impossible key is BUNDLE_INVALID with its path.
absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view text);

// A preset by its name in config.json: "videomamba", "videomambapro_v1", ...; nullopt: no such
// name.
std::optional<MixerConfig> MixerPreset(absl::string_view name);

}  // namespace scanline
