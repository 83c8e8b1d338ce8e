#include "client/index/index_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "client/index/npy.h"
#include "tests/client/index/index_folder.h"
#include "tests/support/files.h"

namespace scanline {
namespace {

using testing::AppendFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SmallInfo;
using testing::TempFolder;
using testing::WholeFiles;

const std::vector<int> kCounts = {2, 1, 3, 2, 4, 1};  // of moments of each file

std::unique_ptr<IndexWriter> Opened(const std::string& folder,
                                    const IndexInfo& wanted = SmallInfo(),
                                    const IndexWriterOptions& options = {}) {
  auto writer = IndexWriter::Open(folder, wanted, options);
  EXPECT_TRUE(writer.ok()) << writer.status();
  return writer.ok() ? *std::move(writer) : nullptr;
}

absl::Status OpenError(const std::string& folder, const IndexInfo& wanted) {
  return IndexWriter::Open(folder, wanted).status();
}

// Files 0 .. count-1.
void Build(const std::string& folder, int count) {
  const auto writer = Opened(folder);
  for (int file = 0; file < count; ++file) AppendFile(*writer, file, kCounts[size_t(file)]);
  ASSERT_TRUE(writer->Commit().ok());
}

std::vector<IndexedFile> Without(std::vector<IndexedFile> files, size_t place) {
  files.erase(files.begin() + static_cast<int64_t>(place));
  return files;
}

TEST(IndexWriter, WhatIsCommittedIsThereAndWhatIsNotIsNot) {
  const TempFolder folder;
  {
    const auto writer = Opened(folder.path());
    AppendFile(*writer, 0, 2);
    EXPECT_THAT(WholeFiles(folder.path(), kCounts), IsEmpty());
    ASSERT_TRUE(writer->Commit().ok());
    AppendFile(*writer, 1, 1);
    EXPECT_THAT(WholeFiles(folder.path(), kCounts), ElementsAre(0));
  }
  const auto writer = Opened(folder.path());
  EXPECT_THAT(WholeFiles(folder.path(), kCounts), ElementsAre(0));
  ASSERT_EQ(writer->files().size(), 1U);
  EXPECT_EQ(writer->files()[0].rows, 2);
  AppendFile(*writer, 2, 3);
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_THAT(WholeFiles(folder.path(), kCounts), ElementsAre(0, 2));
}

TEST(IndexWriter, RemovesAndRenamesFilesAndKeepsTheOrderOfTheOthers) {
  const TempFolder folder;
  Build(folder.path(), 5);
  const auto writer = Opened(folder.path());
  ASSERT_TRUE(writer->Rewrite(Without(writer->files(), 1)).ok());
  EXPECT_THAT(WholeFiles(folder.path(), kCounts), ElementsAre(0, 2, 3, 4));
  EXPECT_EQ(writer->info().count, 11);
  AppendFile(*writer, 5, 1);
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_THAT(WholeFiles(folder.path(), kCounts), ElementsAre(0, 2, 3, 4, 5));

  auto files = writer->files();
  files[1].stamp = {"/other/place.mp4", 1002, 99};
  ASSERT_TRUE(writer->Rewrite(files).ok());
  const auto reader = IndexReader::Open(folder.path());
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->ItemAt(2)->file, files[1].stamp);
  EXPECT_EQ((*reader)->ItemAt(2)->id, testing::ItemsOf(2, 1)[0].id);
  EXPECT_EQ((*reader)->ItemAt(5)->file.path, "/clips/3.mp4");
}

TEST(IndexWriter, AReaderKeepsWhatItOpened) {
  const TempFolder folder;
  Build(folder.path(), 3);
  const auto reader = IndexReader::Open(folder.path());
  ASSERT_TRUE(reader.ok());
  const auto writer = Opened(folder.path());
  ASSERT_TRUE(writer->Rewrite(Without(writer->files(), 0)).ok());
  AppendFile(*writer, 4, 4);
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_EQ((*reader)->info().count, 6);
  EXPECT_EQ((*reader)->rows()[0], 0);
  EXPECT_EQ((*reader)->ItemAt(0)->file.path, "/clips/0.mp4");
}

TEST(IndexWriter, NumPyReadsTheFileAtItsOffset) {
  const TempFolder folder;
  Build(folder.path(), 2);
  const auto bytes = testing::ReadBytes(folder / "embeddings.npy");
  const std::string header(bytes.begin(), bytes.begin() + kNpyHeaderBytes);
  EXPECT_THAT(header, HasSubstr("'shape': (3, 3)"));
  EXPECT_EQ(bytes.size(), kNpyHeaderBytes + 3 * 3 * sizeof(float));
}

TEST(IndexWriter, SaysWhetherAllRowsAreOfLengthOne) {
  const TempFolder folder;
  const auto writer = Opened(folder.path());
  const std::vector<float> unit = {0.6F, 0, 0.8F};
  ASSERT_TRUE(writer->Append(testing::ItemsOf(0, 1), unit).ok());
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_TRUE(writer->info().normalised);
  AppendFile(*writer, 1, 1);
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_FALSE(writer->info().normalised);
}

TEST(IndexWriter, RefusesOtherWeightsAndOtherWindows) {
  const TempFolder folder;
  IndexInfo windows = SmallInfo();
  windows.window_seconds = 2;
  windows.stride_seconds = 1;
  Opened(folder.path(), windows);

  IndexInfo other = windows;
  other.weights_sha256 = std::string(64, 'c');
  const absl::Status weights = OpenError(folder.path(), other);
  EXPECT_EQ(weights.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(weights.message()),
              ::testing::AllOf(HasSubstr("aaaaaaaaaaaa"), HasSubstr("cccccccccccc"),
                               HasSubstr("--rebuild")));

  other = windows;
  other.stride_seconds = 0.5;
  EXPECT_THAT(std::string(OpenError(folder.path(), other).message()),
              HasSubstr("made with windows of 2 s, stride 1 s, asked for are windows of 2 s, "
                        "stride 0.5 s"));
  // Not asked for: those that are there.
  EXPECT_EQ(Opened(folder.path())->info().stride_seconds, 1);
}

TEST(IndexWriter, RebuildsWithOtherWeightsAndADamagedIndex) {
  const TempFolder folder;
  Build(folder.path(), 3);
  IndexInfo other = SmallInfo();
  other.weights_sha256 = std::string(64, 'c');
  other.dim = 5;
  {
    const auto writer = Opened(folder.path(), other, {.rebuild = true});
    EXPECT_THAT(writer->files(), IsEmpty());
    AppendFile(*writer, 0, 2);
    ASSERT_TRUE(writer->Commit().ok());
  }
  EXPECT_THAT(WholeFiles(folder.path(), kCounts), ElementsAre(0));
  std::ofstream(folder / "index.json") << "{";
  EXPECT_EQ(OpenError(folder.path(), other).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Opened(folder.path(), other, {.rebuild = true})->files(), IsEmpty());
}

TEST(IndexWriter, IsTheOnlyOneAtWork) {
  const TempFolder folder;
  const auto writer = Opened(folder.path());
  EXPECT_THAT(std::string(OpenError(folder.path(), SmallInfo()).message()),
              HasSubstr("another scanline index is at work"));
}

TEST(IndexWriter, LeavesAFolderOfSomethingElseAlone) {
  const TempFolder folder;
  std::ofstream(folder / "embeddings.npy") << "mine";
  EXPECT_THAT(std::string(OpenError(folder.path(), SmallInfo()).message()),
              HasSubstr("name another folder"));
  const auto bytes = testing::ReadBytes(folder / "embeddings.npy");
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "mine");
}

