#include "decode/packet_info.h"

#include <gtest/gtest.h>

#include <vector>

namespace scanline {
namespace {

using Bytes = std::vector<uint8_t>;

PacketInfo H264(const Bytes& packet, int length_bytes = 4) {
  return InspectPacket(PacketSyntax::kH264, length_bytes, packet);
}

TEST(InspectPacket, SeesAnH264KeyBehindParameterSets) {
  const PacketInfo info = H264({0, 0, 0, 2, 0x67, 9, 0, 0, 0, 3, 0x65, 0x88, 1});
  EXPECT_TRUE(info.understood);
  EXPECT_TRUE(info.closed_key);
  EXPECT_FALSE(info.disposable);
}

TEST(InspectPacket, SeesThatNothingRefersToAnH264Picture) {
  EXPECT_TRUE(H264({0, 0, 0, 2, 0x01, 0x9a}).disposable);   // nal_ref_idc 0
  EXPECT_FALSE(H264({0, 0, 0, 2, 0x41, 0x9a}).disposable);  // nal_ref_idc 2
  EXPECT_FALSE(H264({0, 0, 0, 2, 0x41, 0x9a}).closed_key);
}

TEST(InspectPacket, ReadsStartCodesAndShorterLengths) {
  EXPECT_TRUE(H264({0, 0, 0, 1, 0x09, 0xf0, 0, 0, 1, 0x65, 0x88}, 0).closed_key);
  EXPECT_TRUE(H264({0, 2, 0x65, 0x88}, 2).understood);
}

TEST(InspectPacket, DoesNotUnderstandFieldPairsPartitionsAndBrokenLengths) {
  EXPECT_FALSE(H264({0, 0, 0, 2, 0x41, 0x9a, 0, 0, 0, 2, 0x41, 0x9a}).understood);
  EXPECT_FALSE(H264({0, 0, 0, 2, 0x42, 0x9a}).understood);
  EXPECT_FALSE(H264({0, 0, 0, 9, 0x41, 0x9a}).understood);
  EXPECT_FALSE(H264({0, 0, 0, 2, 0x41, 0x1a}).understood) << "begins in mid-picture";
  EXPECT_FALSE(H264({0, 0}).understood);
  EXPECT_FALSE(H264({}).understood);
}

PacketInfo Hevc(int type, int layer_plus_1 = 1) {
  return InspectPacket(
      PacketSyntax::kHevc, 4,
      Bytes{0, 0, 0, 3, static_cast<uint8_t>(type << 1), static_cast<uint8_t>(layer_plus_1), 0x80});
}

TEST(InspectPacket, KnowsHevcPictureTypes) {
  EXPECT_TRUE(Hevc(19).closed_key);
  EXPECT_TRUE(Hevc(20).closed_key);
  EXPECT_FALSE(Hevc(21).closed_key) << "CRA: leading pictures refer to before it";
  EXPECT_TRUE(Hevc(0).disposable) << "TRAIL_N";
  EXPECT_FALSE(Hevc(1).disposable) << "TRAIL_R";
  EXPECT_FALSE(Hevc(8).disposable) << "RASL_N: a decoder may drop it";
  EXPECT_EQ(Hevc(0, 3).temporal_layer, 2);
}

TEST(InspectPacket, KnowsWhichVp8FramesAreShown) {
  const auto vp8 = [](uint8_t tag) {
    return InspectPacket(PacketSyntax::kVp8, 0, Bytes{tag, 0, 0, 0});
  };
  EXPECT_TRUE(vp8(0x10).closed_key);
  EXPECT_TRUE(vp8(0x11).shown);
  EXPECT_FALSE(vp8(0x01).shown) << "an alternate reference frame";
}

TEST(InspectPacket, KnowsVp9Superframes) {
  const auto vp9 = [](const Bytes& packet) { return InspectPacket(PacketSyntax::kVp9, 0, packet); };
  EXPECT_TRUE(vp9({0x82, 1, 2}).closed_key);  // key, shown
  EXPECT_TRUE(vp9({0x86, 1, 2}).understood);  // inter, shown
  EXPECT_FALSE(vp9({0x84, 1, 2}).understood) << "hidden alone";
  // A hidden and a shown frame of two bytes each.
  const PacketInfo both = vp9({0x84, 1, 0x86, 1, 0xc1, 2, 2, 0xc1});
  EXPECT_TRUE(both.understood);
  EXPECT_FALSE(both.closed_key);
  EXPECT_FALSE(vp9({0x84, 1, 0x86, 1, 0xc1, 200, 2, 0xc1}).understood) << "sizes too large";
  EXPECT_FALSE(vp9({}).understood);
}

TEST(InspectPacket, UnderstandsNothingOfOtherCodecs) {
  EXPECT_FALSE(InspectPacket(PacketSyntax::kOpaque, 0, Bytes{1, 2, 3}).understood);
  EXPECT_TRUE(InspectPacket(PacketSyntax::kIntraOnly, 0, Bytes{1}).closed_key);
}

}  // namespace
}  // namespace scanline
