#include "decode/packet_index.h"

#include <algorithm>

namespace scanline {

void FinishIndex(PacketIndex& index, bool damaged) {
  int8_t top_layer = 0;
  bool understood = !index.packets.empty() && index.packets.front().closed_key;
  bool stamped = true;
  bool ordered = true;  // nothing before a closed key is shown after it
  int64_t latest = kNoPts;
  index.display_pts.clear();
  index.displayed = 0;
  for (const IndexedPacket& packet : index.packets) {
    top_layer = std::max(top_layer, packet.temporal_layer);
    understood = understood && packet.understood;
    if (!packet.displayed) continue;
    ordered = ordered && !(packet.closed_key && packet.pts <= latest && latest != kNoPts);
    latest = std::max(latest, packet.pts);
    ++index.displayed;
    stamped = stamped && packet.pts != kNoPts;
    index.display_pts.push_back(packet.pts);
  }
  for (IndexedPacket& packet : index.packets) {
    packet.disposable = packet.disposable && packet.temporal_layer == top_layer;
  }
  std::sort(index.display_pts.begin(), index.display_pts.end());
  const bool distinct = std::adjacent_find(index.display_pts.begin(), index.display_pts.end()) ==
                        index.display_pts.end();
  index.exact = index.displayed > 0 && understood && stamped && ordered && distinct && !damaged;
  if (!stamped) index.display_pts.clear();
}

std::vector<bool> PacketsToDecode(const PacketIndex& index, absl::Span<const int64_t> wanted) {
  std::vector<bool> needed(index.packets.size(), false);
  bool group_needed = false;  // a later packet of this group is wanted
  for (size_t i = index.packets.size(); i-- > 0;) {
    const IndexedPacket& packet = index.packets[i];
    bool is_wanted = false;
    if (packet.displayed) {
      const auto at =
          std::lower_bound(index.display_pts.begin(), index.display_pts.end(), packet.pts);
      is_wanted = std::binary_search(wanted.begin(), wanted.end(), at - index.display_pts.begin());
    }
    needed[i] = is_wanted || (group_needed && !packet.disposable);
    group_needed = (group_needed || is_wanted) && !packet.closed_key;
  }
  return needed;
}

}  // namespace scanline
