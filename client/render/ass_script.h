#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/render/palette.h"

namespace scanline::render {

// Columns x0 to x1 and rows y0 to y1, without the last.
struct PixelRect {
  int x0 = 0;
  int y0 = 0;
  int x1 = 0;
  int y1 = 0;

  int width() const { return x1 - x0; }
  int height() const { return y1 - y0; }
  bool operator==(const PixelRect&) const = default;
};

// Writes an Advanced SubStation script (v4.00+) event by event: shapes and lines of text at places
// in pixels. What comes later lies above what came before. Pure; every text goes in escaped.
class AssScript {
 public:
  AssScript(int width, int height);

  // When the next events are shown, in seconds. At first: [0, 1).
  void SetTime(double start, double end);

  using Rect = PixelRect;
  // `opacity` in 0..1.
  void FillRect(const Rect& rect, Color color, double opacity = 1);
  // A frame of `thickness` pixels inside of `rect`, with a thin dark rim so that it is seen on any
  // picture.
  // Nothing is drawn outside of `clip`.
  void DrawFrame(const Rect& rect, int thickness, Color color, const Rect& clip);
  // Closed shapes, filled.
  using Corners = std::vector<std::pair<double, double>>;
  void FillShapes(const std::vector<Corners>& shapes, Color color, double opacity = 1);

  struct Text {
    int x = 0;
    int y = 0;
    int anchor = 7;  // which point of the text is at (x, y), as on a number pad: 7 top left
    int size = 20;   // ascent and descent, pixels
    Color color;
    const Rect* clip = nullptr;  // nothing is drawn outside; borrowed for the call
    // A backing of this colour behind all lines, `padding` wider on each side.
    const Color* backing = nullptr;
    double backing_opacity = 1;
    int padding = 0;
  };
  void Write(const Text& style, const std::vector<std::string>& lines);

  // The whole script.
  std::string Finish() const;

 private:
  void AddEvent(absl::string_view style, absl::string_view tags, absl::string_view text);

  int width_;
  int height_;
  std::string times_;
  std::string events_;
  int layer_ = 0;
};

// A line of text for an ASS event: shown as it is, whatever it holds.
std::string EscapeAss(absl::string_view text);

}  // namespace scanline::render
