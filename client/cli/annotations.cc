#include "client/cli/annotations.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/cli/outcome.h"

namespace scanline::cli {
namespace {

constexpr size_t kMostMoments = 48;  // pictures of a sheet
constexpr int kMostLines = 3;        // of a label
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
    if (static_cast<int>(lines.size()) == kMostLines) break;
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
  std::vector<std::string> lines;
};

Person PersonOf(const v1::ActionDetection& d, Places& places) {
  Person person;
  person.seconds = Seconds(d.keyframe_offset());
  person.track = d.track_id();
  person.region = {d.box().x_min(), d.box().y_min(), d.box().x_max(), d.box().y_max()};
  person.lines = LinesOf(d);
  if (person.lines.empty()) {
    person.lines.push_back(absl::StrFormat("person %.2f", d.person_score()));
  }
  if (person.track > 0) {
    person.color = render::PaletteColor(static_cast<size_t>(person.track - 1));
    person.lines[0] = absl::StrCat("#", person.track, " ", person.lines[0]);
  } else {
    person.color =
        render::PaletteColor(places.Of(d.classes().empty() ? "" : LabelOf(d.classes(0))));
  }
  return person;
}

double IntervalOf(const std::vector<Person>& people, double asked) {
  if (asked > 0) return asked;
  std::vector<double> times;
  for (const Person& person : people) times.push_back(person.seconds);
  std::sort(times.begin(), times.end());
  double least = 1;
  for (size_t i = 1; i < times.size(); ++i) {
    if (times[i] > times[i - 1]) least = std::min(least, times[i] - times[i - 1]);
  }
  return least;
}

render::OverlayBox BoxOf(const Person& person, double start, double end) {
  return {std::max(0.0, start), end, person.region, std::nullopt, person.color, person.lines};
}

void AddBoxes(const std::vector<Person>& people, double interval, render::Overlay& overlay) {
  const double half = std::min(interval, kLongestShown) / 2;
  std::map<int64_t, std::vector<const Person*>> tracks;
  for (const Person& person : people) {
    if (person.track > 0) {
      tracks[person.track].push_back(&person);
    } else {
      overlay.boxes.push_back(BoxOf(person, person.seconds - half, person.seconds + half));
    }
  }
  for (auto& [id, looks] : tracks) {
    std::stable_sort(looks.begin(), looks.end(),
                     [](const Person* a, const Person* b) { return a->seconds < b->seconds; });
    bool moved_here = false;  // the box of the look before ends at this one
    for (size_t i = 0; i < looks.size(); ++i) {
      const Person& look = *looks[i];
      const double gap = i + 1 < looks.size() ? looks[i + 1]->seconds - look.seconds : INFINITY;
      if (!moved_here && look.seconds > 0) {
        overlay.boxes.push_back(BoxOf(look, look.seconds - half, look.seconds));
      }
      moved_here = gap > 0 && gap <= kLongestMove * interval;
      const double end = look.seconds + (moved_here ? gap : half);
      overlay.boxes.push_back(BoxOf(look, look.seconds, end));
      if (moved_here) overlay.boxes.back().moves_to = looks[i + 1]->region;
    }
  }
}

std::vector<SheetMoment> MomentsOf(const std::vector<Person>& people) {
  std::map<int64_t, SheetMoment> by_time;  // microseconds
  for (const Person& person : people) {
    SheetMoment& moment = by_time[std::llround(person.seconds * 1e6)];
    moment.seconds = person.seconds;
    moment.boxes.push_back({person.region.x0, person.region.y0, person.region.x1, person.region.y1,
                            person.color, person.lines});
  }
  std::vector<SheetMoment> moments;
  for (auto& [time, moment] : by_time) {
    const size_t count = moment.boxes.size();
    moment.lines = {absl::StrFormat("%.2f s", moment.seconds),
                    absl::StrCat(count, count == 1 ? " person" : " people")};
    moments.push_back(std::move(moment));
  }
  return moments;
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
  Places places;
  std::vector<Person> people;
  for (const v1::ActionDetection& detection : result.detections()) {
    people.push_back(PersonOf(detection, places));
    all.found.push_back(FoundOf(detection));
  }
  AddBoxes(people, IntervalOf(people, interval_seconds), all.overlay);
  const std::vector<SheetMoment> moments = MomentsOf(people);
  all.subtitle =
      absl::StrCat(people.size(), people.size() == 1 ? " box at " : " boxes at ", moments.size(),
                   moments.size() == 1 ? " moment, " : " moments, ", ModelText(result));
  all.moments = Thinned(moments);
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
