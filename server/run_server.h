#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/config.h"
#include "server/served_model.h"

namespace scanline {

using ModelLoader = std::function<absl::StatusOr<std::vector<ModelPtr>>(const Settings&)>;

// The program: settings, models, serving until a signal or until a device is lost, the end. Returns
// the exit code: docs/operations.md. `args` is without the program's name.
int RunServer(const std::vector<std::string>& args, const ModelLoader& load_models);

}  // namespace scanline
