#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "model/safetensors.h"

// Any bytes are parsed or refused; what is parsed lies inside the file and can be read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = scanline::ParseSafetensors({data, size});
  if (!file.ok()) {
    SCANLINE_CHECK(!file.status().message().empty());
    return 0;
  }
  size_t bytes = 0;
  for (const scanline::SafetensorsEntry& entry : file->tensors) {
    bytes += entry.bytes.size();
    if (entry.bytes.empty()) continue;
    SCANLINE_CHECK(entry.bytes.data() >= data);
    SCANLINE_CHECK(entry.bytes.data() + entry.bytes.size() <= data + size);
    std::vector<float> values(static_cast<size_t>(entry.size()));
    scanline::ReadFloats(entry, values.data()).IgnoreError();
  }
  SCANLINE_CHECK(bytes <= size);
  return 0;
}
