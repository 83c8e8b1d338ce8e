#include "model/checkpoint/pth_tensors.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace scanline {
namespace {

using Kind = PickleNode::Kind;

constexpr size_t kMaxDimensions = 16;
constexpr int kMaxWrappers = 3;  // of a state dict, one in the other

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return MakeError(Reason::kBundleInvalid, absl::StrCat(parts...));
}

struct Storage {
  const char* type;  // torch.<type>
  const char* dtype;
  int bytes;
};
constexpr Storage kStorages[] = {
    {"FloatStorage", "F32", 4},  {"HalfStorage", "F16", 2}, {"BFloat16Storage", "BF16", 2},
    {"DoubleStorage", "F64", 8}, {"LongStorage", "I64", 8}, {"IntStorage", "I32", 4},
    {"ShortStorage", "I16", 2},  {"CharStorage", "I8", 1},  {"ByteStorage", "U8", 1},
    {"BoolStorage", "BOOL", 1},
};

bool IsGlobal(const PickleNode& node, absl::string_view module, absl::string_view name) {
  return node.kind == Kind::kGlobal && node.module == module && node.text == name;
}

bool IsSequence(const PickleNode& node) {
  return node.kind == Kind::kTuple || node.kind == Kind::kList;
}

// A dict, an OrderedDict, or an object of any class that pairs were put into.
bool IsDict(const Pickle& pickle, const PickleNode& node) {
  if (node.kind == Kind::kDict) return true;
  if (node.kind != Kind::kObject) return false;
  return node.has_pairs || IsGlobal(pickle[node.callable], "collections", "OrderedDict");
}

// The pairs of a dict as key, value, key, value.
std::vector<PickleId> PairsOf(const Pickle& pickle, const PickleNode& node) {
  if (!node.items.empty() || node.kind != Kind::kObject) return node.items;
  // Python 2 gave an OrderedDict its pairs as an argument: ([[key, value], ...],).
  const PickleNode& args = pickle[node.args];
  if (args.kind != Kind::kTuple || args.items.size() != 1) return {};
  std::vector<PickleId> pairs;
  for (PickleId id : pickle[args.items[0]].items) {
    const PickleNode& pair = pickle[id];
    if (!IsSequence(pair) || pair.items.size() != 2) return {};
    pairs.insert(pairs.end(), pair.items.begin(), pair.items.end());
  }
  return pairs;
}

// The call of a function that makes a tensor, where parameters and subclasses wrap one in another.
const PickleNode* FindRebuild(const Pickle& pickle, PickleId id) {
  PickleId callable = kNoNode;
  constexpr int kDeepest = 4;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const PickleNode& node = pickle[id];
    if (callable == kNoNode) {
      if (node.kind != Kind::kObject) return nullptr;
      callable = node.callable;
    }
    const PickleId args_id = node.kind == Kind::kObject ? node.args : id;
    const PickleNode& args = pickle[args_id];
    const PickleNode& function = pickle[callable];
    if (args.kind != Kind::kTuple || args.items.empty()) return nullptr;
    if (IsGlobal(function, "torch._utils", "_rebuild_tensor_v2") ||
        IsGlobal(function, "torch._utils", "_rebuild_tensor")) {
      return &args;
    }
    if (IsGlobal(function, "torch._utils", "_rebuild_parameter") ||
        IsGlobal(function, "torch._utils", "_rebuild_parameter_with_state")) {
      id = args.items[0];
      callable = kNoNode;
    } else if (IsGlobal(function, "torch._tensor", "_rebuild_from_type_v2") &&
               args.items.size() >= 3) {
      callable = args.items[0];  // (function, type, arguments, state)
      id = args.items[2];
    } else {
      return nullptr;
    }
  }
  return nullptr;
}

bool ReadSides(const PickleNode& node, std::vector<int64_t>* out, const Pickle& pickle) {
  if (node.kind == Kind::kObject) {  // torch.Size((...))
    if (!IsGlobal(pickle[node.callable], "torch", "Size")) return false;
    const PickleNode& args = pickle[node.args];
    if (args.kind != Kind::kTuple || args.items.size() != 1) return false;
    return pickle[args.items[0]].kind == Kind::kTuple &&
           ReadSides(pickle[args.items[0]], out, pickle);
  }
  if (node.kind != Kind::kTuple || node.items.size() > kMaxDimensions) return false;
  for (PickleId id : node.items) {
    const PickleNode& side = pickle[id];
    if (side.kind != Kind::kInt || side.integer < 0) return false;
    out->push_back(side.integer);
  }
  return true;
}

