// What is written is read back, by readers of their own, and is what went in.

#include "client/formats/detections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace scanline::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

std::vector<DetectedVideo> Example() {
  DetectedVideo street{"street, \"east\" <1>.mp4", 768, 576, 120, {}, {}};
  street.keyframes = {{0, 0, 0}, {1, 25, 1}, {2.002, 50, 2}};
  street.detections = {
      {0,
       0,
       0.125,
       0.25,
       0.5,
       0.75,
       7,
       0.93,
       {{12, "stand", 0.8125}, {80, "watch (a person)", 0.25}}},
      {2.002, 50, 0.5, 0.5, 0.75, 1, 7, 0.9, {{12, "stand", 0.5}}},
      {0, 0, 0, 0, 0.25, 0.25, 0, 0.71, {{14, "walk & \"talk\"", 0.125}}},
  };
  DetectedVideo empty{"nobody.mp4", 64, 48, 10, {{0, 0, 0}}, {}};
  DetectedVideo other{"b.mkv", 100, 50, 51, {}, {}};
  other.detections = {{2, 50, 0, 0, 1, 1, 7, 1, {{14, "walk & \"talk\"", 1}}}};
  return {street, empty, other};
}

TEST(ToAvaCsv, HasARowForEachActionOfEachPerson) {
  const std::string name = "\"street, \"\"east\"\" <1>.mp4\"";
  EXPECT_EQ(ToAvaCsv(Example()), name + ",0,0.125,0.25,0.5,0.75,12,0.8125\n" + name +
                                     ",0,0.125,0.25,0.5,0.75,80,0.25\n" + name +
                                     ",2.002,0.5,0.5,0.75,1,12,0.5\n" + name +
                                     ",0,0,0,0.25,0.25,14,0.125\n" + "b.mkv,2,0,0,1,1,14,1\n");
}

TEST(ToAvaCsv, NumbersKeepSixPlaces) {
  DetectedVideo video{"v", 10, 10, 0, {}, {}};
  video.detections = {{902, 0, 1.0 / 3, 1e-9, -1e-9, 2.0 / 3, 0, 1, {{1, "x", 0.1}}}};
  EXPECT_EQ(ToAvaCsv({video}), "v,902,0.333333,0,0,0.666667,1,0.1\n");
}

TEST(ToCocoJson, ReadsBackAsWhatWentIn) {
  const auto videos = Example();
  const auto file = nlohmann::json::parse(ToCocoJson(videos));
  std::map<int64_t, nlohmann::json> video_of, image_of;
  for (const auto& row : file.at("videos")) video_of[row.at("id")] = row;
  for (const auto& row : file.at("images")) image_of[row.at("id")] = row;
  EXPECT_EQ(video_of.size(), 3u);
  EXPECT_EQ(image_of.size(), 5u) << "a keyframe where nobody was is an image too";
  std::map<int, std::string> names;
  for (const auto& row : file.at("categories")) names[row.at("id")] = row.at("name");
  EXPECT_EQ(names, (std::map<int, std::string>{
                       {12, "stand"}, {14, "walk & \"talk\""}, {80, "watch (a person)"}}));

  std::vector<std::string> wanted, found;
  const auto line = [](const auto&... parts) { return nlohmann::json{parts...}.dump(); };
  for (const DetectedVideo& video : videos) {
    for (const Detection& d : video.detections) {
      for (const ScoredClass& action : d.classes) {
        wanted.push_back(line(video.name, video.width, d.frame_index, d.seconds, d.x0, d.y0, d.x1,
                              d.y1, action.id, action.score, d.track_id, d.person_score));
      }
    }
  }
  std::set<int64_t> ids;
  for (const auto& row : file.at("annotations")) {
    EXPECT_TRUE(ids.insert(row.at("id").get<int64_t>()).second);
    const auto& image = image_of.at(row.at("image_id"));
    const auto& video = video_of.at(image.at("video_id"));
    const double w = image.at("width"), h = image.at("height");
    const auto& box = row.at("bbox");
    const double x = box[0], y = box[1], width = box[2], height = box[3];
    EXPECT_DOUBLE_EQ(row.at("area"), width * height);
    EXPECT_EQ(row.at("iscrowd"), 0);
    found.push_back(line(video.at("name").get<std::string>(), image.at("width").get<int>(),
                         image.at("frame_index").get<int64_t>(), image.at("time_s").get<double>(),
                         x / w, y / h, (x + width) / w, (y + height) / h,
                         row.at("category_id").get<int>(), row.at("score").get<double>(),
                         row.at("track_id").get<int64_t>(), row.at("person_score").get<double>()));
  }
  EXPECT_THAT(found, UnorderedElementsAreArray(wanted));
}

