#include "client/cli/annotations.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/cli/outcome.h"

namespace scanline::cli {
namespace {

constexpr size_t kMostMoments = 48;  // pictures of a sheet
constexpr size_t kMostPeople = 8;    // that a sheet's picture lists
constexpr int kMostLines = 3;        // of a label
constexpr size_t kFewPeople = 2;     // up to here there is room for all lines of their labels
constexpr float kShownAsZero = 0.005F;
constexpr size_t kMostCurves = 6;
constexpr double kLongestShown = 2;  // seconds that a box stands for one look
// How far apart, in intervals, two looks at one person may be to move the box between them.
constexpr double kLongestMove = 1.5;
constexpr double kWholeDay = 86'400;  // where the clip's length is not known

std::string LabelOf(const v1::ClassScore& c) {
  return c.label().empty() ? absl::StrCat("#", c.class_index()) : c.label();
}

template <typename Answer>
std::vector<std::string> LinesOf(const Answer& answer) {
  std::vector<std::string> lines;
  for (const v1::ClassScore& c : answer.classes()) {
    const bool much = lines.empty() || c.score() >= kShownAsZero;
    if (static_cast<int>(lines.size()) == kMostLines || !much) break;
    lines.push_back(absl::StrFormat("%s %.2f", LabelOf(c), c.score()));
  }
  return lines;
}

// Numbers of labels in the order in which they come up.
class Places {
 public:
  size_t Of(const std::string& label) {
    return places_.emplace(label, places_.size()).first->second;
  }

