#pragma once

#include "scanline/v1/video_service.grpc.pb.h"
#include "server/pipeline.h"

namespace scanline {

// What is loaded and what it accepts.
class ModelService final : public v1::ModelService::CallbackService {
 public:
  // Both pointers are borrowed.
  ModelService(const Pipeline* pipeline, const ModelTable* models, v1::ServerLimits limits)
      : pipeline_(pipeline), models_(models), limits_(std::move(limits)) {}

  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext* context,
                                       const v1::ListModelsRequest* request,
                                       v1::ListModelsResponse* response) override;
  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context,
                                     const v1::GetModelRequest* request,
                                     v1::GetModelResponse* response) override;

 private:
  v1::Model::State State() const;

  const Pipeline* const pipeline_;
  const ModelTable* const models_;
  const v1::ServerLimits limits_;
};

// One page of the models from `token` on ("" is the first page), at most `page_size` of them (0:
// all). Error: FIELD_INVALID.
absl::Status ListPage(const ModelTable& models, v1::Model::State state, int page_size,
                      absl::string_view token, v1::ListModelsResponse* response);

}  // namespace scanline
