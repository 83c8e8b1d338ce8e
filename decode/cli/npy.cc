#include "decode/cli/npy.h"

#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace scanline {
namespace {

// Format 1.0: magic, version, length of the header, the header padded to a multiple of 64.
std::string NpyHeader(const std::vector<int64_t>& shape) {
  std::string text = absl::StrCat("{'descr': '|u1', 'fortran_order': False, 'shape': (",
                                  absl::StrJoin(shape, ", "), shape.size() == 1 ? ",), }" : "), }");
  constexpr size_t kPrefix = 10;
  text.append(63 - (kPrefix + text.size()) % 64, ' ');
  text.push_back('\n');
  std::string header = "\x93NUMPY";
  header.append({1, 0, static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)});
  return header + text;
}

absl::Status Finish(std::ofstream& out, const std::string& path) {
  out.close();
  if (out) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write ", path));
}

void Write(std::ofstream& out, const uint8_t* bytes, size_t count) {
  out.write(reinterpret_cast<const char*>(bytes), static_cast<std::streamsize>(count));
}

}  // namespace

absl::Status WriteNpy(const std::string& path, const std::vector<int64_t>& shape,
                      absl::Span<const uint8_t> bytes) {
  std::ofstream out(path, std::ios::binary);
  out << NpyHeader(shape);
  Write(out, bytes.data(), bytes.size());
  return Finish(out, path);
}

absl::Status WriteNpy(const std::string& path, const RgbView& image) {
  std::ofstream out(path, std::ios::binary);
  out << NpyHeader({image.height, image.width, 3});
  for (int y = 0; y < image.height; ++y) {
    Write(out, image.row(y), static_cast<size_t>(image.width) * 3);
  }
  return Finish(out, path);
}

}  // namespace scanline