 private:
  std::map<std::string, size_t> places_;
};

// At most kMostMoments of them, evenly.
template <typename T>
std::vector<T> Thinned(const std::vector<T>& all) {
  if (all.size() <= kMostMoments) return all;
  std::vector<T> some;
  for (size_t i = 0; i < kMostMoments; ++i) some.push_back(all[i * all.size() / kMostMoments]);
  return some;
}

std::string ModelText(const v1::ClipResult& result) {
  return std::string(absl::StripPrefix(result.model(), "models/"));
}

double DurationOf(const v1::ClipResult& result) {
  const double seconds = Seconds(result.sampling().source_duration());
  return seconds > 0 ? seconds : kWholeDay;
}

// A box of the answer with how it is drawn.
struct Person {
  double seconds = 0;
  int64_t track = 0;
  render::Region region;
  render::Color color;
  std::string name;                  // "#1" of a linked person, else empty
  std::vector<std::string> actions;  // best first, or that this is a person
};

// At one time.
using People = std::vector<Person>;

Person PersonOf(const v1::ActionDetection& d, Places& places) {
  Person person;
  person.seconds = Seconds(d.keyframe_offset());
  person.track = d.track_id();
  person.region = {d.box().x_min(), d.box().y_min(), d.box().x_max(), d.box().y_max()};
  person.actions = LinesOf(d);
  if (person.actions.empty()) {
    person.actions.push_back(absl::StrFormat("person %.2f", d.person_score()));
  }
  if (person.track > 0) {
    person.color = render::PaletteColor(static_cast<size_t>(person.track - 1));
    person.name = absl::StrCat("#", person.track);
  } else {
    person.color =
        render::PaletteColor(places.Of(d.classes().empty() ? "" : LabelOf(d.classes(0))));
  }
  return person;
}

// By their keyframe, in the order of time.
std::vector<People> PeopleOf(const v1::ClipResult& result) {
  Places places;
  std::map<int64_t, People> by_time;  // microseconds
  for (const v1::ActionDetection& detection : result.detections()) {
    Person person = PersonOf(detection, places);
    by_time[std::llround(person.seconds * 1e6)].push_back(std::move(person));
  }
  std::vector<People> looks;
  for (auto& [time, people] : by_time) looks.push_back(std::move(people));
  return looks;
}

double IntervalOf(const std::vector<People>& looks, double asked) {
  if (asked > 0) return asked;
  double least = 1;
  for (size_t i = 1; i < looks.size(); ++i) {
    least = std::min(least, looks[i][0].seconds - looks[i - 1][0].seconds);
  }
  return least;
}

// `crowded`: only what they do most, so that people are not hidden by labels.
render::OverlayBox BoxOf(const Person& person, bool crowded, double start, double end) {
  std::vector<std::string> lines = person.actions;
  if (crowded) lines.resize(1);
  if (!person.name.empty()) lines[0] = absl::StrCat(person.name, " ", lines[0]);
  return {std::max(0.0, start), end, person.region, std::nullopt, person.color, std::move(lines)};
}

void AddBoxes(const std::vector<People>& looks, double interval, render::Overlay& overlay) {
  const double half = std::min(interval, kLongestShown) / 2;
  struct Look {
    const Person* person = nullptr;
    bool crowded = false;
  };
  std::map<int64_t, std::vector<Look>> tracks;
  for (const People& people : looks) {
    const bool crowded = people.size() > kFewPeople;
    for (const Person& person : people) {
      if (person.track > 0) {
        tracks[person.track].push_back({&person, crowded});
      } else {
        overlay.boxes.push_back(
            BoxOf(person, crowded, person.seconds - half, person.seconds + half));
      }
    }
  }
  for (const auto& [id, track] : tracks) {
    bool moved_here = false;  // the box of the look before ends at this one
    for (size_t i = 0; i < track.size(); ++i) {
      const auto& [person, crowded] = track[i];
      const double at = person->seconds;
      const Person* const next = i + 1 < track.size() ? track[i + 1].person : nullptr;
      const double gap = next != nullptr ? next->seconds - at : 0;
      if (!moved_here && at > 0) overlay.boxes.push_back(BoxOf(*person, crowded, at - half, at));
      moved_here = gap > 0 && gap <= kLongestMove * interval;
      overlay.boxes.push_back(BoxOf(*person, crowded, at, at + (moved_here ? gap : half)));
      if (moved_here) overlay.boxes.back().moves_to = next->region;
    }
  }
}

// Names on the picture, what they do below it.
SheetMoment MomentOf(const People& people) {
  SheetMoment moment;
  moment.seconds = people[0].seconds;
  moment.lines = {absl::StrFormat("%.2f s, %d %s", moment.seconds, people.size(),
                                  people.size() == 1 ? "person" : "people")};
  for (size_t i = 0; i < people.size(); ++i) {
    const Person& person = people[i];
    const std::string name = person.name.empty() ? absl::StrCat(i + 1) : person.name;
    moment.boxes.push_back({person.region.x0,
                            person.region.y0,
                            person.region.x1,
                            person.region.y1,
                            person.color,
                            {name}});
    if (i < kMostPeople) {
      moment.lines.push_back(absl::StrCat(name, " ", absl::StrJoin(person.actions, ", ")));
    }
  }
  if (people.size() > kMostPeople) {
    moment.lines.push_back(absl::StrCat("and ", people.size() - kMostPeople, " more"));
  }
  return moment;
}

formats::Detection FoundOf(const v1::ActionDetection& d) {
  formats::Detection found;
  found.seconds = Seconds(d.keyframe_offset());
  found.x0 = d.box().x_min();
  found.y0 = d.box().y_min();
  found.x1 = d.box().x_max();
  found.y1 = d.box().y_max();
  found.track_id = d.track_id();
  found.person_score = d.person_score();
  for (const v1::ClassScore& c : d.classes()) {
    found.classes.push_back({static_cast<int>(c.class_index()), LabelOf(c), c.score()});
  }
  return found;
}

std::vector<formats::Keyframe> LooksOf(const v1::SamplingReport& report) {
  std::vector<formats::Keyframe> looks;
  const int count = std::min(report.keyframe_offsets_size(), report.keyframe_indices_size());
  for (int i = 0; i < count; ++i) {
    looks.push_back({Seconds(report.keyframe_offsets(i)), report.keyframe_indices(i), 0});
  }
  return looks;
}

double Middle(const v1::WindowResult& window) {
  return (Seconds(window.start_offset()) + Seconds(window.end_offset())) / 2;
}

// Of the labels that stand out in some window, best first. A label that a window does not list
// counts 0 there.
std::vector<render::ScoreLine> Curves(const std::vector<const v1::WindowResult*>& windows) {
  std::map<std::string, double> best;
  for (const v1::WindowResult* window : windows) {
    for (const v1::ClassScore& c : window->classes()) {
      double& score = best[LabelOf(c)];
      score = std::max<double>(score, c.score());
    }
  }
  std::vector<std::pair<std::string, double>> order(best.begin(), best.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (order.size() > kMostCurves) order.resize(kMostCurves);
  std::vector<render::ScoreLine> lines;
  for (const auto& [label, score] : order) {
    render::ScoreLine line{label, render::PaletteColor(lines.size()), {}};
    for (const v1::WindowResult* window : windows) {
      double here = 0;
      for (const v1::ClassScore& c : window->classes()) {
        if (LabelOf(c) == label) here = c.score();
      }
      line.points.emplace_back(Middle(*window), std::clamp(here, 0.0, 1.0));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

void AnnotateWindows(const v1::ClipResult& result, Annotations& all) {
  std::vector<const v1::WindowResult*> windows;
  for (const v1::WindowResult& window : result.windows()) windows.push_back(&window);
  std::stable_sort(windows.begin(), windows.end(),
                   [](const auto* a, const auto* b) { return Middle(*a) < Middle(*b); });
  double start = Seconds(windows.front()->start_offset());
  for (size_t i = 0; i < windows.size(); ++i) {
    const v1::WindowResult& window = *windows[i];
    const double end = i + 1 < windows.size() ? (Middle(window) + Middle(*windows[i + 1])) / 2
                                              : Seconds(window.end_offset());
    std::vector<std::string> lines = LinesOf(window);
    all.overlay.captions.push_back({start, end, lines});
    lines.insert(lines.begin(), absl::StrFormat("%.2f to %.2f s", Seconds(window.start_offset()),
                                                Seconds(window.end_offset())));
    all.moments.push_back({Middle(window), std::move(lines), {}});
    start = end;
  }
  if (windows.size() > 1) all.chart = Curves(windows);
}

}  // namespace

Annotations AnnotateDetections(const v1::ClipResult& result, double interval_seconds) {
  Annotations all;
  for (const v1::ActionDetection& detection : result.detections()) {
    all.found.push_back(FoundOf(detection));
  }
  all.looks = LooksOf(result.sampling());
  const std::vector<People> looks = PeopleOf(result);
  AddBoxes(looks, IntervalOf(looks, interval_seconds), all.overlay);
  all.subtitle =
      absl::StrCat(all.found.size(), all.found.size() == 1 ? " box at " : " boxes at ",
                   looks.size(), looks.size() == 1 ? " moment, " : " moments, ", ModelText(result));
  for (const People& people : Thinned(looks)) all.moments.push_back(MomentOf(people));
  if (all.moments.empty()) all.moments.push_back({0, {"nobody was found"}, {}});
  return all;
}

Annotations AnnotateLabels(const v1::ClipResult& result) {
  Annotations all;
  std::string best;
  if (!result.classes().empty()) best = LinesOf(result)[0] + ", ";
  all.subtitle = absl::StrCat(best, ModelText(result));
  if (!result.windows().empty()) {
    AnnotateWindows(result, all);
  } else {
    all.overlay.captions.push_back({0, DurationOf(result), LinesOf(result)});
    for (const auto& offset : result.sampling().frame_offsets()) {
      all.moments.push_back({Seconds(offset), {absl::StrFormat("%.2f s", Seconds(offset))}, {}});
    }
    if (all.moments.empty()) all.moments.push_back({0, LinesOf(result), {}});
  }
  all.moments = Thinned(all.moments);
  return all;
}

}  // namespace scanline::cli
