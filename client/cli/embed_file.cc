#include "client/cli/embed_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "client/cli/embed_format.h"
#include "client/index/json_path.h"
#include "client/index/npy.h"

namespace scanline::cli {
namespace {

constexpr size_t kPending = size_t{1} << 20;
static_assert(std::endian::native == std::endian::little, "the file's floats are little-endian");

absl::Status Taken(const std::string& path) {
  return absl::AlreadyExistsError(absl::StrCat(path, " is there already; --force replaces it"));
}

std::string PartOf(const std::string& path) { return path + ".part"; }

std::string RowLine(const std::string& input, bool text, const EmbeddingRow& row) {
  nlohmann::ordered_json json;
  if (text) {
    json["text"] = input;
    return OneLine(json);
  }
  PutPath(input, json);
  if (row.window >= 0) json["window"] = row.window;
  if (row.embedding->has_end_offset()) {
    json["start_s"] = Seconds(row.embedding->start_offset());
    json["end_s"] = Seconds(row.embedding->end_offset());
  }
  return OneLine(json);
}

class EmbedFileFormat : public ClipFormat {
 public:
  explicit EmbedFileFormat(EmbedFile& file) : file_(file) {}
  std::string Row(const Outcome& outcome) override {
    static_cast<void>(file_.Add(outcome));  // status() tells.
    return "";
  }
  absl::Status status() const override { return file_.status(); }

 private:
  EmbedFile& file_;
};

}  // namespace

std::string RowNamesOf(const std::string& npy) {
  return absl::StrCat(absl::StripSuffix(npy, ".npy"), ".jsonl");
}

absl::StatusOr<std::unique_ptr<EmbedFile>> EmbedFile::Create(const std::string& npy, bool texts,
                                                             bool force) {
  std::unique_ptr<EmbedFile> file(new EmbedFile(texts, force));
  SCANLINE_RETURN_IF_ERROR(file->Open(npy, file->npy_));
  SCANLINE_RETURN_IF_ERROR(file->Open(RowNamesOf(npy), file->jsonl_));
  file->npy_.bytes = kNpyHeaderBytes;  // Which is written when the number of rows is known.
  return file;
}

absl::Status EmbedFile::Open(const std::string& path, Part& part) const {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a folder"));
  }
  if (!force_ && std::filesystem::exists(std::filesystem::symlink_status(path, unknown))) {
    return Taken(path);
  }
  OwnedFd fd(open(PartOf(path).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd.ok()) return FileError("write", PartOf(path));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::UnavailableError(absl::StrCat("another run is writing ", path));
  }
  SCANLINE_RETURN_IF_ERROR(Truncate(fd.get(), 0, PartOf(path)));  // What a killed run left.
  part.path = path;
  part.fd = std::move(fd);
  return absl::OkStatus();
}

EmbedFile::~EmbedFile() {
  for (const Part* part : {&npy_, &jsonl_}) {
    if (part->fd.ok() && !part->named) unlink(PartOf(part->path).c_str());
  }
}

absl::Status EmbedFile::Flush(Part& part, size_t keep) {
  if (part.pending.size() <= keep) return absl::OkStatus();
  SCANLINE_RETURN_IF_ERROR(WriteAt(part.fd.get(), part.pending, part.bytes, PartOf(part.path)));
  part.bytes += part.pending.size();
  part.pending.clear();
  return absl::OkStatus();
}

absl::Status EmbedFile::Add(const Outcome& outcome) {
  if (status_.ok() && outcome.result.ok()) status_ = AddRows(outcome);
  return status_;
}

absl::Status EmbedFile::AddRows(const Outcome& outcome) {
  for (const EmbeddingRow& row : RowsOf(*outcome.result)) {
    const auto& values = row.embedding->values();
    if (rows_ == 0) dim_ = values.size();
    if (values.size() != dim_ || dim_ == 0) {
      return absl::InternalError(absl::StrCat("a vector of ", values.size(), " values (",
                                              outcome.input, ") after ", rows_, " of ", dim_));
    }
    npy_.pending.append(reinterpret_cast<const char*>(values.data()),
                        static_cast<size_t>(dim_) * sizeof(float));
    absl::StrAppend(&jsonl_.pending, RowLine(outcome.input, texts_, row), "\n");
    ++rows_;
  }
  SCANLINE_RETURN_IF_ERROR(Flush(npy_, kPending));
  return Flush(jsonl_, kPending);
}

absl::Status EmbedFile::Name(Part& part) const {
  SCANLINE_RETURN_IF_ERROR(SyncData(part.fd.get(), PartOf(part.path)));
  const std::string from = PartOf(part.path);
  if (force_) {
    SCANLINE_RETURN_IF_ERROR(Rename(from, part.path));
  } else if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, part.path.c_str(), RENAME_NOREPLACE) !=
             0) {
    if (errno == EEXIST) return Taken(part.path);
    if (errno != EINVAL) return FileError("name", part.path);
    SCANLINE_RETURN_IF_ERROR(Rename(from, part.path));  // A file system without that promise.
  }
  part.named = true;
  return absl::OkStatus();
}

absl::Status EmbedFile::Commit() {
  SCANLINE_RETURN_IF_ERROR(status_);
  SCANLINE_RETURN_IF_ERROR(Flush(npy_, 0));
  SCANLINE_RETURN_IF_ERROR(Flush(jsonl_, 0));
  SCANLINE_RETURN_IF_ERROR(WriteAt(npy_.fd.get(), NpyHeader(rows_, dim_), 0, PartOf(npy_.path)));
  SCANLINE_RETURN_IF_ERROR(Name(jsonl_));
  return Name(npy_);
}

std::unique_ptr<ClipFormat> MakeEmbedFileFormat(EmbedFile& file) {
  return std::make_unique<EmbedFileFormat>(file);
}

}  // namespace scanline::cli
