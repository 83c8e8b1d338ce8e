#include "client/render/ass.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/render/ass_script.h"
#include "client/render/box_label.h"
#include "client/render/text_fit.h"

namespace scanline::render {
namespace {

constexpr double kStepSeconds = 0.04;  // a moving box is drawn anew this often
constexpr int64_t kMaxSteps = 250;     // ... and at most so often in all
constexpr Color kCaptionBacking = {12, 14, 18};
constexpr Color kCaptionInk = {255, 255, 255};

bool Overlap(const OverlayBox& a, const OverlayBox& b) {
  return a.start < b.end && b.start < a.end;
}

Region Between(const Region& from, const Region& to, double share) {
  const auto mix = [share](double a, double b) { return a + (b - a) * share; };
  return {mix(from.x0, to.x0), mix(from.y0, to.y0), mix(from.x1, to.x1), mix(from.y1, to.y1)};
}

// The stretches of time for which a box stands still.
std::vector<OverlayBox> Steps(const OverlayBox& box) {
  const double length = box.end - box.start;
  if (!(length > 0) || !std::isfinite(length)) return {};
  if (!box.moves_to) return {box};
  const int64_t count = std::clamp<int64_t>(std::llround(length / kStepSeconds), 1, kMaxSteps);
  std::vector<OverlayBox> steps;
  for (int64_t i = 0; i < count; ++i) {
    OverlayBox step = box;
    step.start = box.start + length * static_cast<double>(i) / static_cast<double>(count);
    step.end = i + 1 == count
                   ? box.end
                   : box.start + length * static_cast<double>(i + 1) / static_cast<double>(count);
    step.region = Between(box.region, *box.moves_to,
                          (static_cast<double>(i) + 0.5) / static_cast<double>(count));
    steps.push_back(std::move(step));
  }
  return steps;
}

std::string WebVttTime(double seconds) {
  const auto ms = static_cast<int64_t>(std::llround(std::max(0.0, seconds) * 1000));
  return absl::StrFormat("%02d:%02d:%02d.%03d", ms / 3'600'000, ms / 60'000 % 60, ms / 1000 % 60,
                         ms % 1000);
}

struct Cue {
  double start = 0;
  double end = 0;
  std::string text;
};

void AddCue(double start, double end, const std::vector<std::string>& lines,
            std::vector<Cue>& cues) {
  if (lines.empty() || !(end > start) || !std::isfinite(end - start)) return;
  std::vector<std::string> escaped;
  for (const std::string& line : lines) {
    const std::string safe = SafeText(line);
    if (safe.find_first_not_of(' ') == safe.npos) continue;  // an empty line would end the cue
    escaped.push_back(absl::StrReplaceAll(safe, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}}));
  }
  if (escaped.empty()) return;
  cues.push_back({start, end, absl::StrJoin(escaped, "\n")});
}

}  // namespace

std::string ToAss(const Overlay& overlay, int width, int height) {
  AssScript script(width, height);
  const PixelRect picture = {0, 0, width, height};
  const BoxStyle style = BoxStyle::For(width, height);
  std::vector<PixelRect> first_places(overlay.boxes.size());
  for (size_t i = 0; i < overlay.boxes.size(); ++i) {
    const OverlayBox& box = overlay.boxes[i];
    const Label label = FitLabel(box.lines, style, picture);
    std::vector<PixelRect> taken;
    for (size_t j = 0; j < i; ++j) {
      if (Overlap(box, overlay.boxes[j])) taken.push_back(first_places[j]);
    }
    bool first = true;
    LabelSpot spot = LabelSpot::kAbove;  // kept while the box moves: a label must not jump
    for (const OverlayBox& step : Steps(box)) {
      const Region& at = step.region;
      const PixelRect rect = ToPixels(at.x0, at.y0, at.x1, at.y1, picture);
      if (first) spot = ChooseSpot(label, rect, picture, taken);
      const PixelRect place = PlaceLabel(label, spot, rect, picture);
      if (first) first_places[i] = place;
      first = false;
      script.SetTime(step.start, step.end);
      DrawBox(script, style, rect, box.color, label, place, picture);
    }
  }
  const int margin = style.text_size;
  const PixelRect inside = {margin, margin, std::max(margin + 1, width - margin), height};
  for (const OverlayCaption& caption : overlay.captions) {
    const Label label = FitLabel(caption.lines, style, inside);
    if (label.lines.empty() || !(caption.end > caption.start)) continue;
    AssScript::Text text;
    text.x = margin;
    text.y = margin;
    text.size = style.text_size;
    text.color = kCaptionInk;
    text.backing = &kCaptionBacking;
    text.backing_opacity = 0.75;
    text.padding = 2 * style.padding;
    script.SetTime(caption.start, caption.end);
    script.Write(text, label.lines);
  }
  return script.Finish();
}

std::string ToWebVtt(const Overlay& overlay) {
  std::vector<Cue> cues;
  for (const OverlayCaption& caption : overlay.captions) {
    AddCue(caption.start, caption.end, caption.lines, cues);
  }
  for (const OverlayBox& box : overlay.boxes) AddCue(box.start, box.end, box.lines, cues);
  std::stable_sort(cues.begin(), cues.end(),
                   [](const Cue& a, const Cue& b) { return a.start < b.start; });
  std::string text = "WEBVTT\n";
  for (const Cue& cue : cues) {
    absl::StrAppend(&text, "\n", WebVttTime(cue.start), " --> ", WebVttTime(cue.end), "\n",
                    cue.text, "\n");
  }
  return text;
}

}  // namespace scanline::render
