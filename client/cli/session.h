#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/client.h"

namespace scanline::cli {

// A server that is there and ready, and the model that will answer.
struct Session {
  std::unique_ptr<Client> client;
  v1::Model model;
  v1::ServerLimits limits;
};

// `model` is what --model says; "": the first that the server lists.
absl::StatusOr<Session> OpenSession(const ServerAddress& address, const std::string& model);

// The same for what only some models do: without it TASK_UNSUPPORTED, with the names of those that
// do it.
absl::StatusOr<Session> OpenSessionFor(const ServerAddress& address, const std::string& model,
                                       v1::Task task);

// The lines for standard error about why there is no session, with what to do about it.
std::string NoSessionMessage(const absl::Status& status);

}  // namespace scanline::cli
