#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace scanline::cli {

// `word` so that a POSIX shell reads it as that one word: plain where it can be, else in single
// quotes. Control characters and bytes that are no ASCII where not UTF-8 are written as $'\x0a',
// which bash and zsh read, so that the text can be shown and copied.
std::string ShellWord(absl::string_view word);

// The command that plays `path` from `seconds` on.
std::string OpenCommand(const std::string& path, double seconds);

}  // namespace scanline::cli