// What stands behind the committed rows and lines may be anything: it is not part of the index.
TEST(IndexWriter, WhateverFollowsTheLastCommitIsIgnoredAndThenCut) {
  for (const size_t torn : {1U, 7U, 11U, 12U, 13U, 300U}) {
    const TempFolder folder;
    Build(folder.path(), 2);
    for (const char* name : {"embeddings.npy", "items.jsonl"}) {
      std::ofstream file(folder / name, std::ios::binary | std::ios::app);
      for (size_t i = 0; i < torn; ++i) file.put(static_cast<char>(i % 3 == 0 ? '\n' : 'x'));
    }
    EXPECT_THAT(WholeFiles(folder.path(), kCounts), ElementsAre(0, 1)) << torn;
    {
      const auto writer = Opened(folder.path());
      AppendFile(*writer, 3, 2);
      ASSERT_TRUE(writer->Commit().ok());
    }
    EXPECT_THAT(WholeFiles(folder.path(), kCounts), ElementsAre(0, 1, 3)) << torn;
  }
}

// Less than what was committed is no index, and is said, not read.
TEST(IndexWriter, SaysThatFilesAreCutShort) {
  for (const char* name : {"embeddings.npy", "items.jsonl"}) {
    const TempFolder folder;
    Build(folder.path(), 2);
    const auto size = std::filesystem::file_size(folder / name);
    for (const uint64_t left : {size - 1, uint64_t{5}, uint64_t{0}}) {
      std::filesystem::resize_file(folder / name, left);
      const absl::Status status = OpenError(folder.path(), SmallInfo());
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name << " " << left;
      EXPECT_THAT(std::string(status.message()), HasSubstr(name));
    }
  }
}

