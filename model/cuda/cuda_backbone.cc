#include "model/cuda/cuda_backbone.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "model/cuda/cublas_lt.h"
#include "model/cuda/gemm.h"
#include "model/cuda/memory.h"
#include "model/cuda/pack.h"
#include "model/cuda/pass.h"

namespace scanline {
namespace cuda {
namespace {

// plan.cc names errors by number, to be testable without CUDA.
static_assert(cudaErrorMemoryAllocation == 2 && cudaErrorDevicesUnavailable == 46 &&
              cudaErrorNoDevice == 100 && cudaErrorInvalidDevice == 101 &&
              cudaErrorECCUncorrectable == 214 && cudaErrorNvlinkUncorrectable == 220 &&
              cudaErrorContained == 226 && cudaErrorIllegalAddress == 700 &&
              cudaErrorLaunchTimeout == 702 && cudaErrorContextIsDestroyed == 709 &&
              cudaErrorAssert == 710 && cudaErrorHardwareStackError == 714 &&
              cudaErrorIllegalInstruction == 715 && cudaErrorMisalignedAddress == 716 &&
              cudaErrorInvalidAddressSpace == 717 && cudaErrorInvalidPc == 718 &&
              cudaErrorLaunchFailure == 719 && cudaErrorTensorMemoryLeak == 721 &&
              cudaErrorMpsClientTerminated == 810 && cudaErrorExternalDevice == 911 &&
              cudaErrorUnknown == 999);

constexpr size_t kMostShapes = 16;  // A service sees a few again and again.

// A part on its way through the device. Host and device memory of one slot belong to one part from
// Start to Finish.
struct Slot {
  PinnedMemory host_in;
  DeviceMemory device_in;
  DeviceMemory device_out;
  PinnedMemory host_out;
  EventPtr copied_in;
  EventPtr computed;
  EventPtr copied_out;
};

struct Shape {
  std::unique_ptr<Pass> pass;
  // Of RunLayers, by bucket and kind of input; a null one was run once and may be captured now.
  std::map<std::pair<int, bool>, GraphExecPtr> graphs;
};

// One batch: what Start and Finish of a part need.
struct Batch {
  absl::Span<const ViewInput> views;
  Shape* shape = nullptr;
  bool values = false;
  int rows = 0;  // of a view's answer
  float* normed = nullptr;

  const Pass& pass() const { return *shape->pass; }
  const BackboneConfig& config() const { return pass().config(); }
  size_t out_floats() const { return static_cast<size_t>(rows) * config().embed_dim; }
};

class Engine : public CudaBackbone, private PartRunner, private PassDevice {
 public:
  Engine(int device, const Weights& weights, Element type)
      : device_(device), weights_(weights), setting_{.device = this, .type = type} {}

  ~Engine() override {
    cudaSetDevice(device_);
    Wait();
    shapes_.clear();
    if (handle_ != nullptr) lt_->Destroy(handle_);
  }

  absl::Status Init(const ModelConfig& config) {
    SCANLINE_RETURN_IF_ERROR(UseDevice());
    SCANLINE_RETURN_IF_ERROR(ReadProperties());
    SCANLINE_ASSIGN_OR_RETURN(lt_, CublasLt::Open());
    SCANLINE_RETURN_IF_ERROR(CublasStatus(lt_->Create(&handle_), "making a handle"));
    for (StreamPtr* stream : {&in_, &compute_, &out_}) SCANLINE_RETURN_IF_ERROR(MakeStream(stream));
    for (Slot& slot : slots_) {
      for (EventPtr* event : {&slot.copied_in, &slot.computed, &slot.copied_out}) {
        SCANLINE_RETURN_IF_ERROR(MakeEvent(event));
      }
    }
    SCANLINE_RETURN_IF_ERROR(UploadWeights(config));
    return TryAKernel();
  }

  absl::Status Run(absl::Span<const ViewInput> views, const BackboneConfig& shape, bool all_tokens,
                   float* normed) override {
    if (!lost_.ok()) return lost_;
    absl::Status status = RunBatch(views, shape, all_tokens, normed);
    if (ReasonOf(status) == Reason::kDeviceLost) lost_ = status;
    return status;
  }

  std::string name() const override { return name_; }

