#include "model/cuda/plan.h"

#include <algorithm>
#include <deque>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check.h"

namespace scanline::cuda {

Part NextPart(int first, int views, int most) {
  const int left = views - first;
  SCANLINE_CHECK(left > 0 && most > 0);
  int bucket = 1;
  for (int next : kBuckets) {
    if (next > most) break;
    // As large as there are views, or the one above where they fill three quarters of it.
    if (4 * left >= 3 * next) bucket = next;
  }
  return {.first = first, .count = std::min(left, bucket), .bucket = bucket};
}

int TokenCap::MostViews(int64_t tokens) const {
  int most = 1;
  for (int bucket : kBuckets) {
    if (bucket <= most_ / tokens) most = bucket;
  }
  return most;
}

bool TokenCap::Halve(int bucket, int64_t tokens) {
  if (bucket == 1) return false;
  most_ = std::min(most_, bucket / 2 * tokens);
  return true;
}

absl::Status RunInParts(int views, int64_t tokens, TokenCap* cap, PartRunner* runner) {
  struct Running {
    Part part;
    int slot;
  };
  std::deque<Running> running;
  const auto finish = [&] {
    const Running oldest = running.front();
    running.pop_front();
    return std::make_pair(oldest.part, runner->Finish(oldest.part, oldest.slot));
  };
  int next = 0;
  int slot = 0;
  while (next < views || !running.empty()) {
    Part part;
    absl::Status status;
    if (next < views && running.size() < kSlots) {
      part = NextPart(next, views, cap->MostViews(tokens));
      status = runner->Start(part, slot);
      if (status.ok()) {
        running.push_back({part, slot});
        next += part.count;
        slot = (slot + 1) % kSlots;
      }
    } else {
      std::tie(part, status) = finish();
    }
    if (status.ok()) continue;
    // What was begun earlier than a part that could not start is good; what was begun after a part
    // that failed is done again. Both are waited for: their buffers are in use.
    next = part.first;
    while (!running.empty()) {
      const auto [other, ended] = finish();
      if (!ended.ok() && other.first < next) {
        part = other;
        status = ended;
        next = part.first;
      }
    }
    const bool again = ReasonOf(status) == Reason::kDeviceMemory && cap->Halve(part.bucket, tokens);
    if (!again) return status;
  }
  return absl::OkStatus();
}

Reason ReasonOfCudaError(int error) {
  switch (error) {
    case 2:  // cudaErrorMemoryAllocation
      return Reason::kDeviceMemory;
    // CUDA's reference of cudaError: "leaves the process in an inconsistent state", and devices
    // that went away.
    case 46:   // cudaErrorDevicesUnavailable
    case 100:  // cudaErrorNoDevice
    case 101:  // cudaErrorInvalidDevice
    case 214:  // cudaErrorECCUncorrectable
    case 220:  // cudaErrorNvlinkUncorrectable
    case 226:  // cudaErrorContained
    case 700:  // cudaErrorIllegalAddress
    case 702:  // cudaErrorLaunchTimeout
    case 709:  // cudaErrorContextIsDestroyed
    case 710:  // cudaErrorAssert
    case 714:  // cudaErrorHardwareStackError
    case 715:  // cudaErrorIllegalInstruction
    case 716:  // cudaErrorMisalignedAddress
    case 717:  // cudaErrorInvalidAddressSpace
    case 718:  // cudaErrorInvalidPc
    case 719:  // cudaErrorLaunchFailure
    case 721:  // cudaErrorTensorMemoryLeak
    case 810:  // cudaErrorMpsClientTerminated
    case 911:  // cudaErrorExternalDevice
    case 999:  // cudaErrorUnknown
      return Reason::kDeviceLost;
    default:
      return Reason::kInternal;
  }
}

absl::Status LaunchStatus(int error, absl::string_view doing) {
  if (error == 0) return absl::OkStatus();
  return MakeError(ReasonOfCudaError(error),
                   absl::StrCat("the GPU failed at ", doing, ": CUDA error ", error));
}

absl::Status WithCause(const absl::Status& failed, int ended) {
  if (ended == 0 || ReasonOf(failed) == Reason::kDeviceLost ||
      ReasonOfCudaError(ended) != Reason::kDeviceLost) {
    return failed;
  }
  return MakeError(Reason::kDeviceLost,
                   absl::StrCat("the GPU was lost, CUDA error ", ended, ": ", failed.message()));
}

std::string WhyTooOld(absl::string_view name, int major, int minor) {
  constexpr int kLeastMajor = 8;  // bf16 and asynchronous copies
  if (major >= kLeastMajor) return "";
  return absl::StrCat(name, " has compute capability ", major, ".", minor,
                      "; the kernels need 8.0 (Ampere) or newer");
}

namespace {

std::string WhyUnusable(const CudaSystem& system, int device) {
  return static_cast<size_t>(device) < system.unusable.size() ? system.unusable[device] : "";
}

DeviceChoice FirstUsable(const CudaSystem& system) {
  std::string why = "no CUDA device can be used";
  for (int device = 0; device < system.devices; ++device) {
    const std::string reason = WhyUnusable(system, device);
    if (reason.empty()) return {.cuda = device};
    absl::StrAppend(&why, device == 0 ? ": " : "; ", "cuda:", device, ": ", reason);
  }
  return {.note = why};
}

}  // namespace

absl::StatusOr<DeviceChoice> ChooseDevice(absl::string_view wanted, const CudaSystem& system) {
  const std::string none =
      !system.built        ? "this program was built without CUDA (preset cuda has it)"
      : system.devices > 0 ? ""
                           : absl::StrCat("no CUDA device was found: ", system.why_none);
  if (wanted == "cpu") return DeviceChoice{};
  if (wanted == "auto") {
    return none.empty() ? FirstUsable(system) : DeviceChoice{.note = none};
  }
  absl::string_view number = wanted;
  int ordinal = -1;
  if (!absl::ConsumePrefix(&number, "cuda:") || !absl::c_all_of(number, absl::ascii_isdigit) ||
      !absl::SimpleAtoi(number, &ordinal)) {
    return MakeError(
        Reason::kFieldInvalid,
        absl::StrCat("device ", wanted, " is not known; expected cpu, auto or cuda:N"));
  }
  if (!none.empty()) {
    return MakeError(Reason::kFieldInvalid, absl::StrCat("device ", wanted, ": ", none));
  }
  if (ordinal >= system.devices) {
    return MakeError(Reason::kFieldInvalid,
                     absl::StrCat("device ", wanted, " is not there; this machine has ",
                                  system.devices, " CUDA devices, the first of them cuda:0"));
  }
  if (const std::string why = WhyUnusable(system, ordinal); !why.empty()) {
    return MakeError(Reason::kFieldInvalid, absl::StrCat("device ", wanted, ": ", why));
  }
  return DeviceChoice{.cuda = ordinal};
}

}  // namespace scanline::cuda
