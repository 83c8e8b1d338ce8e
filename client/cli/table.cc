#include "client/cli/table.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace scanline::cli {

std::string TableLine(const std::vector<Column>& columns, const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < columns.size() && i < cells.size(); ++i) {
    const Column& column = columns[i];
    if (i > 0) line.append(static_cast<size_t>(column.gap), ' ');
    const std::string text = column.align == Align::kLeft
                                 ? FitText(cells[i], column.width, column.keep)
                                 : PrintableText(cells[i]);
    absl::StrAppend(&line, PadText(text, column.width, column.align));
  }
  absl::StripTrailingAsciiWhitespace(&line);
  return absl::StrCat(line, "\n");
}

std::string TableHead(const std::vector<Column>& columns, bool color) {
  std::vector<std::string> titles;
  for (const Column& column : columns) titles.push_back(column.title);
  const std::string line = TableLine(columns, titles);
  if (!color) return line;
  return absl::StrCat("\x1b[1m", absl::StripTrailingAsciiWhitespace(line), "\x1b[0m\n");
}

std::string WholeTable(std::vector<Column> columns,
                       const std::vector<std::vector<std::string>>& rows, bool color) {
  for (size_t i = 0; i < columns.size(); ++i) {
    columns[i].width = TextWidth(columns[i].title);
    for (const auto& row : rows) {
      columns[i].width = std::max(columns[i].width, TextWidth(PrintableText(row[i])));
    }
  }
  std::string out = TableHead(columns, color);
  for (const auto& row : rows) absl::StrAppend(&out, TableLine(columns, row));
  return out;
}

}  // namespace scanline::cli
