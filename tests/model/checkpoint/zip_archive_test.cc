#include "model/checkpoint/zip_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/pth_writer.h"

namespace scanline {
namespace {

using ::testing::HasSubstr;
using testing::ZipBytes;
using testing::ZipEntry;

absl::Span<const uint8_t> Span(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

std::string Refusal(const std::string& bytes) {
  const auto archive = ZipArchive::Open(Span(bytes));
  if (archive.ok()) return "accepted";
  EXPECT_EQ(archive.status().code(), absl::StatusCode::kFailedPrecondition);
  return std::string(archive.status().message());
}

TEST(ZipArchive, GivesStoredEntriesBack) {
  const std::string bytes = ZipBytes({{"a/one", "hello"}, {"a/empty", ""}});
  const auto archive = ZipArchive::Open(Span(bytes));
  ASSERT_TRUE(archive.ok()) << archive.status();
  EXPECT_EQ(archive->entries().size(), 2U);
  EXPECT_EQ(archive->entries().at("a/one").size, 5U);
  const auto one = archive->Read("a/one");
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(std::string(one->begin(), one->end()), "hello");
  EXPECT_TRUE(archive->Read("a/empty")->empty());
  EXPECT_THAT(archive->Read("b").status().message(), HasSubstr("no entry b"));
}

TEST(ZipArchive, ADamagedByteIsSeenWhenItsEntryIsRead) {
  std::string bytes = ZipBytes({{"one", "hello"}, {"two", "world"}});
  bytes[bytes.find("hello")] = 'j';
  const auto archive = ZipArchive::Open(Span(bytes));
  ASSERT_TRUE(archive.ok()) << archive.status();
  EXPECT_THAT(archive->Read("one").status().message(), HasSubstr("CRC"));
  EXPECT_TRUE(archive->Read("two").ok());
}

TEST(ZipArchive, RefusesAnArchiveThatIsCutAnywhere) {
  const std::string bytes = ZipBytes({{"one", "hello"}, {"two", "world"}});
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(Refusal(bytes.substr(0, size)), "accepted") << size;
  }
}

TEST(ZipArchive, UnfoldsNoCompressedEntry) {  // So nothing is larger than the file.
  const std::string bytes = ZipBytes({{"bomb", "xx", /*method=*/8}, {"one", "hello"}});
  const auto archive = ZipArchive::Open(Span(bytes));
  ASSERT_TRUE(archive.ok()) << archive.status();
  EXPECT_THAT(archive->Read("bomb").status().message(), HasSubstr("bomb is compressed"));
  EXPECT_TRUE(archive->Read("one").ok());
}

TEST(ZipArchive, RefusesTwoEntriesOfOneName) {
  EXPECT_NE(Refusal(ZipBytes({{"a", "1"}, {"a", "2"}})), "accepted");
}

TEST(ZipArchive, RefusesEntriesThatOverlap) {
  std::vector<ZipEntry> entries = {{"0", std::string(1000, 'x')}};
  for (int i = 1; i < 100; ++i) {
    entries.push_back({std::to_string(i), std::string(1000, 'x'), 0, -1, /*same_data_as=*/0});
  }
  EXPECT_NE(Refusal(ZipBytes(entries)), "accepted");
}

TEST(ZipArchive, RefusesSizesBeyondTheFile) {
  EXPECT_NE(Refusal(ZipBytes({{"huge", "x", 0, 0xfffffff0}})), "accepted");
}

}  // namespace
}  // namespace scanline
