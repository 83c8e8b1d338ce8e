#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace scanline::cli {

// What `--save FILE` writes.
enum class SaveAs { kMp4, kWebm, kSheet, kAss, kVtt, kAvaCsv, kCocoJson, kCvatXml };

// By the end of the file's name, in any case: .mp4 .webm .png .ass .vtt .csv .json .xml; nullopt
// for others.
std::optional<SaveAs> SaveAsOf(absl::string_view file);

// What is wrong with the names of --save; "" if nothing. `boxes`: the answer has some, so that the
// formats of detections (.csv, .json, .xml) can be written too.
std::string WrongSave(const std::vector<std::string>& files, bool boxes);

}  // namespace scanline::cli
