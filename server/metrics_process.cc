#include "server/metrics_process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace scanline {
namespace {

// The fields of /proc/self/stat from the third on (state), as proc(5) numbers them: the second, the
// program's name, may hold spaces.
std::vector<std::string> StatFields() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream rest(line.substr(std::min(line.rfind(')') + 1, line.size())));
  return {std::istream_iterator<std::string>(rest), {}};
}

double Field(const std::vector<std::string>& fields, size_t number) {
  return number - 3 < fields.size() ? std::stod(fields[number - 3]) : 0;
}

double BootTime() {
  std::ifstream file("/proc/stat");
  for (std::string word; file >> word;) {
    double value = 0;
    if (word == "btime" && file >> value) return value;
  }
  return 0;
}

prometheus::MetricFamily One(const char* name, const char* help, prometheus::MetricType type,
                             double value) {
  prometheus::ClientMetric metric;
  if (type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return {name, help, type, {metric}};
}

double OpenFiles() {
  std::error_code error;
  const std::filesystem::directory_iterator entries("/proc/self/fd", error);
  if (error) return 0;
  // The listing itself holds one more.
  return static_cast<double>(std::distance(begin(entries), end(entries)) - 1);
}

}  // namespace

std::vector<prometheus::MetricFamily> CollectProcessMetrics() {
  using prometheus::MetricType;
  const std::vector<std::string> stat = StatFields();
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  return {
      One("process_cpu_seconds_total", "User and system CPU time.", MetricType::Counter,
          (Field(stat, 14) + Field(stat, 15)) / ticks),
      One("process_resident_memory_bytes", "Resident memory.", MetricType::Gauge,
          Field(stat, 24) * page),
      One("process_virtual_memory_bytes", "Virtual memory.", MetricType::Gauge, Field(stat, 23)),
      One("process_threads", "Threads.", MetricType::Gauge, Field(stat, 20)),
      One("process_open_fds", "Open file descriptors.", MetricType::Gauge, OpenFiles()),
      One("process_max_fds", "The most that may be open.", MetricType::Gauge,
          static_cast<double>(files.rlim_cur)),
      One("process_start_time_seconds", "Start, in seconds since 1970.", MetricType::Gauge,
          BootTime() + Field(stat, 22) / ticks),
  };
}

}  // namespace scanline