// Looks at 1, 2, 3 s fall on the frame of 0.96 s, those at 4, 5, 6 s on that of 6 s. A linked
// person is given otherwise each time, one who is not linked is the same each time, and another one
// only in the look at 2 s.
DetectedVideo SlowClip() {
  DetectedVideo video{"slow.mp4", 100, 100, 25, {}, {}};
  for (int second = 1; second <= 6; ++second) {
    const int64_t frame = second <= 3 ? 23 : 24;
    video.keyframes.push_back({double(second), frame, frame == 23 ? 0.96 : 6});
    video.detections.push_back(
        {double(second), frame, 0.1 * second, 0, 0.7, 1, 4, 1, {{1, "walk", 0.5}}});
    video.detections.push_back({double(second), frame, 0.5, 0.5, 0.75, 1, 0, 1, {{2, "sit", 0.5}}});
  }
  video.detections.push_back({2, 23, 0, 0, 0.25, 0.25, 0, 1, {{3, "run", 0.5}}});
  return video;
}

TEST(ToCocoJson, AFrameIsOneImageHoweverManyLooksFallOnIt) {
  const auto file = nlohmann::json::parse(ToCocoJson({SlowClip()}));
  ASSERT_EQ(file["images"].size(), 2u);
  EXPECT_EQ(file["images"][0]["frame_index"], 23);
  EXPECT_EQ(file["images"][0]["time_s"], 1) << "the look that is nearest to the frame";
  EXPECT_EQ(file["images"][1]["frame_index"], 24);
  EXPECT_EQ(file["images"][1]["time_s"], 6);
  std::vector<std::string> rows;
  for (const auto& row : file["annotations"]) {
    rows.push_back(nlohmann::json{row["image_id"], row["category_id"], row["bbox"][0]}.dump());
  }
  EXPECT_THAT(rows,
              ElementsAre("[1,1,10.0]", "[1,2,50.0]", "[1,3,0.0]", "[2,1,60.0]", "[2,2,50.0]"));
}

TEST(ToCocoJson, AFloatIsWrittenAsItIsMeant) {
  DetectedVideo video{"v", 100, 100, 0, {}, {}};
  video.detections = {{0, 0, 0.1F, 0, 1, 1, 0, 0.93F, {{1, "x", 0.81F}}}};
  const std::string json = ToCocoJson({video});
  EXPECT_THAT(json, HasSubstr("\"score\": 0.81,"));
  EXPECT_THAT(json, HasSubstr("\"person_score\": 0.93\n"));
  EXPECT_THAT(ToCvatXml(video), HasSubstr("&quot;score&quot;:0.81}"));
}

TEST(ToCocoJson, ANameMayBeAnyBytes) {
  DetectedVideo video{"a\xFF.mp4", 10, 10, 0, {{0, 0, 0}}, {}};
  const auto file = nlohmann::json::parse(ToCocoJson({video}));
  EXPECT_EQ(file["videos"][0]["name"], "a\xEF\xBF\xBD.mp4");
}

// Elements of an XML text in document order, with their attributes and the text before the next
// tag. Refuses what is not well-formed as far as these files go.
struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;
};

std::string Unescape(absl::string_view text) {
  if (text.find('<') != text.npos) throw std::runtime_error("a bare <");
  return absl::StrReplaceAll(text, {{"&lt;", "<"},
                                    {"&gt;", ">"},
                                    {"&quot;", "\""},
                                    {"&amp;", "&"},
                                    {"&#10;", "\n"},
                                    {"&#9;", "\t"}});
}

std::vector<Element> ReadXml(absl::string_view xml) {
  std::vector<Element> elements;
  std::vector<std::string> open;
  xml.remove_prefix(xml.find("?>") + 2);
  while (true) {
    const size_t start = xml.find('<');
    if (start == xml.npos) break;
    const size_t end = xml.find('>', start);
    std::string tag(xml.substr(start + 1, end - start - 1));
    xml.remove_prefix(end + 1);
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) throw std::runtime_error("not nested");
      open.pop_back();
      continue;
    }
    Element element;
    element.name = tag.substr(0, tag.find(' '));
    for (size_t at = tag.find(' '); at != tag.npos;) {
      const size_t equals = tag.find("=\"", at), close = tag.find('"', equals + 2);
      element.attributes[tag.substr(at + 1, equals - at - 1)] =
          Unescape(tag.substr(equals + 2, close - equals - 2));
      at = tag.find(' ', close);
    }
    element.text = Unescape(xml.substr(0, xml.find('<')));
    open.push_back(element.name);
    elements.push_back(std::move(element));
  }
  if (!open.empty()) throw std::runtime_error("not closed");
  return elements;
}

double Number(const std::string& text) {
  double value = 0;
  EXPECT_TRUE(absl::SimpleAtod(text, &value)) << text;
  return value;
}

