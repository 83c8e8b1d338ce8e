#include "client/cli/session.h"

#include <algorithm>
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

std::string PlainName(const v1::Model& model) {
  return std::string(absl::StripPrefix(model.name(), "models/"));
}

absl::Status NoModel(const std::string& wanted, const std::vector<v1::Model>& models) {
  std::vector<std::string> names;
  for (const v1::Model& model : models) {
    names.push_back(PlainName(model));
  }
  return MakeClientError(absl::StatusCode::kNotFound, ReasonName(Reason::kModelNotFound),
                         absl::StrCat("no model \"", wanted, "\"; the server has: ",
                                      names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

bool Does(const v1::Model& model, v1::Task task) {
  return std::find(model.tasks().begin(), model.tasks().end(), task) != model.tasks().end();
}

// What the model lacks, and what others do then.
std::pair<const char*, const char*> Lack(v1::Task task) {
  if (task == v1::TASK_CLASSIFY) return {"has no class head", "have one"};
  if (task == v1::TASK_DETECT_ACTIONS) return {"detects no actions of people", "do"};
  if (task == v1::TASK_EMBED) return {"gives no embeddings", "give them"};
  return {"takes no texts", "take them"};
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

absl::StatusOr<Session> OpenSessionFor(const ServerAddress& address, const std::string& model,
                                       v1::Task task) {
  SCANLINE_ASSIGN_OR_RETURN(Session session, OpenSession(address, model));
  if (Does(session.model, task)) return session;
  SCANLINE_ASSIGN_OR_RETURN(const std::vector<v1::Model> models, session.client->ListModels());
  std::vector<std::string> names;
  for (const v1::Model& other : models) {
    if (Does(other, task)) names.push_back(PlainName(other));
  }
  const bool for_texts = task == v1::TASK_CLASSIFY && Does(session.model, v1::TASK_MATCH_TEXT);
  const auto [lacks, others] = Lack(task);
  return MakeClientError(
      absl::StatusCode::kFailedPrecondition, ReasonName(Reason::kTaskUnsupported),
      absl::StrCat(PlainName(session.model), " ", lacks, "; models of this server that ", others,
                   ": ", names.empty() ? "none" : absl::StrJoin(names, ", "),
                   for_texts ? "; labels of your own: --texts FILE" : ""));
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
