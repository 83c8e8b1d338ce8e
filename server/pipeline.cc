#include "server/pipeline.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/cost.h"
#include "server/texts.h"

namespace scanline {
namespace {

// What an upload is charged at once: the piece of it that is being received.
constexpr int64_t kUploadPieceBytes = 1 << 20;

// Time in which the decoder stood still for bytes counts as receiving.
void ChargeWaiting(Job& job) {
  if (job.request.upload() == nullptr) return;
  const absl::Duration waited = (*job.request.upload())->waited();
  job.timing.receive = job.timing.receive.value_or(absl::ZeroDuration()) + waited;
  job.entered += waited;
}

int64_t ReceivedBytes(const Request& request) {
  return request.clip_bytes() + request.text_bytes();
}

// So does the time in which people were looked for as finding them.
void ChargeFinding(absl::Duration finding, Job& job) {
  if (!job.request.people.find) return;
  job.timing.find_people = finding;
  job.entered += finding;
}

// Who is in the clip, and where in the pictures that the model sees.
absl::Status SetPeople(PeopleOfKeyframes found, Job& job) {
  const Request& request = job.request;
  if (!request.answer.tasks.detect) return absl::OkStatus();
  SCANLINE_ASSIGN_OR_RETURN(PeopleOfKeyframes people,
                            PeopleOf(request.people, job.clip, std::move(found)));
  job.people = PlacePeople(std::move(people), job.clip, request.frame_spec,
                           request.model->config.detect->inclusive);
  return absl::OkStatus();
}

// The clip's bytes are no longer needed: only its pictures and the texts are held from here on.
void ReleaseInput(Job& job) {
  if (job.request.upload() != nullptr) job.input_bytes = ReceivedBytes(job.request);
  job.request.input = std::string();
  job.ticket.Resize(
      static_cast<int64_t>(job.clip.pixels.size() + job.clip.tensor.size() * sizeof(float)) +
      job.request.text_bytes());
}

// Of the clip's shape, which differs from clip to clip where pictures keep their aspect.
int64_t TokensPerView(const BackboneConfig& backbone, const Clip& clip) {
  return int64_t{backbone.steps()} * (clip.height / backbone.patch) * (clip.width / backbone.patch);
}

int64_t WindowViews(const Clip& clip) {
  return std::count_if(clip.views.begin(), clip.views.end(),
                       [](const View& view) { return view.window >= 0; });
}

int64_t CostOf(const Job& job) {
  const Request& request = job.request;
  const ModelConfig& config = request.model->config;
  const std::vector<bool> run = ViewsRun(job.clip, request.answer.tasks, job.people);
  int64_t cost =
      TokensPerView(config.backbone, job.clip) * std::count(run.begin(), run.end(), true);
  cost += TextCost(config, request.texts);
  if (request.answer.tasks.rerank) cost += RerankCost(config, request.texts, WindowViews(job.clip));
  // Where nobody is seen nothing is run, and the queue still counts in units of work.
  return std::max<int64_t>(1, cost);
}

// One server that takes texts keeps room for both kinds of work.
AdmissionLimits LimitsFor(AdmissionLimits limits, const ModelTable& models) {
  for (const ModelPtr& model : models.all()) limits.keep_shares |= model->takes_texts();
  return limits;
}

std::string TaskLabel(const Request& request) {
  if (request.model == nullptr) return "";
  if (!request.has_clip()) return "embed_text";
  const TaskSet& tasks = request.answer.tasks;
  std::vector<std::string> names;
  if (tasks.classify) names.push_back("classify");
  if (tasks.embed) names.push_back("embed");
  if (tasks.match) names.push_back("match_text");
  if (tasks.detect) names.push_back("detect_actions");
  return absl::StrJoin(names, "+");
}

void CountUsage(const Prediction& prediction, Usage* usage) {
  usage->tokens = prediction.tokens;
  usage->texts = static_cast<int64_t>(prediction.texts.size());
  for (const TextEmbedding& text : prediction.texts) usage->text_tokens += text.tokens;
}

PredictItem ItemOf(const Job& job) {
  const Request& request = job.request;
  return {.clip = request.has_clip() ? &job.clip : nullptr,
          .cancel = &request.cancel,
          .tasks = request.answer.tasks,
          .texts = request.texts.empty() ? nullptr : &request.texts,
          .people = request.answer.tasks.detect ? &job.people.seen : nullptr};
}

absl::StatusOr<Reply> MakeReply(Job& job, absl::StatusOr<Prediction> outcome) {
  if (!outcome.ok()) return std::move(outcome).status();
  Reply reply;
  reply.model = job.request.model;
  reply.answer = job.request.answer;
  reply.prompts = job.request.prompts;
  reply.clip = std::move(job.clip);
  reply.people = std::move(job.people);
  if (!reply.answer.return_frames) std::vector<uint8_t>().swap(reply.clip.pixels);
  std::vector<float>().swap(reply.clip.tensor);
  reply.prediction = *std::move(outcome);
  reply.timing = job.timing;
  reply.usage = job.usage;
  return reply;
}

RequestRecord MakeRecord(const Job& job, const absl::Status& status) {
  RequestRecord record;
  record.model = job.request.model ? job.request.model->full_name() : "";
  record.status = status;
  record.stage = job.stage;
  record.timing = job.timing;
  record.input_bytes = job.input_bytes;
  record.method = job.method;
  record.task = TaskLabel(job.request);
  if (job.decoded) {
    record.codec = job.clip.source.codec;
    record.clip_seconds = job.clip.source.duration_seconds;
  }
  return record;
}

}  // namespace

Pipeline::Pipeline(const PipelineOptions& options, const ModelTable& models, Decode decode,
                   Metrics* metrics)
    : options_(options),
      decode_(std::move(decode)),
      metrics_(metrics),
      admission_(LimitsFor(options.admission, models)),
      upload_budget_(options.upload, &admission_),
      upload_queue_({.max_requests = 1},
                    [this](JobPtr job, absl::Status why) { Finish(std::move(job), why); }),
      decode_queue_({.max_requests = 1},
                    [this](JobPtr job, absl::Status why) { Finish(std::move(job), why); }),
      batch_queue_(options.batch,
                   [this](JobPtr job, absl::Status why) { Finish(std::move(job), why); }),
      workers_(
          std::make_unique<WorkerPool>(options.workers, models.all(), &batch_queue_,
                                       [this](Predictor& predictor, std::vector<JobPtr> batch) {
                                         RunBatch(predictor, std::move(batch));
                                       })),
      decoders_(std::make_unique<DecodePool>(options.decode_threads, &decode_queue_,
                                             [this](JobPtr job) { DecodeJob(std::move(job)); })),
      upload_decoders_(
          std::make_unique<DecodePool>(options.upload_decode_threads, &upload_queue_,
                                       [this](JobPtr job) { DecodeJob(std::move(job)); })) {}

Pipeline::~Pipeline() {
  Drain();
  const absl::Status why = MakeError(
      Reason::kDraining, "the server stopped before the work was done", {{"retry_delay_ms", "0"}});
  for (JobPtr& job : upload_queue_.Close()) Finish(std::move(job), why);
  for (JobPtr& job : decode_queue_.Close()) Finish(std::move(job), why);
  upload_decoders_.reset();
  decoders_.reset();
  for (JobPtr& job : batch_queue_.Close()) Finish(std::move(job), why);
  workers_.reset();
}

absl::Status Pipeline::WaitReady() {
  SCANLINE_RETURN_IF_ERROR(workers_->WaitReady());
  ready_.store(true);
  return absl::OkStatus();
}

void Pipeline::Submit(absl::StatusOr<Request> request, absl::Time received, Done done,
                      std::string method) {
  absl::Status status = request.status();
  auto job = std::make_unique<Job>(request.ok() ? *std::move(request) : Request{}, std::move(done));
  job->request.received = received;
  job->entered = received;
  const bool is_upload = job->request.upload() != nullptr;
  job->input_bytes =
      is_upload ? kUploadPieceBytes + job->request.text_bytes() : ReceivedBytes(job->request);
  job->method = std::move(method);
  if (status.ok()) status = Admit(*job);
  if (!status.ok()) return Finish(std::move(job), std::move(status));
  if (is_upload) return upload_queue_.Push(std::move(job));
  if (!job->request.has_clip()) return QueueForBatch(std::move(job));
  job->Enter(Stage::kDecodeQueue, absl::Now());
  decode_queue_.Push(std::move(job));
}

absl::Status Pipeline::Admit(Job& job) {
  if (!ready_.load()) {
    return MakeError(Reason::kModelLoading, "the model is being loaded; try again in a second",
                     {{"retry_delay_ms", "1000"}});
  }
  if (device_lost_.load()) {
    return MakeError(
        Reason::kDeviceLost,
        "this server lost its device and is stopping; send the request to another one");
  }
  SCANLINE_RETURN_IF_ERROR(job.request.cancel.Check(Reason::kExpiredInQueue));
  SCANLINE_ASSIGN_OR_RETURN(job.ticket, admission_.Admit(job.input_bytes, absl::Now(), job.kind()));
  return absl::OkStatus();
}

UploadPtr Pipeline::NewUpload(UploadClaim claim, const Cancel& cancel) {
  return std::make_shared<Upload>(std::move(claim), cancel, &upload_budget_);
}

void Pipeline::UploadOver(const Upload* upload) {
  JobPtr job = upload_queue_.Take(upload);
  if (job == nullptr) return;  // it is being decoded, or answered
  if (absl::Status failed = upload->failure(); !failed.ok()) {
    return Finish(std::move(job), std::move(failed));
  }
  job->Enter(Stage::kDecodeQueue, absl::Now());
  decode_queue_.Push(std::move(job));
}

void Pipeline::Sweep() {
  upload_queue_.Sweep();
  decode_queue_.Sweep();
  batch_queue_.Sweep();
}

void Pipeline::Drain() {
  draining_.store(true);
  admission_.Drain();
}

Snapshot Pipeline::snapshot() const {
  return {.inflight = admission_.figures(),
          .uploads = upload_budget_.figures(),
          .upload_queue = upload_queue_.figures(),
          .decode_queue = decode_queue_.figures(),
          .batch_queue = batch_queue_.figures(),
          .decoders_busy = decoders_->busy() + upload_decoders_->busy(),
          .workers = workers_->size(),
          .workers_busy = workers_->busy(),
          .ready = ready(),
          .draining = draining()};
}

// A decoder may be done before the last byte has come: at an error, or where what follows is not
// looked at. What was sent must still be what was announced before it gets an answer, or before
// its bytes are blamed.
absl::StatusOr<DecodedClip> Pipeline::DecodeInput(const Job& job) {
  absl::StatusOr<DecodedClip> clip = decode_(job.request);
  const UploadPtr* const upload = job.request.upload();
  if (upload == nullptr) return clip;
  (*upload)->Discard();
  if (clip.ok() || (*upload)->all_came()) {
    SCANLINE_RETURN_IF_ERROR((*upload)->AwaitVerdict());
  }
  return clip;
}

void Pipeline::DecodeJob(JobPtr job) {
  if (absl::Status dead = job->request.cancel.Check(Reason::kExpiredInQueue); !dead.ok()) {
    return Finish(std::move(job), std::move(dead));
  }
  job->Enter(Stage::kDecode, absl::Now());
  absl::StatusOr<DecodedClip> decoded = DecodeInput(*job);
  ChargeWaiting(*job);
  if (!decoded.ok()) return Finish(std::move(job), std::move(decoded).status());
  ChargeFinding(decoded->finding, *job);
  job->clip = std::move(decoded->clip);
  job->decoded = true;
  absl::Status people = SetPeople(std::move(decoded->found), *job);
  if (!people.ok()) return Finish(std::move(job), std::move(people));
  ReleaseInput(*job);
  QueueForBatch(std::move(job));
}

void Pipeline::QueueForBatch(JobPtr job) {
  job->cost = CostOf(*job);
  job->Enter(Stage::kBatchQueue, absl::Now());
  batch_queue_.Push(std::move(job));
}

void Pipeline::RunBatch(Predictor& predictor, std::vector<JobPtr> batch) {
  const absl::Time start = absl::Now();
  std::vector<JobPtr> live;
  BatchRecord record;
  for (JobPtr& job : batch) {
    absl::Status dead = job->request.cancel.Check(Reason::kExpiredInQueue, start);
    if (!dead.ok()) {
      Finish(std::move(job), std::move(dead));
      continue;
    }
    job->Enter(Stage::kInference, start);
    record.tokens += job->cost;
    live.push_back(std::move(job));
  }
  if (live.empty()) return;

  std::vector<PredictItem> items;
  for (const JobPtr& job : live) items.push_back(ItemOf(*job));
  std::vector<absl::StatusOr<Prediction>> results = predictor.Predict(items);
  const absl::Time end = absl::Now();

  record.model = live.front()->request.model->full_name();
  record.requests = static_cast<int>(live.size());
  record.seconds = absl::ToDoubleSeconds(end - start);
  record.fill_ratio = static_cast<double>(live.size()) / std::max(options_.batch.max_requests, 1);
  for (size_t i = 0; i < live.size(); ++i) {
    live[i]->usage.batch_size = record.requests;
    live[i]->usage.batch_tokens = record.tokens;
    if (absl::Status late = live[i]->request.cancel.Check(Reason::kExpiredInInference, end);
        !late.ok()) {
      results[i] = std::move(late);
      record.wasted_seconds += record.seconds * static_cast<double>(live[i]->cost) /
                               static_cast<double>(std::max<int64_t>(record.tokens, 1));
    }
    if (ReasonOf(results[i].status()) == Reason::kDeviceLost) LoseDevice();
    if (!results[i].ok()) {
      results[i] =
          NameText(results[i].status(), live[i]->request.text_prefix(), live[i]->request.prompts);
    }
    Finish(std::move(live[i]), std::move(results[i]));
  }
  metrics_->RecordBatch(record);
}

void Pipeline::LoseDevice() {
  if (!device_lost_.exchange(true) && tell_device_lost_) tell_device_lost_();
}

void Pipeline::Finish(JobPtr job, absl::StatusOr<Prediction> outcome) {
  const absl::Time now = absl::Now();
  if (job->request.upload() != nullptr) job->input_bytes = ReceivedBytes(job->request);
  job->EndStage(now);
  job->timing.total = now - job->request.received;
  if (job->decoded) job->usage.frames_decoded = job->clip.stats.frames_walked;
  if (outcome.ok()) CountUsage(*outcome, &job->usage);
  RequestRecord record = MakeRecord(*job, outcome.status());
  record.usage = job->usage;
  metrics_->RecordRequest(record);

  absl::StatusOr<Reply> reply = MakeReply(*job, std::move(outcome));
  // The place is free before the answer goes out, so that a client that sends its next request upon
  // it is not refused for the sake of this one.
  job->ticket.Release(now);
  const Done done = std::exchange(job->done, nullptr);
  job.reset();
  done(std::move(reply));
}

}  // namespace scanline
