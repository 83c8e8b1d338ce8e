// `scanline eval retrieval --rerank` on a model with fusion layers: one of the multimodal vectors,
// imported and served. What the verb ranks by are the server's own similarities and match logits.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scanline/v1/video_service.grpc.pb.h"
#include "tests/client/real_server.h"
#include "tests/model/multimodal.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace scanline::testing {
namespace {

const std::string kClips = SCANLINE_SOURCE_DIR "/assets/models/tagger24/clips/";
constexpr const char* kNames[] = {"m00_cut.mp4", "m00_flash.mp4", "m00_fade_in.mp4",
                                  "m00_shake.mp4", "m00_wipe.mp4"};

// The folder of the imported model.
std::string Import(const SafetensorsFile& vectors, const TempFolder& scratch) {
  std::vector<TensorToWrite> tensors;
  for (const auto& [key, tensor] : vectors.tensors) {
    std::string name = key;
    if (TakePrefix("model.", &name)) tensors.push_back({name, tensor.shape, Floats(tensor)});
  }
  const ModelConfig config = MultimodalConfig(vectors, MultimodalWeights(vectors));
  std::vector<std::string> words = {
      SCANLINE_BIN_DIR "/scanline",
      "import",
      scratch.Write("mm.safetensors", SafetensorsBytes(tensors)),
      "--vocab",
      scratch.Write("vocab.txt", absl::StrJoin(config.text_tower->vocab, "\n")),
      "--name",
      "mm",
      "-o",
      (scratch / "models"),
      "--pool",
      vectors.metadata.at("pool_type"),
      "--heads",
      absl::StrCat(config.text_tower->heads),
      "--max-text-length",
      absl::StrCat(config.text_tower->max_length)};
  if (!config.embed->keep_temporal) words.emplace_back("--no-keep-temporal");
  const ProcessResult import = RunProcess(words);
  EXPECT_EQ(import.exit_code, 0) << import.err;
  return (scratch / "models/mm");
}

v1::ClipResult Match(v1::VideoService::Stub& stub, const std::string& clip,
                     const std::vector<std::string>& texts) {
  v1::AnalyzeClipRequest request;
  request.mutable_spec()->set_model("models/mm");
  request.mutable_spec()->add_tasks(v1::TASK_MATCH_TEXT);
  request.mutable_spec()->mutable_match_text()->set_rerank(true);
  for (const std::string& text : texts) {
    request.mutable_spec()->mutable_match_text()->add_texts(text);
  }
  const std::vector<uint8_t> bytes = ReadBytes(kClips + clip);
  request.set_content(std::string(bytes.begin(), bytes.end()));
  grpc::ClientContext context;
  v1::AnalyzeClipResponse response;
  const grpc::Status status = stub.AnalyzeClip(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.result();
}

TEST(Rerank, RanksByTheServersOwnMatchLogits) {
  const TempFolder scratch;
  const SafetensorsFile vectors = ReadReference("mm_cls_avg_pooled");
  const RealServer server({"--model", Import(vectors, scratch)});
  ASSERT_TRUE(server.ready());

  // Captions of any of its words: what is right does not matter here.
  const std::vector<std::string> vocab =
      MultimodalConfig(vectors, MultimodalWeights(vectors)).text_tower->vocab;
  std::vector<std::string> texts;
  std::string manifest = "path,caption\n";
  for (size_t i = 0; i < std::size(kNames); ++i) {
    texts.push_back(absl::StrCat(vocab[vocab.size() - 1 - i], " ", TextOf(vectors, 0)));
    absl::StrAppend(&manifest, kClips, kNames[i], ",\"", texts.back(), "\"\n");
  }
  const ProcessResult eval =
      RunProcess({SCANLINE_BIN_DIR "/scanline", "eval", "retrieval", "--manifest",
                  scratch.Write("m.csv", manifest), "--model", "mm", "--server", server.host_port(),
                  "--rerank", "-o", (scratch / "out")});
  ASSERT_EQ(eval.exit_code, 0) << eval.err;
  const auto summary = nlohmann::json::parse(eval.out);

  const auto stub = v1::VideoService::NewStub(
      grpc::CreateChannel(server.host_port(), grpc::InsecureChannelCredentials()));
  std::vector<v1::ClipResult> results;
  for (const char* name : kNames) results.push_back(Match(*stub, name, texts));
  int first_by_similarity = 0, first_by_match = 0;  // clips whose own caption is the best
  for (size_t i = 0; i < results.size(); ++i) {
    bool similar = true, match = true;
    const auto& matches = results[i].text_matches();
    ASSERT_EQ(matches.size(), static_cast<int>(texts.size()));
    const v1::TextMatch& own = matches[static_cast<int>(i)];
    for (int t = 0; t < matches.size(); ++t) {
      if (t == static_cast<int>(i)) continue;
      similar = similar && own.similarity() > matches[t].similarity();
      match = match && own.match_logit() > matches[t].match_logit();
    }
    first_by_similarity += similar ? 1 : 0;
    first_by_match += match ? 1 : 0;
  }
  EXPECT_EQ(summary["video_to_text"]["recall_at_1"]["right"], first_by_similarity);
  EXPECT_EQ(summary["reranked"]["video_to_text"]["recall_at_1"]["right"], first_by_match);

  // And the kept logits are the same bits.
  std::map<std::string, size_t> clip_at;
  for (size_t i = 0; i < std::size(kNames); ++i) clip_at[kClips + kNames[i]] = i;
  std::ifstream lines((scratch / "out/predictions.ndjson"));
  int compared = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    if (!json.contains("rerank")) continue;
    const auto& matches = results.at(clip_at.at(json["input"])).text_matches();
    for (const auto& one : json["rerank"]) {
      const auto text = std::find(texts.begin(), texts.end(), one["text"].get<std::string>());
      ASSERT_NE(text, texts.end());
      EXPECT_EQ(one["match_logit"].get<float>(),
                matches[static_cast<int>(text - texts.begin())].match_logit());
      ++compared;
    }
  }
  EXPECT_EQ(compared, static_cast<int>(texts.size() * std::size(kNames)));
}

}  // namespace
}  // namespace scanline::testing
