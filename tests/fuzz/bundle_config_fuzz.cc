#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "model/config.h"
#include "model/tensor_spec.h"

// Any text is refused, or describes a model whose sizes make sense and whose tensors can be listed.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto config =
      scanline::ParseModelConfig(absl::string_view(reinterpret_cast<const char*>(data), size));
  if (!config.ok()) {
    SCANLINE_CHECK(!config.status().message().empty());
    return 0;
  }
  SCANLINE_CHECK(config->backbone.frames % config->backbone.tubelet == 0);
  SCANLINE_CHECK(config->backbone.tokens() > 1);
  SCANLINE_CHECK(config->weights.file.find('/') == std::string::npos);
  for (const scanline::TensorSpec& spec : scanline::ExpectedTensors(*config)) {
    for (int64_t side : spec.shape) SCANLINE_CHECK(side >= -1);
  }
  return 0;
}
