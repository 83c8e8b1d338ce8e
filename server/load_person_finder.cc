#include "server/load_person_finder.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "base/log.h"
#include "model/person/person_detector.h"
#include "model/tensor_ops.h"

namespace scanline {

absl::StatusOr<PersonFinder> LoadPersonFinder(const std::string& folder, int threads) {
  const bool named = !folder.empty();
  const std::string place = named ? folder : PersonDetector::DefaultFolder();
  if (!named && !std::filesystem::exists(place)) return PersonFinder();
  auto loaded = PersonDetector::Load(place);
  if (!loaded.ok() && named) return std::move(loaded).status();
  if (!loaded.ok()) {
    LogWarning("%s", std::string(loaded.status().message()));
    return PersonFinder();
  }
  return PersonFinder([threads, detector = std::shared_ptr<const PersonDetector>(
                                    *std::move(loaded))](const FullFrame& frame, float min_score) {
    UseThreads(threads);
    PersonOptions options;
    if (min_score > 0) options.min_score = min_score;
    return detector->Detect({frame.rgb, frame.width, frame.height, frame.stride}, options);
  });
}

}  // namespace scanline
