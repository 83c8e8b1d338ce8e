#include "client/cli/text_width.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace scanline::cli {
namespace {

constexpr char kEllipsis[] = "\xE2\x80\xA6";

struct Letter {
  absl::string_view bytes;
  int width;
  bool printable;
};

Letter NextLetter(absl::string_view text) {
  utf8proc_int32_t code = 0;
  const utf8proc_ssize_t bytes =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (bytes <= 0) return {text.substr(0, 1), 1, false};
  const utf8proc_category_t category = utf8proc_category(code);
  const bool control = category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
                       category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
  return {text.substr(0, static_cast<size_t>(bytes)), control ? 1 : utf8proc_charwidth(code),
          !control};
}

std::vector<Letter> Letters(absl::string_view text) {
  std::vector<Letter> letters;
  while (!text.empty()) {
    letters.push_back(NextLetter(text));
    text.remove_prefix(letters.back().bytes.size());
  }
  return letters;
}

}  // namespace

int TextWidth(absl::string_view text) {
  int width = 0;
  for (const Letter& letter : Letters(text)) width += letter.width;
  return width;
}

std::string PrintableText(absl::string_view text) {
  std::string out;
  for (const Letter& letter : Letters(text)) {
    absl::StrAppend(&out, letter.printable ? letter.bytes : absl::string_view("?"));
  }
  return out;
}

std::string FitText(absl::string_view text, int width, Keep keep) {
  const std::string clean = PrintableText(text);
  if (TextWidth(clean) <= width) return clean;
  if (keep == Keep::kEnd) {
    const std::string name = clean.substr(clean.rfind('/') + 1);
    if (TextWidth(name) == width) return name;  // whole, rather than cut for an ellipsis
  }
  std::vector<Letter> letters = Letters(clean);
  if (keep == Keep::kEnd) std::reverse(letters.begin(), letters.end());
  std::vector<absl::string_view> kept;
  int used = 1;  // The ellipsis.
  for (const Letter& letter : letters) {
    used += letter.width;
    if (used > width) break;
    kept.push_back(letter.bytes);
  }
  if (width < 1) return "";
  std::string out;
  if (keep == Keep::kStart) {
    for (const auto bytes : kept) absl::StrAppend(&out, bytes);
    return absl::StrCat(out, kEllipsis);
  }
  std::reverse(kept.begin(), kept.end());
  for (const auto bytes : kept) absl::StrAppend(&out, bytes);
  const size_t folder = out.find('/');
  return absl::StrCat(kEllipsis, folder == std::string::npos ? out : out.substr(folder));
}

std::string PadText(absl::string_view text, int width, Align align) {
  const std::string fill(static_cast<size_t>(std::max(0, width - TextWidth(text))), ' ');
  return align == Align::kLeft ? absl::StrCat(text, fill) : absl::StrCat(fill, text);
}

}  // namespace scanline::cli
