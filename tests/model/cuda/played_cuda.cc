#include "tests/model/cuda/played_cuda.h"

#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include "model/cuda/simt_stream.h"

using Work = std::function<void()>;

// How often an event was recorded, and how many of these were reached.
struct EventState {
  uint64_t recorded = 0;
  uint64_t reached = 0;
};
struct CUevent_st {
  std::shared_ptr<EventState> state = std::make_shared<EventState>();
};
struct Entry {
  Work work;
  std::shared_ptr<EventState> after;  // or none
  uint64_t times = 0;
};
struct CUgraph_st {
  std::vector<Work> nodes;
};
struct CUgraphExec_st {
  std::vector<Work> nodes;
};
struct CUstream_st {
  std::deque<Entry> queue;
  CUgraph_st* capture = nullptr;
  bool broken = false;  // the capture
};

namespace scanline::testing {
namespace {

thread_local int device = 0;
thread_local cudaError_t last_error = cudaSuccess;
thread_local CUstream_st* capturing = nullptr;

struct Range {
  std::byte* base;
  size_t whole;
  size_t bytes;
  bool on_device;
};

}  // namespace

struct PlayedCuda::State {
  std::mt19937_64 random;
  std::set<CUstream_st*> streams;
  CUstream_st legacy;
  std::map<std::byte*, Range> memory;  // by the address that was given out
  std::set<const void*> loaded;        // kernels
  size_t in_use = 0;                   // bytes of the device
  int alive = 0;

  static bool Ready(const CUstream_st& stream) {
    if (stream.queue.empty()) return false;
    const Entry& next = stream.queue.front();
    return next.after == nullptr || next.after->reached >= next.times;
  }
  bool RunOne() {
    std::vector<CUstream_st*> ready;
    std::copy_if(streams.begin(), streams.end(), std::back_inserter(ready),
                 [](const CUstream_st* stream) { return Ready(*stream); });
    // It has but few entries, which would seldom be late.
    if (Ready(legacy) && (ready.empty() || random() % 32 == 0)) ready = {&legacy};
    if (ready.empty()) return false;
    CUstream_st* const stream = ready[random() % ready.size()];
    const Work work = std::move(stream->queue.front().work);
    stream->queue.pop_front();
    if (work) work();
    return true;
  }
  void RunUntil(const std::function<bool()>& done) {
    while (!done()) {
      if (RunOne()) continue;
      PlayedCuda::Get().faults.emplace_back("a wait that never ends");
      return;
    }
  }
  void Add(CUstream_st* stream, Entry entry) {
    if (stream->capture != nullptr) PlayedCuda::Get().faults.emplace_back("captured: no kernel");
    stream->queue.push_back(std::move(entry));
    if (random() % 4 == 0) RunOne();  // Now is as good as later.
  }
  const Range* Find(const void* address, size_t bytes) const {
    auto* const at = static_cast<std::byte*>(const_cast<void*>(address));
    auto after = memory.upper_bound(at);
    if (after == memory.begin()) return nullptr;
    const auto& [begin, range] = *std::prev(after);
    return at + bytes <= begin + range.bytes ? &range : nullptr;
  }
};

PlayedCuda::PlayedCuda() : state_(new State) {
  simt::SetStreamHook([this](CUstream_st* stream, const void* kernel, Work run) {
    if (const int error = Begin("Launch"); error != 0) return error;
    if (launch_error != 0) return launch_error;
    if (stream->capture != nullptr && state_->loaded.count(kernel) == 0) {
      stream->broken = true;
      return static_cast<int>(cudaErrorStreamCaptureUnsupported);
    }
    state_->loaded.insert(kernel);
    if (stream->capture != nullptr) {
      stream->capture->nodes.push_back(std::move(run));
    } else {
      state_->Add(stream, {.work = std::move(run)});
    }
    return static_cast<int>(cudaGetLastError());  // that of an earlier call too
  });
}

PlayedCuda& PlayedCuda::Get() {
  static auto* const played = new PlayedCuda;
  return *played;
}

size_t PlayedCuda::bytes_in_use() const { return state_->in_use; }
int PlayedCuda::alive() const { return state_->alive; }

void PlayedCuda::Reseed(uint64_t seed) { state_->random.seed(seed); }

void PlayedCuda::Reset(uint64_t seed) {
  Reseed(seed);
  state_->loaded.clear();
  memory = SIZE_MAX;
  launch_error = 0;
  lost_ = 0;
  calls.clear();
  faults.clear();
  failures_.clear();
  loses_.clear();
  last_error = cudaSuccess;
}

void PlayedCuda::Lose(int error) {
  lost_ = error;
  for (CUstream_st* stream : state_->streams) stream->queue.clear();
}

int PlayedCuda::Error(int error) {
  last_error = static_cast<cudaError_t>(error);
  return error;
}

int PlayedCuda::Begin(const std::string& name, bool unsafe) {
  if (device != kDevice) faults.push_back(name + " in a thread that did not choose the device");
  return Call(name, unsafe);
}

int PlayedCuda::Call(const std::string& name, bool unsafe) {
  ++calls[name];
  if (const auto loses = loses_.find(name); loses != loses_.end()) Lose(loses->second);
  if (lost_ != 0) return Error(lost_);
  const auto failure = failures_.find(name);
  if (failure != failures_.end() && failure->second.after-- == 0) {
    const int error = failure->second.error;
    failures_.erase(failure);
    if (error == kThrow) throw std::bad_alloc();
    return Error(error);
  }
  if (unsafe && capturing != nullptr) {
    capturing->broken = true;
    return Error(cudaErrorStreamCaptureUnsupported);
  }
  return 0;
}

namespace {

PlayedCuda& Played() { return PlayedCuda::Get(); }
PlayedCuda::State& Now() { return Played().state(); }
cudaError_t Begin(const char* name, bool unsafe = false) {
  return static_cast<cudaError_t>(Played().Begin(name, unsafe));
}
constexpr bool kUnsafe = true;  // while this thread captures

cudaError_t Allocate(void** memory, size_t bytes, bool on_device) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t rounded = (bytes + 255) / 256 * 256;
  if (on_device && Now().in_use + rounded > Played().memory) {
    return static_cast<cudaError_t>(Played().Error(cudaErrorMemoryAllocation));
  }
  const size_t whole = (rounded + page - 1) / page * page + page;
  void* base = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return cudaErrorMemoryAllocation;
  auto* const first = static_cast<std::byte*>(base);
  mprotect(first + whole - page, page, PROT_NONE);
  std::byte* const begin = first + whole - page - rounded;
  std::memset(begin, 0xFF, rounded);
  Now().memory[begin] = {first, whole, rounded, on_device};
  if (on_device) Now().in_use += rounded;
  ++Now().alive;
  *memory = begin;
  return cudaSuccess;
}

// The addresses are never used again.
cudaError_t Release(void* memory, bool on_device) {
  if (memory == nullptr) return cudaSuccess;
  const auto found = Now().memory.find(static_cast<std::byte*>(memory));
  if (found == Now().memory.end() || found->second.on_device != on_device) {
    Played().faults.emplace_back("memory is freed that was not given out");
    return cudaErrorInvalidValue;
  }
  mprotect(found->second.base, found->second.whole, PROT_NONE);
  if (on_device) Now().in_use -= found->second.bytes;
  --Now().alive;
  Now().memory.erase(found);
  return cudaSuccess;
}

template <typename Type>
cudaError_t New(const char* name, Type** made) {
  if (const cudaError_t error = Begin(name, kUnsafe); error != cudaSuccess) return error;
  *made = new Type;
  ++Now().alive;
  return cudaSuccess;
}
template <typename Type>
cudaError_t Delete(Type* made) {
  delete made;
  --Now().alive;
  return cudaSuccess;
}

}  // namespace
}  // namespace scanline::testing

