#include "model/checkpoint/label_list.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "model/text_list.h"

namespace scanline {
namespace {

namespace fs = std::filesystem;

// The list whose file has official ids of its own: id, name and whether AVA evaluates it.
constexpr char kAva[] = "ava";

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return MakeError(Reason::kFieldInvalid, absl::StrCat(parts...), {{"field", "labels"}});
}

template <typename... Parts>
absl::Status InvalidVocabulary(const Parts&... parts) {
  return MakeError(Reason::kFieldInvalid, absl::StrCat(parts...), {{"field", "vocab"}});
}

std::string PathOf(const std::string& folder, const std::string& name) {
  return absl::StrCat(folder, "/", name, name == kAva ? ".tsv" : ".txt");
}

std::vector<std::string> Lists(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().stem();
    if (entry.path() == PathOf(folder, name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<std::vector<std::string>> ReadLines(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Invalid("cannot read the list in ", path);
  std::string text(kMaxListBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > kMaxListBytes) {
    return Invalid(path, " has more than ", kMaxListBytes, " bytes");
  }
  auto lines = ParseTextList(text, path);
  if (!lines.ok()) return Invalid(lines.status().message());
  return lines;
}

absl::Status ReadIds(const std::string& path, LabelList* list) {
  for (size_t i = 0; i < list->labels.size(); ++i) {
    const std::vector<std::string> columns = absl::StrSplit(list->labels[i], '\t');
    int id = 0;
    if (columns.size() < 2 || !absl::SimpleAtoi(columns[0], &id) || id != static_cast<int>(i) + 1) {
      return Invalid(path, ":", i + 1, ": expected the id ", i + 1, ", a tab and a name");
    }
    list->labels[i] = columns[1];
  }
  if (const absl::Status twice = CheckDistinct(list->labels, path); !twice.ok()) {
    return Invalid(twice.message());
  }
  list->index_offset = 1;
  list->exclusive = false;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LabelList> ReadLabelList(const std::string& wanted, const std::string& folder) {
  LabelList list;
  std::error_code error;
  const std::vector<std::string> known = Lists(folder);
  const bool shipped = std::find(known.begin(), known.end(), wanted) != known.end();
  const std::string path = shipped ? PathOf(folder, wanted) : wanted;
  if (!shipped && (!fs::exists(path, error) || fs::is_directory(path, error))) {
    return Invalid(
        "--labels ", wanted, " is neither a file nor a list; the lists are ",
        known.empty() ? absl::StrCat("missing in ", folder) : absl::StrJoin(known, ", "));
  }
  SCANLINE_ASSIGN_OR_RETURN(list.labels, ReadLines(path));
  if (shipped) list.name = wanted;
  if (shipped && wanted == kAva) SCANLINE_RETURN_IF_ERROR(ReadIds(path, &list));
  return list;
}

absl::StatusOr<std::vector<std::string>> ReadVocabulary(const std::string& path) {
  auto vocab = ReadLines(path);
  if (!vocab.ok()) return InvalidVocabulary("--vocab ", path, ": ", vocab.status().message());
  if (vocab->front() != "[PAD]") {
    return InvalidVocabulary(path, ":1: expected [PAD], the first line of a BERT vocabulary");
  }
  for (const char* needed : {"[UNK]", "[CLS]", "[SEP]"}) {
    if (std::find(vocab->begin(), vocab->end(), needed) != vocab->end()) continue;
    return InvalidVocabulary(path, " has no line ", needed, ", which every BERT vocabulary has");
  }
  return vocab;
}

std::vector<std::string> ListsOfSize(const std::string& folder, size_t count) {
  std::vector<std::string> fitting;
  for (const std::string& name : Lists(folder)) {
    const auto list = ReadLabelList(name, folder);
    if (list.ok() && list->labels.size() == count) fitting.push_back(name);
  }
  return fitting;
}

}  // namespace scanline
