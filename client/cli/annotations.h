#pragma once

#include <string>
#include <utility>
#include <vector>

#include "client/formats/detections.h"
#include "client/render/contact_sheet.h"
#include "client/render/overlay.h"
#include "scanline/v1/video_service.pb.h"

namespace scanline::cli {

// A picture of a contact sheet that is still to be taken from the clip.
struct SheetMoment {
  double seconds = 0;
  std::vector<std::string> lines;
  std::vector<render::DrawnBox> boxes;
};

// An answer as it is shown on the clip and kept for other tools. Pure data; seconds from the clip's
// first picture.
struct Annotations {
  render::Overlay overlay;
  std::vector<SheetMoment> moments;      // at least one
  std::vector<render::ScoreLine> chart;  // of the sheet; may be empty
  std::string subtitle;                  // of the sheet
  // Empty where labels were asked for; what only the clip itself can say is missing.
  std::vector<formats::Detection> found;  // frame_index
  std::vector<formats::Keyframe> looks;   // frame_seconds; also where nobody was
};

// What TASK_DETECT_ACTIONS answered. A person who is linked moves from keyframe to keyframe and has
// a colour of their own; others stand for `interval_seconds` (0: the least time between two
// keyframes, at most 1 s) round their keyframe, in the colour of what they do most.
Annotations AnnotateDetections(const v1::ClipResult& result, double interval_seconds);

// What TASK_CLASSIFY answered: the labels of each window while no other window's middle is nearer,
// or those of the clip all the time.
Annotations AnnotateLabels(const v1::ClipResult& result);

}  // namespace scanline::cli
