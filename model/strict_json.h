#pragma once

// Only for .cc files of model/: nlohmann-json stays out of the headers that others include.

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace scanline {

// Standard JSON, at most 32 deep, whose objects do not repeat a key. `what` names the text in
// errors.
absl::StatusOr<nlohmann::json> ParseStrictJson(absl::string_view text, absl::string_view what);

// Reads the keys of one JSON object and remembers the first thing wrong, so that a reader is a list
// of fields and one Finish(). An absent key is an error unless `Has` was asked first.
class JsonSection {
 public:
  // `path`: where the object stands, for messages ("backbone.mixer"); empty for the root.
  JsonSection(const nlohmann::json& value, std::string path);

  bool Has(const char* key) const;
  std::string PathOf(absl::string_view key) const;

  // Each leaves `out` alone when something is wrong.
  void Int(const char* key, int64_t low, int64_t high, int* out);
  void Real(const char* key, double low, double high, double* out);
  void Bool(const char* key, bool* out);
  void String(const char* key, std::string* out);
  // Three numbers, one a colour.
  void Triple(const char* key, double low, double high, float* out);
  void Strings(const char* key, std::vector<std::string>* out);
  template <typename T>
  void Choice(const char* key, std::initializer_list<std::pair<const char*, T>> choices, T* out) {
    const nlohmann::json* value = Take(key);
    if (value == nullptr) return;
    std::string names;
    for (const auto& [name, choice] : choices) {
      if (value->is_string() && value->get_ref<const std::string&>() == name) {
        *out = choice;
        return;
      }
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    Wrong(key, "one of " + names, value);
  }
  // The value, or null and an error.
  const nlohmann::json* Take(const char* key);
  // `expected` was not found.
  void Wrong(const char* key, const std::string& expected, const nlohmann::json* found);

  bool ok() const { return status_.ok(); }
  // The first error, or one that names the first key that nobody asked for.
  absl::Status Finish();

 private:
  const nlohmann::json& value_;
  std::string path_;
  std::set<std::string> known_;
  absl::Status status_;
};

}  // namespace scanline
