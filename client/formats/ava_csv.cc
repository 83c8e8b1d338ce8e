#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/formats/detections.h"

namespace scanline::formats {
namespace {

std::string Quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == field.npos) return field;
  return absl::StrCat("\"", absl::StrReplaceAll(field, {{"\"", "\"\""}}), "\"");
}

// Up to six places behind the point, without zeros at the end.
std::string Number(double value) {
  std::string text = absl::StrFormat("%.6f", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

}  // namespace

std::string ToAvaCsv(const std::vector<DetectedVideo>& videos) {
  std::string text;
  for (const DetectedVideo& video : videos) {
    for (const Detection& d : video.detections) {
      for (const ScoredClass& action : d.classes) {
        absl::StrAppend(&text, Quoted(video.name), ",", Number(d.seconds), ",", Number(d.x0), ",",
                        Number(d.y0), ",");
        absl::StrAppend(&text, Number(d.x1), ",", Number(d.y1), ",", action.id, ",",
                        Number(action.score), "\n");
      }
    }
  }
  return text;
}

}  // namespace scanline::formats
