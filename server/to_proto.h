#pragma once

#include "scanline/v1/video_service.pb.h"
#include "server/request.h"

namespace scanline {

// The answer as its message. The sampling report, timing and usage are always there; scores,
// embeddings and matches are means over the views (model/classify.h, model/match.h).
void ToProto(const Reply& reply, v1::ClipResult* result);
void ToProto(const Reply& reply, v1::EmbedTextResponse* response);

// What GetModel and ListModels say of a model.
void ToProto(const ServedModel& model, v1::Model::State state, v1::Model* message);

google::protobuf::Duration ToProto(absl::Duration duration);

}  // namespace scanline
