#include "server/model_service.h"

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "server/grpc_status.h"
#include "server/to_proto.h"

namespace scanline {

absl::Status ListPage(const ModelTable& models, v1::Model::State state, int page_size,
                      absl::string_view token, v1::ListModelsResponse* response) {
  const auto count = static_cast<int>(models.all().size());
  if (page_size < 0) {
    return MakeError(Reason::kFieldInvalid,
                     absl::StrCat("page_size: expected 0 (all) or more, found ", page_size),
                     {{"field", "page_size"}});
  }
  int first = 0;
  if (!token.empty() && (!absl::SimpleAtoi(token, &first) || first < 0 || first > count)) {
    return MakeError(Reason::kFieldInvalid,
                     "page_token: expected a next_page_token of this server, found another text",
                     {{"field", "page_token"}});
  }
  const int last = page_size == 0 ? count : std::min(count, first + std::min(page_size, count));
  for (int i = first; i < last; ++i) ToProto(*models.all()[i], state, response->add_models());
  if (last < count) response->set_next_page_token(absl::StrCat(last));
  return absl::OkStatus();
}

v1::Model::State ModelService::State() const {
  if (pipeline_->draining()) return v1::Model::STATE_DRAINING;
  return pipeline_->ready() ? v1::Model::STATE_READY : v1::Model::STATE_WARMING;
}

grpc::ServerUnaryReactor* ModelService::ListModels(grpc::CallbackServerContext* context,
                                                   const v1::ListModelsRequest* request,
                                                   v1::ListModelsResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(
      ListPage(*models_, State(), request->page_size(), request->page_token(), response)));
  return reactor;
}

grpc::ServerUnaryReactor* ModelService::GetModel(grpc::CallbackServerContext* context,
                                                 const v1::GetModelRequest* request,
                                                 v1::GetModelResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const absl::StatusOr<ModelPtr> model = models_->Find(request->name());
  if (model.ok()) {
    ToProto(**model, State(), response->mutable_model());
    *response->mutable_limits() = limits_;
  }
  reactor->Finish(ToGrpcStatus(model.status()));
  return reactor;
}

}  // namespace scanline
