#include "decode/packet_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanline {
namespace {

using ::testing::ElementsAre;

IndexedPacket Packet(int64_t pts, char kind) {
  IndexedPacket packet;
  packet.pts = pts;
  packet.displayed = packet.understood = true;
  packet.closed_key = kind == 'I';
  packet.disposable = kind == 'b';
  return packet;
}

// Two groups, decoding order: I0 P3 b1 b2 | I4 P7 b5 b6.
PacketIndex TwoGroups() {
  PacketIndex index;
  index.packets = {Packet(0, 'I'),  Packet(30, 'P'), Packet(10, 'b'), Packet(20, 'b'),
                   Packet(40, 'I'), Packet(70, 'P'), Packet(50, 'b'), Packet(60, 'b')};
  return index;
}

TEST(PacketIndex, IsExactWhereEveryPacketIsUnderstood) {
  PacketIndex index = TwoGroups();
  FinishIndex(index, /*damaged=*/false);
  EXPECT_TRUE(index.exact);
  EXPECT_EQ(index.displayed, 8);
  EXPECT_THAT(index.display_pts, ElementsAre(0, 10, 20, 30, 40, 50, 60, 70));
}

TEST(PacketIndex, ProvesNothingWhereAnythingIsOdd) {
  const auto exact = [](auto change, bool damaged = false) {
    PacketIndex index = TwoGroups();
    change(index.packets);
    FinishIndex(index, damaged);
    return index.exact;
  };
  EXPECT_FALSE(exact([](auto&) {}, /*damaged=*/true));
  EXPECT_FALSE(exact([](auto& p) { p[3].understood = false; }));
  EXPECT_FALSE(exact([](auto& p) { p[3].pts = kNoPts; }));
  EXPECT_FALSE(exact([](auto& p) { p[3].pts = 10; })) << "two frames of one time";
  EXPECT_FALSE(exact([](auto& p) { p[0].closed_key = false; })) << "joined in mid-group";
  EXPECT_FALSE(exact([](auto& p) { p[3].pts = 900; })) << "shown after the next closed key";
  EXPECT_FALSE(exact([](auto& p) {
    for (IndexedPacket& packet : p) packet.displayed = false;
  }));
  EXPECT_FALSE(exact([](auto& p) { p.clear(); }));
}

TEST(PacketIndex, FramesCutAwayByAnEditListAreNotDisplayed) {
  PacketIndex index = TwoGroups();
  index.packets[0].displayed = index.packets[2].displayed = false;
  FinishIndex(index, false);
  EXPECT_EQ(index.displayed, 6);
  EXPECT_EQ(index.display_pts.front(), 20);
  // Display index 0 is the b-frame of 20; the hidden key must be decoded for it.
  EXPECT_THAT(PacketsToDecode(index, {0}),
              ElementsAre(true, true, false, true, false, false, false, false));
}

TEST(PacketsToDecode, LeavesOutDisposableFramesAndWholeGroups) {
  PacketIndex index = TwoGroups();
  FinishIndex(index, false);
  EXPECT_THAT(PacketsToDecode(index, {5}),
              ElementsAre(false, false, false, false, true, true, true, false));
  EXPECT_THAT(PacketsToDecode(index, {3}),
              ElementsAre(true, true, false, false, false, false, false, false));
  EXPECT_THAT(PacketsToDecode(index, {0, 4}),
              ElementsAre(true, false, false, false, true, false, false, false));
  EXPECT_THAT(PacketsToDecode(index, {}),
              ElementsAre(false, false, false, false, false, false, false, false));
}

TEST(PacketIndex, OnlyTheHighestTemporalLayerIsDisposable) {
  PacketIndex index = TwoGroups();
  index.packets[2].temporal_layer = 1;  // a picture of layer 2 may refer to it
  index.packets[3].temporal_layer = 2;
  FinishIndex(index, false);
  EXPECT_FALSE(index.packets[2].disposable);
  EXPECT_TRUE(index.packets[3].disposable);
}

}  // namespace
}  // namespace scanline
