#include "client/cli/ava_run.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "client/cli/annotations.h"
#include "client/cli/ava_true_boxes.h"
#include "client/cli/clip_run.h"
#include "client/cli/eval_run.h"
#include "client/cli/inputs.h"
#include "client/cli/outcome.h"
#include "client/cli/send_clip.h"
#include "client/cli/session.h"
#include "client/cli/spec.h"
#include "client/formats/detections.h"

namespace scanline::cli {
namespace {

constexpr int64_t kSecond = 1000;  // milliseconds
constexpr int64_t kShortest = 100;
constexpr size_t kBoxesOfARequest = 1000;  // the server's own limit, unless it is set to another

int64_t Milliseconds(double seconds) { return std::llround(seconds * kSecond); }

std::set<std::string> VideosOf(const std::set<AvaFrame>& keyframes) {
  std::set<std::string> videos;
  for (const AvaFrame& frame : keyframes) videos.insert(frame.first);
  return videos;
}

// Seconds of a clip that a request looks at.
struct Part {
  double first = 0;
  double last = 0;
  bool Has(int64_t milliseconds) const {
    const double seconds = static_cast<double>(milliseconds) / kSecond;
    return seconds >= first && seconds <= last;
  }
};

// Of a clip that has no frame for the time of some box; nullopt: `status` is about something else.
std::optional<Part> PartOf(const absl::Status& status) {
  const ClientError error = ErrorOf(status);
  if (error.reason != ReasonName(Reason::kSegmentOutOfRange)) return std::nullopt;
  const std::map<std::string, std::string> facts(error.metadata.begin(), error.metadata.end());
  const auto first = facts.find("first_seconds"), last = facts.find("last_seconds");
  Part part;
  if (first == facts.end() || !absl::SimpleAtod(first->second, &part.first) ||
      last == facts.end() || !absl::SimpleAtod(last->second, &part.last)) {
    return std::nullopt;
  }
  return part;
}

// When the server looked for people, in milliseconds.
std::set<int64_t> LooksOf(const v1::ClipResult& result) {
  std::set<int64_t> looks;
  for (const auto& offset : result.sampling().keyframe_offsets()) {
    looks.insert(Milliseconds(Seconds(offset)));
  }
  return looks;
}

std::string TextOf(const std::set<int64_t>& looks) {
  if (looks.empty()) return "the server looked for people nowhere";
  return absl::StrFormat("the server looked for people %d times from %.3f s to %.3f s",
                         looks.size(), static_cast<double>(*looks.begin()) / kSecond,
                         static_cast<double>(*looks.rbegin()) / kSecond);
}

// Whether a request had more boxes than the server takes; that limit is its own.
bool IsOfTooManyBoxes(const absl::Status& status) {
  const ClientError error = ErrorOf(status);
  const std::map<std::string, std::string> facts(error.metadata.begin(), error.metadata.end());
  const auto field = facts.find("field");
  return error.reason == ReasonName(Reason::kFieldInvalid) && field != facts.end() &&
         field->second == "spec.detect.proposals";
}

// What was found at the keyframes that the truth has; of others it says nothing.
std::vector<formats::Detection> AtKeyframes(const v1::ClipResult& result, const std::string& video,
                                            const std::set<AvaFrame>& keyframes) {
  std::vector<formats::Detection> found = AnnotateDetections(result, 0).found;
  found.erase(std::remove_if(found.begin(), found.end(),
                             [&](const formats::Detection& d) {
                               return keyframes.count({video, Milliseconds(d.seconds)}) == 0;
                             }),
              found.end());
  return found;
}

absl::Status SetInterval(const Args& args, const std::set<AvaFrame>& keyframes,
                         v1::DetectOptions& detect) {
  if (args.detect.interval_seconds == 0) {
    SCANLINE_ASSIGN_OR_RETURN(const int64_t interval, IntervalThrough(keyframes));
    SetSeconds(static_cast<double>(interval) / kSecond, detect.mutable_keyframe_interval());
    return absl::OkStatus();
  }
  const int64_t interval = Milliseconds(args.detect.interval_seconds);
  const auto missed = std::count_if(keyframes.begin(), keyframes.end(),
                                    [&](const AvaFrame& f) { return f.second % interval != 0; });
  if (missed == 0) return absl::OkStatus();
  SayOnError(absl::StrCat(missed, " of ", keyframes.size(), " keyframes of ", args.eval.truth,
                          " are no multiple of --interval: they are left out"));
  return absl::OkStatus();
}

// The request for every clip; with true boxes theirs are still to come.
absl::StatusOr<v1::AnalysisSpec> SpecForAva(const Args& args, const std::set<AvaFrame>& keyframes) {
  Args all_actions = args;
  all_actions.detect.top_k = 0;
  v1::AnalysisSpec spec = DetectSpecOf(all_actions);
  if (!args.eval.true_boxes) {
    SCANLINE_RETURN_IF_ERROR(SetInterval(args, keyframes, *spec.mutable_detect()));
  }
  return spec;
}

// The videos that have a clip; the others are skipped.
absl::StatusOr<std::vector<EvalClip>> ClipsToSend(const Args& args,
                                                  const std::set<std::string>& videos,
                                                  const std::map<std::string, std::string>& files,
                                                  AvaRun& run) {
  std::vector<EvalClip> clips;
  for (const std::string& video : videos) {
    const auto file = files.find(video);
    if (file != files.end()) {
      clips.push_back({video, file->second, clips.size()});
    } else {
      run.skipped[video] = absl::StrCat("no clip of this name in ", args.eval.clips);
    }
  }
  if (clips.empty() && !videos.empty() && !files.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        args.eval.clips, " has no clip of ", args.eval.truth, ": expected names such as \"",
        *videos.begin(), "\", found names such as \"", files.begin()->first, "\""));
  }
  for (const auto& [video, why] : run.skipped) SayOnError(absl::StrCat(video, ": ", why));
  return clips;
}

