// Every sampling rule against the positions that the official loaders gave.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "decode/sampling_plan.h"
#include "tests/support/files.h"
#include "tests/support/safetensors.h"

namespace scanline {
namespace {

struct Case {
  std::string rule;
  int64_t n = 0;
  int count = 0;
  int rate = 1;
  int view = 0;
};

// "k400_dense_test4.n100.T16.rate4.clip2"
Case ParseName(const std::string& name) {
  std::vector<std::string> parts;
  std::istringstream in(name);
  for (std::string part; std::getline(in, part, '.');) parts.push_back(part);
  Case c;
  c.rule = parts.at(0);
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t digits = parts[i].find_first_of("0123456789");
    const std::string key = parts[i].substr(0, digits);
    const int value = std::stoi(parts[i].substr(digits));
    if (key == "n") {
      c.n = value;
    } else if (key == "T") {
      c.count = value;
    } else if (key == "rate") {
      c.rate = value;
    } else if (key == "clip") {
      c.view = value;
    } else {
      throw std::runtime_error("a name of no known form: " + name);
    }
  }
  return c;
}

std::vector<int64_t> Positions(const Case& c) {
  if (c.rule == "k400_sparse_val") return K400SparseIndices(c.n, c.count, 0, 1);
  if (c.rule == "k400_sparse_test4") return K400SparseIndices(c.n, c.count, c.view, 4);
  if (c.rule == "k400_dense_val") return K400DenseValidationIndices(c.n, c.count, c.rate);
  if (c.rule == "k400_dense_test4") return K400DenseIndices(c.n, c.count, c.rate, c.view, 4);
  if (c.rule == "ssv2_test2") return Ssv2Indices(c.n, c.count, c.view, 2);
  if (c.rule == "ssv2_val") return Ssv2ValidationIndices(c.n, c.count);
  if (c.rule == "mm_middle") return MiddleIndices(c.n, c.count);
  if (c.rule == "ava_temporal_crop") return AvaIndices(c.n, c.count, c.rate);
  throw std::runtime_error("no rule is named " + c.rule);
}

TEST(SamplingVectors, EveryRuleGivesTheOfficialPositions) {
  const auto file = testing::ReadSafetensors(testing::ReferenceFolder() +
                                             "/preprocess_frame_indices.safetensors");
  std::map<std::string, int> checked;
  for (const auto& [name, tensor] : file.tensors) {
    const auto expected = tensor.values<int64_t>();
    if (expected == std::vector<int64_t>{-1}) continue;  // the official code is random here
    const Case c = ParseName(name);
    EXPECT_THAT(Positions(c), ::testing::ElementsAreArray(expected)) << name;
    ++checked[c.rule];
  }
  EXPECT_EQ(checked.size(), 8u) << "rules with vectors";
  for (const auto& [rule, count] : checked) std::printf("%s: %d vectors\n", rule.c_str(), count);
}

}  // namespace
}  // namespace scanline
