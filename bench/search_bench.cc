// scanline-search-bench: exact search in a large index of random vectors, beside what the memory's
// bandwidth allows, as JSON. Makes the index in a folder of its own, which it removes.

#include <immintrin.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "client/index/index_reader.h"
#include "client/index/index_writer.h"
#include "client/index/search.h"

namespace scanline {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kRowsAFile = 20;
constexpr int64_t kChanged = 1000;  // files' rows that are added and removed
constexpr int kHits = 10;

struct Options {
  int64_t rows = 1'000'000;
  int dim = 512;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  int queries = 31;
  std::string folder = std::filesystem::temp_directory_path();
  std::string json;
  std::string commit;
};

double Now() { return static_cast<double>(absl::GetCurrentTimeNanos()) * 1e-9; }

double Ms(double seconds) { return std::round(seconds * 1e6) / 1e3; }

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Unit vectors that are the same for the same seed.
class Vectors {
 public:
  explicit Vectors(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15 + 1) {}
  void Append(int dim, std::vector<float>& out) {
    const size_t first = out.size();
    double sum = 0;
    for (int i = 0; i < dim; ++i) {
      state_ ^= state_ << 13;
      state_ ^= state_ >> 7;
      state_ ^= state_ << 17;
      out.push_back(static_cast<float>(static_cast<int32_t>(state_ >> 32)));
      sum += double{out.back()} * out.back();
    }
    const auto scale = static_cast<float>(1 / std::sqrt(sum));
    for (size_t i = first; i < out.size(); ++i) out[i] *= scale;
  }

 private:
  uint64_t state_;
};

void AppendFile(IndexWriter& writer, int64_t file, int rows) {
  const std::string sha = absl::StrFormat("%064x", file);
  const FileStamp stamp = {absl::StrFormat("/videos/of/a/team/%08d.mp4", file), 1'000'000, file};
  std::vector<Item> items;
  std::vector<float> values;
  Vectors vectors(static_cast<uint64_t>(file));
  for (int i = 0; i < rows; ++i) {
    items.push_back({ItemId(sha, i), stamp, double(i), double(i + 1), sha});
    vectors.Append(writer.info().dim, values);
  }
  SCANLINE_CHECK(writer.Append(items, values).ok());
}

std::unique_ptr<IndexWriter> OpenWriter(const Options& o) {
  auto writer = IndexWriter::Open(
      o.folder, {.model = "models/random@1", .weights_sha256 = std::string(64, '0'), .dim = o.dim});
  SCANLINE_CHECK(writer.ok());
  return *std::move(writer);
}

Json Build(const Options& o) {
  const double began = Now();
  const auto writer = OpenWriter(o);
  for (int64_t row = 0, file = 0; row < o.rows; row += kRowsAFile, ++file) {
    AppendFile(*writer, file, static_cast<int>(std::min<int64_t>(kRowsAFile, o.rows - row)));
    if (file % 1000 == 999) SCANLINE_CHECK(writer->Commit().ok());
  }
  SCANLINE_CHECK(writer->Commit().ok());
  return {{"seconds", std::round(Now() - began)}};
}

// Memory that this process alone holds, and with the index's pages that are mapped.
double StatusMib(const char* field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (absl::StartsWith(line, field)) {
      return std::round(std::atof(line.c_str() + std::string(field).size() + 1) / 1024 * 10) / 10;
    }
  }
  return 0;
}

// Adds up numbers [at, end): four sums, since one would wait for the additions, not for memory.
__attribute__((target("avx2"))) float Sum(const float* at, const float* end) {
  __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
  for (; at + 32 <= end; at += 32) {
    a = _mm256_add_ps(a, _mm256_loadu_ps(at));
    b = _mm256_add_ps(b, _mm256_loadu_ps(at + 8));
    c = _mm256_add_ps(c, _mm256_loadu_ps(at + 16));
    d = _mm256_add_ps(d, _mm256_loadu_ps(at + 24));
  }
  return _mm256_cvtss_f32(_mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d)));
}

