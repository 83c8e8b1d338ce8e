#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace scanline {

// Everything that can be set. Its defaults, units and meanings are the options of config.cc.
struct Settings {
  std::string listen = "127.0.0.1:50051";
  std::string ops_listen = "127.0.0.1:9090";
  std::vector<std::string> models;  // folders; empty: the bundle that came with the program
  int workers = 0;                  // 0: one a core
  int threads = 1;                  // of one forward pass
  int decode_threads = 0;           // 0: one a core
  int upload_decode_threads = 0;    // of clips still arriving; 0: half as many
  std::string kernel = "auto";
  std::string precision = "auto";
  std::string device = "auto";
  int max_batch = 8;                  // requests
  int64_t max_batch_tokens = 65'536;  // a larger request runs alone
  int64_t max_requests = 256;         // in flight
  int64_t max_inflight_mib = 256;     // of their clips
  int64_t max_clip_mib = 16;
  int64_t max_upload_mib = 2048;        // of one upload
  int64_t upload_memory_mib = 32;       // of one upload; more goes to a temporary file
  int64_t max_upload_total_mib = 8192;  // that all uploads keep
  std::string upload_dir;               // of those files; empty: the system's
  int max_streams = 100;                // uploads and streams at a time
  double idle_timeout = 30;             // seconds between two messages of a stream
  int64_t max_pixels = 33'554'432;      // of a frame
  double max_clip_seconds = 3 * 3600;
  int64_t max_frames = 400'000;    // walked in a clip
  double max_decode_seconds = 60;  // CPU
  int max_packets_without_frame = 512;
  int64_t max_pictures_mib = 1024;  // decoded pictures of one clip
  int max_texts = 1000;             // of a request
  int64_t max_text_bytes = 4096;    // of one of them
  int max_boxes = 1000;             // of a request
  std::string person_detector;      // folder; empty: where ./dev setup puts it, if it is there
  double default_deadline = 60;     // seconds
  double max_deadline = 600;        // seconds
  double lame_duck = 5;             // seconds
  bool reflection = true;
  std::string log_level = "info";
  std::string port_file;
};

// The outcome of reading the command line and what stands behind it.
struct ParsedSettings {
  Settings settings;
  // Set where the program shall print this and stop: for --help, --version and --print-config.
  std::optional<std::string> print;
};

using GetEnv = std::function<std::optional<std::string>(const std::string&)>;

// Flags > environment (SCANLINE_<FLAG>) > TOML file (--config) > defaults. `args` is without the
// program's name. An error's message is what the user shall read; the exit code for it is 2.
absl::StatusOr<ParsedSettings> ParseSettings(const std::vector<std::string>& args,
                                             const GetEnv& get_env);

std::optional<std::string> SystemEnv(const std::string& name);

// The folder of the bundle that came with the program at `program` (its real path): beside the
// build tree in assets/models, or where it is installed in share/scanline/models.
absl::StatusOr<std::string> DefaultBundle(const std::string& program);

struct HostPort {
  std::string host;
  int port = 0;  // 0: the system chooses
};

// "127.0.0.1:50051", "[::1]:0", "localhost:9090". Error: INVALID_ARGUMENT.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text);

}  // namespace scanline
