#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/cli/args.h"
#include "client/cli/outcome.h"

namespace scanline::cli {

// Turns outcomes into the text of one format: Head once, a Row for each input in order, Tail once.
class ClipFormat {
 public:
  virtual ~ClipFormat() = default;
  virtual std::string Head() { return ""; }
  virtual std::string Row(const Outcome& outcome) = 0;
  virtual std::string Tail() { return ""; }
  // Of a format that writes files of its own: what keeps it from taking more.
  virtual absl::Status status() const { return absl::OkStatus(); }
};

// {"input": ..., "result": <ClipResult>} or {"input": ..., "error": {code, reason, message}},
// one a line, or as the elements of one array. An input whose name is not UTF-8 also has
// "input_bytes": the name in base64. Parts that were not asked for are left out: logits (`logits`:
// they were asked for), embeddings, detections, text_matches, windows and pictures; classes where
// there are embeddings, or `detections` were asked for, in their stead.
std::unique_ptr<ClipFormat> MakeNdjson(bool logits = false, bool detections = false);
std::unique_ptr<ClipFormat> MakeJson(bool logits = false, bool detections = false);

// One row for each label of each input, of each window where windows were asked for, and one for
// each failed input. Times are seconds. Quoted as RFC 4180 says. `texts`: the labels are texts of
// the user, and a column has their similarity.
std::unique_ptr<ClipFormat> MakeCsv(bool texts = false);

// What the table is laid out for; known before the first answer, so that rows can go out as the
// answers come.
struct TableLook {
  int columns = 0;  // of the terminal; 0: as wide as it needs to be
  bool color = false;
  int widest_input = 0;
  int widest_label = 0;
  bool texts = false;  // as of MakeCsv; the similarity stands where the stages' times stand
};

// For people: failed inputs have no row, their message goes to standard error. The titles come with
// the first row.
std::unique_ptr<ClipFormat> MakeTable(const TableLook& look);

}  // namespace scanline::cli
