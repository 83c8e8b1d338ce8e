#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace scanline {

// Codecs whose packets can be judged from their first bytes, without decoding.
enum class PacketSyntax { kOpaque, kH264, kHevc, kVp8, kVp9, kIntraOnly };

// What a packet is to the packets around it.
struct PacketInfo {
  bool understood = false;  // exactly one complete picture, of a kind known below
  bool shown = false;       // comes out of the decoder as a frame
  bool closed_key = false;  // decoding may begin here: nothing from here on refers to before it
  bool disposable = false;  // no other picture refers to it (HEVC: within its temporal layer)
  int temporal_layer = 0;
};

// Reads the headers of one packet: slice NAL units (H.264 7.3.1 nal_ref_idc, 7.3.3
// first_mb_in_slice; HEVC 7.3.1.2, 7.4.2.2), the VP8 frame tag (RFC 6386 9.1), the VP9 uncompressed
// header and superframe index (VP9 6.2, annex B). `nal_length_bytes` is the width of the length
// before each NAL unit; 0: start codes. Anything odd gives `understood` = false.
PacketInfo InspectPacket(PacketSyntax syntax, int nal_length_bytes,
                         absl::Span<const uint8_t> packet);

}  // namespace scanline
