#include "model/text/caption_cleanup.h"

#include <algorithm>

#include "absl/strings/string_view.h"

namespace scanline {
namespace {

constexpr absl::string_view kRemoved = ",.'!?\"()*#:;~";
constexpr absl::string_view kPerson = "<person>";

bool IsRemoved(int32_t code) {
  return code < 0x80 && kRemoved.find(static_cast<char>(code)) != absl::string_view::npos;
}

CodePoints WithPlainPersons(const CodePoints& text) {
  CodePoints plain;
  for (size_t i = 0; i < text.size();) {
    const bool person =
        text.size() - i >= kPerson.size() &&
        std::equal(kPerson.begin(), kPerson.end(), text.begin() + static_cast<ptrdiff_t>(i));
    const size_t length = person ? kPerson.size() : 1;
    const size_t brackets = person ? 1 : 0;
    for (size_t k = brackets; k < length - brackets; ++k) plain.push_back(text[i + k]);
    i += length;
  }
  return plain;
}

CodePoints WithSingleSpaces(const CodePoints& text) {
  CodePoints single;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && IsSpace(text[end])) ++end;
    if (end - i < 2) {  // One white space stays what it is.
      single.push_back(text[i++]);
      continue;
    }
    single.push_back(' ');
    i = end;
  }
  return single;
}

}  // namespace

CodePoints CleanUpCaption(const CodePoints& caption) {
  CodePoints text = LowerCase(caption);
  text.erase(std::remove_if(text.begin(), text.end(), IsRemoved), text.end());
  std::replace_if(
      text.begin(), text.end(), [](int32_t c) { return c == '-' || c == '/'; }, ' ');
  text = WithSingleSpaces(WithPlainPersons(text));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  while (!text.empty() && text.back() == ' ') text.pop_back();
  const auto first = std::find_if(text.begin(), text.end(), [](int32_t c) { return c != ' '; });
  text.erase(text.begin(), first);
  return text;
}

}  // namespace scanline
