// A foreign checkpoint of real size, from `scanline import` through scanline-server to an answer:
// weights by the generator of tests/data/reference/README.md, logits by the official code.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/config.h"
#include "scanline/v1/video_service.grpc.pb.h"
#include "tests/client/real_server.h"
#include "tests/model/bundle_folder.h"
#include "tests/model/generator.h"
#include "tests/model/reference.h"
#include "tests/support/process.h"
#include "tests/support/pth_writer.h"

namespace scanline::testing {
namespace {

// The weights of the vectors' model as torch.save leaves them after training on several GPUs.
std::string Checkpoint(const ModelConfig& config, uint64_t seed) {
  std::vector<FloatTensor> state;
  const Weights weights = GenerateWeights(config, seed);
  for (const auto& [name, tensor] : weights.tensors()) {
    state.push_back(
        {"module." + name, tensor.shape, {tensor.data.get(), tensor.data.get() + tensor.size()}});
  }
  return PthBytes(state);
}

ModelConfig ConfigOf(const SafetensorsFile& vectors) {
  ModelConfig config;
  config.backbone.frames = std::stoi(vectors.metadata.at("num_frames"));
  config.classify.labels.resize(std::stoi(vectors.metadata.at("num_classes")));
  return config;  // Sizes of Tiny at 224 pixels are the defaults.
}

// Of a normalised video, [3, frames, size, size].
std::vector<float> ServedLogits(const std::string& host_port, const std::vector<float>& video,
                                const BackboneConfig& backbone, size_t classes) {
  grpc::ChannelArguments arguments;
  const auto channel =
      grpc::CreateCustomChannel(host_port, grpc::InsecureChannelCredentials(), arguments);
  const auto stub = v1::VideoService::NewStub(channel);
  v1::AnalyzeClipRequest request;
  request.mutable_spec()->set_model("models/tiny");
  request.mutable_spec()->add_tasks(v1::TASK_CLASSIFY);
  request.mutable_spec()->mutable_classify()->set_top_k(static_cast<uint32_t>(classes));
  request.mutable_spec()->mutable_classify()->set_include_logits(true);
  v1::ClipTensor& tensor = *request.mutable_tensor();
  tensor.set_frames(static_cast<uint32_t>(backbone.frames));
  tensor.set_width(static_cast<uint32_t>(backbone.size));
  tensor.set_height(static_cast<uint32_t>(backbone.size));
  tensor.set_values(video.data(), video.size() * sizeof(float));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(40));
  v1::AnalyzeClipResponse response;
  const grpc::Status status = stub->AnalyzeClip(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  std::vector<float> logits(classes, NAN);
  for (const v1::ClassScore& one : response.result().classes()) {
    logits.at(one.class_index()) = one.logit();
  }
  return logits;
}

TEST(ImportedModel, IsServedWithTheLogitsOfItsVectors) {
  const SafetensorsFile vectors = ReadReference("real_videomamba_tiny_f8");
  const uint64_t seed = std::stoull(vectors.metadata.at("gseed"), nullptr, 16);
  const ModelConfig made = ConfigOf(vectors);
  TempFolder folder;
  folder.Write("tiny.pth", Checkpoint(made, seed));
  const ProcessResult import =
      RunProcess({SCANLINE_BIN_DIR "/scanline", "import", folder.path() + "/tiny.pth", "--labels",
                  "kinetics400", "--name", "tiny", "-o", folder.path() + "/models",
                  "--temporal-views", "1", "--spatial-views", "1"});
  ASSERT_EQ(import.exit_code, 0) << import.err;
  EXPECT_EQ(import.out, folder.path() + "/models/tiny\n");
  EXPECT_NE(import.err.find("VideoMamba-Tiny: 24 layers of width 192"), std::string::npos)
      << import.err;

  const BackboneConfig& backbone = made.backbone;
  std::vector<float> video =
      Generate("input", {1, 3, backbone.frames, backbone.size, backbone.size}, seed);
  const std::vector<float> official = Floats(vectors.at("logits"));
  RealServer server({"--model", folder.path() + "/models/tiny"});
  ASSERT_TRUE(server.ready());
  EXPECT_LE(RelMax(ServedLogits(server.host_port(), video, backbone, official.size()), official),
            5e-5);
  // That this is close: the same with red and blue swapped.
  const auto plane = static_cast<std::ptrdiff_t>(video.size() / 3);
  std::swap_ranges(video.begin(), video.begin() + plane, video.begin() + 2 * plane);
  EXPECT_GE(RelMax(ServedLogits(server.host_port(), video, backbone, official.size()), official),
            0.4);
  EXPECT_EQ(server.Stop().exit_code, 0);
}

}  // namespace
}  // namespace scanline::testing
