#include "decode/packet_info.h"

#include <algorithm>
#include <vector>

namespace scanline {
namespace {

using Bytes = absl::Span<const uint8_t>;

// Calls fn(nal) for each NAL unit; false: lengths do not add up.
template <typename Fn>
bool ForEachPrefixedNal(Bytes packet, int length_bytes, const Fn& fn) {
  size_t at = 0;
  while (at < packet.size()) {
    if (packet.size() - at < static_cast<size_t>(length_bytes)) return false;
    size_t length = 0;
    for (int i = 0; i < length_bytes; ++i) length = length << 8 | packet[at + i];
    at += length_bytes;
    if (length == 0 || length > packet.size() - at) return false;
    fn(packet.subspan(at, length));
    at += length;
  }
  return true;
}

// The place of the next 00 00 01 at or after `from`, or the size.
size_t NextStartCode(Bytes packet, size_t from) {
  static constexpr uint8_t kCode[] = {0, 0, 1};
  const auto* found =
      std::search(packet.data() + std::min(from, packet.size()), packet.data() + packet.size(),
                  std::begin(kCode), std::end(kCode));
  return found - packet.data();
}

template <typename Fn>
bool ForEachStartCodeNal(Bytes packet, const Fn& fn) {
  size_t at = NextStartCode(packet, 0);
  while (at < packet.size()) {
    const size_t begin = at + 3;
    at = NextStartCode(packet, begin);
    if (at > begin) fn(packet.subspan(begin, at - begin));
  }
  return true;
}

template <typename Fn>
bool ForEachNal(Bytes packet, int length_bytes, const Fn& fn) {
  return length_bytes > 0 ? ForEachPrefixedNal(packet, length_bytes, fn)
                          : ForEachStartCodeNal(packet, fn);
}

PacketInfo InspectH264(int length_bytes, Bytes packet) {
  constexpr int kSlice = 1, kPartitionA = 2, kPartitionC = 4, kIdrSlice = 5;
  int pictures = 0;
  bool odd = false, referenced = false, idr = false;
  const bool whole = ForEachNal(packet, length_bytes, [&](Bytes nal) {
    const int type = nal[0] & 31;
    if (type >= kPartitionA && type <= kPartitionC) odd = true;
    if (type != kSlice && type != kIdrSlice) return;
    if (nal.size() < 2) {
      odd = true;
      return;
    }
    if (nal[1] & 0x80) ++pictures;  // first_mb_in_slice is 0
    referenced = referenced || (nal[0] & 0x60) != 0;
    idr = idr || type == kIdrSlice;
  });
  PacketInfo info;
  info.understood = whole && !odd && pictures == 1;  // two: a pair of fields
  info.shown = true;
  info.closed_key = idr;
  info.disposable = !referenced;
  return info;
}

PacketInfo InspectHevc(int length_bytes, Bytes packet) {
  constexpr int kIdrWithRadl = 19, kIdrNoLeading = 20, kLastSlice = 31, kLastSubLayerNonRef = 6;
  int pictures = 0;
  bool odd = false;
  PacketInfo info;
  info.disposable = true;
  const bool whole = ForEachNal(packet, length_bytes, [&](Bytes nal) {
    const int type = nal[0] >> 1 & 63;
    if (type > kLastSlice) return;
    const int layer = nal.size() < 3 ? 1 : (nal[0] & 1) << 5 | nal[1] >> 3;
    if (layer != 0) {
      odd = true;
      return;
    }
    if (nal[2] & 0x80) ++pictures;  // first_slice_segment_in_pic_flag
    info.temporal_layer = std::max(0, (nal[1] & 7) - 1);
    info.closed_key = type == kIdrWithRadl || type == kIdrNoLeading;
    // TRAIL_N, TSA_N, STSA_N, RADL_N. RASL_N is left out: a decoder may drop it, and then it has to
    // be seen that no frame came.
    info.disposable = info.disposable && type % 2 == 0 && type <= kLastSubLayerNonRef;
  });
  info.understood = whole && !odd && pictures == 1;
  info.shown = true;
  return info;
}

PacketInfo InspectVp8(Bytes packet) {
  PacketInfo info;
  info.understood = packet.size() > 3;
  if (!info.understood) return info;
  info.closed_key = (packet[0] & 1) == 0;
  info.shown = (packet[0] >> 4 & 1) != 0;
  return info;
}

struct Vp9Header {
  bool valid = false, key = false, shown = false;
};

Vp9Header ReadVp9Header(Bytes frame) {
  Vp9Header header;
  if (frame.empty()) return header;
  int bit = 7;
  const auto next = [&] { return bit < 0 ? 0 : frame[0] >> bit-- & 1; };
  const int marker = next() << 1 | next();
  const int profile = next() | next() << 1;
  if (profile == 3) next();
  const int show_existing = next();
  header.valid = marker == 2;
  if (show_existing) {
    header.shown = true;
    return header;
  }
  header.key = next() == 0;
  // Profile 3 shifts show_frame to bit 0, which is still in this byte.
  header.shown = next() != 0;
  return header;
}

PacketInfo InspectVp9(Bytes packet) {
  PacketInfo info;
  if (packet.empty()) return info;
  std::vector<Bytes> frames = {packet};
  const uint8_t last = packet[packet.size() - 1];
  const int count = (last & 7) + 1;
  const int width = (last >> 3 & 3) + 1;
  const size_t index_bytes = 2 + static_cast<size_t>(count) * width;
  if ((last & 0xe0) == 0xc0 && packet.size() >= index_bytes &&
      packet[packet.size() - index_bytes] == last) {
    frames.clear();
    const uint8_t* sizes = packet.data() + packet.size() - index_bytes + 1;
    size_t at = 0;
    for (int i = 0; i < count; ++i) {
      size_t size = 0;
      for (int k = 0; k < width; ++k) size |= static_cast<size_t>(*sizes++) << (8 * k);
      if (size > packet.size() - index_bytes - at) return info;
      if (size > 0) frames.push_back(packet.subspan(at, size));
      at += size;
    }
  }
  int shown = 0;
  bool valid = !frames.empty();
  for (const Bytes& frame : frames) {
    const Vp9Header header = ReadVp9Header(frame);
    valid = valid && header.valid;
    shown += header.shown;
  }
  info.understood = valid && shown == 1;
  info.shown = true;
  info.closed_key = valid && ReadVp9Header(frames[0]).key;
  return info;
}

}  // namespace

PacketInfo InspectPacket(PacketSyntax syntax, int nal_length_bytes, Bytes packet) {
  switch (syntax) {
    case PacketSyntax::kH264:
      return InspectH264(nal_length_bytes, packet);
    case PacketSyntax::kHevc:
      return InspectHevc(nal_length_bytes, packet);
    case PacketSyntax::kVp8:
      return InspectVp8(packet);
    case PacketSyntax::kVp9:
      return InspectVp9(packet);
    case PacketSyntax::kIntraOnly:
      return {.understood = true, .shown = true, .closed_key = true, .disposable = true};
    case PacketSyntax::kOpaque:
      break;
  }
  return {.shown = true};
}

}  // namespace scanline
