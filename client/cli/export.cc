#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/cli/csv.h"
#include "client/cli/exit_code.h"
#include "client/cli/json.h"
#include "client/cli/same_file.h"
#include "client/cli/text_width.h"
#include "client/cli/verbs.h"
#include "client/index/files.h"
#include "client/index/index_reader.h"
#include "client/index/npy.h"

namespace scanline::cli {
namespace {

constexpr size_t kPiece = 4 << 20;

void SayOnError(absl::string_view text) {
  fprintf(stderr, "scanline: %s\n", PrintableText(text).c_str());
}

// "[0.1,-2e-05]": the fewest digits from which each float can be read again.
std::string VectorText(absl::Span<const float> vector) {
  std::string out = "[";
  std::array<char, 32> digits{};
  for (const float x : vector) {
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), x).ptr;
    absl::StrAppend(&out, out.size() > 1 ? "," : "",
                    absl::string_view(digits.data(), static_cast<size_t>(end - digits.data())));
  }
  return out + "]";
}

std::string Number(double value) {
  std::array<char, 64> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return std::string(digits.data(), end);
}

// Where the bytes go, in large pieces.
class Sink {
 public:
  explicit Sink(FILE* file) : file_(file) {}
  absl::Status Write(absl::string_view bytes) {
    piece_.append(bytes.data(), bytes.size());
    return piece_.size() < kPiece ? absl::OkStatus() : Flush();
  }
  absl::Status Flush() {
    errno = 0;
    const bool written =
        fwrite(piece_.data(), 1, piece_.size(), file_) == piece_.size() && fflush(file_) == 0;
    piece_.clear();
    return written ? absl::OkStatus() : FileError("write", "the output");
  }

 private:
  FILE* const file_;
  std::string piece_;
};

absl::Span<const float> RowOf(const IndexReader& index, int64_t row) {
  const auto dim = static_cast<size_t>(index.info().dim);
  return index.rows().subspan(static_cast<size_t>(row) * dim, dim);
}

absl::Status WriteNpy(const IndexReader& index, Sink& sink) {
  SCANLINE_RETURN_IF_ERROR(sink.Write(NpyHeader(index.info().count, index.info().dim)));
  for (int64_t row = 0; row < index.info().count; ++row) {
    const absl::Span<const float> vector = RowOf(index, row);
    SCANLINE_RETURN_IF_ERROR(
        sink.Write({reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float)}));
  }
  return absl::OkStatus();
}

// The item's line as it is, and its vector as one more member.
absl::Status WriteJsonl(const IndexReader& index, Sink& sink) {
  for (int64_t row = 0; row < index.info().count; ++row) {
    SCANLINE_ASSIGN_OR_RETURN(const Item item, index.ItemAt(row));
    std::string line = ItemLine(item);
    line.pop_back();  // }
    SCANLINE_RETURN_IF_ERROR(
        sink.Write(absl::StrCat(line, ",\"vector\":", VectorText(RowOf(index, row)), "}\n")));
  }
  return absl::OkStatus();
}

absl::Status WriteCsv(const IndexReader& index, Sink& sink) {
  SCANLINE_RETURN_IF_ERROR(
      sink.Write(CsvLine({"id", "path", "start_s", "end_s", "sha256", "vector", "path_bytes"})));
  for (int64_t row = 0; row < index.info().count; ++row) {
    SCANLINE_ASSIGN_OR_RETURN(const Item item, index.ItemAt(row));
    SCANLINE_RETURN_IF_ERROR(sink.Write(
        CsvLine({item.id, item.file.path, Number(item.start_seconds), Number(item.end_seconds),
                 item.sha256, VectorText(RowOf(index, row)), Base64UnlessUtf8(item.file.path)})));
  }
  return absl::OkStatus();
}

ExportAs FormOf(const Args::Export& a) {
  if (a.to != ExportAs::kByName) return a.to;
  if (absl::EndsWith(a.output, ".npy")) return ExportAs::kNpy;
  return absl::EndsWith(a.output, ".csv") ? ExportAs::kCsv : ExportAs::kJsonl;
}

absl::Status Write(const IndexReader& index, ExportAs form, FILE* file) {
  Sink sink(file);
  absl::Status written;
  if (form == ExportAs::kNpy) written = WriteNpy(index, sink);
  if (form == ExportAs::kJsonl) written = WriteJsonl(index, sink);
  if (form == ExportAs::kCsv) written = WriteCsv(index, sink);
  return written.ok() ? sink.Flush() : written;
}

// The file appears whole or not at all.
absl::Status WriteFile(const IndexReader& index, ExportAs form, const std::string& path) {
  const std::string part = path + ".part";
  FILE* const file = fopen(part.c_str(), "wb");
  if (file == nullptr) return FileError("write", part);
  absl::Status written = Write(index, form, file);
  if (fclose(file) != 0 && written.ok()) written = FileError("write", part);
  if (written.ok()) return Rename(part, path);
  unlink(part.c_str());
  return written;
}

int Refuse(const absl::Status& status, int exit_code) {
  SayOnError(status.message());
  return exit_code;
}

}  // namespace

int RunExport(const Args& args, const Terminal& terminal, Interrupt&) {
  const Args::Export& a = args.export_index;
  const ExportAs form = FormOf(a);
  if (!a.output.empty() && !a.force && std::filesystem::exists(a.output)) {
    SayOnError(absl::StrCat(a.output, " is there already; --force replaces it"));
    return kExitUsage;
  }
  if (a.output.empty() && form == ExportAs::kNpy && terminal.out_is_tty) {
    SayOnError("npy is nothing to read on a terminal: name a file with -o");
    return kExitUsage;
  }
  const auto index = IndexReader::Open(a.folder);
  if (!index.ok()) return Refuse(index.status(), kExitUsage);
  // A file there could be one of the index's own, now or later.
  if (!a.output.empty() && IsInside(a.output, a.folder)) {
    SayOnError(absl::StrCat(a.output, " is inside the index: name a file elsewhere"));
    return kExitUsage;
  }
  if (!a.output.empty()) {
    const absl::Status can_write = CheckWritten({{"-o", a.output}}, FilesRead(args, {}));
    if (!can_write.ok()) return Refuse(can_write, kExitUsage);
  }
  const absl::Status written =
      a.output.empty() ? Write(**index, form, stdout) : WriteFile(**index, form, a.output);
  return written.ok() ? kExitOk : Refuse(written, kExitInputFailed);
}

}  // namespace scanline::cli
