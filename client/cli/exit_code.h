#pragma once

#include "client/client_error.h"

namespace scanline::cli {

// docs/contracts.md, Settings and command line.
enum ExitCode {
  kExitOk = 0,
  kExitInputFailed = 1,
  kExitUsage = 2,
  kExitNoServer = 3,     // not reachable or not ready
  kExitNoModel = 4,      // unknown model or unsupported task
  kExitCredentials = 5,  // refused
  kExitInterrupted = 130,
};

// What the command exits with when `error` is what stopped it. kExitInputFailed means that the
// next input may still do better; any other code means that it will not.
ExitCode ExitCodeOf(const ClientError& error);

}  // namespace scanline::cli
