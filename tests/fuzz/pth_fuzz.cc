#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/names.h"
#include "model/checkpoint/plan.h"
#include "tests/support/pth_writer.h"

namespace scanline {
namespace {

// Reads every tensor that a file of this size may hold, and plans an import of it.
void ReadAll(absl::Span<const uint8_t> bytes) {
  const auto checkpoint = Checkpoint::Open(bytes);
  if (!checkpoint.ok()) {
    SCANLINE_CHECK(!checkpoint.status().message().empty());
    return;
  }
  const std::vector<CheckpointTensor>& tensors = (*checkpoint)->tensors();
  for (size_t i = 0; i < tensors.size(); ++i) {
    SCANLINE_CHECK(tensors[i].size() <= static_cast<int64_t>(bytes.size()));
    std::vector<float> values(static_cast<size_t>(tensors[i].size()));
    (*checkpoint)->ReadFloats(i, values.data()).IgnoreError();
  }
  const auto names = NormaliseNames(tensors);
  if (!names.ok()) return;
  const bool classes = names->index.count("head.weight") != 0;
  WordLists lists;
  (classes ? lists.labels.labels : lists.vocab) = {"a", "b", "c", "d", "e", "f", "g"};
  if (classes) lists.labels.labels.resize(3);
  const auto plan =
      PlanImport(tensors, *names, lists, "",
                 {.architecture = {.multimodal = {.heads = 2}}, .drop_unexpected = true},
                 static_cast<int64_t>(bytes.size() / 2));
  if (!plan.ok()) return;
  int64_t values = 0;
  for (const PlannedTensor& planned : plan->tensors) {
    if (planned.from != PlannedTensor::From::kZeros) values += planned.size();
  }
  SCANLINE_CHECK(values <= static_cast<int64_t>(bytes.size() / 2));
}

}  // namespace
}  // namespace scanline

// A zip or safetensors file is taken as it is. Anything else is taken for the pickle of an archive
// that is put around it: a mutated one has a wrong CRC, and would not be looked into.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const bool pickle = size > 0 && data[0] == 0x80;
  if (!pickle) {
    scanline::ReadAll({data, size});
    return 0;
  }
  const std::string file = scanline::testing::PthOfPickle(
      {reinterpret_cast<const char*>(data), size}, {std::string(64, 1), std::string(4096, 1)});
  scanline::ReadAll({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
  return 0;
}
