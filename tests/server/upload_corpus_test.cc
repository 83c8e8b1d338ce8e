// Every clip of the corpus by UploadClip gets what AnalyzeClip gives it, and so does every clip
// while others are sent beside it. SCANLINE_CLIPS_DIR may name another corpus of the same form.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "server/decode_request.h"
#include "server/load_models.h"
#include "tests/server/running_server.h"
#include "tests/support/corpus.h"

namespace scanline {
namespace {

using testing::CorpusClip;
using testing::Outcome;
using testing::Running;

Running StartServer(Settings settings = testing::TestSettings()) {
  settings.decode_threads = 2;
  auto model = LoadModel(SCANLINE_SOURCE_DIR "/assets/models/tagger24", settings);
  EXPECT_TRUE(model.ok()) << model.status();
  return Running(settings, {*std::move(model)}, [settings](const Request& request) {
    return DecodeRequest(request, DecodeLimitsOf(settings));
  });
}

// What must be the same however a clip comes: all of the answer but how long it took and with whom.
std::string Essence(const Outcome& outcome) {
  if (!outcome.status.ok()) {
    return absl::StrCat(outcome.status.error_code(), " ", testing::ReasonIn(outcome.status));
  }
  v1::ClipResult result = outcome.result;
  result.clear_timing();
  result.mutable_usage()->clear_frames_decoded();  // a forecast may have decoded more
  result.mutable_usage()->clear_batch_size();
  result.mutable_usage()->clear_batch_tokens();
  return result.SerializeAsString();
}

std::string Content(const CorpusClip& clip) {
  const std::vector<uint8_t> bytes = clip.bytes();
  return {bytes.begin(), bytes.end()};
}

testing::UploadPlan Plan(size_t chunk_bytes, bool partial, uint64_t declared) {
  testing::UploadPlan plan = testing::ClassifyUpload(chunk_bytes);
  plan.start.mutable_spec()->mutable_classify()->set_include_logits(true);
  plan.start.mutable_spec()->mutable_classify()->set_top_k(1000);
  plan.start.mutable_spec()->set_allow_partial(partial);
  plan.start.set_content_bytes(declared);
  return plan;
}

std::string Alone(testing::Connection& server, const std::string& content, bool partial = false) {
  v1::AnalyzeClipRequest request;
  *request.mutable_spec() = Plan(1, partial, 0).start.spec();
  request.set_content(content);
  return Essence(testing::Call(server, request));
}

constexpr size_t kInlineBytes = 16 << 20;

TEST(UploadCorpus, GivesTheBitsAndTheErrorsOfOneMessage) {
  Running server = StartServer();
  int answers = 0, errors = 0;
  for (const CorpusClip& clip : testing::ReadCorpus()) {
    SCOPED_TRACE(clip.file);
    const std::string content = Content(clip);
    if (content.size() > kInlineBytes) continue;
    const std::string expected = Alone(server, content);
    ++(absl::StrContains(expected, "models/") ? answers : errors);
    for (const uint64_t declared : {uint64_t{0}, uint64_t{content.size()}}) {
      EXPECT_EQ(Essence(testing::Upload(server, content, Plan(64 << 10, false, declared))),
                expected)
          << "declared " << declared;
    }
  }
  std::printf("%d answers, %d errors\n", answers, errors);
  EXPECT_GT(answers, 0);
}

TEST(UploadCorpus, DoesNotDependOnTheChunks) {
  Running server = StartServer();
  int checked = 0;
  for (const CorpusClip& clip : testing::ReadCorpus()) {
    SCOPED_TRACE(clip.file);
    const std::string content = Content(clip);
    const std::map<size_t, size_t> most = {{1, 4'000}, {7, 20'000}};
    for (const auto& [chunk, most_bytes] : most) {
      if (content.size() > most_bytes) continue;
      EXPECT_EQ(Essence(testing::Upload(server, content, Plan(chunk, false, content.size()))),
                Alone(server, content))
          << "chunks of " << chunk;
      ++checked;
    }
  }
  std::printf("%d uploads in small chunks\n", checked);
  EXPECT_GT(checked, 0);
}

TEST(UploadCorpus, AllowPartialGivesTheSameGoodFramesAndWarnings) {
  Running server = StartServer();
  int warned = 0;
  for (const CorpusClip& clip : testing::ReadCorpus()) {
    if (clip.expect != "partial") continue;
    SCOPED_TRACE(clip.file);
    const std::string content = Content(clip);
    const Outcome outcome = testing::Upload(server, content, Plan(64 << 10, true, content.size()));
    EXPECT_EQ(Essence(outcome), Alone(server, content, true));
    warned += outcome.result.warnings_size() > 0;
  }
  EXPECT_GT(warned, 0);
}

// Spilled from the first byte on: the decoder reads the file.
TEST(UploadCorpus, GivesTheSameFromTheTemporaryFile) {
  Settings settings = testing::TestSettings();
  settings.upload_memory_mib = 0;
  Running server = StartServer(settings);
  int checked = 0;
  for (const CorpusClip& clip : testing::ReadCorpus()) {
    const std::string content = Content(clip);
    if (content.empty() || content.size() > kInlineBytes) continue;
    SCOPED_TRACE(clip.file);
    EXPECT_EQ(Essence(testing::Upload(server, content, Plan(64 << 10, false, 0))),
              Alone(server, content));
    ++checked;
  }
  std::printf("%d clips from the file\n", checked);
  EXPECT_GT(checked, 0);
}

// Hostile and good clips mixed, from eight connections at once, by both calls.
TEST(UploadCorpus, EightConnectionsAtOnceGetWhatEachClipGetsAlone) {
  constexpr int kConnections = 8;
  struct Sent {
    std::string file, content, expected;
  };
  Running server = StartServer();
  std::vector<Sent> clips;
  for (const CorpusClip& clip : testing::ReadCorpus()) {
    std::string content = Content(clip);
    if (content.size() > kInlineBytes) continue;
    std::string expected = Alone(server, content);
    clips.push_back({clip.file, std::move(content), std::move(expected)});
  }
  ASSERT_FALSE(clips.empty());
  std::atomic<int> answers = 0, errors = 0;
  std::vector<std::thread> threads;
  for (int connection = 0; connection < kConnections; ++connection) {
    threads.emplace_back([&, connection] {
      testing::Connection peer(server.app->grpc_port());
      std::vector<size_t> order(clips.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), std::mt19937(connection));
      // Each connection sends a quarter of the corpus: twice all of it in sum.
      order.resize((order.size() + 3) / 4 + 1);
      for (size_t i = static_cast<size_t>(connection) % 4; i < clips.size(); i += 4) {
        order.push_back(i);
      }
      for (const size_t i : order) {
        const Sent& clip = clips[i];
        const std::string got =
            i % 2 == 0 ? Alone(peer, clip.content)
                       : Essence(testing::Upload(peer, clip.content,
                                                 Plan(64 << 10, false, clip.content.size())));
        EXPECT_EQ(got, clip.expected) << clip.file << " on connection " << connection;
        ++(absl::StrContains(got, "models/") ? answers : errors);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%d answers and %d errors from %d connections\n", answers.load(), errors.load(),
              kConnections);
  EXPECT_GT(answers, 0);
}

}  // namespace
}  // namespace scanline
