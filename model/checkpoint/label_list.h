#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace scanline {

struct LabelList {
  std::string name;                 // of a shipped list: "kinetics400"; "" for a user's file
  std::vector<std::string> labels;  // line i = class i
  int index_offset = 0;             // class_index of an answer = row + offset (AVA counts from 1)
  bool exclusive = true;            // one class a clip (softmax) or any number (sigmoid)
};

// `wanted` is the name of a list in `folder` (kinetics400, ssv2, ...) or the path of a file with
// one label a line. FIELD_INVALID: neither, or a line is empty.
absl::StatusOr<LabelList> ReadLabelList(const std::string& wanted, const std::string& folder);

// A vocabulary, one word piece a line, line i = id i (BERT's vocab.txt). FIELD_INVALID: it cannot
// be read, or lacks what every BERT tokenizer needs: [PAD] as id 0, [UNK], [CLS] and [SEP].
absl::StatusOr<std::vector<std::string>> ReadVocabulary(const std::string& path);

// The words that a bundle comes with: labels of a classifier, or the vocabulary of a text tower.
struct WordLists {
  LabelList labels;
  std::vector<std::string> vocab;
};

// The names of the lists in `folder` that have `count` labels, sorted.
std::vector<std::string> ListsOfSize(const std::string& folder, size_t count);

}  // namespace scanline
