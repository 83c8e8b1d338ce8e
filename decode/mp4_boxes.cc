#include "decode/mp4_boxes.h"

#include <algorithm>
#include <array>

#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace scanline {
namespace {

constexpr int64_t kHeadBytes = 8;
constexpr int64_t kLongHeadBytes = 16;
// Far more than a day of one-frame fragments has.
constexpr int64_t kMaxBoxes = 10'000'000;

using Head = std::array<uint8_t, kLongHeadBytes>;

uint64_t BigEndian(const uint8_t* bytes, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes[i];
  return value;
}

// `type` is, or as far as it goes may become, that of a box that a fragment is made of.
bool IsOfFragment(absl::string_view type) {
  constexpr absl::string_view kTypes[] = {"moof", "mdat", "styp", "sidx", "ssix", "prft", "emsg"};
  return !type.empty() && std::any_of(std::begin(kTypes), std::end(kTypes), [&](auto known) {
    return known.substr(0, type.size()) == type;
  });
}

// How much of `head` the file has; the rest is left alone.
absl::StatusOr<int64_t> ReadHead(ByteInput& input, int64_t at, Head& head) {
  int64_t read = 0;
  while (read < kLongHeadBytes) {
    SCANLINE_ASSIGN_OR_RETURN(const int64_t more,
                              input.Read(at + read, head.data() + read, kLongHeadBytes - read));
    if (more == 0) break;
    read += more;
  }
  return read;
}

}  // namespace

absl::StatusOr<std::optional<int64_t>> FindCutFragment(ByteInput& input, const Cancel& cancel) {
  bool fragmented = false;
  int64_t at = 0;
  for (int64_t box = 0; box < kMaxBoxes; ++box) {
    if (box % 4096 == 0) SCANLINE_RETURN_IF_ERROR(cancel.Check(Reason::kExpiredInDecode));
    Head head = {};
    SCANLINE_ASSIGN_OR_RETURN(const int64_t read, ReadHead(input, at, head));
    const int64_t type_bytes = std::clamp<int64_t>(read - 4, 0, 4);
    const absl::string_view type(reinterpret_cast<const char*>(head.data()) + 4, type_bytes);
    // Of any other file's bytes nothing is asked: they might be long in coming.
    if (at == 0 && type != "ftyp" && type != "styp" && type != "moov") return std::nullopt;
    fragmented = fragmented || type == "moof";
    uint64_t size = BigEndian(head.data(), 4);
    if (size == 1) {
      size = read == kLongHeadBytes ? BigEndian(head.data() + kHeadBytes, 8) : kLongHeadBytes;
    }
    if (size < kHeadBytes || size > uint64_t{1} << 62) return std::nullopt;
    SCANLINE_ASSIGN_OR_RETURN(const bool whole, input.Reaches(at + static_cast<int64_t>(size)));
    if (!whole && fragmented && IsOfFragment(type)) return at;
    if (!whole) return std::nullopt;
    at += static_cast<int64_t>(size);
  }
  return std::nullopt;
}

}  // namespace scanline
