#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace scanline::cli {

// How many of the likeliest classes count for top-5.
inline constexpr int kTopClasses = 5;

// The answer for a clip whose true class is known.
struct JudgedClip {
  std::string path;
  int truth = 0;
  std::vector<int> ranked;  // classes, likeliest first, at most kTopClasses
};

// A share with its 95 % interval of Wilson's score method (E. B. Wilson, 1927: the shares p for
// which (right/of - p)^2 <= z^2 p (1 - p) / of). Not a number where `of` is 0.
struct Share {
  int right = 0;
  int of = 0;
  double value = 0;
  double low = 0;
  double high = 0;
};
Share ShareOf(int right, int of);

struct ClassScores {
  int class_index = 0;
  int clips = 0;
  int top1 = 0;
  int top5 = 0;
};

struct Confusion {
  int truth = 0;
  int taken_for = 0;
  std::vector<std::string> clips;
};

struct Scores {
  Share top1;
  Share top5;
  double mean_class = 0;              // mean over `classes` of top1 / clips
  std::vector<ClassScores> classes;   // those that have clips, by index
  std::vector<Confusion> confusions;  // most clips first, then by index
};
Scores ScoreClips(absl::Span<const JudgedClip> clips);

}  // namespace scanline::cli