TEST(ToCvatXml, ReadsBackAsWhatWentIn) {
  const DetectedVideo video = Example()[0];
  DetectedVideo back{"", 0, 0, 0, {}, {}};
  int64_t track = -1;
  std::vector<std::pair<int64_t, int64_t>> ends;  // (track, frame)
  bool outside = false;
  for (const Element& element : ReadXml(ToCvatXml(video))) {
    const auto& a = element.attributes;
    if (element.name == "name" && back.name.empty()) back.name = element.text;
    if (element.name == "size") back.frames = static_cast<int64_t>(Number(element.text));
    if (element.name == "width") back.width = static_cast<int>(Number(element.text));
    if (element.name == "height") back.height = static_cast<int>(Number(element.text));
    if (element.name == "track") {
      EXPECT_EQ(a.at("label"), "person");
      track = static_cast<int64_t>(Number(a.at("id")));
    }
    if (element.name == "box") {
      EXPECT_EQ(a.at("keyframe"), "1");
      outside = a.at("outside") == "1";
      const auto frame = static_cast<int64_t>(Number(a.at("frame")));
      if (outside) {
        ends.emplace_back(track, frame);
        continue;
      }
      Detection d;
      d.frame_index = frame;
      d.x0 = Number(a.at("xtl")) / 768;
      d.y0 = Number(a.at("ytl")) / 576;
      d.x1 = Number(a.at("xbr")) / 768;
      d.y1 = Number(a.at("ybr")) / 576;
      d.track_id = track;
      back.detections.push_back(d);
    }
    if (element.name == "attribute" && a.count("name") != 0 && !outside) {
      Detection& d = back.detections.back();
      if (a.at("name") == "person_score") d.person_score = Number(element.text);
      if (a.at("name") == "time_s") d.seconds = Number(element.text);
      if (a.at("name") != "actions") continue;
      for (const auto& action : nlohmann::json::parse(element.text)) {
        d.classes.push_back({action.at("id"), action.at("label"), action.at("score")});
      }
    }
  }
  EXPECT_EQ(back.name, video.name);
  EXPECT_EQ(back.width, 768);
  EXPECT_EQ(back.height, 576);
  EXPECT_EQ(back.frames, 120);
  // By track, and these by their first frame.
  const int order[] = {0, 1, 2}, tracks[] = {0, 0, 1};
  ASSERT_EQ(back.detections.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    const Detection& d = back.detections[i];
    const Detection& want = video.detections[order[i]];
    EXPECT_EQ(d.track_id, tracks[i]);
    EXPECT_EQ(d.frame_index, want.frame_index);
    EXPECT_EQ(d.seconds, want.seconds);
    EXPECT_EQ(d.person_score, want.person_score);
    for (const auto& [a, b] :
         {std::pair(d.x0, want.x0), {d.y0, want.y0}, {d.x1, want.x1}, {d.y1, want.y1}}) {
      EXPECT_NEAR(a, b, 1e-6);
    }
    ASSERT_EQ(d.classes.size(), want.classes.size());
    for (size_t k = 0; k < d.classes.size(); ++k) {
      EXPECT_EQ(d.classes[k].id, want.classes[k].id);
      EXPECT_EQ(d.classes[k].label, want.classes[k].label);
      EXPECT_EQ(d.classes[k].score, want.classes[k].score);
    }
  }
  EXPECT_THAT(ends, ElementsAre(std::pair(0, 1), std::pair(0, 51), std::pair(1, 1)))
      << "the look at frame 25 did not find them";
}

// "frame" of each box, "-frame" of those that are outside; ids of tracks between them.
std::string BoxesOf(const DetectedVideo& video) {
  std::string boxes;
  for (const Element& element : ReadXml(ToCvatXml(video))) {
    const auto& a = element.attributes;
    if (element.name == "track") boxes += "#" + a.at("id") + " ";
    if (element.name == "box") boxes += (a.at("outside") == "1" ? "-" : "") + a.at("frame") + " ";
  }
  return boxes;
}

TEST(ToCvatXml, AFrameHasEachPersonOnceHoweverManyLooksFallOnIt) {
  EXPECT_EQ(BoxesOf(SlowClip()), "#0 23 24 #1 23 -24 #2 23 -24 #3 24 ");
  EXPECT_THAT(ToCvatXml(SlowClip()), HasSubstr("<size>25</size>"));
}

TEST(ToCvatXml, IsOutsideFromTheFrameAfterALookThatTheNextDoesNotFollow) {
  DetectedVideo video{"v", 10, 10, 100, {}, {}};
  for (const int frame : {10, 20, 21, 30, 40, 50, 99}) {
    video.keyframes.push_back({frame / 25.0, frame, frame / 25.0});
  }
  for (const int frame : {10, 20, 30, 40, 99}) {
    video.detections.push_back({frame / 25.0, frame, 0, 0, 1, 1, 1, 1, {}});
  }
  EXPECT_EQ(BoxesOf(video), "#0 10 20 -21 30 40 -41 99 ");
}

TEST(ToCvatXml, ABoxOnTheLastFrameNeedsNoEnd) {
  EXPECT_THAT(ToCvatXml(Example()[2]), ::testing::Not(HasSubstr("outside=\"1\"")));
}

TEST(ToCvatXml, TextThatXmlHasNoPlaceForIsReplaced) {
  DetectedVideo video{std::string("a\x01\xFF\xEF\xBF\xBF\n]]>.mp4"), 10, 10, 0, {}, {}};
  const std::string xml = ToCvatXml(video);
  EXPECT_THAT(xml, HasSubstr("<name>a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD&#10;]]&gt;.mp4</name>"));
}

}  // namespace
}  // namespace scanline::formats
