#include "model/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "model/strict_json.h"

namespace scanline {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxHeader = 100'000'000;  // The format's own limit.

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  std::string message = absl::StrCat("safetensors: ", parts...);
  // Names come from the file: none of them may drive a terminal or break the line.
  std::replace_if(message.begin(), message.end(), absl::ascii_iscntrl, '?');
  return MakeError(Reason::kBundleInvalid, message);
}

int64_t BytesPerValue(const std::string& dtype) {  // 0: not a type of the format.
  for (const char* name : {"F64", "I64", "U64"}) {
    if (dtype == name) return 8;
  }
  for (const char* name : {"F32", "I32", "U32"}) {
    if (dtype == name) return 4;
  }
  for (const char* name : {"F16", "BF16", "I16", "U16"}) {
    if (dtype == name) return 2;
  }
  for (const char* name : {"I8", "U8", "BOOL"}) {
    if (dtype == name) return 1;
  }
  return 0;
}

bool ReadUnsigned(const json& value, int64_t* out) {
  if (!value.is_number_unsigned()) return false;
  const auto number = value.get<uint64_t>();
  if (number > INT64_MAX) return false;
  *out = static_cast<int64_t>(number);
  return true;
}

// Bytes of a tensor of this shape; nothing when they do not fit in 63 bits.
std::optional<int64_t> BytesOf(const std::vector<int64_t>& shape, int64_t bytes_per_value) {
  int64_t bytes = bytes_per_value;
  for (int64_t side : shape) {
    if (__builtin_mul_overflow(bytes, side, &bytes)) return std::nullopt;
  }
  return bytes;
}

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

absl::Status ReadRange(const std::string& name, const json& value, Range* out) {
  if (!value.is_array() || value.size() != 2 || !ReadUnsigned(value[0], &out->begin) ||
      !ReadUnsigned(value[1], &out->end) || out->begin > out->end) {
    return Invalid(name, ": data_offsets must be two ascending byte positions");
  }
  return absl::OkStatus();
}

absl::StatusOr<SafetensorsEntry> ReadEntry(const std::string& name, const json& value,
                                           absl::Span<const uint8_t> data) {
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
      !value.contains("shape") || !value.contains("data_offsets") || !value["dtype"].is_string() ||
      !value["shape"].is_array()) {
    return Invalid(name, ": expected exactly dtype, shape and data_offsets");
  }
  SafetensorsEntry entry{.name = name, .dtype = value["dtype"].get<std::string>()};
  const int64_t bytes_per_value = BytesPerValue(entry.dtype);
  if (bytes_per_value == 0) return Invalid(name, ": unknown dtype ", entry.dtype);
  for (const json& side : value["shape"]) {
    if (!ReadUnsigned(side, &entry.shape.emplace_back())) {
      return Invalid(name, ": the sides of a shape are whole numbers from 0");
    }
  }
  Range range;
  SCANLINE_RETURN_IF_ERROR(ReadRange(name, value["data_offsets"], &range));
  const std::optional<int64_t> bytes = BytesOf(entry.shape, bytes_per_value);
  if (!bytes || *bytes != range.end - range.begin) {
    return Invalid(name, ": dtype and shape need another number of bytes than the ",
                   range.end - range.begin, " of data_offsets");
  }
  if (range.end > static_cast<int64_t>(data.size())) {
    return Invalid(name, ": ends at byte ", range.end, " of the data, the file holds ",
                   data.size());
  }
  entry.bytes = data.subspan(range.begin, *bytes);
  return entry;
}

// The format wants the data used from its first to its last byte, each once.
absl::Status CheckCover(const std::vector<SafetensorsEntry>& entries,
                        absl::Span<const uint8_t> data) {
  const uint8_t* next = data.data();
  for (const SafetensorsEntry& entry : entries) {
    if (entry.bytes.data() < next) return Invalid(entry.name, ": overlaps the tensor before it");
    if (entry.bytes.data() > next) return Invalid(entry.name, ": unused bytes before it");
    next = entry.bytes.data() + entry.bytes.size();
  }
  const int64_t rest = data.data() + data.size() - next;
  if (rest != 0) return Invalid("the file has ", rest, " bytes after the last tensor");
  return absl::OkStatus();
}

float FromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float FromHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 31;
  const uint32_t mantissa = half & 0x3ff;
  if (exponent == 31) return FromBits(sign | 0x7f800000 | mantissa << 13);  // infinity, NaN
  if (exponent != 0) return FromBits(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // zero, subnormal
  return sign != 0 ? -magnitude : magnitude;
}

}  // namespace

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    const std::string why = fd < 0 ? std::strerror(errno) : "not a plain file";
    if (fd >= 0) close(fd);
    return MakeError(Reason::kBundleInvalid, absl::StrCat("cannot read ", path, ": ", why));
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* data = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const int error = errno;
  close(fd);
  if (data == MAP_FAILED) {
    return MakeError(Reason::kBundleInvalid,
                     absl::StrCat("cannot map ", path, ": ", std::strerror(error)));
  }
  return MappedFile(static_cast<const uint8_t*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<uint8_t*>(data_), size_);
}

int64_t SafetensorsEntry::size() const {
  int64_t count = 1;
  for (int64_t side : shape) count *= side;
  return count;
}

absl::StatusOr<Safetensors> ParseSafetensors(absl::Span<const uint8_t> file) {
  if (file.size() < 8) {
    return Invalid("expected at least 8 bytes, the file has ", file.size());
  }
  uint64_t header_size = 0;
  for (int i = 7; i >= 0; --i) header_size = header_size << 8 | file[i];
  if (header_size > kMaxHeader || header_size > file.size() - 8) {
    return Invalid("the header claims ", header_size, " bytes, the file has ", file.size());
  }
  const absl::string_view header(reinterpret_cast<const char*>(file.data()) + 8, header_size);
  const absl::Span<const uint8_t> data = file.subspan(8 + header_size);
  SCANLINE_ASSIGN_OR_RETURN(const json root, ParseStrictJson(header, "safetensors header"));
  if (!root.is_object()) return Invalid("the header is not an object");

  Safetensors result;
  for (const auto& item : root.items()) {
    if (item.key() != "__metadata__") {
      SCANLINE_ASSIGN_OR_RETURN(SafetensorsEntry entry, ReadEntry(item.key(), item.value(), data));
      result.tensors.push_back(std::move(entry));
      continue;
    }
    if (!item.value().is_object()) return Invalid("__metadata__ is not an object");
    for (const auto& note : item.value().items()) {
      if (!note.value().is_string())
        return Invalid("__metadata__.", note.key(), " is not a string");
      result.metadata[note.key()] = note.value().get<std::string>();
    }
  }
  // Of two tensors at one place the empty one comes first.
  std::sort(result.tensors.begin(), result.tensors.end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
              return std::pair(a.bytes.data(), a.bytes.size()) <
                     std::pair(b.bytes.data(), b.bytes.size());
            });
  SCANLINE_RETURN_IF_ERROR(CheckCover(result.tensors, data));
  return result;
}

absl::Status ReadFloats(const SafetensorsEntry& entry, float* out) {
  const uint8_t* from = entry.bytes.data();
  const int64_t count = entry.size();
  if (entry.dtype == "F32") {
    if (count > 0) std::memcpy(out, from, entry.bytes.size());
    return absl::OkStatus();
  }
  const bool half = entry.dtype == "F16";
  if (!half && entry.dtype != "BF16") {
    return Invalid(entry.name, ": weights are F32, F16 or BF16, found ", entry.dtype);
  }
  for (int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<uint16_t>(from[2 * i] | from[2 * i + 1] << 8);
    out[i] = half ? FromHalf(bits) : FromBits(static_cast<uint32_t>(bits) << 16);
  }
  return absl::OkStatus();
}

}  // namespace scanline
