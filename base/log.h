#pragma once

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace scanline {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Sends the log to standard error: readable lines on a terminal, one JSON object a line elsewhere.
// Without this call, messages of kInfo and above go out as readable lines.
void InitLog(LogLevel level);

void Log(LogLevel level, absl::string_view message);

template <typename... Args>
void LogInfo(const absl::FormatSpec<Args...>& format, const Args&... args) {
  Log(LogLevel::kInfo, absl::StrFormat(format, args...));
}
template <typename... Args>
void LogWarning(const absl::FormatSpec<Args...>& format, const Args&... args) {
  Log(LogLevel::kWarning, absl::StrFormat(format, args...));
}
template <typename... Args>
void LogError(const absl::FormatSpec<Args...>& format, const Args&... args) {
  Log(LogLevel::kError, absl::StrFormat(format, args...));
}

}  // namespace scanline
