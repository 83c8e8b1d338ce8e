// The bytes of an upload between its writer and its reader. ThreadSanitizer watches this one too.

#include "server/upload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "server/task_thread.h"

namespace scanline {
namespace {

class UploadTest : public ::testing::Test {
 protected:
  UploadBudget& Budget(UploadLimits limits, AdmissionLimits admission = {}) {
    limits.spill_folder = ::testing::TempDir();
    admission_ = std::make_unique<Admission>(admission);
    budget_ = std::make_unique<UploadBudget>(limits, admission_.get());
    return *budget_;
  }

  static std::string Pattern(size_t bytes) {
    std::string text(bytes, '\0');
    for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 31 + i / 251);
    return text;
  }

  // All of it, in reads of odd sizes.
  static std::string ReadAll(Upload& upload) {
    std::string all;
    std::vector<uint8_t> piece(10'007);
    while (true) {
      const auto count = upload.Read(static_cast<int64_t>(all.size()), piece.data(),
                                     static_cast<int64_t>(piece.size()));
      if (!count.ok()) return std::string(count.status().message());
      if (*count == 0) return all;
      all.append(reinterpret_cast<const char*>(piece.data()), static_cast<size_t>(*count));
    }
  }

  std::unique_ptr<Admission> admission_;
  std::unique_ptr<UploadBudget> budget_;
};

TEST_F(UploadTest, AReaderBesideTheWriterSeesEveryByteFromMemoryAndFromTheFile) {
  const std::string content = Pattern(3'000'000);
  for (const int64_t memory : {int64_t{0}, int64_t{1} << 20, int64_t{32} << 20}) {
    UploadBudget& budget = Budget({.memory_bytes = memory});
    Digest digest;
    digest.Add(content);
    Upload upload({static_cast<int64_t>(content.size()), digest.Finish()}, Cancel(), &budget);
    std::string read;
    std::thread reader([&] { read = ReadAll(upload); });
    for (size_t at = 0; at < content.size(); at += 70'001) {
      ASSERT_TRUE(upload.Append(absl::string_view(content).substr(at, 70'001)).ok());
    }
    EXPECT_TRUE(upload.End().ok());
    reader.join();
    EXPECT_TRUE(read == content) << "memory " << memory;
    EXPECT_EQ(upload.spilled(), memory < (4 << 20));
    EXPECT_TRUE(upload.AwaitVerdict().ok());
  }
}

TEST_F(UploadTest, TheSizeIsKnownAtOnceWhereItWasClaimedAndElseAtTheEnd) {
  UploadBudget& budget = Budget({});
  Upload claimed({10, ""}, Cancel(), &budget);
  EXPECT_EQ(*claimed.Size(), 10);
  EXPECT_TRUE(*claimed.Reaches(10));
  EXPECT_FALSE(*claimed.Reaches(11));
  Upload open({}, Cancel(), &budget);
  ASSERT_TRUE(open.Append("abc").ok());
  EXPECT_TRUE(*open.Reaches(3));
  ASSERT_TRUE(open.End().ok());
  EXPECT_EQ(*open.Size(), 3);
  EXPECT_FALSE(*open.Reaches(4));
}

TEST_F(UploadTest, AWaitingReaderIsWokenByFailureCancellationAndDeadline) {
  UploadBudget& budget = Budget({});
  const auto reason_after = [&](const Cancel& cancel, const std::function<void(Upload&)>& act) {
    Upload upload({}, cancel, &budget);
    std::thread other([&] { act(upload); });
    uint8_t byte;
    const absl::Status status = upload.Read(0, &byte, 1).status();
    other.join();
    return ReasonOf(status);
  };
  EXPECT_EQ(
      reason_after(Cancel(),
                   [](Upload& upload) { upload.Fail(MakeError(Reason::kStreamIdle, "idle")); }),
      Reason::kStreamIdle);
  const Cancel cancel;
  EXPECT_EQ(reason_after(cancel,
                         [&](Upload& upload) {
                           cancel.RequestCancel();
                           upload.Wake();
                         }),
            Reason::kCancelled);
  EXPECT_EQ(reason_after(Cancel(absl::Now() + absl::Milliseconds(50)), [](Upload&) {}),
            Reason::kExpiredInDecode);
}

TEST_F(UploadTest, EndingFreesWhatWasKeptAtOnce) {
  for (const bool discard : {true, false}) {
    for (const int64_t memory : {int64_t{0}, int64_t{32} << 20}) {
      UploadBudget& budget = Budget({.memory_bytes = memory});
      Upload upload({}, Cancel(), &budget);
      ASSERT_TRUE(upload.Append(Pattern(1'000'000)).ok());
      const auto before = budget.figures();
      EXPECT_GE(before.memory_bytes + before.file_bytes, 1'000'000);
      if (discard) {
        upload.Discard();
        EXPECT_TRUE(upload.Append("more").ok());  // counted, not kept
        EXPECT_EQ(upload.received(), 1'000'004);
      } else {
        upload.Fail(MakeError(Reason::kStreamIdle, "idle"));
      }
      EXPECT_EQ(budget.figures().memory_bytes, 0);
      EXPECT_EQ(budget.figures().file_bytes, 0);
      EXPECT_EQ(admission_->figures().bytes, 0);
    }
  }
}

TEST_F(UploadTest, MemoryIsThatOfAdmission) {
  UploadBudget& budget = Budget({}, {.max_bytes = 600'000});
  Upload upload({}, Cancel(), &budget);
  ASSERT_TRUE(upload.Append(Pattern(500'000)).ok());
  EXPECT_GE(admission_->figures().bytes, 500'000);
  EXPECT_FALSE(upload.spilled());
  ASSERT_TRUE(upload.Append(Pattern(500'000)).ok());
  EXPECT_TRUE(upload.spilled());
  EXPECT_EQ(admission_->figures().bytes, 0);
}

TEST_F(UploadTest, AFolderThatCannotHoldTheFileIsNoRoomAndIsNotNamed) {
  UploadLimits limits = {.memory_bytes = 0, .spill_folder = "/no/such/folder"};
  Admission admission(AdmissionLimits{});
  UploadBudget budget(limits, &admission);
  Upload upload({}, Cancel(), &budget);
  const absl::Status status = upload.Append("abc");
  EXPECT_EQ(ReasonOf(status), Reason::kUploadStorage);
  EXPECT_THAT(std::string(status.message()),
              ::testing::Not(::testing::HasSubstr("/no/such/folder")));
}

TEST(CheckSpillFolder, NamesAFolderThatCannotBeUsed) {
  EXPECT_TRUE(CheckSpillFolder(::testing::TempDir()).ok());
  EXPECT_THAT(std::string(CheckSpillFolder("/no/such/folder").message()),
              ::testing::HasSubstr("/no/such/folder: No such file"));
}

TEST_F(UploadTest, BeyondTheTotalOnlyTheOldestGoesOnAndTheRestHearOfRoom) {
  UploadBudget& budget = Budget({.total_bytes = 1'000'000});
  auto oldest = std::make_unique<Upload>(UploadClaim{}, Cancel(), &budget);
  Upload younger({}, Cancel(), &budget);
  int told = 0;
  EXPECT_TRUE(younger.MayReceive([&] { ++told; }));
  ASSERT_TRUE(oldest->Append(Pattern(1'500'000)).ok());
  EXPECT_TRUE(oldest->MayReceive(nullptr));
  EXPECT_FALSE(younger.MayReceive([&] { ++told; }));
  EXPECT_EQ(told, 0);
  oldest.reset();
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(younger.MayReceive(nullptr));
}

TEST(TaskThread, RunsTasksInOrderAndTimedOnesInTime) {
  std::vector<int> order;
  absl::Time late;
  const absl::Time begin = absl::Now();
  {
    Mutex mu;
    CondVar done;
    bool all = false;
    TaskThread thread;
    thread.PostAt(begin + absl::Milliseconds(30), [&] {
      late = absl::Now();
      MutexLock lock(mu);
      order.push_back(9);
      all = true;
      done.notify_one();
    });
    for (int i = 0; i < 3; ++i) {
      thread.Post([&, i] {
        MutexLock lock(mu);
        order.push_back(i);
      });
    }
    MutexLock lock(mu);
    done.wait(lock.native(), [&] { return all; });
  }
  EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2, 9));
  EXPECT_GE(late - begin, absl::Milliseconds(30));
}

}  // namespace
}  // namespace scanline
