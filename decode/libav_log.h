#pragma once

namespace scanline {

// Facts that libav puts only in its log. It refuses a picture size deep inside demuxers and
// decoders and hands out a plain "invalid argument"; the log line has the numbers.
struct LibavFindings {
  int refused_width = 0;  // of the last picture size that was refused; 0: none
  int refused_height = 0;
  bool ended_early = false;  // the container says that bytes are missing
  bool unsupported = false;  // a part of the format has no decoder here
};

// Collects what libav says on this thread while in scope. The first one also takes over libav's
// log for the whole process: nothing reaches standard error, and no single allocation of libav may
// pass 1 GiB. Scopes do not nest.
class LibavScope {
 public:
  explicit LibavScope(LibavFindings* findings);
  ~LibavScope();
  LibavScope(const LibavScope&) = delete;
  LibavScope& operator=(const LibavScope&) = delete;
};

}  // namespace scanline
