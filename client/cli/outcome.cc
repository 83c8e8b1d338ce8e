#include "client/cli/outcome.h"

#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/local_error.h"

namespace scanline::cli {
namespace {

constexpr std::array<std::pair<absl::string_view, const char*>, 19> kPhrases = {{
    {"FIELD_INVALID", "the request is not valid"},
    {"VIDEO_UNREADABLE", "not a video"},
    {"CODEC_UNSUPPORTED", "codec not supported"},
    {"NO_VIDEO_STREAM", "no video in it"},
    {"VIDEO_TRUNCATED", "cut short"},
    {"VIDEO_CORRUPT", "damaged"},
    {"CLIP_TOO_LARGE", "too large"},
    {"RESOLUTION_LIMIT", "too many pixels"},
    {"DURATION_LIMIT", "too long"},
    {"FRAME_LIMIT", "too many frames"},
    {"DECODE_BUDGET", "too costly to decode"},
    {"SEGMENT_OUT_OF_RANGE", "nothing in that part of the clip"},
    {"MODEL_NOT_FOUND", "no such model"},
    {"TASK_UNSUPPORTED", "the model does not do this"},
    {"MODEL_LOADING", "server not ready"},
    {"DRAINING", "server is stopping"},
    {"QUEUE_FULL", "server busy"},
    {"UPLOAD_STORAGE", "server has no room"},
    {kNoAnswerInTime, "out of time"},
}};

std::string Phrase(const ClientError& error) {
  for (const auto& [reason, phrase] : kPhrases) {
    if (error.reason == reason) return phrase;
  }
  if (absl::StartsWith(error.reason, "EXPIRED_IN_")) return "out of time";
  return absl::StrReplaceAll(absl::AsciiStrToLower(absl::StatusCodeToString(error.code)),
                             {{"_", " "}});
}

}  // namespace

std::string Sentence(const ClientError& error) {
  const std::string reason =
      error.reason.empty() ? absl::StatusCodeToString(error.code) : error.reason;
  const bool local = reason == kFileNotFound || reason == kFileEmpty || reason == kFileUnreadable ||
                     reason == kFileChanged;
  if (local) return absl::StrCat(error.message, " (", reason, ")");  // It says all by itself.
  return absl::StrCat(Phrase(error), " (", reason, "): ", error.message);
}

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + duration.nanos() * 1e-9;
}

double QueueSeconds(const v1::Timing& timing) {
  return Seconds(timing.decode_queue()) + Seconds(timing.batch_queue());
}

}  // namespace scanline::cli
