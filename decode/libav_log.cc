#include "decode/libav_log.h"

#include <cstdarg>
#include <cstring>
#include <mutex>

#include "base/check.h"

extern "C" {
#include <libavutil/log.h>
#include <libavutil/mem.h>
}

namespace scanline {
namespace {

constexpr size_t kMaxAllocation = size_t{1} << 30;

thread_local LibavFindings* current = nullptr;

// libav logs on the calling thread, since every decoder here runs with one thread.
void Listen(void* /*context*/, int level, const char* format, va_list args) {
  if (current == nullptr || level > AV_LOG_WARNING) return;
  if (std::strncmp(format, "Picture size %ux%u ", 19) == 0) {  // av_image_check_size2
    current->refused_width = static_cast<int>(va_arg(args, unsigned));
    current->refused_height = static_cast<int>(va_arg(args, unsigned));
  } else if (std::strstr(format, "ended prematurely") != nullptr ||
             std::strstr(format, "partial file") != nullptr) {
    current->ended_early = true;
  } else if (std::strstr(format, "unsupported") != nullptr) {
    current->unsupported = true;
  }
}

}  // namespace

LibavScope::LibavScope(LibavFindings* findings) {
  static std::once_flag once;
  std::call_once(once, [] {
    av_log_set_callback(Listen);
    av_max_alloc(kMaxAllocation);
  });
  SCANLINE_CHECK(current == nullptr);
  current = findings;
}

LibavScope::~LibavScope() { current = nullptr; }

}  // namespace scanline
