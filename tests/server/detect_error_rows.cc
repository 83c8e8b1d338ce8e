#include <cmath>
#include <cstdint>

#include "tests/server/doubles.h"
#include "tests/server/error_harness.h"
#include "tests/server/error_rows.h"

namespace scanline::testing {
namespace {

grpc::Status Detect(const std::function<void(v1::DetectOptions&)>& change,
                    PersonFinder finder = nullptr) {
  return WithSpec(
      [&](auto& spec) {
        spec.set_tasks(0, v1::TASK_DETECT_ACTIONS);
        change(*spec.mutable_detect());
      },
      NewDetectModel("m", std::move(finder)));
}

// Of one box with these sides, at `seconds` where that is not 0.
std::function<void(v1::DetectOptions&)> OneBox(float x_min, float x_max, int64_t seconds = 0) {
  return [=](v1::DetectOptions& options) {
    v1::BoundingBox& box = *options.add_proposals();
    box.set_x_min(x_min);
    box.set_x_max(x_max);
    box.set_y_max(1);
    if (seconds != 0) box.mutable_time_offset()->set_seconds(seconds);
  };
}

}  // namespace

std::vector<Row> DetectRows() {
  return {
      InvalidField("BoxOfNaN", "spec.detect.proposals[0].x_min: expected a number from 0 to 1",
                   [] { return Detect(OneBox(NAN, 1)); }),
      InvalidField("BoxOutside", "spec.detect.proposals[0].x_max: expected a number from 0 to 1",
                   [] { return Detect(OneBox(0, 2)); }),
      InvalidField("BoxInverted", "spec.detect.proposals[0].x_max: expected more than x_min",
                   [] { return Detect(OneBox(0.5, 0.25)); }),
      InvalidField("BoxBeforeTheClip", "spec.detect.proposals[0].time_offset: expected a duration",
                   [] { return Detect(OneBox(0, 1, -1)); }),
      InvalidField("ShortInterval", "spec.detect.keyframe_interval: expected 0.05 to 3600 s",
                   [] {
                     return Detect([](v1::DetectOptions& options) {
                       options.mutable_keyframe_interval()->set_nanos(1000);
                     });
                   }),
      UnsupportedTask("NobodyFindsPeople", "this server has no person detector",
                      [] { return Detect([](v1::DetectOptions&) {}); }),
      {"BoxBeyondTheClip",
       Reason::kSegmentOutOfRange,
       {"BadRequest"},
       {},
       {"boxes are given for 100.000 s"},
       [] { return Detect(OneBox(0, 1, 100)); }},
      {"FinderFails",
       Reason::kDeviceMemory,
       {"RetryInfo"},
       {"retry_delay_ms"},
       {"no memory to look"},
       [] {
         return Detect([](v1::DetectOptions&) {},
                       [](const FullFrame&, float) -> absl::StatusOr<std::vector<PersonBox>> {
                         return MakeError(Reason::kDeviceMemory, "no memory to look",
                                          {{"retry_delay_ms", "1000"}});
                       });
       }},
  };
}

}  // namespace scanline::testing
