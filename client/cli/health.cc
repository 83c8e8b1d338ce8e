#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/csv.h"
#include "client/cli/exit_code.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/session.h"
#include "client/cli/table.h"
#include "client/cli/verbs.h"

namespace scanline::cli {
namespace {

std::string Render(const std::string& server, const std::string& status, Format format,
                   bool color) {
  if (format == Format::kTable)
    return WholeTable({{"SERVER"}, {"STATUS"}}, {{server, status}}, color);
  if (format == Format::kCsv) return CsvLine({"server", "status"}) + CsvLine({server, status});
  const std::string object =
      absl::StrCat("{\"server\":", JsonString(server), ",\"status\":", JsonString(status), "}\n");
  return format == Format::kJson ? absl::StrCat("[\n", object, "]\n") : object;
}

absl::StatusOr<bool> Ask(const ServerAddress& address) {
  auto client = Client::Connect(address);
  if (!client.ok()) return client.status();
  return (*client)->IsServing();
}

}  // namespace

int RunHealth(const Args& args, const Terminal& terminal, Interrupt&) {
  const auto serving = Ask(args.server);
  if (!serving.ok()) {
    fputs(NoSessionMessage(serving.status()).c_str(), stderr);
    return ExitCodeOf(ErrorOf(serving.status()));
  }
  Output output;
  output.Write(Render(args.server.host_port(), *serving ? "SERVING" : "NOT_SERVING",
                      ResolveFormat(args.format, terminal), UseColor(args.color, terminal)));
  if (!output.ok()) {
    ReportOutputError(output);
    return kExitInputFailed;
  }
  return *serving ? kExitOk : kExitNoServer;
}

}  // namespace scanline::cli
