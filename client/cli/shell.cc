#include "client/cli/shell.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/utf8.h"

namespace scanline::cli {
namespace {

bool IsPlain(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         absl::string_view("_@%+=:,./-").find(c) != absl::string_view::npos;
}

bool IsControl(char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); }

std::string AnsiQuoted(absl::string_view word) {
  std::string out = "$'";
  for (const char c : word) {
    if (c == '\'' || c == '\\') {
      absl::StrAppend(&out, "\\", std::string(1, c));
    } else if (IsControl(c) || !absl::ascii_isascii(static_cast<unsigned char>(c))) {
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace

std::string ShellWord(absl::string_view word) {
  if (std::any_of(word.begin(), word.end(), IsControl) || !IsUtf8(word)) return AnsiQuoted(word);
  if (!word.empty() && std::all_of(word.begin(), word.end(), IsPlain)) return std::string(word);
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

std::string OpenCommand(const std::string& path, double seconds) {
  return absl::StrFormat("mpv --start=%.1f %s", seconds, ShellWord(path));
}

}  // namespace scanline::cli
