#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "decode/byte_input.h"

namespace scanline::render {

// A regular file on disk, read where it is asked for.
class FileInput final : public ByteInput {
 public:
  // An error for what is no regular file, or as the file system says.
  static absl::StatusOr<std::unique_ptr<FileInput>> Open(const std::string& path);
  ~FileInput() override;
  FileInput(const FileInput&) = delete;
  FileInput& operator=(const FileInput&) = delete;

  absl::StatusOr<int64_t> Read(int64_t offset, uint8_t* out, int64_t size) override;
  absl::StatusOr<int64_t> Size() override { return size_; }
  absl::StatusOr<bool> Reaches(int64_t bytes) override { return bytes <= size_; }

 private:
  FileInput(std::string path, int fd, int64_t size)
      : path_(std::move(path)), fd_(fd), size_(size) {}

  std::string path_;
  int fd_;
  int64_t size_;
};

}  // namespace scanline::render
