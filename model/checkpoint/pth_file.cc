#include "model/checkpoint/pth_file.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "model/checkpoint/pickle.h"
#include "model/checkpoint/pth_tensors.h"
#include "model/checkpoint/zip_archive.h"

namespace scanline {
namespace {

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return MakeError(Reason::kBundleInvalid, absl::StrCat(parts...));
}

bool IsContiguous(const PthTensor& tensor) {
  int64_t expected = 1;
  for (size_t i = tensor.shape.size(); i > 0; --i) {
    if (tensor.shape[i - 1] != 1 && tensor.stride[i - 1] != expected) return false;
    expected *= tensor.shape[i - 1];
  }
  return true;
}

// The values of a view in row-major order. `storage` is known to hold them all.
std::vector<uint8_t> Gather(const PthTensor& tensor, absl::Span<const uint8_t> storage,
                            int64_t count) {
  const int64_t width = BytesOfDtype(tensor.dtype);
  std::vector<uint8_t> out(static_cast<size_t>(count * width));
  std::vector<int64_t> index(tensor.shape.size(), 0);
  int64_t at = tensor.offset;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(out.data() + i * width, storage.data() + at * width, static_cast<size_t>(width));
    for (size_t d = index.size(); d > 0; --d) {  // The next index, last side fastest.
      at += tensor.stride[d - 1];
      if (++index[d - 1] < tensor.shape[d - 1]) break;
      at -= tensor.stride[d - 1] * index[d - 1];
      index[d - 1] = 0;
    }
  }
  return out;
}

class PthCheckpoint : public Checkpoint {
 public:
  PthCheckpoint(ZipArchive archive, std::string root, StateDict dict)
      : Checkpoint("torch.save"),
        archive_(std::move(archive)),
        root_(std::move(root)),
        views_(std::move(dict.tensors)) {
    wrapper_ = std::move(dict.wrapper);
    beside_ = std::move(dict.beside);
    not_tensors_ = std::move(dict.not_tensors);
    types_not_read_ = std::move(dict.types);
    for (const PthTensor& view : views_) tensors_.push_back({view.name, view.dtype, view.shape});
  }

  // Each storage is there and as long as the pickle says.
  absl::Status CheckStorages() const {
    for (const PthTensor& view : views_) {
      const auto entry = archive_.entries().find(EntryOf(view));
      if (entry == archive_.entries().end()) {
        return Invalid(view.name, ": its data (", EntryOf(view), ") is missing in the file");
      }
      if (!entry->second.stored) return archive_.Read(entry->first).status();  // It says why.
      uint64_t bytes = 0;
      if (__builtin_mul_overflow(view.storage_size, BytesOfDtype(view.dtype), &bytes) ||
          bytes != entry->second.size) {
        return Invalid(view.name, ": its storage should have ", view.storage_size, " values of ",
                       view.dtype, ", the file has ", entry->second.size, " bytes");
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadFloats(size_t index, float* out) const override {
    const PthTensor& view = views_[index];
    const int64_t count = tensors_[index].size();
    if (count == 0) return absl::OkStatus();
    SCANLINE_ASSIGN_OR_RETURN(const std::vector<uint8_t> storage, archive_.Read(EntryOf(view)));
    if (!IsContiguous(view)) {
      return ConvertToFloats(tensors_[index], Gather(view, storage, count), out);
    }
    const int64_t width = BytesOfDtype(view.dtype);
    return ConvertToFloats(
        tensors_[index],
        absl::MakeConstSpan(storage).subspan(static_cast<size_t>(view.offset * width),
                                             static_cast<size_t>(count * width)),
        out);
  }

 private:
  std::string EntryOf(const PthTensor& view) const {
    return absl::StrCat(root_, "/data/", view.storage);
  }

  ZipArchive archive_;
  std::string root_;
  std::vector<PthTensor> views_;
};

// The folder that everything in the archive lies in: NAME of NAME/data.pkl.
absl::StatusOr<std::string> FindRoot(const ZipArchive& archive) {
  constexpr absl::string_view kPickle = "/data.pkl";
  std::string root;
  for (const auto& item : archive.entries()) {
    if (!absl::EndsWith(item.first, kPickle)) continue;
    if (!root.empty()) return Invalid("the archive has two data.pkl");
    root = item.first.substr(0, item.first.size() - kPickle.size());
  }
  if (root.empty()) {
    return Invalid("this is a zip file, but not one of torch.save: it has no NAME/data.pkl");
  }
  if (archive.entries().count(root + "/constants.pkl") != 0) {
    return Invalid(
        "this is a TorchScript archive, which holds a program. Save the weights alone: "
        "torch.save(module.state_dict(), FILE)");
  }
  return root;
}

absl::Status CheckByteOrder(const ZipArchive& archive, const std::string& root) {
  const std::string name = root + "/byteorder";
  const auto entry = archive.entries().find(name);
  if (entry == archive.entries().end()) return absl::OkStatus();  // Before PyTorch 2.1.
  if (entry->second.size > 16) return Invalid(name, " has ", entry->second.size, " bytes");
  SCANLINE_ASSIGN_OR_RETURN(const std::vector<uint8_t> order, archive.Read(name));
  if (std::string(order.begin(), order.end()) == "little") return absl::OkStatus();
  return Invalid("the file was written on a big-endian machine; save it again on another");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Checkpoint>> OpenPth(absl::Span<const uint8_t> bytes) {
  SCANLINE_ASSIGN_OR_RETURN(ZipArchive archive, ZipArchive::Open(bytes));
  SCANLINE_ASSIGN_OR_RETURN(std::string root, FindRoot(archive));
  SCANLINE_RETURN_IF_ERROR(CheckByteOrder(archive, root));
  const std::string name = root + "/data.pkl";
  const PickleLimits limits;
  if (archive.entries().at(name).size > limits.bytes) {
    return Invalid(name, " has ", archive.entries().at(name).size, " bytes, at most ", limits.bytes,
                   " are read");
  }
  SCANLINE_ASSIGN_OR_RETURN(const std::vector<uint8_t> text, archive.Read(name));
  SCANLINE_ASSIGN_OR_RETURN(const Pickle pickle, ReadPickle(text, limits));
  SCANLINE_ASSIGN_OR_RETURN(StateDict dict, FindStateDict(pickle));
  auto checkpoint =
      std::make_unique<PthCheckpoint>(std::move(archive), std::move(root), std::move(dict));
  SCANLINE_RETURN_IF_ERROR(checkpoint->CheckStorages());
  return checkpoint;
}

}  // namespace scanline
