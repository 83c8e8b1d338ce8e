#include "model/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "base/error.h"
#include "tests/model/bundle_folder.h"

namespace scanline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<Safetensors> Parse(const std::string& file) {
  return ParseSafetensors({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
}

std::string ErrorOf(const std::string& header, const std::string& data) {
  const std::string file = WithHeader(header, data);
  const auto parsed = Parse(file);
  if (parsed.ok()) return "no error";
  EXPECT_EQ(ReasonOf(parsed.status()), Reason::kBundleInvalid);
  return std::string(parsed.status().message());
}

TEST(Safetensors, ReadsTensorsAndMetadata) {
  const std::string file = WithHeader(
      R"({"__metadata__": {"k": "v"}, "b": {"dtype": "U8", "shape": [2], "data_offsets": [8, 10]},
          "a": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},
          "none": {"dtype": "F32", "shape": [0, 3], "data_offsets": [8, 8]},
          "scalar": {"dtype": "BOOL", "shape": [], "data_offsets": [10, 11]}}   )",
      std::string("\0\0\x80\x3f\0\0\0\xc0\x07\x08\x01", 11));
  const auto parsed = Parse(file);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->tensors.size(), 4u);
  EXPECT_EQ(parsed->metadata.at("k"), "v");
  const SafetensorsEntry& a = parsed->tensors[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_THAT(a.shape, ElementsAre(1, 2));
  float values[2];
  ASSERT_TRUE(ReadFloats(a, values).ok());
  EXPECT_THAT(values, ElementsAre(1.0f, -2.0f));
  EXPECT_EQ(parsed->tensors[1].name, "none");
  EXPECT_EQ(parsed->tensors[1].size(), 0);
  EXPECT_EQ(parsed->tensors[3].size(), 1);
  EXPECT_THAT(ReadFloats(parsed->tensors[2], values).message(), HasSubstr("found U8"));
}

TEST(Safetensors, RefusesWhatTheFormatDoesNotAllow) {
  const std::string eight(8, '\0');
  const struct {
    const char* header;
    const char* message;
  } wrong[] = {
      {"[]", "not an object"},
      {"{", "not JSON"},
      {R"({"a": 1})", "a: expected exactly"},
      {R"({"a": {"dtype": "F32", "shape": [2]}})", "a: expected exactly"},
      {R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], "x": 1}})", "exactly"},
      {R"({"a": {"dtype": "F33", "shape": [2], "data_offsets": [0, 8]}})", "unknown dtype F33"},
      {R"({"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}})", "whole numbers"},
      {R"({"a": {"dtype": "F32", "shape": [2.0], "data_offsets": [0, 8]}})", "whole numbers"},
      {R"({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}})", "another number"},
      {R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}})", "ascending"},
      {R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0]}})", "ascending"},
      {R"({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}})", "ends at byte 16"},
      {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})", "unused bytes"},
      {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", "4 bytes after"},
      {R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
           "b": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})",
       "b: overlaps"},
      {R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
           "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})",
       "\"a\" twice"},
      {R"({"a": {"dtype": "F32", "shape": [4294967296, 4294967296, 4294967296],
                 "data_offsets": [0, 8]}})",
       "another number"},
      {R"({"__metadata__": 1})", "__metadata__"},
      {R"({"__metadata__": {"a": 1}})", "__metadata__.a"},
  };
  for (const auto& [header, message] : wrong) {
    EXPECT_THAT(ErrorOf(header, eight), HasSubstr(message)) << header;
  }
}

TEST(Safetensors, RefusesAHeaderLongerThanTheFile) {
  EXPECT_FALSE(Parse("").ok());
  EXPECT_FALSE(Parse("1234567").ok());
  EXPECT_FALSE(Parse(std::string("\x03\0\0\0\0\0\0\0{}", 10)).ok());
  EXPECT_FALSE(Parse(std::string(8, '\xff') + "{}").ok());
  EXPECT_TRUE(Parse(WithHeader("{}", "")).ok());
}

TEST(Safetensors, WidensHalfAndBfloat16Exactly) {
  const uint16_t halves[] = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x83ff, 0x8000, 0x7c00};
  std::string data(reinterpret_cast<const char*>(halves), sizeof halves);
  const uint16_t brains[] = {0x3f80, 0xc000, 0x7f80};
  data.append(reinterpret_cast<const char*>(brains), sizeof brains);
  const std::string file =
      WithHeader(R"({"h": {"dtype": "F16", "shape": [7], "data_offsets": [0, 14]},
                     "b": {"dtype": "BF16", "shape": [3], "data_offsets": [14, 20]}})",
                 data);
  const auto parsed = Parse(file);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  std::vector<float> h(7), b(3);
  ASSERT_TRUE(ReadFloats(parsed->tensors[0], h.data()).ok());
  ASSERT_TRUE(ReadFloats(parsed->tensors[1], b.data()).ok());
  EXPECT_THAT(h, ElementsAre(1.0f, -2.0f, 65504.0f, 0x1p-24f, -1023 * 0x1p-24f, -0.0f, HUGE_VALF));
  EXPECT_TRUE(std::signbit(h[5]));
  EXPECT_THAT(b, ElementsAre(1.0f, -2.0f, HUGE_VALF));
}

// Any damage ends in an error or in tensors that lie inside the file; sanitizers watch the reading.
TEST(Safetensors, SurvivesDamage) {
  const std::string good = SafetensorsBytes(
      {{"a.weight", {2, 3}, {1, 2, 3, 4, 5, 6}}, {"b", {1}, {7}}, {"c.bias", {4}, {1, 2, 3, 4}}});
  ASSERT_TRUE(Parse(good).ok());
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string file = good.substr(0, i % 3 == 0 ? random() % good.size() : good.size());
    for (unsigned flips = random() % 4 + 1; flips > 0 && !file.empty(); --flips) {
      file[random() % file.size()] = static_cast<char>(random());
    }
    const auto parsed = Parse(file);
    if (!parsed.ok()) {
      ++refused;
      continue;
    }
    for (const SafetensorsEntry& entry : parsed->tensors) {
      std::vector<float> values(entry.size());
      ReadFloats(entry, values.data()).IgnoreError();
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(MappedFile, SaysWhyAFileCannotBeRead) {
  const TempFolder folder;
  EXPECT_THAT(MappedFile::Open(folder.path() + "/none").status().message(),
              HasSubstr("No such file"));
  EXPECT_THAT(MappedFile::Open(folder.path()).status().message(), HasSubstr("not a plain file"));
  folder.Write("empty", "");
  EXPECT_EQ(MappedFile::Open(folder.path() + "/empty")->bytes().size(), 0u);
}

}  // namespace
}  // namespace scanline::testing
