#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "server/decode_request.h"
#include "server/pipeline.h"
#include "tests/server/doubles.h"

// The pipeline with the real decoder, which ThreadSanitizer watches too.

namespace scanline {
namespace {

using testing::Answer;
using testing::MakeModel;
using testing::MakeRequest;

std::vector<std::string> ReadClips(size_t most) {
  const char* const elsewhere = std::getenv("SCANLINE_MODEL_CLIPS_DIR");
  const std::filesystem::path folder =
      elsewhere != nullptr ? elsewhere : SCANLINE_SOURCE_DIR "/assets/models/tagger24/clips";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".mp4") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  files.resize(std::min(files.size(), most));
  std::vector<std::string> clips;
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    clips.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return clips;
}

TEST(PipelineClips, ClipsDecodedSideBySideGiveWhatTheyGiveAlone) {
  const std::vector<std::string> clips = ReadClips(8);
  ASSERT_GT(clips.size(), 1);
  auto model = std::make_shared<ServedModel>(*MakeModel("m"));
  model->config.frame_spec.sampling.frames = 16;
  model->config.frame_spec.size = 32;
  Metrics metrics;
  Pipeline pipeline(
      {.decode_threads = 3, .workers = 2}, ModelTable({model}),
      [](const Request& request) { return DecodeRequest(request, {}); }, &metrics);
  ASSERT_TRUE(pipeline.WaitReady().ok());
  const auto submit = [&](const std::string& clip, Answer& answer) {
    Request request = MakeRequest(model, clip);
    request.frame_spec = model->config.frame_spec;
    pipeline.Submit(std::move(request), absl::Now(), answer.done());
  };

  std::vector<float> alone;
  for (const std::string& clip : clips) {
    Answer answer;
    submit(clip, answer);
    ASSERT_TRUE(answer.Wait().ok()) << answer.Wait().status();
    alone.push_back(answer.Wait()->prediction.logits[0][0]);
    EXPECT_GT(alone.back(), 0);
  }
  std::vector<Answer> answers(clips.size() * 3);
  for (size_t i = 0; i < answers.size(); ++i) submit(clips[i % clips.size()], answers[i]);
  for (size_t i = 0; i < answers.size(); ++i) {
    ASSERT_TRUE(answers[i].Wait().ok()) << answers[i].Wait().status();
    EXPECT_EQ(answers[i].Wait()->prediction.logits[0][0], alone[i % clips.size()]) << i;
  }
}

}  // namespace
}  // namespace scanline
