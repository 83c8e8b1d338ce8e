#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace scanline {

// A file mapped read-only. The file must not be cut while it is open.
class MappedFile {
 public:
  static absl::StatusOr<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) = delete;
  ~MappedFile();

  absl::Span<const uint8_t> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  const uint8_t* data_;
  size_t size_;
};

struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // "F32", "BF16", ... as the file says
  std::vector<int64_t> shape;
  absl::Span<const uint8_t> bytes;  // row-major, little-endian; as long as dtype and shape say

  int64_t size() const;
};

struct Safetensors {
  std::vector<SafetensorsEntry> tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

// The tensors of a safetensors file, which `file` holds whole and the result borrows. Refuses
// whatever the format does not allow: a header longer than the file or 100 MB, unknown or repeated
// keys, byte ranges that overlap, leave a hole, leave the file or differ from dtype and shape.
absl::StatusOr<Safetensors> ParseSafetensors(absl::Span<const uint8_t> file);

// Values of an F32, F16 or BF16 tensor; `out` has entry.size() floats. Any other type is an error.
absl::Status ReadFloats(const SafetensorsEntry& entry, float* out);

}  // namespace scanline
