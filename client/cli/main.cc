#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "client/cli/args.h"
#include "client/cli/interrupt.h"
#include "client/cli/terminal.h"
#include "client/cli/verbs.h"

namespace scanline::cli {
namespace {

std::optional<std::string> Environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

int Main(const std::vector<std::string>& words) {
  const auto parsed = ParseArgs(words, Environment);
  if (const auto* reply = std::get_if<Reply>(&parsed)) {
    fputs(reply->out.c_str(), stdout);
    fputs(reply->err.c_str(), stderr);
    return reply->exit_code;
  }
  // gRPC logs to standard error what the messages of this program already say.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  Interrupt& interrupt = Interrupt::Install();
  const Args& args = std::get<Args>(parsed);
  const Terminal terminal = DetectTerminal(Environment);
  switch (args.verb) {
    case Verb::kClassify:
      return RunClassify(args, terminal, interrupt);
    case Verb::kDetect:
      return RunDetect(args, terminal, interrupt);
    case Verb::kEmbed:
      return RunEmbed(args, terminal, interrupt);
    case Verb::kEval:
      if (args.eval.task == "ava") return RunEvalAva(args, terminal, interrupt);
      return args.eval.task == "retrieval" ? RunEvalRetrieval(args, terminal, interrupt)
                                           : RunEval(args, terminal, interrupt);
    case Verb::kIndex:
      return RunIndex(args, terminal, interrupt);
    case Verb::kSearch:
      return RunSearch(args, terminal, interrupt);
    case Verb::kExport:
      return RunExport(args, terminal, interrupt);
    case Verb::kModels:
      return RunModels(args, terminal, interrupt);
    case Verb::kHealth:
      return RunHealth(args, terminal, interrupt);
    case Verb::kImport:
      return RunImport(args, interrupt);
  }
  return 0;
}

}  // namespace
}  // namespace scanline::cli

int main(int argc, char** argv) { return scanline::cli::Main({argv + 1, argv + argc}); }