 private:
  absl::Status UseDevice() { return CudaStatus(cudaSetDevice(device_), "choosing the device"); }

  absl::Status ReadProperties() {
    cudaDeviceProp properties{};
    SCANLINE_RETURN_IF_ERROR(
        CudaStatus(cudaGetDeviceProperties(&properties, device_), "reading its properties"));
    const std::string why = WhyTooOld(properties.name, properties.major, properties.minor);
    if (!why.empty()) return MakeError(Reason::kFieldInvalid, why);
    setting_.multiprocessors = properties.multiProcessorCount;
    capability_ = absl::StrCat(properties.major, ".", properties.minor);
    name_ = absl::StrCat("cuda:", device_, " (", properties.name, ", ",
                         setting_.type == Element::kFloat32 ? "fp32" : "bf16", ")");
    return absl::OkStatus();
  }

  absl::Status UploadWeights(const ModelConfig& config) {
    packed_ = PackWeights(config.backbone, {config.mean, config.std}, weights_, setting_.type);
    SCANLINE_ASSIGN_OR_RETURN(device_weights_, Upload(packed_.bytes.data(), packed_.bytes.size()));
    std::vector<uint8_t>().swap(packed_.bytes);  // An assignment would keep the memory.
    setting_.packed = &packed_;
    setting_.weights = device_weights_.get();
    return absl::OkStatus();
  }

  // A program that was built for other architectures says so here, not at the first request.
  absl::Status TryAKernel() {
    SCANLINE_RETURN_IF_ERROR(arena_.Reserve(kAlignment));
    const int error = LaunchGate({.type = Element::kFloat32,
                                  .rows = 1,
                                  .inner = 16,
                                  .forward = arena_.get(),
                                  .backward = arena_.get(),
                                  .out = arena_.get()},
                                 compute_.get());
    if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorUnsupportedPtxVersion) {
      return MakeError(Reason::kFieldInvalid,
                       absl::StrCat(name_, " has compute capability ", capability_,
                                    ", for which this program was not built; build it with "
                                    "-DCMAKE_CUDA_ARCHITECTURES, or take device cpu"));
    }
    SCANLINE_RETURN_IF_ERROR(LaunchStatus(error, "the first kernel"));
    return CudaStatus(cudaStreamSynchronize(compute_.get()), "the first kernel");
  }

  // For all that the engine has enqueued; gives the first error. Of its own streams, since the wait
  // for a device breaks the captures of other engines on it.
  int Wait() const {
    int error = cudaSuccess;
    for (const StreamPtr* stream : {&in_, &compute_, &out_}) {
      const int ended = *stream == nullptr ? cudaSuccess : cudaStreamSynchronize(stream->get());
      if (error == cudaSuccess) error = ended;
    }
    return error;
  }

  // Gives back what passes need, so that a smaller one finds room. The answers of parts that are to
  // be finished stay.
  void FreeBuffers() {
    Wait();
    for (Shape& shape : shapes_) shape.graphs.clear();
    arena_.Free();
    for (Slot& slot : slots_) {
      slot.host_in.Free();
      slot.device_in.Free();
      slot.device_out.Free();
    }
  }

  absl::Status RunBatch(absl::Span<const ViewInput> views, const BackboneConfig& shape,
                        bool all_tokens, float* normed) {
    if (views.empty()) return absl::OkStatus();
    SCANLINE_RETURN_IF_ERROR(UseDevice());
    // Nothing runs between batches, unless std::bad_alloc ended the one before.
    SCANLINE_RETURN_IF_ERROR(CudaStatus(Wait(), "what was begun before"));
    absl::StatusOr<Shape*> shaped = ShapeOf(shape);
    if (ReasonOf(shaped.status()) == Reason::kDeviceMemory) {
      FreeBuffers();
      shaped = ShapeOf(shape);
    }
    SCANLINE_RETURN_IF_ERROR(shaped.status());
    batch_ = {.views = views,
              .shape = *shaped,
              .values = views.front().video != nullptr,
              .rows = all_tokens ? shape.tokens() : 1,
              .normed = normed};
    return RunInParts(static_cast<int>(views.size()), shape.tokens(), &cap_, this);
  }

