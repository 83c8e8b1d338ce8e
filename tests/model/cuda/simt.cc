#include "model/cuda/simt.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// Saves the registers that a call keeps (System V, x86-64) and the stack pointer to *from, and goes
// on where `to` was saved. A fiber that is not started yet has a frame that returns to its entry.
extern "C" void ScanlineSimtSwitch(void** from, void* to);
asm(R"(
.text
.globl ScanlineSimtSwitch
.type ScanlineSimtSwitch, @function
ScanlineSimtSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size ScanlineSimtSwitch, .-ScanlineSimtSwitch
)");

namespace scanline::simt {
namespace {

constexpr size_t kStackBytes = 128 * 1024;
constexpr int kLanes = 32;

// Memory whose last byte stands before a page that cannot be touched.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    whole_ = (bytes + page - 1) / page * page + page;
    base_ = static_cast<std::byte*>(
        mmap(nullptr, whole_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    mprotect(base_ + whole_ - page, page, PROT_NONE);
    begin_ = base_ + whole_ - page - bytes;
  }
  ~GuardedMemory() { munmap(base_, whole_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* begin() const { return begin_; }

 private:
  std::byte* base_ = nullptr;
  std::byte* begin_ = nullptr;
  size_t whole_ = 0;
};

struct Site {
  const char* file = nullptr;
  int line = 0;

  std::string Name() const {
    const char* slash = std::strrchr(file, '/');
    return std::string(slash != nullptr ? slash + 1 : file) + ":" + std::to_string(line);
  }
  bool operator==(const Site&) const = default;
};

struct Copy {
  void* to;
  const void* from;  // or none: zeros
};

enum class State { kReady, kAtBlock, kAtWarp, kEnded };

struct Fiber {
  std::unique_ptr<GuardedMemory> stack = std::make_unique<GuardedMemory>(kStackBytes);
  void* pointer = nullptr;     // where it is to go on
  void* fake_stack = nullptr;  // AddressSanitizer's
  State state = State::kReady;
  Site site;  // where it waits
  dim3 thread;
  int exchanges = 0;
  std::vector<Copy> copies;
};

// What lanes give each other. Two sets of slots in turn: a lane is at most one exchange ahead.
struct Warp {
  int arrived = 0;
  std::vector<std::byte> slots[2];
};

class Scheduler {
 public:
  void set_options(const Options& options) {
    options_ = options;
    sites_.clear();
  }
  const Options& options() const { return options_; }
  const std::set<std::string>& sites() const { return sites_; }
  const Place& place() const { return place_; }

  void Run(dim3 grid, int threads, const std::function<void()>& kernel) {
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || threads < 1 || threads > 1024) {
      throw std::runtime_error("simt: an empty or too large grid");
    }
    random_ = options_.seed * 0x9E3779B97F4A7C15U + 1;
    kernel_ = &kernel;
    while (fibers_.size() < static_cast<size_t>(threads)) fibers_.emplace_back();
    place_.grid_size = grid;
    place_.block_size = {static_cast<unsigned>(threads), 1, 1};
    for (unsigned z = 0; z < grid.z; ++z) {
      for (unsigned y = 0; y < grid.y; ++y) {
        for (unsigned x = 0; x < grid.x; ++x) RunBlock({x, y, z}, threads);
      }
    }
  }

  void* Shared(size_t bytes) {
    if (shared_ == nullptr) {
      shared_bytes_ = bytes;
      shared_ = std::make_unique<GuardedMemory>(bytes);
      std::memset(shared_->begin(), 0xFF, bytes);  // NaN, as float and as bf16
    }
    if (bytes != shared_bytes_) Fail("two kinds of shared memory in one block");
    return shared_->begin();
  }

  void SyncBlock(Site site) {
    if (Ignored(site)) return;
    Wait(State::kAtBlock, site);
  }

  void CopyAsync(void* to, const void* from, bool valid) {
    const auto aligned = [](const void* at) { return reinterpret_cast<uintptr_t>(at) % 16 == 0; };
    if (!aligned(to) || !aligned(from)) Fail("a copy of 16 bytes whose address is not aligned");
    current_->copies.push_back({to, valid ? from : nullptr});
    if (Random() % 4 == 0) FinishCopies();  // Now is as good as later.
  }

  void CopyWait(Site site) {
    if (!Ignored(site)) FinishCopies();
  }

  const std::byte* Exchange(const void* mine, size_t bytes, Site site) {
    const unsigned index = current_->thread.x;
    std::vector<std::byte>& slots = warps_[index / kLanes].slots[current_->exchanges++ % 2];
    slots.resize(kLanes * bytes);
    if (bytes > 0) std::memcpy(slots.data() + index % kLanes * bytes, mine, bytes);
    Wait(State::kAtWarp, site);
    return slots.data();
  }

  void SyncWarp(Site site) {
    if (!Ignored(site)) Exchange(nullptr, 0, site);
  }

 private:
  [[noreturn]] static void Entry();

  // xorshift64*.
  uint64_t Random() {
    random_ ^= random_ >> 12;
    random_ ^= random_ << 25;
    random_ ^= random_ >> 27;
    return (random_ * 0x2545F4914F6CDD1DU) >> 32;
  }

  bool Ignored(Site site) {
    const std::string name = site.Name();
    sites_.insert(name);
    return name == options_.ignore;
  }

  void FinishCopies() {
    for (const Copy& copy : current_->copies) {
      if (copy.from != nullptr) {
        std::memcpy(copy.to, copy.from, 16);
      } else {
        std::memset(copy.to, 0, 16);
      }
    }
    current_->copies.clear();
  }

  void RunBlock(dim3 block, int threads) {
    place_.block = block;
    shared_.reset();
    warps_.assign((threads + kLanes - 1) / kLanes, Warp());
    ready_.clear();
    for (int i = 0; i < threads; ++i) {
      Prepare(fibers_[i], static_cast<unsigned>(i));
      ready_.push_back(&fibers_[i]);
    }
    at_block_ = 0;
    ended_ = 0;
    failure_.clear();
    while (!ready_.empty() && failure_.empty()) {
      const size_t next = Random() % ready_.size();
      std::swap(ready_[next], ready_.back());
      current_ = ready_.back();
      ready_.pop_back();
      place_.thread = current_->thread;
      SwitchTo(*current_);
      Settle(threads);
    }
    if (failure_.empty() && ended_ < threads) failure_ = "simt: deadlock: " + Waiting(threads);
    if (!failure_.empty()) throw std::runtime_error(failure_);
  }

  // After a fiber stopped: whom that sets free, and whether it can be right.
  void Settle(int threads) {
    const Fiber& stopped = *current_;
    if (stopped.state == State::kEnded) {
      ++ended_;
      if (!stopped.copies.empty()) Fail("a thread ended with copies that it never waited for");
    }
    if (stopped.state == State::kAtBlock) ++at_block_;
    if (at_block_ > 0 && at_block_ + ended_ == threads) {
      if (!SameSite(0, threads, State::kAtBlock))
        return Fail("divergent barrier: " + Waiting(threads));
      at_block_ = 0;
      Free(0, threads);
    }
    if (stopped.state != State::kAtWarp) return;
    const int first = static_cast<int>(stopped.thread.x) / kLanes * kLanes;
    const int lanes = std::min(kLanes, threads - first);
    Warp& warp = warps_[first / kLanes];
    if (++warp.arrived < lanes) return;
    if (!SameSite(first, lanes, State::kAtWarp)) return Fail("divergent warp: " + Waiting(threads));
    warp.arrived = 0;
    Free(first, lanes);
  }

  bool SameSite(int first, int count, State state) const {
    for (int i = first; i < first + count; ++i) {
      if (fibers_[i].state != state || fibers_[i].site != fibers_[first].site) return false;
    }
    return true;
  }

  void Free(int first, int count) {
    for (int i = first; i < first + count; ++i) {
      fibers_[i].state = State::kReady;
      ready_.push_back(&fibers_[i]);
    }
  }

  std::string Waiting(int threads) const {
    std::string text;
    std::set<std::string> seen;
    for (int i = 0; i < threads; ++i) {
      const Fiber& fiber = fibers_[i];
      const std::string where =
          fiber.state == State::kEnded ? "ended" : "waits at " + fiber.site.Name();
      if (seen.insert(where).second) {
        text += (text.empty() ? "thread " : ", thread ") + std::to_string(i) + " " + where;
      }
    }
    return text;
  }

  void Fail(const std::string& what) {
    if (failure_.empty()) failure_ = "simt: " + what;
  }

  void Prepare(Fiber& fiber, unsigned index) {
    std::byte* begin = fiber.stack->begin();
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(begin, kStackBytes);  // An abandoned fiber left its marks.
#endif
    // Six saved registers, then the address of the entry, which finds the stack as after a call.
    auto** top = reinterpret_cast<void**>(begin + kStackBytes - 24);
    top -= 7;
    std::fill(top, top + 6, nullptr);
    top[6] = reinterpret_cast<void*>(&Entry);
    top[7] = nullptr;
    fiber.pointer = top;
    fiber.fake_stack = nullptr;
    fiber.state = State::kReady;
    fiber.thread = {index, 0, 0};
    fiber.exchanges = 0;
    fiber.copies.clear();
  }

  void SwitchTo(Fiber& fiber) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&main_fake_stack_, fiber.stack->begin(), kStackBytes);
#endif
    ScanlineSimtSwitch(&main_, fiber.pointer);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(main_fake_stack_, nullptr, nullptr);
#endif
  }

