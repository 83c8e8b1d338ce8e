#pragma once

#include <vector>

#include "model/person/person_box.h"
#include "model/person/rgb_picture.h"

namespace scanline {

// A piece of a picture, in pixels of the whole.
struct PicturePart {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

// The four corners of a picture, each 0.6 of its width and height, so that neighbours share a third
// of a part: somebody up to that size is whole in one of them.
std::vector<PicturePart> CornerParts(int width, int height);

RgbPicture PartOf(const RgbPicture& picture, const PicturePart& part);

// Whether `box` (of the part) ends at a side of the part that is inside the whole picture: then
// somebody may be cut off there.
bool CutOff(const PersonBox& box, const PicturePart& part, const RgbPicture& whole);

// `box` (of the part) as a box of the whole picture.
PersonBox InWhole(PersonBox box, const PicturePart& part, const RgbPicture& whole);

}  // namespace scanline
