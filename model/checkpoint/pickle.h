#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace scanline {

// What a pickle describes, as a graph of inert nodes: nothing is looked up, called or built. A
// class or function is its name; what would have been made by calling it is a node that holds the
// callee and the arguments. Nodes name each other by number, so shared and cyclic structures cost
// nothing extra; who walks the graph must bound the walk.
using PickleId = uint32_t;
inline constexpr PickleId kNoNode = 0;  // Pickle::nodes[0] is never a value.

struct PickleNode {
  enum class Kind : uint8_t {
    kNone,
    kBool,        // integer
    kInt,         // integer
    kBigInt,      // more than 63 bits; the digits are not kept
    kFloat,       // not kept: no tensor needs one
    kText,        // text: UTF-8, or bytes of protocol 2
    kTuple,       // items
    kList,        // items
    kDict,        // items: key, value, key, value, ...
    kSet,         // items
    kGlobal,      // module, text
    kObject,      // callable(args), then items (pairs where has_pairs) and state were put into it
    kPersistent,  // args: the id that stands for data outside the pickle
  };
  Kind kind = Kind::kNone;
  bool has_pairs = false;
  PickleId callable = kNoNode;
  PickleId args = kNoNode;
  PickleId state = kNoNode;
  int64_t integer = 0;
  absl::string_view module;
  absl::string_view text;
  std::vector<PickleId> items;
};

struct Pickle {
  std::vector<PickleNode> nodes;
  PickleId root = kNoNode;

  const PickleNode& operator[](PickleId id) const { return nodes[id]; }
};

struct PickleLimits {
  size_t bytes = size_t{64} << 20;
  size_t nodes = 1'000'000;
  size_t opcodes = 8'000'000;
  size_t memo = 1'000'000;
  size_t text = size_t{1} << 20;  // of one string
};

// Reads a pickle of protocol 2 to 5, as torch.save writes it; texts point into `bytes`. Memory and
// time are linear in the number of opcodes. Whatever is not such a pickle, or is over a limit, is
// BUNDLE_INVALID with the byte at which that was seen.
absl::StatusOr<Pickle> ReadPickle(absl::Span<const uint8_t> bytes, const PickleLimits& limits = {});

}  // namespace scanline
