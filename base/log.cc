#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

namespace scanline {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

bool json_lines = false;

spdlog::logger& Logger() {
  static const auto logger = [] {
    auto made = std::make_shared<spdlog::logger>("scanline",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *logger;
}

std::string JsonEscaped(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += absl::StrFormat("\\u%04x", c);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

void InitLog(LogLevel level) {
  json_lines = isatty(fileno(stderr)) == 0;
  Logger().set_level(ToSpdlog(level));
  if (json_lines) {
    Logger().set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":"%v"})");
  }
}

void Log(LogLevel level, absl::string_view message) {
  const std::string text = json_lines ? JsonEscaped(message) : std::string(message);
  Logger().log(ToSpdlog(level), "{}", text);
}

}  // namespace scanline
