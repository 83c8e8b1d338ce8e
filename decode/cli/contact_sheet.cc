#include "decode/cli/contact_sheet.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "decode/libav.h"
#include "decode/resize.h"

namespace scanline {
namespace {

constexpr int kGap = 8;
constexpr int kCaptionHeight = 18;
constexpr int kGlyphScale = 2;
constexpr uint8_t kBackground = 24;
constexpr uint8_t kInk = 220;
constexpr int kMaxColumns = 8;

struct Glyph {
  char letter;
  std::array<const char*, 5> rows;  // 3 x 5 pixels
};

constexpr Glyph kGlyphs[] = {
    {'0', {"###", "# #", "# #", "# #", "###"}}, {'1', {" # ", "## ", " # ", " # ", "###"}},
    {'2', {"###", "  #", "###", "#  ", "###"}}, {'3', {"###", "  #", " ##", "  #", "###"}},
    {'4', {"# #", "# #", "###", "  #", "  #"}}, {'5', {"###", "#  ", "###", "  #", "###"}},
    {'6', {"###", "#  ", "###", "# #", "###"}}, {'7', {"###", "  #", "  #", " # ", " # "}},
    {'8', {"###", "# #", "###", "# #", "###"}}, {'9', {"###", "# #", "###", "  #", "###"}},
    {'#', {"# #", "###", "# #", "###", "# #"}}, {'.', {"   ", "   ", "   ", "   ", " # "}},
    {'-', {"   ", "   ", "###", "   ", "   "}}, {'s', {"   ", " ##", "## ", " ##", "## "}},
};

void DrawText(RgbImage& sheet, int left, int top, const std::string& text) {
  for (const char letter : text) {
    const auto* glyph = std::find_if(std::begin(kGlyphs), std::end(kGlyphs),
                                     [&](const Glyph& g) { return g.letter == letter; });
    for (int y = 0; glyph != std::end(kGlyphs) && y < 5 * kGlyphScale; ++y) {
      for (int x = 0; x < 3 * kGlyphScale; ++x) {
        const bool ink = glyph->rows[y / kGlyphScale][x / kGlyphScale] == '#';
        if (!ink || left + x >= sheet.width || top + y >= sheet.height) continue;
        std::memset(sheet.row(top + y) + 3 * ptrdiff_t{left + x}, kInk, 3);
      }
    }
    left += 4 * kGlyphScale;
  }
}

absl::Status WritePng(const std::string& path, const RgbImage& image) {
  const auto fail = [&] { return absl::UnavailableError(absl::StrCat("cannot write ", path)); };
  const AVCodec* codec = avcodec_find_encoder(AV_CODEC_ID_PNG);
  const CodecPtr encoder(avcodec_alloc_context3(codec));
  const FramePtr frame(av_frame_alloc());
  const PacketPtr packet(av_packet_alloc());
  if (codec == nullptr || !encoder || !frame || !packet) return fail();
  encoder->width = frame->width = image.width;
  encoder->height = frame->height = image.height;
  encoder->pix_fmt = AV_PIX_FMT_RGB24;
  frame->format = AV_PIX_FMT_RGB24;
  encoder->time_base = {1, 1};
  encoder->thread_count = 1;
  if (avcodec_open2(encoder.get(), codec, nullptr) < 0) return fail();
  if (av_frame_get_buffer(frame.get(), 0) < 0) return fail();
  for (int y = 0; y < image.height; ++y) {
    std::memcpy(frame->data[0] + ptrdiff_t{y} * frame->linesize[0], image.view().row(y),
                static_cast<size_t>(image.width) * 3);
  }
  if (avcodec_send_frame(encoder.get(), frame.get()) < 0) return fail();
  if (avcodec_send_frame(encoder.get(), nullptr) < 0) return fail();
  if (avcodec_receive_packet(encoder.get(), packet.get()) < 0) return fail();
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(packet->data), packet->size);
  out.close();
  return out ? absl::OkStatus() : fail();
}

}  // namespace

RgbImage MakeThumbnail(const RgbView& image) {
  const double scale =
      std::min(1.0, static_cast<double>(kThumbnailSide) / std::max(image.width, image.height));
  RgbImage thumbnail;
  thumbnail.width = std::max(1, static_cast<int>(std::lround(image.width * scale)));
  thumbnail.height = std::max(1, static_cast<int>(std::lround(image.height * scale)));
  thumbnail.stride = ptrdiff_t{thumbnail.width} * 3;
  thumbnail.bytes.resize(static_cast<size_t>(thumbnail.stride) * thumbnail.height);
  const Size size{thumbnail.width, thumbnail.height};
  ResizeLinear(image, size, {0, 0, size.width, size.height}, thumbnail.bytes.data());
  return thumbnail;
}

absl::Status WriteContactSheet(const std::string& path, const std::vector<SheetCell>& cells) {
  int cell_width = 12 * 4 * kGlyphScale, cell_height = 1;
  for (const SheetCell& cell : cells) {
    cell_width = std::max(cell_width, cell.thumbnail->width);
    cell_height = std::max(cell_height, cell.thumbnail->height);
  }
  const int count = static_cast<int>(cells.size());
  const int columns = std::clamp(static_cast<int>(std::ceil(std::sqrt(static_cast<double>(count)))),
                                 1, kMaxColumns);
  const int rows = (count + columns - 1) / columns;
  RgbImage sheet;
  ShapeImage(sheet, kGap + columns * (cell_width + kGap),
             kGap + rows * (cell_height + kCaptionHeight + kGap));
  std::fill(sheet.bytes.begin(), sheet.bytes.end(), kBackground);
  for (int i = 0; i < count; ++i) {
    const RgbImage& thumbnail = *cells[i].thumbnail;
    const int left = kGap + i % columns * (cell_width + kGap);
    const int top = kGap + i / columns * (cell_height + kCaptionHeight + kGap);
    for (int y = 0; y < thumbnail.height; ++y) {
      std::memcpy(sheet.row(top + y) + 3 * ptrdiff_t{left}, thumbnail.view().row(y),
                  static_cast<size_t>(thumbnail.width) * 3);
    }
    DrawText(sheet, left, top + cell_height + 4, cells[i].caption);
  }
  return WritePng(path, sheet);
}

}  // namespace scanline
