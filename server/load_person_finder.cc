#include "server/load_person_finder.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "base/log.h"
#include "model/person/person_detector.h"
#include "model/tensor_ops.h"

namespace scanline {
namespace {

constexpr char kWithout[] =
    "people are not looked for; detect requests need boxes (spec.detect.proposals)";

}  // namespace

absl::StatusOr<PersonFinder> LoadPersonFinder(const std::string& folder, int threads) {
  const bool named = !folder.empty();
  const std::string place = named ? folder : PersonDetector::DefaultFolder();
  if (!named && !std::filesystem::exists(place)) {
    LogInfo("no person detector in %s (./dev setup makes it): %s", place, kWithout);
    return PersonFinder();
  }
  auto loaded = PersonDetector::Load(place);
  if (!loaded.ok() && named) return std::move(loaded).status();
  if (!loaded.ok()) {
    LogWarning("%s: %s", std::string(loaded.status().message()), kWithout);
    return PersonFinder();
  }
  LogInfo("person detector %s", place);
  return PersonFinder([threads, detector = std::shared_ptr<const PersonDetector>(
                                    *std::move(loaded))](const FullFrame& frame, float min_score) {
    UseThreads(threads);
    PersonOptions options;
    if (min_score > 0) options.min_score = min_score;
    return detector->Detect({frame.rgb, frame.width, frame.height, frame.stride}, options);
  });
}

}  // namespace scanline
