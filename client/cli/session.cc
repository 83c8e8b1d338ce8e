#include "client/cli/session.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "client/cli/exit_code.h"
#include "client/cli/outcome.h"
#include "client/cli/spec.h"

namespace scanline::cli {
namespace {

absl::Status NoModel(const std::string& wanted, const std::vector<v1::Model>& models) {
  std::vector<std::string> names;
  for (const v1::Model& model : models) {
    names.emplace_back(absl::StripPrefix(model.name(), "models/"));
  }
  return MakeClientError(absl::StatusCode::kNotFound, ReasonName(Reason::kModelNotFound),
                         absl::StrCat("no model \"", wanted, "\"; the server has: ",
                                      names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

}  // namespace

absl::StatusOr<Session> OpenSession(const ServerAddress& address, const std::string& model) {
  Session session;
  SCANLINE_ASSIGN_OR_RETURN(session.client, Client::Connect(address));
  SCANLINE_ASSIGN_OR_RETURN(const bool serving, session.client->IsServing());
  if (!serving) {
    return MakeClientError(absl::StatusCode::kUnavailable, kServerNotReady,
                           absl::StrCat("the server at ", address.host_port(), " (", address.origin,
                                        ") is not ready"));
  }
  std::string name = ModelResource(model);
  if (name.empty()) {
    SCANLINE_ASSIGN_OR_RETURN(const std::vector<v1::Model> models, session.client->ListModels());
    if (models.empty()) return NoModel("", models);
    name = models.front().name();
  }
  auto answer = session.client->GetModel(name);
  if (ErrorOf(answer.status()).reason == ReasonName(Reason::kModelNotFound)) {
    SCANLINE_ASSIGN_OR_RETURN(const std::vector<v1::Model> models, session.client->ListModels());
    return NoModel(model, models);
  }
  if (!answer.ok()) return answer.status();
  session.model = std::move(*answer->mutable_model());
  session.limits = *answer->mutable_limits();
  return session;
}

std::string NoSessionMessage(const absl::Status& status) {
  const ClientError error = ErrorOf(status);
  // These begin with the address and say it all; the others need their reason named.
  const bool whole = error.reason == kHostNotFound || error.reason == kConnectionRefused ||
                     error.reason == kConnectionFailed || error.reason == kWrongProtocol ||
                     error.reason == kServerNotReady ||
                     error.reason == ReasonName(Reason::kModelNotFound);
  std::string text = absl::StrCat("scanline: ", whole ? error.message : Sentence(error), "\n");
  if (error.reason == kServerNotReady || ExitCodeOf(error) != kExitNoServer) return text;
  return absl::StrCat(text,
                      "  start one:   scanline-server\n"
                      "  or point to: --server HOST:PORT or SCANLINE_SERVER\n");
}

}  // namespace scanline::cli
