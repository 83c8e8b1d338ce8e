// The models of the multimodal vectors, from foreign files through the importer, the loader and the
// predictor: what comes out is what the official code computed.
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "model/bundle.h"
#include "model/checkpoint/import.h"
#include "model/match.h"
#include "model/predictor.h"
#include "tests/model/multimodal.h"
#include "tests/support/pth_writer.h"

namespace scanline::testing {
namespace {

constexpr double kTolerance = 2e-5;  // mm_*: tests/data/reference/README.md

// A way in which the same model may stand in a file.
struct Form {
  const char* name;
  const char* ending;
  const char* prefix;  // in front of every name
  bool mlm;            // with BERT's head of masked words, and `bert.` in its names
};

void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }

constexpr Form kForms[] = {{"pth", "pth", "", true},
                           {"pth_ddp", "pth", "module.", true},
                           {"pth_no_mlm", "pth", "", false},
                           {"safetensors", "safetensors", "", true},
                           {"safetensors_no_mlm", "safetensors", "model.", false}};

std::string FileOf(const SafetensorsFile& vectors, const Form& form) {
  std::vector<TensorToWrite> tensors;
  std::vector<FloatTensor> state;
  for (const auto& [key, tensor] : vectors.tensors) {
    std::string name = key;
    if (!TakePrefix("model.", &name)) continue;
    if (!form.mlm && name.rfind("text_encoder.cls.", 0) == 0) continue;
    if (!form.mlm) name = absl::StrReplaceAll(name, {{"text_encoder.bert.", "text_encoder."}});
    name = form.prefix + name;
    tensors.push_back({name, tensor.shape, Floats(tensor)});
    state.push_back({name, tensor.shape, Floats(tensor)});
  }
  return form.ending == std::string("pth") ? PthBytes(state) : SafetensorsBytes(tensors);
}

class ImportedMultimodal : public ::testing::TestWithParam<std::tuple<std::string, Form>> {};

TEST_P(ImportedMultimodal, GivesTheNumbersOfItsVectors) {
  const auto& [vector, form] = GetParam();
  const SafetensorsFile file = ReadReference(vector);
  const ModelConfig wanted = MultimodalConfig(file, MultimodalWeights(file));
  TempFolder folder;
  folder.Write(std::string("weights.") + form.ending, FileOf(file, form));
  folder.Write("vocab.txt", absl::StrJoin(wanted.text_tower->vocab, "\n"));
  ImportOptions options;
  options.file = folder.path() + "/weights." + form.ending;
  options.vocab = folder.path() + "/vocab.txt";
  options.name = "mm";
  options.output = folder.path();
  options.plan.architecture.multimodal = {.pool = file.metadata.at("pool_type"),
                                          .keep_temporal = wanted.embed->keep_temporal,
                                          .heads = wanted.text_tower->heads,
                                          .max_text_length = wanted.text_tower->max_length};
  const auto report = ImportCheckpoint(options);
  ASSERT_TRUE(report.ok()) << report.status();

  const auto bundle = ModelBundle::Load(report->folder);
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  auto predictor = Predictor::Create(*bundle, {});
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  std::vector<std::string> texts;
  for (size_t t = 0; t < static_cast<size_t>(file.at("input_ids").shape[0]); ++t) {
    texts.push_back(TextOf(file, t));
  }
  const Cancel cancel;
  std::vector<float> similarities;
  std::vector<float> match_logits;
  for (size_t i = 0; i < static_cast<size_t>(file.at("video_btchw").shape[0]); ++i) {
    const Clip clip = ClipOf(file, i, wanted.backbone.frames);
    const PredictItem item{.clip = &clip,
                           .cancel = &cancel,
                           .tasks = {.classify = false, .match = true, .rerank = true},
                           .texts = &texts};
    const auto results = (*predictor)->Predict({&item, 1});
    ASSERT_TRUE(results[0].ok()) << results[0].status();
    for (const TextMatch& match : Match(clip, *results[0], (*bundle)->temperature()).clip) {
      similarities.push_back(match.similarity);
      match_logits.push_back(match.match_logit);
    }
  }
  EXPECT_LE(RelMax(similarities, Floats(file.at("sim_v2t"))), kTolerance);
  EXPECT_LE(RelMax(match_logits, MatchLogits(file)), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Vectors, ImportedMultimodal,
                         ::testing::Combine(::testing::ValuesIn(ReferenceNames({"mm_"})),
                                            ::testing::ValuesIn(kForms)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace scanline::testing
