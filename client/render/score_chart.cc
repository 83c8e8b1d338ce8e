#include "client/render/score_chart.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/text_fit.h"

namespace scanline::render {
namespace {

constexpr int kTextSize = 15;
constexpr double kLineWidth = 2.5;
constexpr int kMarkSpacing = 90;
constexpr size_t kMaxLines = 7;  // as many as there are colours
constexpr Color kPlate = {30, 33, 40};
constexpr Color kGrid = {58, 63, 74};
constexpr Color kInk = {178, 185, 198};

// What to draw: times on `inner`'s width, scores 0..1 on its height.
struct Frame {
  PixelRect inner;
  double from = 0;
  double to = 1;

  double X(double seconds) const {
    return inner.x0 + std::clamp((seconds - from) / (to - from), 0.0, 1.0) * inner.width();
  }
  double Y(double score) const { return inner.y1 - std::clamp(score, 0.0, 1.0) * inner.height(); }
};

void WriteAt(AssScript& script, int x, int y, int anchor, const std::string& text,
             const PixelRect& clip) {
  AssScript::Text style;
  style.x = x;
  style.y = y;
  style.anchor = anchor;
  style.size = kTextSize;
  style.color = kInk;
  style.clip = &clip;
  script.Write(style, {text});
}

// A segment as a thin quadrangle.
AssScript::Corners Segment(double x0, double y0, double x1, double y1) {
  const double length = std::max(std::hypot(x1 - x0, y1 - y0), 1e-6);
  const double dx = (y0 - y1) / length * kLineWidth / 2, dy = (x1 - x0) / length * kLineWidth / 2;
  return {{x0 - dx, y0 - dy}, {x1 - dx, y1 - dy}, {x1 + dx, y1 + dy}, {x0 + dx, y0 + dy}};
}

void DrawLine(AssScript& script, const Frame& frame, const ScoreLine& line) {
  std::vector<AssScript::Corners> shapes;
  for (size_t i = 0; i < line.points.size(); ++i) {
    const double x = frame.X(line.points[i].first), y = frame.Y(line.points[i].second);
    constexpr double kDot = 4;
    shapes.push_back({{x - kDot, y}, {x, y - kDot}, {x + kDot, y}, {x, y + kDot}});
    if (i == 0) continue;
    shapes.push_back(
        Segment(frame.X(line.points[i - 1].first), frame.Y(line.points[i - 1].second), x, y));
  }
  if (!shapes.empty()) script.FillShapes(shapes, line.color);
}

void DrawNames(AssScript& script, const PixelRect& area, const std::vector<ScoreLine>& lines) {
  int x = area.x0 + 12;
  const int y = area.y0 + 10;
  const int room = (area.width() - 24) / static_cast<int>(lines.size()) - 34;
  for (const ScoreLine& line : lines) {
    const std::string name = FitText(line.label, kTextSize, room, Cut::kEnd);
    script.FillRect({x, y + 3, x + 10, y + 13}, line.color);
    WriteAt(script, x + 16, y, 7, name, area);
    x += 16 + static_cast<int>(std::ceil(TextWidth(name, kTextSize))) + 18;
  }
}

}  // namespace

double TimeStep(double length, int marks) {
  const double wanted = length / std::max(marks, 1);
  for (double power = 0.001; power < 10; power *= 10) {
    for (const double factor : {1, 2, 5}) {
      if (factor * power >= wanted * (1 - 1e-9)) return factor * power;
    }
  }
  for (const double step : {10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600}) {
    if (step >= wanted) return step;
  }
  return std::ceil(wanted / 3600) * 3600;
}

std::string TimeText(double seconds, double length) {
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (length <= 60) return absl::StrCat(std::round(seconds * 1000) / 1000 + 0.0, " s");
  if (length < 3600) return absl::StrFormat("%d:%02d", whole / 60, whole % 60);
  return absl::StrFormat("%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60);
}

void DrawChart(AssScript& script, const PixelRect& area, const std::vector<ScoreLine>& lines) {
  std::vector<ScoreLine> drawn;
  Frame frame{{area.x0 + 48, area.y0 + 42, area.x1 - 24, area.y1 - 30}, INFINITY, -INFINITY};
  for (const ScoreLine& line : lines) {
    ScoreLine finite = line;
    finite.points.clear();
    for (const auto& point : line.points) {
      if (!std::isfinite(point.first) || !std::isfinite(point.second)) continue;
      finite.points.push_back(point);
      frame.from = std::min(frame.from, point.first);
      frame.to = std::max(frame.to, point.first);
    }
    if (!finite.points.empty() && drawn.size() < kMaxLines) drawn.push_back(std::move(finite));
  }
  script.FillRect(area, kPlate);
  if (drawn.empty()) return;
  if (frame.to <= frame.from) frame.to = frame.from + 1;
  for (const double score : {0.0, 0.5, 1.0}) {
    const int y = static_cast<int>(frame.Y(score));
    script.FillRect({frame.inner.x0, y, frame.inner.x1, y + 1}, kGrid);
    WriteAt(script, frame.inner.x0 - 10, y, 6, score == 0.5 ? "0.5" : absl::StrCat(score), area);
  }
  const double length = frame.to - frame.from;
  const double step = TimeStep(length, frame.inner.width() / kMarkSpacing);
  for (double at = std::ceil(frame.from / step - 1e-9) * step; at <= frame.to + step * 1e-6;
       at += step) {
    const int x = static_cast<int>(frame.X(at));
    script.FillRect({x, frame.inner.y1, x + 1, frame.inner.y1 + 5}, kGrid);
    WriteAt(script, x, frame.inner.y1 + 8, 8, TimeText(at, frame.to), area);
  }
  for (const ScoreLine& line : drawn) DrawLine(script, frame, line);
  DrawNames(script, area, drawn);
}

}  // namespace scanline::render
