#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/index/index_reader.h"
#include "client/index/index_writer.h"
#include "tests/support/temp_folder.h"

namespace scanline::testing {

inline IndexInfo SmallInfo() {
  return {.model = "models/walker@1", .weights_sha256 = std::string(64, 'a'), .dim = 3};
}

inline std::string Sha(int file) { return std::string(62, 'b') + std::to_string(10 + file % 90); }

// Windows of one second every half second; every number of a row is different from all others.
inline std::vector<Item> ItemsOf(int file, int count) {
  std::vector<Item> items;
  for (int i = 0; i < count; ++i) {
    const double start = 0.5 * i;
    items.push_back(
        {ItemId(Sha(file), start),
         {absl::StrCat("/clips/", file, ".mp4"), uint64_t(1000 + file), 7'000'000 + file},
         start,
         start + 1,
         Sha(file)});
  }
  return items;
}

inline std::vector<float> RowsOf(int file, int count, int dim = 3) {
  std::vector<float> rows;
  for (int i = 0; i < count * dim; ++i) {
    rows.push_back(static_cast<float>(file) + static_cast<float>(i) / 1024);
  }
  return rows;
}

inline void AppendFile(IndexWriter& writer, int file, int count) {
  const auto items = ItemsOf(file, count);
  ASSERT_TRUE(writer.Append(items, RowsOf(file, count, writer.info().dim)).ok());
}

// The files whose every row and item is in the index as AppendFile made it, by number, in order;
// a failure where anything else is in it.
inline std::vector<int> WholeFiles(const std::string& folder, const std::vector<int>& counts) {
  std::vector<int> files;
  const auto reader = IndexReader::Open(folder);
  EXPECT_TRUE(reader.ok()) << reader.status();
  if (!reader.ok()) return files;
  const auto dim = static_cast<size_t>((*reader)->info().dim);
  for (int64_t row = 0; row < (*reader)->info().count;) {
    const auto first = (*reader)->ItemAt(row);
    EXPECT_TRUE(first.ok()) << first.status();
    if (!first.ok()) return files;
    const int file = std::atoi(first->file.path.substr(7).c_str());
    const int count = counts.at(static_cast<size_t>(file));
    const auto items = ItemsOf(file, count);
    const auto rows = RowsOf(file, count, static_cast<int>(dim));
    for (size_t i = 0; i < items.size(); ++i, ++row) {
      if (row >= (*reader)->info().count) {
        ADD_FAILURE() << "file " << file << " is cut";
        return files;
      }
      const auto item = (*reader)->ItemAt(row);
      EXPECT_TRUE(item.ok() && *item == items[i]) << "row " << row;
      const auto is = (*reader)->rows().subspan(static_cast<size_t>(row) * dim, dim);
      EXPECT_EQ(std::vector<float>(is.begin(), is.end()),
                std::vector<float>(rows.begin() + static_cast<int64_t>(i * dim),
                                   rows.begin() + static_cast<int64_t>((i + 1) * dim)));
    }
    files.push_back(file);
  }
  return files;
}

}  // namespace scanline::testing
