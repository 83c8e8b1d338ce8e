#include "model/checkpoint/pickle.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace scanline {
namespace {

using Kind = PickleNode::Kind;

// Names and codes are those of CPython's Lib/pickletools.py. Opcodes of protocols 0 and 1 that
// write values as lines of text are left out: torch.save has never written them.
enum Opcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kBinFloat = 'G',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kEmptyDict = '}',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kDict = 'd',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kList = 'l',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kNewObjEx = 0x92,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  kByteArray8 = 0x96,
};

// Collects errors instead of returning each: an opcode is a few reads, checked once at its end.
class Reader {
 public:
  Reader(absl::Span<const uint8_t> bytes, const PickleLimits& limits)
      : bytes_(bytes), limits_(limits) {
    pickle_.nodes.emplace_back();
  }

  absl::StatusOr<Pickle> Run() {
    if (bytes_.size() > limits_.bytes) {
      return Failed(
          absl::StrCat("has ", bytes_.size(), " bytes, at most ", limits_.bytes, " are read"));
    }
    for (size_t count = 0; problem_.empty(); ++count) {
      if (count == limits_.opcodes) {
        Fail(absl::StrCat("more than ", limits_.opcodes, " opcodes"));
        break;
      }
      begin_ = at_;
      const auto opcode = static_cast<Opcode>(Unsigned(1));
      if (!problem_.empty()) break;
      if (opcode == kStop) return Finish();
      Step(opcode);
    }
    return Failed(absl::StrCat("byte ", begin_, ": ", problem_));
  }

 private:
  static absl::Status Failed(const std::string& what) {
    return MakeError(Reason::kBundleInvalid, "pickle: " + what);
  }

  void Fail(std::string what) {
    if (problem_.empty()) problem_ = std::move(what);
  }

  absl::StatusOr<Pickle> Finish() {
    pickle_.root = Pop();
    if (!problem_.empty()) return Failed(absl::StrCat("byte ", begin_, ": ", problem_));
    return std::move(pickle_);
  }

  // --- bytes

  // Little-endian; 0 at the end of the bytes, which is an error.
  uint64_t Unsigned(size_t size) {
    if (size > bytes_.size() - at_) {
      Fail("the pickle is cut short");
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) value |= uint64_t{bytes_[at_ + i]} << (8 * i);
    at_ += size;
    return value;
  }

  absl::string_view Bytes(uint64_t size) {
    if (size > bytes_.size() - at_) {
      Fail("the pickle is cut short");
      return {};
    }
    const auto* from = reinterpret_cast<const char*>(bytes_.data()) + at_;
    at_ += size;
    return {from, static_cast<size_t>(size)};
  }

  absl::string_view Line() {
    const auto* from = reinterpret_cast<const char*>(bytes_.data()) + at_;
    const auto* end = static_cast<const char*>(std::memchr(from, '\n', bytes_.size() - at_));
    if (end == nullptr) {
      Fail("a name without an end");
      return {};
    }
    at_ += static_cast<size_t>(end - from) + 1;
    return {from, static_cast<size_t>(end - from)};
  }

  // --- nodes and the stack

  PickleId Add(Kind kind) {
    if (pickle_.nodes.size() > limits_.nodes) {
      Fail(absl::StrCat("more than ", limits_.nodes, " values"));
      return kNoNode;
    }
    pickle_.nodes.emplace_back().kind = kind;
    return static_cast<PickleId>(pickle_.nodes.size() - 1);
  }
  PickleNode& Node(PickleId id) { return pickle_.nodes[id]; }

  PickleId Push(PickleId id) {
    stack_.push_back(id);
    return id;
  }
  PickleId PushNew(Kind kind) { return Push(Add(kind)); }

