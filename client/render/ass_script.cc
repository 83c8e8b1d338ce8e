#include "client/render/ass_script.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/render/text_fit.h"

namespace scanline::render {
namespace {

// Colours are &HBBGGRR&, transparency is &HAA& with 0 for opaque.
std::string AssColor(Color color) {
  return absl::StrFormat("&H%02X%02X%02X&", color.blue, color.green, color.red);
}

std::string AssAlpha(double opacity) {
  const double hidden = 255 * (1 - std::clamp(opacity, 0.0, 1.0));
  return absl::StrFormat("&H%02X&", static_cast<int>(std::lround(hidden)));
}

// Hundredths are all the format has. Rounded down, so that what begins with a frame is on it.
std::string AssTime(double seconds) {
  constexpr double kLongest = 3600.0 * 1000;
  const auto hundredths =
      static_cast<int64_t>(std::floor(std::clamp(seconds, 0.0, kLongest) * 100 + 1e-6));
  return absl::StrFormat("%d:%02d:%02d.%02d", hundredths / 360'000, hundredths / 6000 % 60,
                         hundredths / 100 % 60, hundredths % 100);
}

// \p4: coordinates in eighths of a pixel.
constexpr int kPathScale = 8;

std::string Path(const AssScript::Corners& corners) {
  std::string path;
  for (const auto& [x, y] : corners) {
    absl::StrAppend(&path, path.empty() ? "m " : (path.find('l') == path.npos ? " l " : " "),
                    std::llround(x * kPathScale), " ", std::llround(y * kPathScale));
  }
  return path;
}

std::string Clip(const PixelRect& clip) {
  return absl::StrCat("\\clip(", clip.x0, ",", clip.y0, ",", clip.x1, ",", clip.y1, ")");
}

std::string RectPath(double x0, double y0, double x1, double y1) {
  return Path({{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}});
}

}  // namespace

std::string EscapeAss(absl::string_view text) {
  std::string escaped;
  for (const char c : SafeText(text)) {
    if (c == '\\') {
      escaped += "\\\xE2\x81\xA0";  // U+2060: parts the backslash from a letter it would act on
    } else if (c == '{' || c == '}') {
      absl::StrAppend(&escaped, "\\", std::string(1, c));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

AssScript::AssScript(int width, int height) : width_(width), height_(height) { SetTime(0, 1); }

void AssScript::SetTime(double start, double end) {
  times_ = absl::StrCat(AssTime(start), ",", AssTime(end));
}

void AssScript::AddEvent(absl::string_view style, absl::string_view tags, absl::string_view text) {
  absl::StrAppend(&events_, "Dialogue: ", layer_++, ",", times_, ",", style, ",,0,0,0,,{", tags,
                  "}", text, "\n");
}

void AssScript::FillRect(const Rect& rect, Color color, double opacity) {
  FillShapes({{{rect.x0, rect.y0}, {rect.x1, rect.y0}, {rect.x1, rect.y1}, {rect.x0, rect.y1}}},
             color, opacity);
}

void AssScript::FillShapes(const std::vector<Corners>& shapes, Color color, double opacity) {
  std::vector<std::string> paths;
  for (const Corners& corners : shapes) paths.push_back(Path(corners));
  AddEvent("Shape",
           absl::StrCat("\\an7\\pos(0,0)\\1c", AssColor(color), "\\1a", AssAlpha(opacity), "\\p4"),
           absl::StrJoin(paths, " "));
}

void AssScript::DrawFrame(const Rect& rect, int thickness, Color color, const Rect& clip) {
  const int width = rect.x1 - rect.x0, height = rect.y1 - rect.y0;
  const int edge = std::max(1, std::min({thickness, width / 2, height / 2}));
  const std::string place = absl::StrCat("\\an7\\pos(", rect.x0, ",", rect.y0, ")");
  const std::string bars =
      absl::StrCat(RectPath(0, 0, width, edge), " ", RectPath(0, height - edge, width, height), " ",
                   RectPath(0, edge, edge, height - edge), " ",
                   RectPath(width - edge, edge, width, height - edge));
  AddEvent(
      "Shape",
      absl::StrCat(place, Clip(clip), "\\1c", AssColor(color), "\\bord1\\3c&H000000&\\3a&H60&\\p4"),
      bars);
}

void AssScript::Write(const Text& style, const std::vector<std::string>& lines) {
  std::string tags = absl::StrCat("\\an", style.anchor, "\\pos(", style.x, ",", style.y, ")\\fs",
                                  style.size, "\\1c", AssColor(style.color));
  if (style.clip != nullptr) tags += Clip(*style.clip);
  if (style.backing != nullptr) {
    absl::StrAppend(&tags, "\\shad", style.padding, "\\4c", AssColor(*style.backing), "\\4a",
                    AssAlpha(style.backing_opacity));
  }
  std::vector<std::string> escaped;
  for (const std::string& line : lines) escaped.push_back(EscapeAss(line));
  AddEvent(style.backing != nullptr ? "Backed" : "Plain", tags, absl::StrJoin(escaped, "\\N"));
}

std::string AssScript::Finish() const {
  constexpr char kStyle[] =
      ",DejaVu Sans,20,&H00FFFFFF,&H00FFFFFF,&H00000000,&H00000000,0,0,0,0,100,100,0,0,";
  // WrapStyle 2: lines break only where told. BorderStyle 4 (libass): one backing for all lines.
  return absl::StrCat(
      "[Script Info]\nScriptType: v4.00+\nPlayResX: ", width_, "\nPlayResY: ", height_,
      "\nWrapStyle: 2\nScaledBorderAndShadow: yes\n\n"
      "[V4+ Styles]\nFormat: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, "
      "OutlineColour, BackColour, Bold, Italic, Underline, StrikeOut, ScaleX, ScaleY, Spacing, "
      "Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding\n"
      "Style: Shape",
      kStyle,
      "1,0,0,7,0,0,0,1\n"
      "Style: Plain",
      kStyle,
      "1,0,0,7,0,0,0,1\n"
      "Style: Backed",
      kStyle,
      "4,0,4,7,0,0,0,1\n\n"
      "[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n",
      events_);
}

}  // namespace scanline::render
