#include "model/strict_json.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"

namespace scanline {
namespace {

using nlohmann::json;

// More than any file of ours has, and few enough for functions that call themselves a level.
constexpr int kMaxDepth = 32;

std::string Shown(const json& value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

}  // namespace

absl::StatusOr<json> ParseStrictJson(absl::string_view text, absl::string_view what) {
  std::vector<std::set<std::string>> open;  // Keys so far of every object that is still open.
  std::string repeated;
  bool too_deep = false;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    too_deep = too_deep || depth > kMaxDepth;
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open.back().insert(key).second && repeated.empty()) repeated = key;
    }
    return true;
  };
  json value;
  try {
    value = json::parse(text.begin(), text.end(), watch);
  } catch (const json::exception& error) {
    return MakeError(Reason::kBundleInvalid, absl::StrCat(what, " is not JSON: ", error.what()));
  }
  if (too_deep) {
    return MakeError(Reason::kBundleInvalid,
                     absl::StrCat(what, " is nested more than ", kMaxDepth, " deep"));
  }
  if (!repeated.empty()) {
    return MakeError(Reason::kBundleInvalid,
                     absl::StrCat(what, " says the key \"", repeated, "\" twice"));
  }
  return value;
}

JsonSection::JsonSection(const json& value, std::string path)
    : value_(value), path_(std::move(path)) {
  if (!value.is_object()) {
    status_ = MakeError(Reason::kBundleInvalid,
                        absl::StrCat("config.json: ", path_.empty() ? "the file" : path_,
                                     " must be an object, found ", Shown(value)));
  }
}

bool JsonSection::Has(const char* key) const { return value_.is_object() && value_.contains(key); }

std::string JsonSection::PathOf(absl::string_view key) const {
  return path_.empty() ? std::string(key) : absl::StrCat(path_, ".", key);
}

const json* JsonSection::Take(const char* key) {
  known_.insert(key);
  if (Has(key)) return &value_.at(key);
  Wrong(key, "a value", nullptr);
  return nullptr;
}

void JsonSection::Wrong(const char* key, const std::string& expected, const json* found) {
  if (!status_.ok()) return;
  status_ = MakeError(Reason::kBundleInvalid,
                      absl::StrCat("config.json: ", PathOf(key), ": expected ", expected,
                                   ", found ", found == nullptr ? "nothing" : Shown(*found)));
}

void JsonSection::Int(const char* key, int64_t low, int64_t high, int* out) {
  const json* value = Take(key);
  if (value == nullptr) return;
  if (value->is_number_integer() && *value >= low && *value <= high) {
    *out = static_cast<int>(value->get<int64_t>());
  } else {
    Wrong(key, absl::StrCat("a whole number from ", low, " to ", high), value);
  }
}

void JsonSection::Real(const char* key, double low, double high, double* out) {
  const json* value = Take(key);
  if (value == nullptr) return;
  if (value->is_number() && value->get<double>() >= low && value->get<double>() <= high) {
    *out = value->get<double>();
  } else {
    Wrong(key, absl::StrFormat("a number from %g to %g", low, high), value);
  }
}

void JsonSection::Bool(const char* key, bool* out) {
  const json* value = Take(key);
  if (value == nullptr) return;
  if (value->is_boolean()) {
    *out = value->get<bool>();
  } else {
    Wrong(key, "true or false", value);
  }
}

void JsonSection::String(const char* key, std::string* out) {
  const json* value = Take(key);
  if (value == nullptr) return;
  if (value->is_string()) {
    *out = value->get<std::string>();
  } else {
    Wrong(key, "a string", value);
  }
}

void JsonSection::Triple(const char* key, double low, double high, float* out) {
  const json* value = Take(key);
  if (value == nullptr) return;
  bool good = value->is_array() && value->size() == 3;
  for (size_t i = 0; good && i < 3; ++i) {
    const json& number = (*value)[i];
    good = number.is_number() && number.get<double>() >= low && number.get<double>() <= high;
  }
  if (!good) return Wrong(key, absl::StrFormat("three numbers from %g to %g", low, high), value);
  for (size_t i = 0; i < 3; ++i) out[i] = (*value)[i].get<float>();
}

void JsonSection::Strings(const char* key, std::vector<std::string>* out) {
  const json* value = Take(key);
  if (value == nullptr) return;
  std::vector<std::string> strings;
  bool good = value->is_array();
  for (size_t i = 0; good && i < value->size(); ++i) {
    good = (*value)[i].is_string();
    if (good) strings.push_back((*value)[i].get<std::string>());
  }
  if (!good) return Wrong(key, "an array of strings", value);
  *out = std::move(strings);
}

absl::Status JsonSection::Finish() {
  if (!status_.ok()) return status_;
  for (const auto& item : value_.items()) {
    if (known_.count(item.key()) != 0) continue;
    std::string names;
    for (const std::string& name : known_) absl::StrAppend(&names, names.empty() ? "" : ", ", name);
    return MakeError(
        Reason::kBundleInvalid,
        absl::StrCat("config.json: unknown key ", PathOf(item.key()), "; known here: ", names));
  }
  return absl::OkStatus();
}

}  // namespace scanline
