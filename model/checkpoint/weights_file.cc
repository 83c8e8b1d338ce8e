#include "model/checkpoint/weights_file.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "model/checkpoint/file_writer.h"
#include "model/checkpoint/names.h"
#include "model/checkpoint/sha256.h"
#include "nlohmann/json.hpp"

namespace scanline {
namespace {

using From = PlannedTensor::From;

// Length of the header as eight bytes, then the header, padded so that the data is aligned.
std::vector<uint8_t> Header(const ImportPlan& plan) {
  nlohmann::ordered_json header;
  int64_t at = 0;
  for (const PlannedTensor& tensor : plan.tensors) {
    const int64_t end = at + tensor.size() * static_cast<int64_t>(sizeof(float));
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<uint8_t>(text.size() >> (8 * i)));
  bytes.insert(bytes.end(), text.begin(), text.end());
  return bytes;
}

// Patch weights [dim, 3, h, w] as the middle slice of [dim, 3, t, h, w].
std::vector<float> Inflate(const std::vector<float>& flat, const std::vector<int64_t>& shape) {
  const int64_t slices = shape[2];
  const int64_t area = shape[3] * shape[4];
  std::vector<float> out(flat.size() * static_cast<size_t>(slices), 0.0f);
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i) {
    std::copy_n(flat.data() + i * area, area, out.data() + (i * slices + slices / 2) * area);
  }
  return out;
}

absl::StatusOr<std::vector<float>> Values(const Checkpoint& checkpoint,
                                          const PlannedTensor& planned) {
  std::vector<float> values;
  if (planned.from == From::kZeros) {
    values.resize(static_cast<size_t>(planned.size()), 0.0f);
    return values;
  }
  const CheckpointTensor& source = checkpoint.tensors()[planned.source];
  values.resize(static_cast<size_t>(source.size()));
  SCANLINE_RETURN_IF_ERROR(checkpoint.ReadFloats(planned.source, values.data()));
  if (planned.from == From::kInflated) return Inflate(values, planned.shape);
  values.resize(static_cast<size_t>(planned.size()));  // kFirstRows
  return values;
}

}  // namespace

absl::StatusOr<WrittenWeights> WriteWeights(const Checkpoint& checkpoint, const ImportPlan& plan,
                                            const std::string& path,
                                            const std::atomic<bool>* stop) {
  SCANLINE_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  Sha256 sha256;
  WrittenWeights written;
  const auto write = [&](absl::Span<const uint8_t> bytes) {
    sha256.Add(bytes);
    written.bytes += bytes.size();
    return file.Write(bytes);
  };
  SCANLINE_RETURN_IF_ERROR(write(Header(plan)));
  std::vector<std::string> not_finite;
  for (const PlannedTensor& planned : plan.tensors) {
    if (stop != nullptr && *stop) {
      return MakeError(Reason::kCancelled, "interrupted; nothing was written");
    }
    SCANLINE_ASSIGN_OR_RETURN(const std::vector<float> values, Values(checkpoint, planned));
    if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
      not_finite.push_back(planned.name);
    }
    written.values += values.size();
    SCANLINE_RETURN_IF_ERROR(
        write({reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)}));
  }
  if (!not_finite.empty()) {
    return MakeError(Reason::kBundleInvalid,
                     absl::StrCat("weights must be finite numbers in fp32; not so in ",
                                  ShortGroups(not_finite)));
  }
  SCANLINE_RETURN_IF_ERROR(file.Close());
  written.sha256 = sha256.Hex();
  return written;
}

}  // namespace scanline