  // In a fiber: back to the scheduler.
  void Wait(State state, Site site) {
    Fiber& self = *current_;
    self.state = state;
    self.site = site;
#ifdef __SANITIZE_ADDRESS__
    const bool last = state == State::kEnded;
    __sanitizer_start_switch_fiber(last ? nullptr : &self.fake_stack, main_stack_, main_bytes_);
#endif
    ScanlineSimtSwitch(&self.pointer, main_);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(self.fake_stack, &main_stack_, &main_bytes_);
#endif
  }

  Options options_;
  std::set<std::string> sites_;
  Place place_;
  const std::function<void()>* kernel_ = nullptr;
  uint64_t random_ = 1;
  std::vector<Fiber> fibers_;
  std::vector<Fiber*> ready_;
  Fiber* current_ = nullptr;
  std::vector<Warp> warps_;
  std::unique_ptr<GuardedMemory> shared_;
  size_t shared_bytes_ = 0;
  int at_block_ = 0;
  int ended_ = 0;
  std::string failure_;
  void* main_ = nullptr;
  void* main_fake_stack_ = nullptr;
  const void* main_stack_ = nullptr;
  size_t main_bytes_ = 0;
};

thread_local Scheduler scheduler;
StreamHook stream_hook;

void Scheduler::Entry() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &scheduler.main_stack_, &scheduler.main_bytes_);
#endif
  (*scheduler.kernel_)();
  scheduler.Wait(State::kEnded, {});
  __builtin_unreachable();
}

}  // namespace

