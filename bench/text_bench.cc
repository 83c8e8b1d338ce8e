// scanline-text-bench: seconds that TextEncoder takes for captions with a text tower of BERT-base's
// width and made-up weights, as one JSON line in the form of bench/text.py.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cancel.h"
#include "base/team.h"
#include "model/tensor_ops.h"
#include "model/text/caption_cleanup.h"
#include "model/text/text_encoder.h"
#include "model/text/word_piece.h"
#include "model/text_list.h"
#include "tests/support/generator.h"

namespace scanline {
namespace {

constexpr int kDim = 768;
constexpr int kWide = 3072;
constexpr int kJoint = 512;
constexpr int kPositions = 512;
constexpr int kMaxLength = 32;
constexpr uint64_t kSeed = 1;

absl::StatusOr<std::vector<std::string>> ReadLines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError("cannot read " + path);
  return ParseTextList(std::string(std::istreambuf_iterator<char>(file), {}), path);
}

// Values by the generator of tests/data/reference/README.md, so that a peer can make the same.
Weights MakeWeights(int vocab, int depth) {
  Weights weights;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    weights.Add(name, shape, testing::Generate(name, shape, kSeed));
  };
  const auto linear = [&](const std::string& name, int rows, int columns) {
    add(name + ".weight", {rows, columns});
    add(name + ".bias", {rows});
  };
  const auto norm = [&](const std::string& name) {
    add(name + ".weight", {kDim});
    add(name + ".bias", {kDim});
  };
  const std::string embeddings = "text_encoder.embeddings.";
  add(embeddings + "word_embeddings.weight", {vocab, kDim});
  add(embeddings + "position_embeddings.weight", {kPositions, kDim});
  add(embeddings + "token_type_embeddings.weight", {2, kDim});
  norm(embeddings + "LayerNorm");
  for (int i = 0; i < depth; ++i) {
    const std::string layer = absl::StrCat("text_encoder.encoder.layer.", i, ".");
    for (const char* map : {"query", "key", "value"}) {
      linear(layer + "attention.self." + map, kDim, kDim);
    }
    linear(layer + "attention.output.dense", kDim, kDim);
    norm(layer + "attention.output.LayerNorm");
    linear(layer + "intermediate.dense", kWide, kDim);
    linear(layer + "output.dense", kDim, kWide);
    norm(layer + "output.LayerNorm");
  }
  linear("text_proj", kJoint, kDim);
  return weights;
}

struct Measured {
  double seconds = 0;  // for all texts, each batch's best run
  std::vector<EncodedText> encoded;
};

absl::StatusOr<Measured> Measure(TextEncoder& encoder, absl::Span<const std::string> texts,
                                 size_t batch, int runs) {
  Measured measured;
  for (size_t begin = 0; begin < texts.size(); begin += batch) {
    double best = 0;
    for (int run = 0; run < runs; ++run) {
      const auto start = std::chrono::steady_clock::now();
      auto encoded = encoder.Encode(texts.subspan(begin, batch), false, Cancel());
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      if (!encoded.ok()) return encoded.status();
      if (run == 0 || took.count() < best) best = took.count();
      if (run != 0) continue;
      for (EncodedText& text : *encoded) measured.encoded.push_back(std::move(text));
    }
    measured.seconds += best;
  }
  return measured;
}

absl::Status Run(const std::string& vocab_path, const std::string& texts_path, int depth,
                 int threads, const std::vector<size_t>& batches, int runs,
                 const std::string& kernel) {
  auto vocab = ReadLines(vocab_path);
  if (!vocab.ok()) return vocab.status();
  const auto texts = ReadLines(texts_path);
  if (!texts.ok()) return texts.status();
  const Kernels* kernels = kernel == "auto" ? &BestKernels() : FindKernels(kernel);
  if (kernels == nullptr) return absl::InvalidArgumentError("no kernel " + kernel);
  const Weights weights = MakeWeights(static_cast<int>(vocab->size()), depth);
  ModelConfig config;
  config.embed = EmbedConfig{.dim = kJoint};
  config.text_tower = TextTowerConfig{.type = TextTowerType::kBert,
                                      .vocab = *std::move(vocab),
                                      .dim = kDim,
                                      .depth = depth,
                                      .heads = 12,
                                      .intermediate = kWide,
                                      .max_positions = kPositions,
                                      .max_length = kMaxLength};
  auto encoder = TextEncoder::Create(config, weights, *kernels);
  if (!encoder.ok()) return encoder.status();
  UseThreads(1);
  Team team(threads);
  UseTeam(&team);
  nlohmann::ordered_json line = {{"kernel", kernels->name}};
  const auto pieces = WordPiece::Create(config.text_tower->vocab, {.max_length = kMaxLength});
  if (!pieces.ok()) return pieces.status();
  for (const std::string& text : *texts) {
    const auto codes = DecodeUtf8(text);
    if (!codes.ok()) return codes.status();
    line["ids"].push_back(pieces->Tokenize(CleanUpCaption(*codes)).ids);
  }
  std::vector<std::vector<float>> first;
  for (const size_t batch : batches) {
    const auto measured = Measure(**encoder, *texts, batch, runs);
    if (!measured.ok()) return measured.status();
    std::vector<std::vector<float>> embeddings;
    for (const EncodedText& text : measured->encoded) {
      embeddings.push_back(text.embedding.values);
    }
    line["seconds"][std::to_string(batch)] = measured->seconds;
    if (first.empty()) first = embeddings;
    if (embeddings != first) return absl::InternalError("a text's bits depend on its batch");
  }
  line["embeddings"] = first;
  std::cout << line.dump() << "\n";
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  std::string vocab;
  std::string texts;
  std::string kernel = "auto";
  int depth = 9;
  int threads = 2;
  int runs = 5;
  std::vector<size_t> batches = {1, 16};
  CLI::App app("Seconds that TextEncoder takes for the lines of TEXTS, as a JSON line");
  app.add_option("VOCAB", vocab)->required();
  app.add_option("TEXTS", texts)->required();
  app.add_option("--depth", depth, "layers [9]")->check(CLI::PositiveNumber);
  app.add_option("--threads", threads, "[2]")->check(CLI::PositiveNumber);
  app.add_option("--batch", batches, "texts at once [1 16]")->check(CLI::PositiveNumber);
  app.add_option("--runs", runs, "of each batch; the best counts [5]")->check(CLI::PositiveNumber);
  app.add_option("--kernel", kernel, "[auto]");
  CLI11_PARSE(app, argc, argv);
  const absl::Status done = Run(vocab, texts, depth, threads, batches, runs, kernel);
  if (!done.ok()) std::cerr << done.message() << "\n";
  return done.ok() ? 0 : 1;
}

}  // namespace
}  // namespace scanline

int main(int argc, char** argv) { return scanline::Main(argc, argv); }
