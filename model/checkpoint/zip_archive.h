#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

struct zip;

namespace scanline {

// A zip file whose entries are stored, not compressed, as torch.save writes it. Because entries may
// not take more bytes together than the file has, nothing read from it is larger than the file.
class ZipArchive {
 public:
  // `bytes` is borrowed for the life of the archive. BUNDLE_INVALID: no zip, damaged, compressed or
  // encrypted entries, two entries of one name, or entries that overlap.
  static absl::StatusOr<ZipArchive> Open(absl::Span<const uint8_t> bytes);

  // Sizes of the entries by name.
  const std::map<std::string, uint64_t>& entries() const { return sizes_; }

  // A whole entry; its CRC is checked.
  absl::StatusOr<std::vector<uint8_t>> Read(const std::string& name) const;

 private:
  struct Close {
    void operator()(zip* archive) const;
  };

  ZipArchive() = default;

  std::unique_ptr<zip, Close> archive_;
  std::map<std::string, uint64_t> sizes_;
};

}  // namespace scanline