void SetOptions(const Options& options) { scheduler.set_options(options); }
const std::set<std::string>& SyncSites() { return scheduler.sites(); }
void Run(dim3 grid, int threads, const std::function<void()>& kernel) {
  scheduler.Run(grid, threads, kernel);
}
void SetStreamHook(StreamHook hook) { stream_hook = std::move(hook); }
int OnStream(CUstream_st* stream, const void* kernel, std::function<void()> run) {
  if (stream_hook) return stream_hook(stream, kernel, std::move(run));
  run();
  return 0;
}
const Place& Here() { return scheduler.place(); }
void* SharedBytes(size_t bytes) { return scheduler.Shared(bytes); }
void SyncBlock(const char* file, int line) { scheduler.SyncBlock({file, line}); }
void SyncWarp(const char* file, int line) { scheduler.SyncWarp({file, line}); }
void CopyAsync(void* shared, const void* global, bool valid) {
  scheduler.CopyAsync(shared, global, valid);
}
void CopyWait(const char* file, int line) { scheduler.CopyWait({file, line}); }
const std::byte* Exchange(const void* mine, size_t bytes, const char* file, int line) {
  return scheduler.Exchange(mine, bytes, {file, line});
}

float AsFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
uint32_t AsBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
float Fma(float a, float b, float c) { return std::fma(a, b, c); }

namespace {

// `exact` with the largest error that the PTX ISA allows, where that is wanted.
float Off(float exact, float argument, double relative) {
  if (!scheduler.options().approximate) return exact;
  const bool up = (AsBits(argument) * 0x9E3779B9U >> 31) != 0;
  return static_cast<float>(exact * (up ? 1 + relative : 1 - relative));
}
float Flushed(float value) {
  const bool subnormal = std::fpclassify(value) == FP_SUBNORMAL;
  return subnormal && scheduler.options().approximate ? std::copysign(0.0F, value) : value;
}

}  // namespace

float Ex2(float x) { return Off(Flushed(std::exp2(Flushed(x))), x, 0x1p-22); }
float TanhFast(float x) { return Off(std::tanh(x), x, 0x1p-11); }
float ReciprocalRoot(float x) { return 1.0F / std::sqrt(x); }

uint32_t PackBf16(float low, float high) {
  const auto round = [](float value) -> uint32_t {
    const uint32_t bits = AsBits(value);
    if (std::isnan(value)) return 0x7FFF;
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  };
  return round(high) << 16 | round(low);
}

// Lane l has, with g = l / 4 and q = l % 4: of a rows g (a[0], a[2]) and g + 8 (a[1], a[3]),
// columns 2q, 2q + 1 and 8 more; of b column g, rows 2q, 2q + 1 and 8 more; of c rows g and g + 8,
// columns 2q, 2q + 1. PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type".
void Mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  struct Lane {
    uint32_t a[4];
    uint32_t b[2];
  };
  const Lane mine{{a[0], a[1], a[2], a[3]}, {b0, b1}};
  const auto* lanes =
      reinterpret_cast<const Lane*>(Exchange(&mine, sizeof(mine), __FILE__, __LINE__));
  const unsigned lane = Here().thread.x % kLanes;
  const auto half = [](uint32_t pair, int k) {
    return AsFloat(k % 2 == 0 ? pair << 16 : pair & 0xFFFF0000U);
  };
  for (int i = 0; i < 4; ++i) {
    const unsigned row = lane / 4;
    const unsigned column = 2 * (lane % 4) + i % 2;
    for (int k = 0; k < 16; ++k) {
      const unsigned q = k % 8 / 2;
      const uint32_t left = lanes[row * 4 + q].a[(k / 8) * 2 + i / 2];
      c[i] += half(left, k) * half(lanes[column * 4 + q].b[k / 8], k);
    }
  }
}

}  // namespace scanline::simt