// The least that any exact search must do: read every number, on as many threads.
double StreamSeconds(absl::Span<const float> rows, int threads) {
  const double began = Now();
  std::atomic<size_t> next{0};
  std::atomic<float> total{0};
  constexpr size_t kStep = size_t{1} << 21;
  const auto work = [&] {
    float sum = 0;
    for (size_t at; (at = next.fetch_add(kStep)) < rows.size();) {
      sum += Sum(rows.data() + at, rows.data() + std::min(rows.size(), at + kStep));
    }
    total = total + sum;
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  SCANLINE_CHECK(!std::isnan(total.load()));
  return Now() - began;
}

Json Query(const Options& o) {
  const double began = Now();
  const auto opened = IndexReader::Open(o.folder);
  SCANLINE_CHECK(opened.ok());
  const double open_s = Now() - began;
  const IndexReader& index = **opened;
  std::vector<double> query_s, scan_s, stream_s;
  double first_s = 0;
  for (int q = 0; q <= o.queries; ++q) {
    std::vector<float> query;
    Vectors(1'000'000'007 + static_cast<uint64_t>(q)).Append(o.dim, query);
    const double asked = Now();
    const std::vector<float> scores = ScoreRows(index.rows(), query, o.threads);
    const double scored = Now();
    const auto moments = BestMoments(index, scores, kHits, Distinct::kMoments);
    const double found = Now();
    SCANLINE_CHECK(moments.ok() && moments->size() == kHits);
    if (q == 0) {  // maps the pages and finds the lines of items
      first_s = found - asked;
      StreamSeconds(index.rows(), o.threads);
      continue;
    }
    query_s.push_back(found - asked);
    scan_s.push_back(scored - asked);
    stream_s.push_back(StreamSeconds(index.rows(), o.threads));  // in turn with the queries
  }
  const double bytes = static_cast<double>(index.rows().size() * sizeof(float));
  return {{"open_ms", Ms(open_s)},
          {"first_query_ms", Ms(first_s)},
          {"query_p50_ms", Ms(Median(query_s))},
          {"query_max_ms", Ms(*std::max_element(query_s.begin(), query_s.end()))},
          {"of_it_scan_p50_ms", Ms(Median(scan_s))},
          {"bandwidth_bound_p50_ms", Ms(Median(stream_s))},
          {"query_to_bound", std::round(Median(query_s) / Median(stream_s) * 100) / 100},
          {"query_gb_s", std::round(bytes / Median(query_s) * 1e-8) / 10},
          {"bound_gb_s", std::round(bytes / Median(stream_s) * 1e-8) / 10},
          {"own_memory_mib", StatusMib("RssAnon:")},
          {"with_mapped_pages_peak_mib", StatusMib("VmHWM:")}};
}

int64_t CountRows(const Options& o) {
  const auto info = ReadIndexInfo(o.folder);
  return info.ok() ? info->count : -1;
}

Json Change(const Options& o) {
  const double began = Now();
  const auto writer = OpenWriter(o);
  const double opened = Now();
  const int64_t files = static_cast<int64_t>(writer->files().size());
  for (int64_t i = 0; i < kChanged; ++i) AppendFile(*writer, files + i, 1);
  SCANLINE_CHECK(writer->Commit().ok());
  const double added = Now();
  SCANLINE_CHECK(CountRows(o) == o.rows + kChanged);
  // Every so many, all over the file.
  std::vector<IndexedFile> kept;
  const auto every = static_cast<size_t>(std::max<int64_t>(1, files / kChanged));
  for (size_t i = 0; i < writer->files().size(); ++i) {
    const bool goes = i % every == 0 && i / every < static_cast<size_t>(kChanged);
    if (!goes) kept.push_back(writer->files()[i]);
  }
  const auto removed_files = static_cast<int64_t>(writer->files().size() - kept.size());
  const double planned = Now();
  SCANLINE_CHECK(writer->Rewrite(kept).ok());
  const double removed = Now();
  SCANLINE_CHECK(CountRows(o) == o.rows + kChanged - removed_files * kRowsAFile);
  return {{"open_for_writing_s", std::round((opened - began) * 100) / 100},
          {"add_1000_files_s", std::round((added - opened) * 100) / 100},
          {"remove_files", removed_files},
          {"remove_s", std::round((removed - planned) * 100) / 100},
          {"own_memory_mib", StatusMib("RssAnon:")}};
}

// Runs one phase in a process of its own, so that memory is that of the phase.
Json InProcess(const Options& o, Json (*phase)(const Options&)) {
  int ends[2];
  SCANLINE_CHECK(pipe(ends) == 0);
  const pid_t pid = fork();
  SCANLINE_CHECK(pid >= 0);
  if (pid == 0) {
    const std::string text = phase(o).dump();
    SCANLINE_CHECK(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  waitpid(pid, nullptr, 0);
  SCANLINE_CHECK(!text.empty());
  return Json::parse(text);
}

Json Machine() {
  std::string cpu;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; cpu.empty() && std::getline(info, line);) {
    if (absl::StartsWith(line, "model name")) cpu = line.substr(line.find(':') + 2);
  }
  double load = 0;  // of other work at the beginning, which takes cores and bandwidth away
  utsname system = {};
  uname(&system);
  return {{"cpu", cpu},
          {"cores", std::thread::hardware_concurrency()},
          {"load_average", getloadavg(&load, 1) == 1 ? std::round(load * 10) / 10 : -1},
          {"system", absl::StrCat(system.sysname, "-", system.release, "-", system.machine)}};
}

// As many rows as fit into memory and on the disk, at most those asked for.
int64_t RowsThatFit(const Options& o) {
  const auto disk = static_cast<double>(std::filesystem::space(o.folder).available);
  const double memory =
      static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  // The vectors, an item's line, and both again while rows are removed.
  const double row_bytes = o.dim * 4.0 + 400;
  std::ifstream meminfo("/proc/meminfo");
  double available = memory;
  for (std::string line; std::getline(meminfo, line);) {
    if (absl::StartsWith(line, "MemAvailable:")) available = std::atof(line.c_str() + 13) * 1024;
  }
  const double fit = std::min(disk / (2.5 * row_bytes), available / (1.5 * row_bytes));
  return std::min(o.rows, static_cast<int64_t>(fit));
}

int Main(int argc, char** argv) {
  Options o;
  CLI::App app("Exact search in an index of random vectors beside the memory's bandwidth, as JSON");
  app.add_option("--rows", o.rows, "vectors [1000000]")->check(CLI::Range(20'000, 100'000'000));
  app.add_option("--dim", o.dim, "numbers of each [512]")->check(CLI::Range(32, 4096));
  app.add_option("--threads", o.threads, "[one a core]")->check(CLI::PositiveNumber);
  app.add_option("--queries", o.queries, "[31]")->check(CLI::PositiveNumber);
  app.add_option("--folder", o.folder, "where the index is made for the time [the system's]");
  app.add_option("--json", o.json, "the file for the result [standard output]");
  app.add_option("--commit", o.commit, "to name in the result");
  CLI11_PARSE(app, argc, argv);
  SCANLINE_CHECK(__builtin_cpu_supports("avx2"));
  const int64_t asked = o.rows;
  o.rows = RowsThatFit(o);
  if (o.rows < asked) {
    std::cerr << "this machine has room for " << o.rows << " of " << asked << " vectors\n";
  }
  std::string pattern = o.folder + "/scanline-search-bench-XXXXXX";
  SCANLINE_CHECK(mkdtemp(pattern.data()) != nullptr);
  o.folder = pattern;
  Json result = {{"what", "exact search, random unit vectors, best 10 moments with their items"},
                 {"command", "./dev bench search"},
                 {"date", absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::UTCTimeZone())},
                 {"commit", o.commit},
                 {"machine", Machine()},
                 {"rows", o.rows},
                 {"rows_asked_for", asked},
                 {"dim", o.dim},
                 {"threads", o.threads},
                 {"queries", o.queries}};
  result["build"] = InProcess(o, Build);
  result["search"] = InProcess(o, Query);
  result["change"] = InProcess(o, Change);
  std::filesystem::remove_all(o.folder);
  if (o.json.empty()) {
    std::cout << result.dump(1) << "\n";
  } else {
    std::ofstream(o.json) << result.dump(1) << "\n";
    std::cerr << result["search"].dump(1) << "\n" << o.json << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace scanline

int main(int argc, char** argv) { return scanline::Main(argc, argv); }
