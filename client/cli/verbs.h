#pragma once

#include "client/cli/args.h"
#include "client/cli/interrupt.h"
#include "client/cli/terminal.h"

namespace scanline::cli {

// What each verb does, to the exit code. Data goes to standard output, all else to standard error.
int RunClassify(const Args& args, const Terminal& terminal, Interrupt& interrupt);
int RunDetect(const Args& args, const Terminal& terminal, Interrupt& interrupt);
int RunEmbed(const Args& args, const Terminal& terminal, Interrupt& interrupt);
int RunEval(const Args& args, const Terminal& terminal, Interrupt& interrupt);
int RunEvalRetrieval(const Args& args, const Terminal& terminal, Interrupt& interrupt);
int RunEvalAva(const Args& args, const Terminal& terminal, Interrupt& interrupt);
int RunIndex(const Args& args, const Terminal& terminal, Interrupt& interrupt);
int RunSearch(const Args& args, const Terminal& terminal, Interrupt& interrupt);
int RunExport(const Args& args, const Terminal& terminal, Interrupt& interrupt);
int RunModels(const Args& args, const Terminal& terminal, Interrupt& interrupt);
int RunHealth(const Args& args, const Terminal& terminal, Interrupt& interrupt);
int RunImport(const Args& args, Interrupt& interrupt);

}  // namespace scanline::cli