// One run over the clips. What it finds of each has its own place; the rest any thread may add to.
class Finder {
 public:
  Finder(const Args& args, const Session& session, const v1::AnalysisSpec& spec,
         const std::vector<AvaAction>& truths, const std::set<AvaFrame>& keyframes, size_t clips)
      : args_(args),
        session_(session),
        spec_(spec),
        truths_(truths),
        keyframes_(keyframes),
        found_(clips) {}

  absl::Status Ask(const EvalClip& clip, const OnSent& on_sent) {
    found_[clip.place].name = clip.path;
    const absl::Status status =
        args_.eval.true_boxes ? AskForTrueBoxes(clip, on_sent) : AskForPeople(clip, on_sent);
    if (!status.ok() && IsAboutTheClip(status)) {
      found_[clip.place].detections.clear();
      const MutexLock lock(mu_);
      skipped_[clip.path] = Sentence(ErrorOf(status));
    }
    return status;
  }

  void Finish(AvaRun& run) {
    const MutexLock lock(mu_);
    run.findings = formats::ToAvaCsv(found_);
    run.names = std::move(names_);
    run.skipped.merge(skipped_);
    for (auto& [frame, why] : left_out_) {
      if (run.skipped.count(frame.first) == 0) run.left_out.emplace(frame, std::move(why));
    }
  }

 private:
  absl::Status AskForPeople(const EvalClip& clip, const OnSent& on_sent) {
    SCANLINE_ASSIGN_OR_RETURN(const v1::ClipResult result, Send(clip, spec_, on_sent));
    Take(clip, result);
    LeaveOutBetween(clip.path, LooksOf(result));
    return absl::OkStatus();
  }

