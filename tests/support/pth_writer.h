#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Files as torch.save writes them, and broken ones that it never would: zip archives with stored
// entries, and pickles put together from opcodes.

namespace scanline::testing {

inline std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) text.push_back(static_cast<char>(value));
  return text;
}

inline uint32_t Crc32(const std::string& bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> made{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? 0xedb88320u ^ crc >> 1 : crc >> 1;
      made[i] = crc;
    }
    return made;
  }();
  uint32_t crc = 0xffffffffu;
  for (unsigned char c : bytes) crc = table[(crc ^ c) & 255] ^ crc >> 8;
  return ~crc;
}

// One entry; fields that a test wants wrong can be set, the others say what is true.
struct ZipEntry {
  std::string name;
  std::string bytes;
  int method = 0;             // stored
  int64_t claimed_size = -1;  // instead of the length of `bytes`
  int64_t same_data_as = -1;  // take the place of this earlier entry instead of an own one
};

inline std::string ZipBytes(const std::vector<ZipEntry>& entries) {
  std::string file, directory;
  std::vector<uint64_t> places;
  for (const ZipEntry& entry : entries) {
    const uint64_t size =
        entry.claimed_size >= 0 ? static_cast<uint64_t>(entry.claimed_size) : entry.bytes.size();
    const std::string common =
        LittleEndian(20, 2) + LittleEndian(0, 2) +
        LittleEndian(static_cast<uint64_t>(entry.method), 2) + LittleEndian(0, 2) +
        LittleEndian(0x21, 2) + LittleEndian(Crc32(entry.bytes), 4) + LittleEndian(size, 4) +
        LittleEndian(size, 4) + LittleEndian(entry.name.size(), 2) + LittleEndian(0, 2);
    if (entry.same_data_as >= 0) {
      places.push_back(places[static_cast<size_t>(entry.same_data_as)]);
    } else {
      places.push_back(file.size());
      file += "PK\x03\x04" + common + entry.name + entry.bytes;
    }
    directory += "PK\x01\x02" + LittleEndian(20, 2) + common + LittleEndian(0, 10) +
                 LittleEndian(places.back(), 4) + entry.name;
  }
  const uint64_t start = file.size();
  return file + directory + "PK\x05\x06" + LittleEndian(0, 4) + LittleEndian(entries.size(), 2) +
         LittleEndian(entries.size(), 2) + LittleEndian(directory.size(), 4) +
         LittleEndian(start, 4) + LittleEndian(0, 2);
}

// Parts of pickles of protocol 2.
namespace opcode {

inline const std::string kProtocol2 = "\x80\x02";

inline std::string Text(const std::string& text) {
  return "X" + LittleEndian(text.size(), 4) + text;
}
inline std::string Int(int64_t value) {
  return "\x8a\x08" + LittleEndian(static_cast<uint64_t>(value), 8);
}
inline std::string Global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string Tuple(const std::vector<std::string>& items) {
  std::string text = "(";
  for (const std::string& item : items) text += item;
  return text + "t";
}
inline std::string Ints(const std::vector<int64_t>& values) {
  std::vector<std::string> items;
  for (int64_t value : values) items.push_back(Int(value));
  return Tuple(items);
}
inline std::string Dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string text = "}(";
  for (const auto& [key, value] : items) text += Text(key) + value;
  return text + "u";
}

// A tensor of torch.save: a view of the storage that is the entry data/KEY.
struct TensorView {
  std::string key = "0";
  std::string type = "FloatStorage";
  int64_t storage_size = 0;
  int64_t offset = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> stride;
};

inline std::string Tensor(const TensorView& view) {
  const std::string storage = Tuple({Text("storage"), Global("torch", view.type), Text(view.key),
                                     Text("cpu"), Int(view.storage_size)}) +
                              "Q";
  return Global("torch._utils", "_rebuild_tensor_v2") +
         Tuple({storage, Int(view.offset), Ints(view.shape), Ints(view.stride), "\x89",
                Global("collections", "OrderedDict") + ")R"}) +
         "R";
}

}  // namespace opcode

// An archive around a pickle (which ends with STOP) and its storages data/0, data/1, ...
inline std::string PthOfPickle(const std::string& pickle,
                               const std::vector<std::string>& storages) {
  std::vector<ZipEntry> entries = {{"archive/data.pkl", pickle}, {"archive/byteorder", "little"}};
  for (size_t i = 0; i < storages.size(); ++i) {
    entries.push_back({"archive/data/" + std::to_string(i), storages[i]});
  }
  entries.push_back({"archive/version", "3\n"});
  return ZipBytes(entries);
}

struct FloatTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

// A training checkpoint, {"model": state dict, "epoch": 7}.
inline std::string PthBytes(const std::vector<FloatTensor>& tensors) {
  std::vector<std::pair<std::string, std::string>> state;
  std::vector<std::string> storages;
  for (const FloatTensor& tensor : tensors) {
    std::vector<int64_t> stride(tensor.shape.size(), 1);
    for (size_t i = stride.size(); i > 1; --i) stride[i - 2] = stride[i - 1] * tensor.shape[i - 1];
    state.emplace_back(tensor.name,
                       opcode::Tensor({.key = std::to_string(storages.size()),
                                       .storage_size = static_cast<int64_t>(tensor.values.size()),
                                       .shape = tensor.shape,
                                       .stride = stride}));
    storages.emplace_back(reinterpret_cast<const char*>(tensor.values.data()),
                          tensor.values.size() * sizeof(float));
  }
  return PthOfPickle(opcode::kProtocol2 +
                         opcode::Dict({{"model", opcode::Dict(state)}, {"epoch", opcode::Int(7)}}) +
                         ".",
                     storages);
}

}  // namespace scanline::testing
