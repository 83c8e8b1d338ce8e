#include "model/checkpoint/tensor_shapes.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "model/checkpoint/names.h"

namespace scanline {
namespace {

constexpr int kMaxDepth = 1024;

}  // namespace

absl::StatusOr<std::vector<int64_t>> ShapeOf(const TensorShapes& shapes, const std::string& name,
                                             std::initializer_list<size_t> dimensions,
                                             int64_t most) {
  const auto at = shapes.find(name);
  if (at == shapes.end()) {
    std::vector<std::string> names;
    for (const auto& item : shapes) names.push_back(item.first);
    return MakeError(
        Reason::kBundleInvalid,
        absl::StrCat("these are not the weights of a VideoMamba: there is no ", name,
                     names.empty() ? std::string() : "; there are " + ShortGroups(names)));
  }
  const std::vector<int64_t>& shape = at->second;
  const bool good =
      std::count(dimensions.begin(), dimensions.end(), shape.size()) != 0 &&
      std::all_of(shape.begin(), shape.end(), [&](int64_t s) { return s >= 1 && s <= most; });
  if (!good) {
    return MakeError(Reason::kBundleInvalid,
                     absl::StrCat(name, " has the shape [", absl::StrJoin(shape, ", "),
                                  "], which no VideoMamba has"));
  }
  return shape;
}

int LayersUnder(const TensorShapes& shapes, absl::string_view prefix) {
  int layers = 0;
  for (const auto& item : shapes) {
    absl::string_view rest = item.first;
    int layer = 0;
    if (!absl::StartsWith(rest, prefix)) continue;
    rest.remove_prefix(prefix.size());
    const size_t dot = rest.find('.');
    if (dot == absl::string_view::npos || !absl::SimpleAtoi(rest.substr(0, dot), &layer)) continue;
    if (layer >= 0 && layer < kMaxDepth) layers = std::max(layers, layer + 1);
  }
  return layers;
}

}  // namespace scanline
