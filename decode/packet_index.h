#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "decode/packet_info.h"
#include "decode/timeline.h"

namespace scanline {

// One packet of the video stream, in decoding order.
struct IndexedPacket {
  int64_t pts = kNoPts;
  bool displayed = false;   // gives a frame: shown, and not cut away by an edit list
  bool understood = false;  // see PacketInfo
  bool closed_key = false;
  bool disposable = false;
  int8_t temporal_layer = 0;
};

// What the packets tell without decoding.
struct PacketIndex {
  std::vector<IndexedPacket> packets;  // decoding order
  std::vector<int64_t> display_pts;    // of the displayed packets, ascending; empty where unknown
  int64_t displayed = 0;
  // Every packet is understood, whole and stamped with a time of its own, so that a frame's place
  // in display order follows from its timestamp. Only then may packets be left out.
  bool exact = false;
};

// Completes an index from its packets: display order, `exact`, and which HEVC pictures are
// disposable after all (those of the highest temporal layer). `damaged`: the container reported
// damage.
void FinishIndex(PacketIndex& index, bool damaged);

// Which packets must be decoded for `wanted` (display indices, ascending) of an exact index: in
// each group from one closed key to the next, all that is not disposable up to the last wanted
// packet, and the wanted ones.
std::vector<bool> PacketsToDecode(const PacketIndex& index, absl::Span<const int64_t> wanted);

}  // namespace scanline
