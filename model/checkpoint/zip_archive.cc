#include "model/checkpoint/zip_archive.h"

#include <zip.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace scanline {
namespace {

constexpr zip_int64_t kMaxEntries = 200'000;

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return MakeError(Reason::kBundleInvalid, absl::StrCat("zip: ", parts...));
}

struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

}  // namespace

void ZipArchive::Close::operator()(zip* archive) const { zip_discard(archive); }

absl::StatusOr<ZipArchive> ZipArchive::Open(absl::Span<const uint8_t> bytes) {
  if (bytes.empty()) return Invalid("the file is empty");  // Which libzip takes for an archive.
  zip_error_t error;
  zip_error_init(&error);
  const auto failed = [&error]() {
    absl::Status status = Invalid(zip_error_strerror(&error), "; the file is damaged or cut short");
    zip_error_fini(&error);
    return status;
  };
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), /*freep=*/0, &error);
  if (source == nullptr) return failed();
  ZipArchive result;
  result.archive_.reset(zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error));
  if (result.archive_ == nullptr) {
    zip_source_free(source);
    return failed();
  }
  zip_error_fini(&error);

  const zip_int64_t count = zip_get_num_entries(result.archive_.get(), 0);
  if (count > kMaxEntries) return Invalid(count, " entries; at most ", kMaxEntries, " are read");
  uint64_t total = 0;
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t info;
    if (zip_stat_index(result.archive_.get(), static_cast<zip_uint64_t>(i), 0, &info) != 0) {
      return Invalid("entry ", i, " cannot be read");
    }
    constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                     ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((info.valid & kNeeded) != kNeeded) return Invalid("entry ", i, " has no name or no size");
    const bool stored = info.comp_method == ZIP_CM_STORE && info.comp_size == info.size &&
                        info.encryption_method == ZIP_EM_NONE;
    if (info.comp_size > bytes.size() - total) {
      return Invalid("the entries claim more bytes than the ", bytes.size(), " of the file");
    }
    total += info.comp_size;
    if (!result.entries_.emplace(info.name, Entry{info.size, stored}).second) {
      return Invalid("two entries are called ", info.name);
    }
  }
  return result;
}

absl::StatusOr<std::vector<uint8_t>> ZipArchive::Read(const std::string& name) const {
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return Invalid("there is no entry ", name);
  if (!entry->second.stored) {
    return Invalid(name,
                   " is compressed or encrypted, which torch.save does not do; save the file "
                   "again with torch.save(torch.load(FILE), NEW_FILE)");
  }
  const std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen(archive_.get(), name.c_str(), 0));
  if (file == nullptr) return Invalid(name, ": ", zip_strerror(archive_.get()));
  // One byte more than there should be: reading to the end is what has libzip check the CRC.
  std::vector<uint8_t> bytes(entry->second.size + 1);
  size_t size = 0;
  while (size < bytes.size()) {
    const zip_int64_t n = zip_fread(file.get(), bytes.data() + size, bytes.size() - size);
    if (n < 0) return Invalid(name, ": ", zip_file_strerror(file.get()), "; the file is damaged");
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  bytes.pop_back();
  if (size != bytes.size()) return Invalid(name, " is shorter than the archive says");
  return bytes;
}

}  // namespace scanline
