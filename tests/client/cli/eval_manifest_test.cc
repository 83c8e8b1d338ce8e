#include "client/cli/eval_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace scanline::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::StartsWith;

auto Entry(const std::string& path, const std::string& file, const std::string& label,
           const std::string& place) {
  return AllOf(Field(&ManifestEntry::path, path), Field(&ManifestEntry::file, file),
               Field(&ManifestEntry::label, label), Field(&ManifestEntry::place, place));
}

std::string ErrorOf(const std::string& text) {
  return std::string(ParseManifest(text, "set").status().message());
}

TEST(ParseManifest, TakesCsvWithItsColumnsInAnyOrder) {
  const auto entries = ParseManifest(
      "id,Label, path\n1,walking,a.mp4\n\n2,\"running, \"\"fast\"\"\",/data/b.mp4\n3,7,../c.mp4\n",
      "set/val");
  ASSERT_TRUE(entries.ok()) << entries.status();
  EXPECT_THAT(*entries,
              ElementsAre(Entry("a.mp4", "set/val/a.mp4", "walking", "line 2"),
                          Entry("/data/b.mp4", "/data/b.mp4", "running, \"fast\"", "line 4"),
                          Entry("../c.mp4", "set/c.mp4", "7", "line 5")));
}

TEST(ParseManifest, TakesWhatSpreadsheetsWrite) {
  const auto entries = ParseManifest("\xEF\xBB\xBFpath,label\r\n\"a\nb.mp4\",x\r\nc.mp4,y", "");
  ASSERT_TRUE(entries.ok()) << entries.status();
  EXPECT_THAT(*entries, ElementsAre(Entry("a\nb.mp4", "a\nb.mp4", "x", "line 2"),
                                    Entry("c.mp4", "c.mp4", "y", "line 4")));
}

TEST(ParseManifest, TakesAJsonListAndIgnoresWhatElseItHolds) {
  const auto entries = ParseManifest(
      R"([{"file": "a.mp4", "label": "walking", "boxes": [[0, 1]]}, {"path": "b.mp4", "label": 3}])",
      "set");
  ASSERT_TRUE(entries.ok()) << entries.status();
  EXPECT_THAT(*entries, ElementsAre(Entry("a.mp4", "set/a.mp4", "walking", "entry 1"),
                                    Entry("b.mp4", "set/b.mp4", "3", "entry 2")));
}

TEST(ParseManifest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(ErrorOf(""), "it lists no clip");
  EXPECT_EQ(ErrorOf("path,label\n"), "it lists no clip");
  EXPECT_EQ(ErrorOf("[]"), "it lists no clip");
  EXPECT_EQ(ErrorOf("a.mp4,walking\n"),
            "expected a header with one column path (or file) and one column label, found: "
            "a.mp4,walking");
  for (const char* header : {"path,path,label", "path,file,label", "path,label,Label"}) {
    EXPECT_THAT(ErrorOf(std::string(header) + "\na,b,c\n"),
                AllOf(HasSubstr("one column path (or file)"), HasSubstr(header)));
  }
  EXPECT_EQ(ErrorOf("path,label\na,x\nb\n"),
            "line 3: expected 2 fields, as the header has, found 1");
  EXPECT_EQ(ErrorOf("path,label\na,\n"), "line 2: no label for a");
  EXPECT_EQ(ErrorOf("path,label\n,x\n"), "line 2: expected a path, found none");
  EXPECT_EQ(ErrorOf("path,label\na,x\nb,y\na,x\n"), "line 4: a is on line 2 already");
  EXPECT_EQ(ErrorOf("path,label\na,x\n./a,x\n"), "line 3: ./a is on line 2 already, as a");
  EXPECT_EQ(
      ErrorOf("path,label\na,x\n" + std::filesystem::absolute("set/b/../a").native() + ",x\n"),
      "line 3: " + std::filesystem::absolute("set/b/../a").native() +
          " is on line 2 already, as a");
  EXPECT_EQ(ErrorOf(R"([{"path": "a", "file": "b", "label": 1}])"),
            "entry 1: expected one of path and file, found both");
  EXPECT_EQ(ErrorOf("path,label\n\"a\x1B[31m\nb\",\n"), "line 2: no label for a?[31m?b");
  EXPECT_EQ(ErrorOf("path,label\n\"a,x\n"), "line 2: a quote is not closed");
  EXPECT_EQ(ErrorOf("path,label\n\"a\"b,x\n"), "line 2: text follows a closing quote");
  EXPECT_EQ(ErrorOf("path,label\n\xE9.mp4,x\n"), "line 2: the text is not UTF-8");
  EXPECT_EQ(ErrorOf("[{\"path\": \"a\""), "it is not valid JSON");
  EXPECT_THAT(ErrorOf("{\"path\": \"a\"}"), StartsWith("expected a list: "));
  EXPECT_EQ(ErrorOf("[{\"path\": \"a\", \"label\": 1.5}]"), "entry 1: no label for a");
  EXPECT_EQ(ErrorOf("[7]"), "entry 1: expected a path, found none");
}

TEST(ResolveLabels, GoesByNameFirstAndByIndexElse) {
  auto entries = *ParseManifest("path,label\na,run\nb,0\nc,2\n", "");
  ASSERT_TRUE(ResolveLabels({"walk", "run", "0"}, "m", entries).ok());
  EXPECT_EQ(entries[0].class_index, 1);
  EXPECT_EQ(entries[1].class_index, 2) << "a label of that very name";
  EXPECT_EQ(entries[2].class_index, 2);
}

TEST(ResolveLabels, NamesEachUnknownLabelOnceAndWhatMayHaveBeenMeant) {
  auto entries = *ParseManifest("path,label\na,zoomin\nb,zoomin\nc,24\nd,-1\ne,pan_left\n", "");
  const absl::Status status = ResolveLabels({"pan_left", "zoom_in"}, "tagger24", entries);
  EXPECT_EQ(status.message(),
            "3 labels are none of the 2 of tagger24, neither by name nor as an index from 0\n"
            "  line 2: zoomin; did you mean zoom_in?\n  line 4: 24\n  line 5: -1");
}

TEST(ResolveLabels, AnUnknownLabelCannotDriveTheTerminal) {
  auto entries = *ParseManifest("path,label\na,\"x\x1B[31m\ny\"\n", "");
  EXPECT_THAT(ResolveLabels({"walk"}, "m", entries).message(), HasSubstr("\n  line 2: x?[31m?y"));
}

TEST(ReadManifest, NamesTheFile) {
  EXPECT_THAT(ReadManifest("no/such.csv").status().message(),
              HasSubstr("cannot read the manifest no/such.csv"));
}

}  // namespace
}  // namespace scanline::cli