  // Nothing is running, so an old shape's memory can go.
  absl::StatusOr<Shape*> ShapeOf(const BackboneConfig& config) {
    const auto same = [&](const Shape& shape) {
      const BackboneConfig& known = shape.pass->config();
      return known.rows() == config.rows() && known.columns() == config.columns() &&
             known.frames == config.frames && known.time == config.time;
    };
    const auto known = std::find_if(shapes_.begin(), shapes_.end(), same);
    if (known != shapes_.end()) {
      std::rotate(known, known + 1, shapes_.end());
      return &shapes_.back();
    }
    if (shapes_.size() == kMostShapes) shapes_.pop_front();
    SCANLINE_ASSIGN_OR_RETURN(std::unique_ptr<Pass> pass,
                              Pass::Make(setting_, config, weights_.Get("pos_embed")));
    shapes_.push_back({.pass = std::move(pass)});
    return &shapes_.back();
  }

  absl::StatusOr<std::unique_ptr<Product>> MakeProduct(const ProductShape& shape) override {
    return Gemm::Make(*lt_, handle_, shape, kTunedViews);
  }

  absl::StatusOr<std::shared_ptr<const uint8_t>> Upload(const void* from, size_t bytes) override {
    DeviceMemory memory;
    SCANLINE_RETURN_IF_ERROR(memory.Reserve(bytes));
    SCANLINE_RETURN_IF_ERROR(CudaStatus(
        cudaMemcpy(memory.get(), from, bytes, cudaMemcpyHostToDevice), "copying to the device"));
    // The engine's streams do not wait for the legacy one, and from pageable memory the copy may
    // still be under way.
    SCANLINE_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(nullptr), "copying to the device"));
    return std::shared_ptr<const uint8_t>(memory.Take());
  }

  absl::Status Start(const Part& part, int slot) override {
    absl::Status status = Reserve(part.bucket, slots_[slot]);
    if (status.ok()) {
      FillInput(part, slots_[slot]);
      status = Enqueue(part.bucket, slots_[slot]);
    }
    if (status.ok()) return status;
    // A part that was begun by half must be over before its buffers are used again.
    status = WithCause(status, Wait());
    static_cast<void>(cudaGetLastError());  // else the next launch reports it once more
    if (ReasonOf(status) == Reason::kDeviceMemory) FreeBuffers();
    return status;
  }

  absl::Status Finish(const Part& part, int slot) override {
    SCANLINE_RETURN_IF_ERROR(
        CudaStatus(cudaEventSynchronize(slots_[slot].copied_out.get()), "a forward pass"));
    const size_t floats = batch_.out_floats();
    std::memcpy(batch_.normed + part.first * floats, slots_[slot].host_out.get(),
                part.count * floats * sizeof(float));
    return absl::OkStatus();
  }

  size_t PictureBytes() const {
    const BackboneConfig& config = batch_.config();
    return size_t{3} * config.rows() * config.columns() * config.patch * config.patch;
  }
  // Of one view's pictures, or of its rows of the patch product.
  size_t InputBytes() const {
    const BackboneConfig& config = batch_.config();
    if (!batch_.values) return PictureBytes() * config.frames;
    return (config.tokens() - 1) * PatchLength(config) * SizeOf(setting_.type);
  }
  // The areas stand behind the pictures, each two numbers.
  size_t AreasAt(int bucket) const {
    return (bucket * InputBytes() + kAlignment - 1) / kAlignment * kAlignment;
  }

  absl::Status Reserve(int bucket, Slot& slot) {
    const size_t arena = batch_.pass().Place(bucket).bytes;
    if (arena > arena_.bytes()) {
      for (Shape& shape : shapes_) shape.graphs.clear();  // They hold its address.
      SCANLINE_RETURN_IF_ERROR(arena_.Reserve(arena));
    }
    const size_t in = AreasAt(bucket) + bucket * 2 * sizeof(int);
    const size_t out = bucket * batch_.out_floats() * sizeof(float);
    SCANLINE_RETURN_IF_ERROR(slot.host_in.Reserve(in));
    SCANLINE_RETURN_IF_ERROR(slot.device_in.Reserve(in));
    SCANLINE_RETURN_IF_ERROR(slot.device_out.Reserve(out));
    return slot.host_out.Reserve(out);
  }

