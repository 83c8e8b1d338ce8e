#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/cli/clip_format.h"

namespace scanline::cli {

// One vector of an answer: the whole clip's (or a text's), or one of its windows.
struct EmbeddingRow {
  const v1::Embedding* embedding = nullptr;  // borrowed from the answer
  int window = -1;                           // from 0; -1: the whole
};

// The clip's own vector, then those of its windows, if any were asked for.
std::vector<EmbeddingRow> RowsOf(const v1::ClipResult& result);

double NormOf(const v1::Embedding& embedding);

// One row for each vector and one for each failed input; the vector's `dim` values are the last
// columns, v0, v1, ... Times are seconds; those of a text are empty.
std::unique_ptr<ClipFormat> MakeEmbedCsv(int dim);

// For people: the vectors' sizes, lengths and first values. As of MakeTable otherwise.
std::unique_ptr<ClipFormat> MakeEmbedTable(const TableLook& look);

}  // namespace scanline::cli
