#include "client/index/item.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "client/index/index_info.h"
#include "client/index/npy.h"
#include "client/index/skipped.h"
#include "tests/client/index/index_folder.h"

namespace scanline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Item, IdIsThatOfTheBytesAndTheMoment) {
  const std::string sha = "0123456789abcdef0123456789abcdefffffffffffffffffffffffffffffffff";
  EXPECT_EQ(ItemId(sha, 12.5), "0123456789abcdef0123456789abcdef-12500");
  EXPECT_EQ(ItemId(sha, 0), "0123456789abcdef0123456789abcdef-0");
}

TEST(Item, ReadsWhatItWrote) {
  for (const std::string path :
       {"/clips/a b.mp4", "/clips/\xC3\xA4\"\n.mp4", "/clips/\xFF\xFE.mp4"}) {
    Item item = testing::ItemsOf(3, 1)[0];
    item.file.path = path;
    item.start_seconds = 0.1;
    const std::string line = ItemLine(item);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const auto read = ParseItem(line);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, item);
  }
  EXPECT_THAT(ItemLine(testing::ItemsOf(3, 1)[0]), Not(HasSubstr("path_bytes")));
}

TEST(Item, SaysWhatALineLacks) {
  EXPECT_THAT(std::string(ParseItem("{}").status().message()), HasSubstr("id"));
  EXPECT_FALSE(ParseItem("").ok());
  EXPECT_FALSE(ParseItem("[1]").ok());
}

TEST(Item, LinesOfOneFileAreToldWithoutParsing) {
  const std::vector<Item> items = testing::ItemsOf(3, 2);
  EXPECT_TRUE(AreOfOneFile(ItemLine(items[0]), ItemLine(items[1])));
  EXPECT_FALSE(AreOfOneFile(ItemLine(items[0]), ""));
  EXPECT_FALSE(AreOfOneFile("", ""));
  for (int change = 0; change < 4; ++change) {
    Item other = items[1];
    if (change == 0) other.file.path += "4";
    if (change == 1) other.file.mtime_ns += 1;
    if (change == 2) other.file.bytes += 1;
    if (change == 3) other.sha256[0] = 'c';
    EXPECT_FALSE(AreOfOneFile(ItemLine(items[0]), ItemLine(other))) << change;
  }
  // A name that looks like the line's own marks.
  Item odd = items[0];
  odd.file.path = "/a,\"start_s\":1,\"sha256\":\"x";
  Item odder = odd;
  odder.file.path += "y";
  EXPECT_FALSE(AreOfOneFile(ItemLine(odd), ItemLine(odder)));
}

TEST(IndexInfo, ReadsWhatItWroteAndNothingElse) {
  IndexInfo info = testing::SmallInfo();
  info.count = 7;
  info.window_seconds = 2.5;
  info.created = "2026-01-01T00:00:00Z";
  info.generation = 3;
  const std::string json = IndexInfoJson(info);
  ASSERT_TRUE(ParseIndexInfo(json).ok());
  EXPECT_EQ(*ParseIndexInfo(json), info);
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"format\": 1", "\"format\": 2"},
                                                        {"\"dim\": 3", "\"dim\": 0"},
                                                        {"\"dim\": 3", "\"dim\": \"3\""},
                                                        {"\"count\": 7", "\"count\": -7"},
                                                        {"\"weights_sha256\"", "\"weights\""}}) {
    std::string other = json;
    ASSERT_NE(other.find(from), std::string::npos);
    other.replace(other.find(from), from.size(), to);
    EXPECT_EQ(ParseIndexInfo(other).status().code(), absl::StatusCode::kInvalidArgument) << to;
  }
}

TEST(Npy, HeaderIsReadAgainAndTakesAlwaysTheSameRoom) {
  for (const int64_t rows : {int64_t{0}, int64_t{1}, int64_t{1'000'000'000'000}}) {
    const std::string header = NpyHeader(rows, 768);
    EXPECT_EQ(header.size(), kNpyHeaderBytes);
    EXPECT_EQ(header.back(), '\n');
    const auto shape = ParseNpyHeader(header);
    ASSERT_TRUE(shape.ok()) << shape.status();
    EXPECT_EQ(shape->rows, rows);
    EXPECT_EQ(shape->dim, 768);
    EXPECT_EQ(shape->data_at, kNpyHeaderBytes);
  }
}

TEST(Npy, RefusesWhatIsNotATableOfFloats) {
  const std::string good = NpyHeader(2, 3);
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"<f4", "<f8"},
                                                        {"<f4", ">f4"},
                                                        {"False", "True "},
                                                        {"(2, 3)", "(2,  )"},
                                                        {"(2, 3)", "(-2, 3"},
                                                        {"(2, 3)", "(2 3) "},
                                                        {"NUMPY", "NUMPX"},
                                                        {"shape", "shbpe"}}) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    EXPECT_FALSE(ParseNpyHeader(bad).ok()) << to;
  }
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ParseNpyHeader(good.substr(0, size)).ok()) << size;
  }
}

TEST(Skipped, LinesAreReadAgainWithoutThoseThatACrashCut) {
  const testing::TempFolder folder;
  EXPECT_THAT(ReadSkipped(folder.path()), IsEmpty());
  const SkippedFile failed = {.file = {"/a\xFF.mp4", 3, 5},
                              .sha256 = testing::Sha(1),
                              .code = "INVALID_ARGUMENT",
                              .reason = "VIDEO_UNREADABLE",
                              .message = "no \"video\""};
  const SkippedFile copy = {
      .file = {"/b.mp4", 3, 5}, .sha256 = testing::Sha(1), .same_as = "/c\xFF"};
  ASSERT_TRUE(WriteSkipped(folder.path(), {failed}).ok());
  ASSERT_TRUE(AppendSkipped(folder.path(), copy).ok());
  EXPECT_THAT(ReadSkipped(folder.path()), ElementsAre(failed, copy));
  const std::string path = folder / "skipped.ndjson";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 2);
  EXPECT_THAT(ReadSkipped(folder.path()), ElementsAre(failed));
}

}  // namespace
}  // namespace scanline