  void FillInput(const Part& part, Slot& slot) {
    auto* areas = reinterpret_cast<int*>(slot.host_in.get() + AreasAt(part.bucket));
    std::fill_n(areas, 2 * part.bucket, 0);
    for (int i = 0; i < part.count; ++i) {
      const ViewInput& view = batch_.views[part.first + i];
      uint8_t* const to = slot.host_in.get() + i * InputBytes();
      if (batch_.values) {
        FillValues(view.video, to);
        continue;
      }
      FillPictures(view, to);
      const BackboneConfig& config = batch_.config();
      const bool whole = view.area.width == 0;
      areas[2 * i] = whole ? config.columns() * config.patch : view.area.width;
      areas[2 * i + 1] = whole ? config.rows() * config.patch : view.area.height;
    }
  }

  void FillPictures(const ViewInput& view, uint8_t* to) const {
    const size_t bytes = PictureBytes();
    SCANLINE_CHECK(static_cast<int>(view.pictures.size()) == batch_.config().frames);
    for (size_t i = 0; i < view.pictures.size(); ++i) {
      std::memcpy(to + i * bytes, view.pictures[i], bytes);
    }
  }

  void FillValues(const float* video, uint8_t* to) {
    const BackboneConfig& config = batch_.config();
    if (setting_.type == Element::kFloat32) {
      return PatchesFromVideo(video, config, reinterpret_cast<float*>(to));
    }
    rows_.resize((config.tokens() - 1) * PatchLength(config));
    PatchesFromVideo(video, config, rows_.data());
    std::transform(rows_.begin(), rows_.end(), reinterpret_cast<uint16_t*>(to), ToBf16);
  }

  // in: copy; compute: patches, layers, final norm; out: copy back. Events order the streams, so
  // that the copies of one part run beside the computation of the other.
  absl::Status Enqueue(int bucket, Slot& slot) {
    const size_t in = AreasAt(bucket) + bucket * 2 * sizeof(int);
    const size_t out = bucket * batch_.out_floats() * sizeof(float);
    cudaStream_t compute = compute_.get();
    SCANLINE_RETURN_IF_ERROR(CudaStatus(cudaMemcpyAsync(slot.device_in.get(), slot.host_in.get(),
                                                        in, cudaMemcpyHostToDevice, in_.get()),
                                        "copying pictures"));
    SCANLINE_RETURN_IF_ERROR(Follow(in_.get(), slot.copied_in.get(), compute));
    SCANLINE_RETURN_IF_ERROR(FillRows(bucket, slot));
    SCANLINE_RETURN_IF_ERROR(RunLayers(bucket));
    SCANLINE_RETURN_IF_ERROR(
        batch_.pass().FinalNorm(batch_.rows, bucket, arena_.get(),
                                reinterpret_cast<float*>(slot.device_out.get()), compute));
    SCANLINE_RETURN_IF_ERROR(Follow(compute, slot.computed.get(), out_.get()));
    SCANLINE_RETURN_IF_ERROR(CudaStatus(cudaMemcpyAsync(slot.host_out.get(), slot.device_out.get(),
                                                        out, cudaMemcpyDeviceToHost, out_.get()),
                                        "copying tokens"));
    return CudaStatus(cudaEventRecord(slot.copied_out.get(), out_.get()), "an event");
  }

