#include "client/render/text_fit.h"

#include <utf8proc.h>

#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"

namespace scanline::render {
namespace {

constexpr char kEllipsis[] = "\xE2\x80\xA6";
constexpr char kReplacement[] = "\xEF\xBF\xBD";

// Of DejaVu Sans 2.37, in 1/1000 em: advance widths of U+0020 to U+007E, and ascent plus descent,
// which is what an ASS font size measures.
constexpr std::array<int16_t, 95> kAdvance = {
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838};
constexpr double kLineHeight = 1164;
constexpr double kOtherAdvance = 800;    // wide Cyrillic and Arabic letters
constexpr double kSymbolAdvance = 1030;  // the ellipsis, arrows, U+FFFD
constexpr double kDoubleAdvance = 1150;  // CJK, emoji

struct Letter {
  absl::string_view bytes;
  int32_t code = -1;  // -1: not UTF-8
};

Letter NextLetter(absl::string_view text) {
  utf8proc_int32_t code = 0;
  const utf8proc_ssize_t bytes =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (bytes <= 0) return {text.substr(0, 1), -1};
  return {text.substr(0, static_cast<size_t>(bytes)), code};
}

std::vector<Letter> Letters(absl::string_view text) {
  std::vector<Letter> letters;
  while (!text.empty()) {
    letters.push_back(NextLetter(text));
    text.remove_prefix(letters.back().bytes.size());
  }
  return letters;
}

double Advance(const Letter& letter, double size) {
  double advance = kOtherAdvance;
  if (letter.code >= 0x20 && letter.code < 0x7F) {
    advance = kAdvance[letter.code - 0x20];
  } else if (letter.code >= 0) {
    const int columns = utf8proc_charwidth(letter.code);
    if (letter.code >= 0x2000) advance = kSymbolAdvance;
    if (columns != 1) advance = columns == 0 ? 0 : kDoubleAdvance;
  }
  return advance * size / kLineHeight;
}

// How many letters from the front (or the back) fit into `width`.
size_t CountThatFit(const std::vector<Letter>& letters, double size, double width, bool from_back) {
  double used = 0;
  for (size_t i = 0; i < letters.size(); ++i) {
    used += Advance(letters[from_back ? letters.size() - 1 - i : i], size);
    if (used > width) return i;
  }
  return letters.size();
}

// Marks that stand on the letter before them go with it.
bool IsMark(const Letter& letter) {
  return letter.code >= 0 && utf8proc_charwidth(letter.code) == 0;
}

}  // namespace

std::string SafeText(absl::string_view text) {
  std::string safe;
  for (const Letter& letter : Letters(text)) {
    if (letter.code < 0) {
      absl::StrAppend(&safe, kReplacement);
      continue;
    }
    switch (utf8proc_category(letter.code)) {
      case UTF8PROC_CATEGORY_CC:
      case UTF8PROC_CATEGORY_ZL:
      case UTF8PROC_CATEGORY_ZP:
        safe += ' ';
        break;
      case UTF8PROC_CATEGORY_CF:
        // Joiners belong to words and emoji; other format characters only hide things.
        if (letter.code == 0x200C || letter.code == 0x200D) absl::StrAppend(&safe, letter.bytes);
        break;
      default:
        absl::StrAppend(&safe, letter.bytes);
    }
  }
  return safe;
}

double TextWidth(absl::string_view text, double size) {
  double width = 0;
  for (const Letter& letter : Letters(text)) width += Advance(letter, size);
  return width;
}

std::string FitText(absl::string_view text, double size, double width, Cut cut) {
  const std::string safe = SafeText(text);
  if (TextWidth(safe, size) <= width) return safe;
  const double room = width - TextWidth(kEllipsis, size);
  if (room < 0) return "";
  const std::vector<Letter> letters = Letters(safe);
  // In the middle, the larger part goes to the end: there files of one camera differ.
  size_t tail = 0;
  double tail_width = 0;
  if (cut == Cut::kMiddle) {
    tail = CountThatFit(letters, size, room * 0.55, /*from_back=*/true);
    while (tail > 0 && IsMark(letters[letters.size() - tail])) --tail;
  }
  std::string end;
  for (size_t i = letters.size() - tail; i < letters.size(); ++i) {
    absl::StrAppend(&end, letters[i].bytes);
    tail_width += Advance(letters[i], size);
  }
  std::string fitted;
  const size_t head = CountThatFit(letters, size, room - tail_width, /*from_back=*/false);
  for (size_t i = 0; i < head; ++i) absl::StrAppend(&fitted, letters[i].bytes);
  while (!fitted.empty() && fitted.back() == ' ') fitted.pop_back();
  return absl::StrCat(fitted, kEllipsis, end);
}

}  // namespace scanline::render