// ('storage', torch.FloatStorage, key, location, number of values)
bool ReadStorage(const Pickle& pickle, const PickleNode& node, PthTensor* out) {
  if (node.kind != Kind::kPersistent) return false;
  const PickleNode& id = pickle[node.args];
  if (id.kind != Kind::kTuple || id.items.size() < 5) return false;
  const PickleNode& type = pickle[id.items[1]];
  const PickleNode& key = pickle[id.items[2]];
  const PickleNode& size = pickle[id.items[4]];
  if (pickle[id.items[0]].text != "storage" || type.kind != Kind::kGlobal ||
      key.kind != Kind::kText || size.kind != Kind::kInt || size.integer < 0) {
    return false;
  }
  for (const Storage& known : kStorages) {
    if (IsGlobal(type, "torch", known.type)) out->dtype = known.dtype;
  }
  out->storage = std::string(key.text);
  out->storage_size = size.integer;
  return true;
}

// The type of an entry that is not read, as far as its pickle names one: that of its storage
// ("ComplexFloatStorage"), the last one among the arguments ("float8_e4m3fn"), else the function
// that makes it ("sparse_tensor" of _rebuild_sparse_tensor).
std::string UnreadType(const Pickle& pickle, PickleId id) {
  const PickleNode* args = FindRebuild(pickle, id);
  if (args != nullptr) {
    const PickleNode& storage = pickle[args->items[0]];
    if (storage.kind != Kind::kPersistent) return "unknown";
    std::string type;
    const PickleNode& place = pickle[storage.args];
    if (place.items.size() > 1) type = std::string(pickle[place.items[1]].text);
    return type.empty() ? "unknown" : type;
  }
  const PickleNode& node = pickle[id];
  if (node.kind != Kind::kObject) return "unknown";
  std::string type(absl::StripPrefix(pickle[node.callable].text, "_rebuild_"));
  const PickleNode& arguments = pickle[node.args];
  if (arguments.kind == Kind::kTuple) {
    for (PickleId item : arguments.items) {
      const PickleNode& argument = pickle[item];
      if (argument.kind == Kind::kGlobal && argument.module == "torch") {
        type = std::string(argument.text);
      }
    }
  }
  return type.empty() ? "unknown" : type;
}

// Whether every value of the view lies in its storage, and the view is not larger than it. Strides
// of sides of length 1, which mean nothing, become 0.
bool FitsStorage(PthTensor* tensor) {
  int64_t count = 1;
  for (int64_t side : tensor->shape) {
    if (__builtin_mul_overflow(count, side, &count)) return false;
  }
  if (count == 0) return tensor->offset <= tensor->storage_size;
  int64_t last = tensor->offset;
  for (size_t i = 0; i < tensor->shape.size(); ++i) {
    if (tensor->shape[i] == 1) tensor->stride[i] = 0;
    int64_t reach = 0;
    if (__builtin_mul_overflow(tensor->shape[i] - 1, tensor->stride[i], &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return false;
    }
  }
  return last < tensor->storage_size && count <= tensor->storage_size;
}

enum class Found { kTensor, kOther, kBroken };

Found ReadTensor(const Pickle& pickle, PickleId id, PthTensor* out) {
  const PickleNode* args = FindRebuild(pickle, id);
  if (args == nullptr) return Found::kOther;
  if (args->items.size() < 4) return Found::kBroken;
  const PickleNode& offset = pickle[args->items[1]];
  if (!ReadStorage(pickle, pickle[args->items[0]], out) || offset.kind != Kind::kInt ||
      offset.integer < 0 || !ReadSides(pickle[args->items[2]], &out->shape, pickle) ||
      !ReadSides(pickle[args->items[3]], &out->stride, pickle) ||
      out->shape.size() != out->stride.size()) {
    return Found::kBroken;
  }
  out->offset = offset.integer;
  return FitsStorage(out) ? Found::kTensor : Found::kBroken;
}

bool HoldsTensor(const Pickle& pickle, const PickleNode& dict) {
  const std::vector<PickleId> pairs = PairsOf(pickle, dict);
  for (size_t i = 1; i < pairs.size(); i += 2) {
    if (FindRebuild(pickle, pairs[i]) != nullptr) return true;
  }
  return false;
}

using Wrapped = std::optional<std::pair<std::string, PickleId>>;

// The dict under one of the names by which training code wraps a state dict, if tensors lie in it
// or in at most `depth` more such wrappers.
Wrapped FindWrapped(const Pickle& pickle, const std::vector<PickleId>& pairs, int depth) {
  for (absl::string_view wanted : {"model", "module", "state_dict", "model_state_dict"}) {
    PickleId value = kNoNode;  // Of a key that is there twice the later value counts, as in Python.
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const PickleNode& key = pickle[pairs[i]];
      if (key.kind == Kind::kText && key.text == wanted) value = pairs[i + 1];
    }
    if (value == kNoNode || !IsDict(pickle, pickle[value])) continue;
    if (HoldsTensor(pickle, pickle[value]) ||
        (depth > 0 && FindWrapped(pickle, PairsOf(pickle, pickle[value]), depth - 1))) {
      return std::pair(std::string(wanted), value);
    }
  }
  return std::nullopt;
}