  // Values below the innermost mark are not to be touched.
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  PickleId Pop() {
    if (stack_.size() <= floor()) {
      Fail("a value is missing on the stack");
      return kNoNode;
    }
    const PickleId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  PickleId Top() {
    if (stack_.size() <= floor()) {
      Fail("a value is missing on the stack");
      return kNoNode;
    }
    return stack_.back();
  }

  std::vector<PickleId> PopToMark() {
    if (marks_.empty()) {
      Fail("a mark is missing on the stack");
      return {};
    }
    const auto from = stack_.begin() + static_cast<ptrdiff_t>(marks_.back());
    std::vector<PickleId> items(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return items;
  }

  void PushInt(int64_t value) { Node(PushNew(Kind::kInt)).integer = value; }
  void PushBool(bool value) { Node(PushNew(Kind::kBool)).integer = value ? 1 : 0; }

  void PushText(uint64_t size) {
    if (size > limits_.text) return Fail(absl::StrCat("a string of ", size, " bytes"));
    const absl::string_view text = Bytes(size);
    Node(PushNew(Kind::kText)).text = text;
  }

  void PushItems(Kind kind, std::vector<PickleId> items) {
    if (kind == Kind::kDict && items.size() % 2 != 0) return Fail("a key without a value");
    const PickleId id = PushNew(kind);
    Node(id).has_pairs = kind == Kind::kDict;
    Node(id).items = std::move(items);
  }

  void PushTuple(size_t size) {
    std::vector<PickleId> items(size);
    for (size_t i = size; i > 0; --i) items[i - 1] = Pop();
    PushItems(Kind::kTuple, std::move(items));
  }

  // Two's complement, little-endian, any length.
  void PushLong(uint64_t size) {
    const absl::string_view digits = Bytes(size);
    if (digits.size() > 8) {
      PushNew(Kind::kBigInt);
      return;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < digits.size(); ++i) {
      value |= uint64_t{static_cast<uint8_t>(digits[i])} << (8 * i);
    }
    const size_t bits = 8 * digits.size();
    if (bits > 0 && bits < 64 && (value >> (bits - 1)) != 0) value |= ~uint64_t{0} << bits;
    PushInt(static_cast<int64_t>(value));
  }

  // Puts items into what is on top: a list, a dict, a set, or an object that takes them.
  void Extend(std::vector<PickleId> items, bool pairs) {
    if (pairs && items.size() % 2 != 0) return Fail("a key without a value");
    PickleNode& target = Node(Top());
    const Kind kind = target.kind;
    if (kind == Kind::kObject && target.items.empty()) target.has_pairs = pairs;
    const bool takes = pairs ? kind == Kind::kDict : (kind == Kind::kList || kind == Kind::kSet);
    if (!takes && (kind != Kind::kObject || target.has_pairs != pairs)) {
      return Fail("items for a value that holds none");
    }
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  void PushGlobal(absl::string_view module, absl::string_view name) {
    constexpr size_t kLongest = 512;
    if (module.empty() || name.empty() || module.size() > kLongest || name.size() > kLongest) {
      return Fail("a class or function without a sensible name");
    }
    PickleNode& node = Node(PushNew(Kind::kGlobal));
    node.module = module;
    node.text = name;
  }

  void StackGlobal() {
    const PickleNode& name = Node(Pop());
    const PickleNode& module = Node(Pop());
    if (name.kind != Kind::kText || module.kind != Kind::kText) {
      return Fail("a class or function whose name is no string");
    }
    const absl::string_view texts[] = {module.text, name.text};
    PushGlobal(texts[0], texts[1]);  // Which moves the nodes.
  }

  void PushObject(PickleId callable, PickleId args) {
    const PickleId id = PushNew(Kind::kObject);
    Node(id).callable = callable;
    Node(id).args = args;
  }

  void Reduce() {  // Nothing is called: callee and arguments are kept side by side.
    const PickleId args = Pop();
    const PickleId callable = Pop();
    PushObject(callable, args);
  }

  void Build() {
    const PickleId state = Pop();
    Node(Top()).state = state;
  }

  void Persistent() {
    const PickleId args = Pop();
    Node(PushNew(Kind::kPersistent)).args = args;
  }

  // --- memo

  void Put(uint64_t index) {
    if (index >= limits_.memo) return Fail(absl::StrCat("memo number ", index));
    if (index >= memo_.size()) memo_.resize(index + 1, kNoNode);
    memo_[index] = Top();
  }
  void Get(uint64_t index) {
    if (index >= memo_.size() || memo_[index] == kNoNode) {
      return Fail(absl::StrCat("memo number ", index, " was never set"));
    }
    Push(memo_[index]);
  }

  void Step(Opcode opcode);
  void StepValue(Opcode opcode);
  void StepContainer(Opcode opcode);
  void StepObject(Opcode opcode);

  const absl::Span<const uint8_t> bytes_;
  const PickleLimits limits_;
  size_t at_ = 0;
  size_t begin_ = 0;  // of the opcode under way
  std::string problem_;
  Pickle pickle_;
  std::vector<PickleId> stack_;
  std::vector<size_t> marks_;
  std::vector<PickleId> memo_;
};

void Reader::Step(Opcode opcode) {
  switch (opcode) {
    case kProto:
      if (const uint64_t version = Unsigned(1); version < 2 || version > 5) {
        Fail(absl::StrCat("protocol ", version, "; 2 to 5 are read"));
      }
      return;
    case kFrame:
      Unsigned(8);  // The length of what follows, which the bytes say themselves.
      return;
    case kMark:
      marks_.push_back(stack_.size());
      return;
    case kPop:
      if (!marks_.empty() && marks_.back() == stack_.size()) {
        marks_.pop_back();  // As CPython does.
      } else {
        Pop();
      }
      return;
    case kPopMark:
      PopToMark();
      return;
    case kDup:
      Push(Top());
      return;
    case kBinPut:
      return Put(Unsigned(1));
    case kLongBinPut:
      return Put(Unsigned(4));
    case kMemoize:
      return Put(memo_.size());
    case kBinGet:
      return Get(Unsigned(1));
    case kLongBinGet:
      return Get(Unsigned(4));
    default:
      return StepValue(opcode);
  }
}

void Reader::StepValue(Opcode opcode) {
  switch (opcode) {
    case kNone:
      PushNew(Kind::kNone);
      return;
    case kNewTrue:
    case kNewFalse:
      return PushBool(opcode == kNewTrue);
    case kBinInt:
      return PushInt(static_cast<int32_t>(Unsigned(4)));
    case kBinInt1:
      return PushInt(static_cast<int64_t>(Unsigned(1)));
    case kBinInt2:
      return PushInt(static_cast<int64_t>(Unsigned(2)));
    case kLong1:
      return PushLong(Unsigned(1));
    case kLong4:
      return PushLong(Unsigned(4));
    case kBinFloat:
      Unsigned(8);
      PushNew(Kind::kFloat);
      return;
    case kShortBinString:
    case kShortBinBytes:
    case kShortBinUnicode:
      return PushText(Unsigned(1));
    case kBinString:
    case kBinBytes:
    case kBinUnicode:
      return PushText(Unsigned(4));
    case kBinBytes8:
    case kByteArray8:
    case kBinUnicode8:
      return PushText(Unsigned(8));
    default:
      return StepContainer(opcode);
  }
}

void Reader::StepContainer(Opcode opcode) {
  switch (opcode) {
    case kEmptyTuple:
      return PushItems(Kind::kTuple, {});
    case kTuple1:
    case kTuple2:
    case kTuple3:
      return PushTuple(static_cast<size_t>(opcode - kTuple1) + 1);
    case kTuple:
      return PushItems(Kind::kTuple, PopToMark());
    case kEmptyList:
      return PushItems(Kind::kList, {});
    case kList:
      return PushItems(Kind::kList, PopToMark());
    case kEmptyDict:
      return PushItems(Kind::kDict, {});
    case kDict:
      return PushItems(Kind::kDict, PopToMark());
    case kEmptySet:
      return PushItems(Kind::kSet, {});
    case kFrozenSet:
      return PushItems(Kind::kSet, PopToMark());
    case kAppend:
      return Extend({Pop()}, /*pairs=*/false);
    case kAppends:
    case kAddItems:
      return Extend(PopToMark(), /*pairs=*/false);
    case kSetItem: {
      const PickleId value = Pop();
      const PickleId key = Pop();
      return Extend({key, value}, /*pairs=*/true);
    }
    case kSetItems:
      return Extend(PopToMark(), /*pairs=*/true);
    default:
      return StepObject(opcode);
  }
}

void Reader::StepObject(Opcode opcode) {
  switch (opcode) {
    case kGlobal: {
      const absl::string_view module = Line();
      const absl::string_view name = problem_.empty() ? Line() : absl::string_view();
      return PushGlobal(module, name);
    }
    case kStackGlobal:
      return StackGlobal();
    case kReduce:
    case kNewObj:
      return Reduce();
    case kNewObjEx:
      Pop();  // Keyword arguments: of no tensor.
      return Reduce();
    case kBuild:
      return Build();
    case kBinPersId:
      return Persistent();
    default:
      return Fail(absl::StrFormat("opcode 0x%02x is none that torch.save writes", opcode));
  }
}

}  // namespace

absl::StatusOr<Pickle> ReadPickle(absl::Span<const uint8_t> bytes, const PickleLimits& limits) {
  return Reader(bytes, limits).Run();
}

}  // namespace scanline