  // Nothing is sent where there is nobody to ask about: the server would look for people.
  absl::Status AskForTrueBoxes(const EvalClip& clip, const OnSent& on_sent) {
    std::vector<v1::BoundingBox> left = TrueBoxesOf(truths_, clip.path);
    std::optional<Part> part;
    size_t most = kBoxesOfARequest;
    while (!left.empty()) {
      const size_t count = BoxesOfARequest(left, most);
      const auto end = left.begin() + static_cast<std::ptrdiff_t>(count);
      v1::AnalysisSpec spec = spec_;
      spec.mutable_detect()->mutable_proposals()->Assign(left.begin(), end);
      const absl::StatusOr<v1::ClipResult> result = Send(clip, spec, on_sent);
      if (result.ok()) {
        Take(clip, *result);
        left.erase(left.begin(), end);
      } else if (!part && (part = PartOf(result.status()))) {
        LeaveOutBeyond(clip.path, *part);
        const auto is_beyond = [&](const v1::BoundingBox& box) {
          return !part->Has(Milliseconds(Seconds(box.time_offset())));
        };
        left.erase(std::remove_if(left.begin(), left.end(), is_beyond), left.end());
      } else if (count > 1 && IsOfTooManyBoxes(result.status())) {
        most = count / 2;
      } else {
        return result.status();
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<v1::ClipResult> Send(const EvalClip& clip, const v1::AnalysisSpec& spec,
                                      const OnSent& on_sent) const {
    return SendClip(clip.file, *session_.client, session_.limits, spec,
                    absl::Seconds(args_.timeout_seconds), on_sent);
  }

  void Take(const EvalClip& clip, const v1::ClipResult& result) {
    std::vector<formats::Detection> found = AtKeyframes(result, clip.path, keyframes_);
    const MutexLock lock(mu_);
    for (const formats::Detection& detection : found) {
      for (const formats::ScoredClass& action : detection.classes) {
        names_.emplace(action.id, action.label);
      }
    }
    std::vector<formats::Detection>& all = found_[clip.place].detections;
    std::move(found.begin(), found.end(), std::back_inserter(all));
  }

  // What `has` says no to, of the keyframes of `video`.
  void LeaveOut(const std::string& video, const std::string& why,
                const std::function<bool(int64_t)>& has) {
    const MutexLock lock(mu_);
    for (auto frame = keyframes_.lower_bound({video, std::numeric_limits<int64_t>::min()});
         frame != keyframes_.end() && frame->first == video; ++frame) {
      if (!has(frame->second)) left_out_[*frame] = why;
    }
  }

  void LeaveOutBeyond(const std::string& video, const Part& part) {
    LeaveOut(video,
             absl::StrFormat("the clip is looked at from %.3f s to %.3f s", part.first, part.last),
             [&](int64_t milliseconds) { return part.Has(milliseconds); });
  }

  void LeaveOutBetween(const std::string& video, const std::set<int64_t>& looks) {
    LeaveOut(video, TextOf(looks),
             [&](int64_t milliseconds) { return looks.count(milliseconds) > 0; });
  }

  const Args& args_;
  const Session& session_;
  const v1::AnalysisSpec& spec_;
  const std::vector<AvaAction>& truths_;
  const std::set<AvaFrame>& keyframes_;
  std::vector<formats::DetectedVideo> found_;
  Mutex mu_;
  std::map<std::string, std::string> skipped_ ABSL_GUARDED_BY(mu_);
  std::map<int, std::string> names_ ABSL_GUARDED_BY(mu_);
  std::map<AvaFrame, std::string> left_out_ ABSL_GUARDED_BY(mu_);
};

// A line for each video.
void SayLeftOut(const std::map<AvaFrame, std::string>& left_out) {
  std::map<std::string, int> count;
  for (const auto& [frame, why] : left_out) ++count[frame.first];
  for (const auto& [video, keyframes] : count) {
    const auto first = left_out.lower_bound({video, std::numeric_limits<int64_t>::min()});
    SayOnError(absl::StrCat(video, ": ", keyframes, " of the truth's keyframes left out, such as ",
                            static_cast<double>(first->first.second) / kSecond,
                            " s: ", first->second));
  }
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ClipsByVideo(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return absl::InvalidArgumentError(absl::StrCat("--clips ", folder, " is no folder"));
  }
  SCANLINE_ASSIGN_OR_RETURN(const Inputs inputs, ExpandInputs({folder}));
  std::map<std::string, std::string> files;
  for (const std::string& file : inputs.files) {
    const auto [first, is_new] = files.emplace(std::filesystem::path(file).stem().native(), file);
    if (is_new) continue;
    return absl::InvalidArgumentError(absl::StrCat("expected one clip of the name ", first->first,
                                                   ", found ", first->second, " and ", file));
  }
  return files;
}

absl::StatusOr<int64_t> IntervalThrough(const std::set<AvaFrame>& keyframes) {
  int64_t interval = kSecond;
  for (const AvaFrame& frame : keyframes) interval = std::gcd(interval, frame.second);
  if (interval >= kShortest) return interval;
  return absl::InvalidArgumentError(absl::StrCat(
      "the truth's keyframes are ", interval,
      " ms apart or whole multiples of it, expected 100 ms or more: give --interval, or "
      "--true-boxes"));
}

absl::StatusOr<AvaRun> DetectForAva(const Args& args, const Terminal& terminal,
                                    Interrupt& interrupt, const std::vector<AvaAction>& truths,
                                    const std::set<AvaFrame>& keyframes) {
  SCANLINE_ASSIGN_OR_RETURN(const auto files, ClipsByVideo(args.eval.clips));
  SCANLINE_ASSIGN_OR_RETURN(const v1::AnalysisSpec spec, SpecForAva(args, keyframes));
  AvaRun run;
  const auto session = OpenSessionFor(args.server, args.model, v1::TASK_DETECT_ACTIONS);
  if (!session.ok()) {
    fputs(NoSessionMessage(session.status()).c_str(), stderr);
    run.exit_code = ExitCodeOf(ErrorOf(session.status()));
    return run;
  }
  run.model = session->model.name();
  const std::set<std::string> videos = VideosOf(keyframes);
  SCANLINE_ASSIGN_OR_RETURN(const std::vector<EvalClip> clips,
                            ClipsToSend(args, videos, files, run));
  Finder finder(args, *session, spec, truths, keyframes, clips.size());
  run.exit_code = AskForClips(
      args, terminal, interrupt, *session, clips, videos.size(),
      [&](const EvalClip& clip, const OnSent& on_sent) { return finder.Ask(clip, on_sent); },
      [] { return absl::OkStatus(); });
  finder.Finish(run);
  SayLeftOut(run.left_out);
  return run;
}

}  // namespace scanline::cli
