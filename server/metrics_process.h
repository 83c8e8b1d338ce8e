#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace scanline {

// The usual process_* families (CPU, memory, file descriptors, start time) of this process, from
// /proc; prometheus-cpp brings no collector of its own.
std::vector<prometheus::MetricFamily> CollectProcessMetrics();

}  // namespace scanline
