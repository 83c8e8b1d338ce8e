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

// A zip file whose entries of interest are stored, not compressed, as torch.save writes them.
// Because entries may not take more bytes together than the file has, nothing read is larger than
// the file.
class ZipArchive {
 public:
  // `bytes` is borrowed for the life of the archive. BUNDLE_INVALID: no zip, damaged, two entries
  // of one name, or entries that overlap.
  static absl::StatusOr<ZipArchive> Open(absl::Span<const uint8_t> bytes);

  struct Entry {
    uint64_t size = 0;
    bool stored = false;  // neither compressed nor encrypted
  };
  const std::map<std::string, Entry>& entries() const { return entries_; }

  // A whole entry, which must be a stored one; its CRC is checked.
  absl::StatusOr<std::vector<uint8_t>> Read(const std::string& name) const;

 private:
  struct Close {
    void operator()(zip* archive) const;
  };

  ZipArchive() = default;

  std::unique_ptr<zip, Close> archive_;
  std::map<std::string, Entry> entries_;
};

}  // namespace scanline
