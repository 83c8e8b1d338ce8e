// scanline-server with models that fail: the environment's SCANLINE_TEST_FAULT names the reason.

#include <cstdio>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "server/load_models.h"
#include "server/run_server.h"
#include "tests/server/faults.h"

namespace scanline {
namespace {

absl::Status Fault() {
  const char* const name = std::getenv("SCANLINE_TEST_FAULT");
  for (const Reason reason : AllReasons()) {
    if (name != nullptr && ReasonName(reason) == absl::string_view(name)) {
      return MakeError(reason, "expected a working device, found the test's fault");
    }
  }
  std::fprintf(stderr, "SCANLINE_TEST_FAULT names no reason\n");
  std::exit(2);
}

}  // namespace
}  // namespace scanline

int main(int argc, char** argv) {
  using namespace scanline;
  const absl::Status fault = Fault();
  return RunServer({argv + 1, argv + argc},
                   [&](const Settings& settings) -> absl::StatusOr<std::vector<ModelPtr>> {
                     auto models = LoadModels(settings);
                     if (!models.ok()) return models;
                     for (ModelPtr& model : *models) model = testing::WithFault(*model, fault);
                     return models;
                   });
}
