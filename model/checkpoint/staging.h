#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace scanline {

// A hidden folder beside the one that it shall become: made whole there, then renamed, so that the
// target is the old folder or the new one and never a part. Whatever happens, it is gone at the
// end.
class Staging {
 public:
  // Makes the parent folders of `target` too, and removes what killed runs for it left there.
  static absl::StatusOr<Staging> Create(const std::string& target);
  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&& other) = delete;
  ~Staging();

  const std::string& path() const { return path_; }

  // Becomes the target. One that exists already is replaced, in one step.
  absl::Status Commit();

 private:
  Staging(std::string path, std::string target, int lock)
      : path_(std::move(path)), target_(std::move(target)), lock_(lock) {}

  std::string path_;  // "" when there is nothing left to remove
  std::string target_;
  int lock_ = -1;  // the folder, locked: gone with the process, however that ends
};

// An entry of the folder that no import has written, "" if there is none. Errors: INTERNAL.
absl::StatusOr<std::string> ForeignEntry(const std::string& folder);

}  // namespace scanline
