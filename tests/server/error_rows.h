#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

// The rows of errors_test.cc: one way to provoke a reason each, and what it must say.

namespace scanline::testing {

using Details = std::vector<std::string>;

struct Row {
  std::string name;
  Reason reason;
  Details details;  // beside ErrorInfo
  std::vector<std::string> metadata;
  std::vector<std::string> message;  // parts of it
  std::function<grpc::Status()> provoke;
};

inline void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

inline Row InvalidField(const std::string& name, const std::string& message,
                        std::function<grpc::Status()> provoke) {
  return {name,      Reason::kFieldInvalid, {"BadRequest"}, {"field", "expected", "found"},
          {message}, std::move(provoke)};
}

inline Row UnsupportedTask(const std::string& name, const std::string& message,
                           std::function<grpc::Status()> provoke) {
  return {name,      Reason::kTaskUnsupported, {"PreconditionFailure"}, {"model", "task"},
          {message}, std::move(provoke)};
}

std::vector<Row> DetectRows();  // of TASK_DETECT_ACTIONS

}  // namespace scanline::testing
