#pragma once

#include "client/cli/args.h"

namespace scanline::cli {

const char* OverviewHelp();       // `scanline --help`
const char* VerbHelp(Verb verb);  // `scanline VERB --help`, at most 25 lines of 80 columns

}  // namespace scanline::cli
