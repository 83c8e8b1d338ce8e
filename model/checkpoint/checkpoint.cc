#include "model/checkpoint/checkpoint.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "model/checkpoint/pth_file.h"
#include "model/safetensors.h"

namespace scanline {
namespace {

class SafetensorsCheckpoint : public Checkpoint {
 public:
  explicit SafetensorsCheckpoint(Safetensors file)
      : Checkpoint("safetensors"), file_(std::move(file)) {
    for (const SafetensorsEntry& entry : file_.tensors) {
      tensors_.push_back({entry.name, entry.dtype, entry.shape});
    }
  }

  absl::Status ReadFloats(size_t index, float* out) const override {
    return ConvertToFloats(tensors_[index], file_.tensors[index].bytes, out);
  }

 private:
  Safetensors file_;
};

bool StartsWith(absl::Span<const uint8_t> bytes, absl::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

bool LooksLikeSafetensors(absl::Span<const uint8_t> bytes) {
  return bytes.size() > 8 && bytes[8] == '{' && bytes[7] == 0 && bytes[6] == 0;
}

absl::Status Unknown(absl::Span<const uint8_t> bytes) {
  if (bytes.empty()) return MakeError(Reason::kBundleInvalid, "the file is empty");
  // Protocol byte, version, then the magic number 0x1950a86a20f9469cfc6c as LONG1.
  constexpr absl::string_view kMagic("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 12);
  const bool pickle = bytes.size() > 2 && bytes[0] == 0x80 && bytes[1] <= 5;
  if (pickle && StartsWith(bytes.subspan(2), kMagic)) {
    return MakeError(Reason::kBundleInvalid,
                     "this is the format of PyTorch before 1.6, which is not read. Save it again, "
                     "in Python: torch.save(torch.load(FILE, map_location='cpu'), NEW_FILE)");
  }
  if (pickle) {
    return MakeError(Reason::kBundleInvalid,
                     "this is a bare Python pickle, not a file of torch.save or safetensors");
  }
  return MakeError(Reason::kBundleInvalid,
                   "this is neither a zip file of torch.save (.pth, .pt) nor a .safetensors");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Checkpoint>> Checkpoint::Open(absl::Span<const uint8_t> bytes) {
  if (StartsWith(bytes, "PK\x03\x04")) return OpenPth(bytes);
  if (!LooksLikeSafetensors(bytes)) return Unknown(bytes);
  SCANLINE_ASSIGN_OR_RETURN(Safetensors file, ParseSafetensors(bytes));
  return std::make_unique<SafetensorsCheckpoint>(std::move(file));
}

absl::Status ConvertToFloats(const CheckpointTensor& tensor, absl::Span<const uint8_t> bytes,
                             float* out) {
  if (tensor.dtype != "F64") {
    return scanline::ReadFloats({tensor.name, tensor.dtype, tensor.shape, bytes}, out);
  }
  for (int64_t i = 0; i < tensor.size(); ++i) {
    double value;
    std::memcpy(&value, bytes.data() + 8 * i, sizeof value);
    out[i] = static_cast<float>(value);
  }
  return absl::OkStatus();
}

}  // namespace scanline
