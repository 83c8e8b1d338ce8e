#pragma once

#include <string>
#include <vector>

#include "client/cli/text_width.h"

namespace scanline::cli {

struct Column {
  std::string title;
  int width = 0;
  Align align = Align::kLeft;
  Keep keep = Keep::kStart;  // of a left-aligned cell that is too wide; numbers are never cut
  int gap = 2;               // spaces before it, unless it is the first
};

// One line of a table, without spaces at its end.
std::string TableLine(const std::vector<Column>& columns, const std::vector<std::string>& cells);

// The titles, in bold where `color`.
std::string TableHead(const std::vector<Column>& columns, bool color);

// A whole table at once, each column as wide as its widest cell. Titles only where there are no
// rows.
std::string WholeTable(std::vector<Column> columns,
                       const std::vector<std::vector<std::string>>& rows, bool color);

}  // namespace scanline::cli
