#include "client/cli/sniff.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"

namespace scanline::cli {
namespace {

bool HasAt(absl::string_view bytes, size_t at, absl::string_view mark) {
  return bytes.size() >= at + mark.size() && bytes.substr(at, mark.size()) == mark;
}

// ISO/IEC 14496-12 files and QuickTime: a box's size, then its four-letter type. Audio-only brands
// are left out.
bool IsIsoMedia(absl::string_view b) {
  for (const char* audio : {"M4A ", "M4B ", "M4P "}) {
    if (HasAt(b, 4, "ftyp") && HasAt(b, 8, audio)) return false;
  }
  for (const char* still : {"avif", "heic", "mif1"}) {
    if (HasAt(b, 4, "ftyp") && HasAt(b, 8, still)) return false;
  }
  for (const char* type : {"ftyp", "moov", "mdat", "moof", "styp", "wide", "skip", "free"}) {
    if (HasAt(b, 4, type)) return true;
  }
  return false;
}

// ISO/IEC 13818-1: packets of 188 bytes that each begin with 0x47; 192 with a time code before it.
bool IsTransportStream(absl::string_view b) {
  for (const size_t packet : {188, 192}) {
    const size_t first = packet - 188;
    if (b.size() < first + 4 * packet + 1) continue;
    bool all = true;
    for (size_t i = 0; i < 5; ++i) all = all && b[first + i * packet] == 0x47;
    if (all) return true;
  }
  return false;
}

// Program streams, MPEG-1/2/4 elementary streams, H.264 and H.265 in Annex B: a start code, then a
// unit that such a stream may begin with.
bool IsStartCodeStream(absl::string_view b) {
  const size_t at = HasAt(b, 0, absl::string_view("\0\0\0\1", 4)) ? 4
                    : HasAt(b, 0, absl::string_view("\0\0\1", 3)) ? 3
                                                                  : 0;
  if (at == 0 || b.size() < at + 2) return false;
  const auto unit = static_cast<unsigned char>(b[at]);
  if (unit == 0xBA || unit == 0xB3 || unit == 0xB0 || unit == 0xB5) return true;
  const int h264 = unit & 0x1F;  // 7: sequence parameters, 9: access unit delimiter
  const int h265 = unit >> 1;    // 32: video parameters, 33: sequence parameters, 35: delimiter
  return (unit < 0x80 && (h264 == 7 || h264 == 9 || h264 == 6)) || (h265 >= 32 && h265 <= 35);
}

bool IsAnimatedPng(absl::string_view b) {
  return HasAt(b, 0, "\x89PNG") && absl::StrContains(b, "acTL");
}

}  // namespace

bool LooksLikeVideo(absl::string_view head) {
  struct Mark {
    size_t at;
    absl::string_view bytes;
  };
  static constexpr Mark kMarks[] = {
      {0, "\x1A\x45\xDF\xA3"},                  // Matroska, WebM
      {8, "AVI "},                              // RIFF
      {0, "FLV\x01"},                           //
      {0, "OggS"},                              //
      {0, "\x30\x26\xB2\x75\x8E\x66\xCF\x11"},  // ASF, WMV
      {0, "GIF8"},                              //
      {0, "DKIF"},                              // IVF
      {0, "YUV4MPEG2"},                         //
      {0, ".RMF"},                              // RealMedia
      {0, "\x06\x0E\x2B\x34\x02\x05\x01\x01"},  // MXF
  };
  for (const Mark& mark : kMarks) {
    if (HasAt(head, mark.at, mark.bytes)) return true;
  }
  return IsIsoMedia(head) || IsTransportStream(head) || IsStartCodeStream(head) ||
         IsAnimatedPng(head);
}

bool NamedLikeVideo(absl::string_view name) {
  static constexpr const char* kEndings[] = {".3g2",  ".3gp",  ".asf",  ".avi",  ".flv",  ".h264",
                                             ".h265", ".hevc", ".ivf",  ".m2v",  ".m2ts", ".m4v",
                                             ".mkv",  ".mov",  ".mp4",  ".mpeg", ".mpg",  ".mxf",
                                             ".ogv",  ".vob",  ".webm", ".wmv",  ".y4m"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [name](const char* ending) { return absl::EndsWithIgnoreCase(name, ending); });
}

}  // namespace scanline::cli