using namespace scanline::testing;  // NOLINT(google-build-using-namespace)

// For cuBLASLt: as a launch.
extern "C" int ScanlinePlayedLaunch(CUstream_st* stream, const void* kernel, Work* work);
extern "C" int ScanlinePlayedLaunch(CUstream_st* stream, const void* kernel, Work* work) {
  if (const int error = Played().Begin("Matmul"); error != 0) return error;
  const cudaError_t ours = std::exchange(last_error, cudaSuccess);  // It has a runtime of its own.
  const int error = scanline::simt::OnStream(stream, kernel, std::move(*work));
  last_error = ours;
  return error;
}

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 2;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int chosen) {
  device = chosen;
  return Begin("cudaSetDevice");
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int /*device*/) {
  *properties = {};
  std::strcpy(properties->name, "Played");
  properties->major = 9;
  properties->multiProcessorCount = 132;
  return static_cast<cudaError_t>(Played().Call("cudaGetDeviceProperties"));
}
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorName(cudaError_t /*error*/) { return "an error"; }
const char* cudaGetErrorString(cudaError_t /*error*/) { return "that is played"; }

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  const cudaError_t error = Begin("cudaMalloc", kUnsafe);
  return error != cudaSuccess ? error : Allocate(memory, bytes, /*on_device=*/true);
}
cudaError_t cudaMallocHost(void** memory, size_t bytes) {
  const cudaError_t error = Begin("cudaMallocHost", kUnsafe);
  return error != cudaSuccess ? error : Allocate(memory, bytes, /*on_device=*/false);
}
cudaError_t cudaFree(void* memory) {
  const cudaError_t error = Begin("cudaFree", kUnsafe);
  const cudaError_t released = Release(memory, /*on_device=*/true);
  return error != cudaSuccess ? error : released;
}
cudaError_t cudaFreeHost(void* memory) {
  const cudaError_t error = Begin("cudaFreeHost", kUnsafe);
  const cudaError_t released = Release(memory, /*on_device=*/false);
  return error != cudaSuccess ? error : released;
}
// Both return before they are done, as they may; the bytes of the host are read at once.
cudaError_t cudaMemset(void* memory, int value, size_t bytes) {
  const cudaError_t error = Begin("cudaMemset", kUnsafe);
  if (error != cudaSuccess) return error;
  Now().Add(&Now().legacy, {.work = [=] { std::memset(memory, value, bytes); }});
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind /*kind*/) {
  const cudaError_t error = Begin("cudaMemcpy", kUnsafe);
  if (error != cudaSuccess) return error;
  const auto* begin = static_cast<const std::byte*>(from);
  Now().Add(&Now().legacy, {.work = [to, copy = std::vector<std::byte>(begin, begin + bytes)] {
    std::memcpy(to, copy.data(), copy.size());
  }});
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const cudaError_t error = Begin("cudaMemcpyAsync");
  if (error != cudaSuccess) return error;
  const Range* target = Now().Find(to, bytes);
  const Range* source = Now().Find(from, bytes);
  if (target == nullptr || source == nullptr ||
      target->on_device != (kind != cudaMemcpyDeviceToHost) ||
      source->on_device != (kind != cudaMemcpyHostToDevice)) {
    Played().faults.emplace_back("a copy from or to other memory than it says");
    return cudaErrorInvalidValue;
  }
  Now().Add(stream, {.work = [=] { std::memcpy(to, from, bytes); }});
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (flags != cudaStreamNonBlocking) Played().faults.emplace_back("a stream that blocks");
  const cudaError_t error = New("cudaStreamCreateWithFlags", stream);
  if (error == cudaSuccess) Now().streams.insert(*stream);
  return error;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (!stream->queue.empty()) Played().faults.emplace_back("a stream goes before its work");
  Now().streams.erase(stream);
  return Delete(stream);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const cudaError_t error = Begin("cudaStreamSynchronize", kUnsafe);
  if (error != cudaSuccess) return error;
  CUstream_st* const waited = stream == nullptr ? &Now().legacy : stream;
  Now().RunUntil([&] { return waited->queue.empty(); });
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  const cudaError_t error = Begin("cudaStreamWaitEvent");
  if (error != cudaSuccess) return error;
  Now().Add(stream, {.work = {}, .after = event->state, .times = event->state->recorded});
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
  return New("cudaEventCreateWithFlags", event);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return Delete(event); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const cudaError_t error = Begin("cudaEventRecord");
  if (error != cudaSuccess) return error;
  const uint64_t times = ++event->state->recorded;
  Now().Add(stream, {.work = [state = event->state, times] { state->reached = times; }});
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const cudaError_t error = Begin("cudaEventSynchronize", kUnsafe);
  if (error != cudaSuccess) return error;
  Now().RunUntil([&] { return event->state->reached == event->state->recorded; });
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (mode != cudaStreamCaptureModeThreadLocal) {
    Played().faults.emplace_back("a capture that other threads can break");
  }
  const cudaError_t error = Begin("cudaStreamBeginCapture", kUnsafe);
  if (error != cudaSuccess) return error;
  stream->capture = new CUgraph_st;
  ++Now().alive;
  stream->broken = false;
  capturing = stream;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  capturing = nullptr;
  CUgraph_st* const captured = std::exchange(stream->capture, nullptr);
  cudaError_t error = Begin("cudaStreamEndCapture");
  if (error == cudaSuccess && stream->broken) {
    error = static_cast<cudaError_t>(Played().Error(cudaErrorStreamCaptureInvalidated));
  }
  *graph = nullptr;
  if (error == cudaSuccess) {
    *graph = captured;
  } else {
    Delete(captured);
  }
  return error;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return Delete(graph); }
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long /*flags*/) {
  const cudaError_t error = New("cudaGraphInstantiate", exec);
  if (error == cudaSuccess) (*exec)->nodes = graph->nodes;
  return error;
}
// What runs goes on running.
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { return Delete(exec); }
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const cudaError_t error = Begin("cudaGraphLaunch");
  if (error != cudaSuccess) return error;
  for (const Work& node : exec->nodes) Now().Add(stream, {.work = node});
  return cudaSuccess;
}

}  // extern "C"
