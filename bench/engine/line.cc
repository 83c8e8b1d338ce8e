#include "bench/engine/line.h"

namespace scanline::bench {

Json BeginLine(const Options& options, const std::string& path, Precision precision) {
  return {{"model", options.model},
          {"path", path},
          {"precision", precision == Precision::kBf16 ? "bf16" : "fp32"},
          {"device", options.device}};
}

void AddSizes(const BackboneConfig& config, Json* line) {
  line->update({{"frames", config.frames},
                {"tokens", config.tokens()},
                {"layers", config.depth},
                {"embed_dim", config.embed_dim},
                {"d_state", config.d_state}});
}

Json JsonOf(const Timing& timing) {
  return {{"pass_s", timing.pass_s},
          {"clip_s", timing.clip_s},
          {"clips_per_s", timing.clips_per_s},
          {"cpu_s", timing.cpu_s}};
}

Json JsonOf(const Error& error) {
  return {{"model", error.model},
          {"rel_l2", error.rel_l2},
          {"rel_max", error.rel_max},
          {"cosine", error.cosine},
          {"same_top1", error.same_top1}};
}

}  // namespace scanline::bench