// Names come from the file and go into messages.
std::string ShownKey(const PickleNode& key) {
  if (key.kind != Kind::kText) return "(a key that is no text)";
  std::string shown(key.text.substr(0, 200));
  std::replace_if(shown.begin(), shown.end(), absl::ascii_iscntrl, '?');
  return shown;
}

absl::Status NoStateDict(const Pickle& pickle, const PickleNode& node) {
  if (node.kind == Kind::kObject && pickle[node.callable].kind == Kind::kGlobal) {
    const PickleNode& type = pickle[node.callable];
    return Invalid("the file holds an object of class ", type.module, ".", type.text,
                   ", not weights. Save its state dict: torch.save(model.state_dict(), FILE)");
  }
  return Invalid(
      "no state dict was found: expected names with tensors, itself or under model, module or "
      "state_dict");
}

absl::Status ReadEntries(const Pickle& pickle, const std::vector<PickleId>& pairs, StateDict* out) {
  std::set<absl::string_view> names;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const PickleNode& key = pickle[pairs[i]];
    PthTensor tensor;
    const Found found = ReadTensor(pickle, pairs[i + 1], &tensor);
    tensor.name = ShownKey(key);
    if (found == Found::kBroken) {
      return Invalid(tensor.name, ": its shape, strides and storage do not agree");
    }
    if (found == Found::kOther || key.kind != Kind::kText || tensor.dtype.empty()) {
      out->not_tensors.push_back(tensor.name);
      out->types.push_back(UnreadType(pickle, pairs[i + 1]));
      continue;
    }
    if (!names.insert(key.text).second) return Invalid(tensor.name, " is there twice");
    out->tensors.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

}  // namespace

int64_t BytesOfDtype(absl::string_view dtype) {
  for (const Storage& known : kStorages) {
    if (dtype == known.dtype) return known.bytes;
  }
  return 0;
}

absl::StatusOr<StateDict> FindStateDict(const Pickle& pickle) {
  StateDict result;
  PickleId id = pickle.root;
  for (int depth = kMaxWrappers; depth >= 0; --depth) {
    const PickleNode& node = pickle[id];
    if (!IsDict(pickle, node)) return NoStateDict(pickle, node);
    const std::vector<PickleId> pairs = PairsOf(pickle, node);
    const Wrapped wrapped = depth > 0 ? FindWrapped(pickle, pairs, depth - 1) : std::nullopt;
    if (!wrapped) {
      if (!HoldsTensor(pickle, node)) return NoStateDict(pickle, node);
      SCANLINE_RETURN_IF_ERROR(ReadEntries(pickle, pairs, &result));
      return result;
    }
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (pairs[i + 1] != wrapped->second) result.beside.push_back(ShownKey(pickle[pairs[i]]));
    }
    absl::StrAppend(&result.wrapper, result.wrapper.empty() ? "" : "/", wrapped->first);
    id = wrapped->second;
  }
  return NoStateDict(pickle, pickle[id]);
}

}  // namespace scanline