  // What is enqueued on `then` from now on waits for what `first` has now.
  static absl::Status Follow(cudaStream_t first, cudaEvent_t event, cudaStream_t then) {
    SCANLINE_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(event, first), "an event"));
    return CudaStatus(cudaStreamWaitEvent(then, event, 0), "an event");
  }

  absl::Status FillRows(int bucket, const Slot& slot) {
    if (!batch_.values) {
      const auto* areas = reinterpret_cast<const int*>(slot.device_in.get() + AreasAt(bucket));
      return batch_.pass().Gather(slot.device_in.get(), areas, bucket, arena_.get(),
                                  compute_.get());
    }
    uint8_t* const rows = arena_.get() + batch_.pass().Place(bucket).patch_rows;
    return CudaStatus(cudaMemcpyAsync(rows, slot.device_in.get(), bucket * InputBytes(),
                                      cudaMemcpyDeviceToDevice, compute_.get()),
                      "copying patches");
  }

  // The first time launch by launch, which loads the kernels (that cannot be captured) and costs
  // nothing where a shape is not seen again; then as one graph.
  absl::Status RunLayers(int bucket) {
    auto& graphs = batch_.shape->graphs;
    const auto [graph, first] = graphs.try_emplace({bucket, batch_.values});
    if (first) {
      const absl::Status status =
          batch_.pass().RunLayers(batch_.values, bucket, arena_.get(), compute_.get());
      if (!status.ok()) graphs.erase(graph);
      return status;
    }
    if (graph->second == nullptr) SCANLINE_RETURN_IF_ERROR(Capture(bucket, &graph->second));
    return CudaStatus(cudaGraphLaunch(graph->second.get(), compute_.get()), "a graph");
  }

  absl::Status Capture(int bucket, GraphExecPtr* captured) {
    cudaStream_t compute = compute_.get();
    SCANLINE_RETURN_IF_ERROR(
        CudaStatus(cudaStreamBeginCapture(compute, cudaStreamCaptureModeThreadLocal), "a capture"));
    GraphPtr graph;
    const auto end = [&] {
      cudaGraph_t made = nullptr;
      const int ended = cudaStreamEndCapture(compute, &made);
      graph.reset(made);
      return ended;
    };
    absl::Cleanup not_for_good = [&] { end(); };  // std::bad_alloc may pass.
    const absl::Status launched =
        batch_.pass().RunLayers(batch_.values, bucket, arena_.get(), compute);
    std::move(not_for_good).Cancel();
    const int ended = end();
    SCANLINE_RETURN_IF_ERROR(launched);
    SCANLINE_RETURN_IF_ERROR(CudaStatus(ended, "a capture"));
    cudaGraphExec_t exec = nullptr;
    SCANLINE_RETURN_IF_ERROR(
        CudaStatus(cudaGraphInstantiate(&exec, graph.get(), 0), "making a graph"));
    captured->reset(exec);
    return absl::OkStatus();
  }

  const int device_;
  const Weights& weights_;
  std::string name_;
  std::string capability_;
  const CublasLt* lt_ = nullptr;
  cublasLtHandle_t handle_ = nullptr;
  PassSetting setting_;
  PackedWeights packed_;
  std::shared_ptr<const uint8_t> device_weights_;
  DeviceMemory arena_;  // one pass at a time computes
  std::array<Slot, kSlots> slots_;
  StreamPtr in_;
  StreamPtr compute_;
  StreamPtr out_;
  std::deque<Shape> shapes_;  // the latest last
  std::vector<float> rows_;
  TokenCap cap_;
  Batch batch_;
  absl::Status lost_;
};

// Empty: it can be used.
std::string WhyUnusable(int device) {
  if (const absl::Status library = CublasLt::Open().status(); !library.ok()) {
    return std::string(library.message());
  }
  cudaDeviceProp found{};
  const absl::Status asked =
      CudaStatus(cudaGetDeviceProperties(&found, device), "reading its properties");
  return asked.ok() ? WhyTooOld(found.name, found.major, found.minor)
                    : std::string(asked.message());
}

}  // namespace
}  // namespace cuda

cuda::CudaSystem FindCuda() {
  cuda::CudaSystem system{.built = true};
  const cudaError_t error = cudaGetDeviceCount(&system.devices);
  if (error != cudaSuccess) {
    system.devices = 0;
    static_cast<void>(cudaGetLastError());
  }
  if (system.devices == 0) {
    system.why_none = error == cudaErrorInsufficientDriver
                          ? "there is no NVIDIA driver, or one older than CUDA 13"
                      : error == cudaSuccess ? "the driver lists none"
                                             : cudaGetErrorString(error);
  }
  for (int device = 0; device < system.devices; ++device) {
    system.unusable.push_back(cuda::WhyUnusable(device));
  }
  return system;
}

absl::StatusOr<std::unique_ptr<CudaBackbone>> CudaBackbone::Create(int device,
                                                                   const ModelConfig& config,
                                                                   const Weights& weights,
                                                                   cuda::Element type) {
  SCANLINE_RETURN_IF_ERROR(cuda::CheckBackbone(config.backbone));
  auto engine = std::make_unique<cuda::Engine>(device, weights, type);
  SCANLINE_RETURN_IF_ERROR(engine->Init(config));
  return engine;
}

}  // namespace scanline
