#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "decode/decode_clip.h"
#include "server/config.h"
#include "server/served_model.h"

namespace scanline {

// The bundle of a folder, ready to be served, without a finder of people. Errors: BUNDLE_INVALID.
absl::StatusOr<ModelPtr> LoadModel(const std::string& folder, const Settings& settings);

// Those of --model, in order, or the one that came with this program; with the person detector,
// loaded once, where they detect actions.
absl::StatusOr<std::vector<ModelPtr>> LoadModels(const Settings& settings);

// What decoding one clip may cost.
DecodeLimits DecodeLimitsOf(const Settings& settings);

}  // namespace scanline