// A process is killed before each step of a build in turn. Each time the folder holds whole files,
// no fewer than before, and the next run completes it.
class KilledAtEachStep : public ::testing::Test {
 protected:
  // Runs `work` in a process of its own that dies before step `step`; false: it ended before.
  template <typename Work>
  static bool Kill(int step, const Work& work) {
    const pid_t pid = fork();
    if (pid == 0) {
      int steps = 0;
      work(IndexWriterOptions{.before_step = [&] {
        if (steps++ == step) kill(getpid(), SIGKILL);
      }});
      _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
  }
};

TEST_F(KilledAtEachStep, ABuildLeavesAnIndex) {
  int step = 0;
  size_t most = 0;
  for (bool killed = true; killed; ++step) {
    const TempFolder folder;
    const auto build = [&](const IndexWriterOptions& options) {
      auto writer = IndexWriter::Open(folder.path(), SmallInfo(), options);
      if (!writer.ok()) _exit(1);
      for (int file = 0; file < 4; ++file) {
        AppendFile(**writer, file, kCounts[size_t(file)]);
        if (file % 2 == 1 && !(*writer)->Commit().ok()) _exit(1);
      }
    };
    killed = Kill(step, build);
    if (IndexReader::Open(folder.path()).status().code() != absl::StatusCode::kNotFound) {
      const std::vector<int> there = WholeFiles(folder.path(), kCounts);
      EXPECT_THAT(there, ::testing::AnyOf(IsEmpty(), ElementsAre(0, 1), ElementsAre(0, 1, 2, 3)));
      EXPECT_GE(there.size(), most) << "at step " << step;
      most = there.size();
    } else {
      EXPECT_EQ(most, 0U) << "at step " << step;
    }
    const auto writer = Opened(folder.path());
    for (int file = static_cast<int>(writer->files().size()); file < 4; ++file) {
      AppendFile(*writer, file, kCounts[size_t(file)]);
    }
    ASSERT_TRUE(writer->Commit().ok());
    EXPECT_THAT(WholeFiles(folder.path(), kCounts), ElementsAre(0, 1, 2, 3)) << step;
  }
  EXPECT_EQ(most, 4U);
  EXPECT_GE(step, 12);
}

TEST_F(KilledAtEachStep, ARemovalIsDoneOrNotDone) {
  int step = 0;
  bool removed = false;
  for (bool killed = true; killed; ++step) {
    const TempFolder folder;
    Build(folder.path(), 5);
    killed = Kill(step, [&](const IndexWriterOptions& options) {
      auto writer = IndexWriter::Open(folder.path(), SmallInfo(), options);
      if (!writer.ok() || !(*writer)->Rewrite(Without((*writer)->files(), 1)).ok()) _exit(1);
    });
    const std::vector<int> there = WholeFiles(folder.path(), kCounts);
    EXPECT_EQ(there.size(), there == std::vector<int>({0, 2, 3, 4}) ? 4U : 5U) << step;
    EXPECT_FALSE(removed && there.size() == 5) << "at step " << step << " it is there again";
    removed = there.size() == 4;
    // The next writer finds the same, and goes on from it.
    const auto writer = Opened(folder.path());
    EXPECT_EQ(writer->files().size(), there.size());
    AppendFile(*writer, 5, 1);
    ASSERT_TRUE(writer->Commit().ok());
    EXPECT_EQ(WholeFiles(folder.path(), kCounts).size(), there.size() + 1) << step;
    EXPECT_FALSE(std::filesystem::exists(folder / "embeddings.npy.next"));
    EXPECT_FALSE(std::filesystem::exists(folder / "replace.json"));
  }
  EXPECT_TRUE(removed);
  EXPECT_GE(step, 8);
}

TEST_F(KilledAtEachStep, ARebuildIsBegunOrNotBegun) {
  for (int step = 0;; ++step) {
    const TempFolder folder;
    Build(folder.path(), 3);
    const bool killed = Kill(step, [&](IndexWriterOptions options) {
      options.rebuild = true;
      if (!IndexWriter::Open(folder.path(), SmallInfo(), options).ok()) _exit(1);
    });
    EXPECT_THAT(WholeFiles(folder.path(), kCounts),
                ::testing::AnyOf(ElementsAre(0, 1, 2), IsEmpty()));
    if (!killed) break;
  }
}

// Killed at any moment, not only between the steps that this file knows.
TEST(IndexWriter, KilledAtAnyMomentLeavesAnIndexThatGoesOn) {
  const TempFolder folder;
  size_t before = 0;
  int killed = 0;
  for (int round = 0; round < 30; ++round) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      auto writer = IndexWriter::Open(folder.path(), SmallInfo());
      if (!writer.ok()) _exit(1);
      static_cast<void>(!write(ready[1], "r", 1));
      for (int file = static_cast<int>((*writer)->files().size()); file < 3000; ++file) {
        AppendFile(**writer, file, 1);
        if (!(*writer)->Commit().ok()) _exit(1);
        if (file % 7 == 6) {
          auto files = (*writer)->files();
          files.back().stamp.mtime_ns = 7'000'000 + file;
          if (!(*writer)->Rewrite(files).ok()) _exit(1);
        }
      }
      _exit(0);
    }
    char byte = 0;
    close(ready[1]);
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    usleep(static_cast<useconds_t>(500 + round * 701));
    kill(pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    killed += WIFSIGNALED(status) ? 1 : 0;
    const auto reader = IndexReader::Open(folder.path());
    ASSERT_TRUE(reader.ok()) << reader.status();
    const auto there = WholeFiles(folder.path(), std::vector<int>(3000, 1));
    for (size_t i = 0; i < there.size(); ++i) ASSERT_EQ(there[i], static_cast<int>(i));
    ASSERT_GE(there.size(), before);
    before = there.size();
  }
  EXPECT_GT(killed, 20);
  EXPECT_GT(before, 0U);
}

}  // namespace
}  // namespace scanline
