#include "model/checkpoint/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/pth_writer.h"

namespace scanline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = PickleNode::Kind;
namespace op = testing::opcode;

absl::StatusOr<Pickle> Read(const std::string& bytes, const PickleLimits& limits = {}) {
  return ReadPickle({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, limits);
}

// The value that a pickle without an end describes.
PickleNode Value(const std::string& opcodes) {
  static std::string bytes;  // Texts point into it.
  bytes = op::kProtocol2 + opcodes + ".";
  const auto pickle = Read(bytes);
  if (!pickle.ok()) {
    ADD_FAILURE() << pickle.status();
    return {};
  }
  return (*pickle)[pickle->root];
}

std::string Refusal(const std::string& bytes, const PickleLimits& limits = {}) {
  const auto pickle = Read(bytes, limits);
  if (pickle.ok()) return "accepted";
  EXPECT_EQ(pickle.status().code(), absl::StatusCode::kFailedPrecondition);
  return std::string(pickle.status().message());
}

TEST(Pickle, ReadsNumbersOfEveryLength) {
  EXPECT_EQ(Value("K\xff").integer, 255);
  EXPECT_EQ(Value(std::string("M\x01\x02", 3)).integer, 0x201);
  EXPECT_EQ(Value("J\xfe\xff\xff\xff").integer, -2);
  EXPECT_EQ(Value(std::string("\x8a\x00", 2)).integer, 0);
  EXPECT_EQ(Value("\x8a\x01\xff").integer, -1);
  EXPECT_EQ(Value(std::string("\x8a\x02\xff\x00", 4)).integer, 255);
  EXPECT_EQ(Value(op::Int(INT64_MIN)).integer, INT64_MIN);
  EXPECT_EQ(Value("\x8a\x09" + std::string(9, '\x01')).kind, Kind::kBigInt);
  EXPECT_EQ(Value("G" + std::string(8, '\0')).kind, Kind::kFloat);
  EXPECT_EQ(Value("N").kind, Kind::kNone);
  EXPECT_EQ(Value("\x88").integer, 1);
}

TEST(Pickle, ReadsTextsAndContainers) {
  EXPECT_EQ(Value(op::Text("caf\xc3\xa9")).text, "caf\xc3\xa9");
  EXPECT_EQ(Value("U\x02hi").text, "hi");
  EXPECT_EQ(Value("]K\x01"
                  "aK\x02"
                  "a")
                .items.size(),
            2U);
  EXPECT_EQ(Value("](K\x01K\x02K\x03"
                  "e")
                .items.size(),
            3U);
  EXPECT_EQ(Value(op::Dict({{"a", "N"}, {"b", "N"}})).items.size(), 4U);
  EXPECT_EQ(Value("}" + op::Text("a") + "Ns").items.size(), 2U);
  EXPECT_EQ(Value("K\x01K\x02K\x03\x87").items.size(), 3U);
  EXPECT_EQ(Value(op::Ints({4, 5})).kind, Kind::kTuple);
  EXPECT_EQ(Value("\x8f(K\x01K\x02\x90").kind, Kind::kSet);
}

TEST(Pickle, MemoGivesTheSameNodeBack) {
  const std::string bytes = op::kProtocol2 +
                            "]q\x05(h\x05h\x05"
                            "e.";  // A list of itself, twice.
  const auto pickle = Read(bytes);
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  EXPECT_THAT((*pickle)[pickle->root].items, ElementsAre(pickle->root, pickle->root));
}

TEST(Pickle, WhatWouldBeCalledStaysANode) {
  const std::string bytes =
      op::kProtocol2 + op::Global("os", "system") + op::Tuple({op::Text("touch ran")}) + "RNb.";
  const auto pickle = Read(bytes);
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  const PickleNode& object = (*pickle)[pickle->root];
  EXPECT_EQ(object.kind, Kind::kObject);
  EXPECT_EQ((*pickle)[object.callable].module, "os");
  EXPECT_EQ((*pickle)[object.callable].text, "system");
  EXPECT_EQ((*pickle)[(*pickle)[object.args].items[0]].text, "touch ran");
  EXPECT_EQ((*pickle)[object.state].kind, Kind::kNone);
}

TEST(Pickle, RefusesWhatIsCutAtEveryByte) {
  const std::string whole =
      op::kProtocol2 +
      op::Dict({{"w", op::Tensor({.storage_size = 6, .shape = {2, 3}, .stride = {3, 1}})}}) + ".";
  ASSERT_TRUE(Read(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(Refusal(whole.substr(0, size)), HasSubstr("pickle: byte")) << size;
  }
}

TEST(Pickle, RefusesOpcodesWithoutTheirOperands) {
  for (const std::string opcodes :
       {"R",    "b",    "a",    "e", "s", "u", "t",     "l",     "d",  "Q",    "\x81", "\x92",
        "\x93", "\x85", "\x87", "0", "1", "2", "q\x01", "h\x07", "(R", "(Kaa", "NNR(b"}) {
    EXPECT_NE(Refusal(op::kProtocol2 + opcodes + "."), "accepted") << opcodes;
  }
  EXPECT_THAT(Refusal(op::kProtocol2 + "."), HasSubstr("missing on the stack"));
  EXPECT_THAT(Refusal(op::kProtocol2 + "N(Nu."), HasSubstr("a key without a value"));
  EXPECT_THAT(Refusal(op::kProtocol2 + "NNa."), HasSubstr("holds none"));
  EXPECT_THAT(Refusal(op::kProtocol2 + "K\x01N\x93."), HasSubstr("no string"));
}

TEST(Pickle, RefusesOtherProtocols) {
  EXPECT_THAT(Refusal("\x80\x06N."), HasSubstr("protocol 6"));
  EXPECT_THAT(Refusal("I1\n."), HasSubstr("opcode 0x49"));
  EXPECT_THAT(Refusal("cos\nsystem\n(S'ls'\ntR."), HasSubstr("opcode 0x53"));
  EXPECT_THAT(Refusal("(S'ls'\nios\nsystem\n."), HasSubstr("opcode 0x53"));
}

TEST(Pickle, RefusesHugeCounts) {
  EXPECT_THAT(Refusal(op::kProtocol2 + "X\xff\xff\xff\x7f."), HasSubstr("string of 2147483647"));
  EXPECT_THAT(Refusal(op::kProtocol2 + "\x8d" + std::string(8, '\xff') + "."),
              HasSubstr("string of"));
  EXPECT_THAT(Refusal(op::kProtocol2 + "\x8b\xff\xff\xff\xff."), HasSubstr("cut short"));
  EXPECT_THAT(Refusal(op::kProtocol2 + "Nr\xff\xff\xff\xff."), HasSubstr("memo number 4294967295"));
  EXPECT_THAT(Refusal(op::kProtocol2 + "c" + std::string(600, 'm') + "\nn\n."), HasSubstr("name"));
}

TEST(Pickle, KeepsItsLimits) {
  const std::string values = op::kProtocol2 + std::string(50, 'N') + ".";
  EXPECT_THAT(Refusal(values, {.nodes = 49}), HasSubstr("more than 49 values"));
  EXPECT_THAT(Refusal(values, {.opcodes = 50}), HasSubstr("more than 50 opcodes"));
  EXPECT_THAT(Refusal(values, {.bytes = 10}), HasSubstr("at most 10"));
  EXPECT_THAT(Refusal(op::kProtocol2 + "Nq\x08.", {.memo = 8}), HasSubstr("memo number 8"));
}

// Each level names the one before it twice: 2^1000 leaves to a reader that unfolds it.
TEST(Pickle, AMemoBombTakesNoMemory) {
  std::string bomb = op::kProtocol2 + "]r" + testing::LittleEndian(0, 4);
  for (uint64_t level = 1; level <= 1000; ++level) {
    const std::string last = "j" + testing::LittleEndian(level - 1, 4);
    bomb += "](" + last + last + "er" + testing::LittleEndian(level, 4);
  }
  const auto pickle = Read(bomb + ".");
  ASSERT_TRUE(pickle.ok()) << pickle.status();
  EXPECT_EQ(pickle->nodes.size(), 1002U);
}

TEST(Pickle, NestingAMillionDeepIsOnlyALimit) {
  std::string deep = op::kProtocol2;
  for (int i = 0; i < 900'000; ++i) deep += "]";
  for (int i = 1; i < 900'000; ++i) deep += "a";
  EXPECT_TRUE(Read(deep + ".").ok());
  EXPECT_THAT(Refusal(op::kProtocol2 + std::string(1'100'000, ']')),
              HasSubstr("more than 1000000"));
  EXPECT_THAT(Refusal(op::kProtocol2 + std::string(9'000'000, '(')), HasSubstr("8000000 opcodes"));
}

}  // namespace
}  // namespace scanline
