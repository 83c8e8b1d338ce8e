#include <utf8proc.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "client/formats/detections.h"
#include "client/formats/looks.h"

namespace scanline::formats {
namespace {

// Text for an element or an attribute. XML 1.0 has no place for most control characters, not even
// escaped; they and what is no UTF-8 become U+FFFD.
std::string XmlText(absl::string_view text) {
  std::string out;
  while (!text.empty()) {
    utf8proc_int32_t code = 0;
    const utf8proc_ssize_t bytes =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                         static_cast<utf8proc_ssize_t>(text.size()), &code);
    const absl::string_view letter = text.substr(0, bytes > 0 ? static_cast<size_t>(bytes) : 1);
    text.remove_prefix(letter.size());
    const bool space = code == '\t' || code == '\n' || code == '\r';
    if (bytes <= 0 || code == 0xFFFE || code == 0xFFFF || (code < 0x20 && !space)) {
      out += "\xEF\xBF\xBD";
    } else if (space) {
      absl::StrAppend(&out, "&#", code, ";");
    } else if (code == '&') {
      out += "&amp;";
    } else if (code == '<') {
      out += "&lt;";
    } else if (code == '>') {
      out += "&gt;";
    } else if (code == '"') {
      out += "&quot;";
    } else {
      absl::StrAppend(&out, letter);
    }
  }
  return out;
}

std::string Attribute(absl::string_view name, absl::string_view value) {
  return absl::StrCat("      <attribute name=\"", name, "\">", XmlText(value), "</attribute>\n");
}

std::string ActionsOf(const Detection& detection) {
  nlohmann::ordered_json actions = nlohmann::ordered_json::array();
  for (const ScoredClass& action : detection.classes) {
    actions.push_back({{"id", action.id},
                       {"label", action.label},
                       {"score", std::round(action.score * 1e6) / 1e6}});
  }
  return actions.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string Box(const DetectedVideo& video, const Detection& d, int64_t frame, bool outside) {
  return absl::StrCat(
      absl::StrFormat("    <box frame=\"%d\" outside=\"%d\" occluded=\"0\" keyframe=\"1\" "
                      "xtl=\"%.3f\" ytl=\"%.3f\" xbr=\"%.3f\" ybr=\"%.3f\" z_order=\"0\">\n",
                      frame, outside, d.x0 * video.width, d.y0 * video.height, d.x1 * video.width,
                      d.y1 * video.height),
      Attribute("actions", ActionsOf(d)),
      Attribute("person_score", absl::StrFormat("%.6g", d.person_score)),
      Attribute("time_s", absl::StrFormat("%.6f", d.seconds)), "    </box>\n");
}

std::string LabelAttribute(absl::string_view name) {
  return absl::StrCat("<attribute><name>", name,
                      "</name><mutable>True</mutable><input_type>text</input_type>"
                      "<default_value></default_value><values></values></attribute>");
}

std::string Meta(const DetectedVideo& video) {
  return absl::StrCat(
      "  <meta>\n    <task>\n      <name>", XmlText(video.name), "</name>\n      <size>",
      video.frames, "</size>\n      <mode>interpolation</mode>\n      <labels>\n        <label>",
      "<name>person</name><attributes>", LabelAttribute("actions"), LabelAttribute("person_score"),
      LabelAttribute("time_s"), "</attributes></label>\n      </labels>\n      <original_size>",
      "<width>", video.width, "</width><height>", video.height, "</height></original_size>\n",
      "    </task>\n  </meta>\n");
}

// By frame.
using Track = std::map<int64_t, const Detection*>;

// Of each person; those who are not linked each by themselves. By their first frame.
std::vector<Track> TracksOf(const std::map<int64_t, Look>& looks) {
  std::vector<Track> tracks;
  std::map<int64_t, size_t> place_of_linked;
  for (const auto& [frame, look] : looks) {
    for (const Detection* person : look.people) {
      size_t place = tracks.size();
      if (person->track_id != 0) {
        place = place_of_linked.emplace(person->track_id, place).first->second;
      }
      if (place == tracks.size()) tracks.emplace_back();
      tracks[place].emplace(frame, person);
    }
  }
  return tracks;
}

std::string Boxes(const DetectedVideo& video, const std::map<int64_t, Look>& looks,
                  const Track& track) {
  std::string xml;
  for (auto box = track.begin(); box != track.end(); ++box) {
    const auto& [frame, person] = *box;
    xml += Box(video, *person, frame, /*outside=*/false);
    const auto next_look = looks.upper_bound(frame);
    const auto next_box = std::next(box);
    const bool stays = next_box != track.end() && next_box->first == next_look->first;
    // Without an end CVAT would show the box until their next one, or to the end of the video.
    if (!stays && frame + 1 < video.frames) {
      xml += Box(video, *person, frame + 1, /*outside=*/true);
    }
  }
  return xml;
}

}  // namespace

std::string ToCvatXml(const DetectedVideo& video) {
  std::string xml = absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<annotations>\n  <version>1.1</version>\n",
      Meta(video));
  const std::map<int64_t, Look> looks = LooksOf(video);
  int64_t id = 0;
  for (const Track& track : TracksOf(looks)) {
    absl::StrAppend(&xml, "  <track id=\"", id++, "\" label=\"person\" source=\"auto\">\n",
                    Boxes(video, looks, track), "  </track>\n");
  }
  return xml + "</annotations>\n";
}

}  // namespace scanline::formats
