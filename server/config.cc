#include "server/config.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/number_check.h"
#include "base/status_macros.h"
#include "server/version.h"

namespace scanline {
namespace {

constexpr char kHelp[] = R"(scanline-server: answers questions about video over gRPC.
Usage: scanline-server [OPTIONS]

  --listen HOST:PORT      gRPC address; port 0 lets the system choose (127.0.0.1:50051)
  --ops-listen HOST:PORT  /metrics, /livez, /readyz, /startupz (127.0.0.1:9090)
  --model DIR             a model folder; repeat it for more, the first is the default
  --person-detector DIR   finds people for detect requests without boxes (what ./dev setup made)
  --workers N             forward passes at a time; 0: as many as --threads leaves cores for (0)
  --threads N             threads of one forward pass (1)
  --device NAMES          cpu, cuda:0,cuda:1 (a worker each), or auto: the first GPU, if any
  --kernel NAME           instructions: scalar, avx2, avx512, avx512_bf16, or auto: the CPU's best
  --precision NAME        of matrix products: fp32, bf16, or auto: fp32 on a CPU, bf16 on a GPU
  --decode-threads N      clips decoded at a time; 0: one a core (0)
  --lame-duck SECONDS     still serving while balancers see NOT_SERVING, before a stop (5)
  --config FILE           settings as TOML, keys named like the flags
  --print-config          every setting with its value, origin and meaning, and stop
  --port-file FILE        "GRPC_PORT OPS_PORT" is written here when ready
  --log-level LEVEL       debug, info, warning or error (info)
  --version, --help
Limits, batching and deadlines are settings too: see --print-config.
A flag wins over the variable SCANLINE_<FLAG>, that over FILE, that over the default.

Examples:
  scanline-server
  scanline-server --listen 0.0.0.0:50051 --model models/tagger24 --workers 4
)";

constexpr const char* kNotSettings[] = {"help", "version", "print-config", "config"};

bool TakesMany(const CLI::Option& option) {
  return option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

void AddOptions(CLI::App& app, Settings& s) {
  using CLI::Range;
  constexpr int64_t kMost = int64_t{1} << 40;
  app.add_option("--listen", s.listen, "gRPC address, HOST:PORT");
  app.add_option("--ops-listen", s.ops_listen, "address of the operations pages, HOST:PORT");
  app.add_option("--model", s.models, "model folder, repeatable; none: the one that came along")
      ->take_all()
      ->allow_extra_args(false);  // one value each time
  app.add_option("--person-detector", s.person_detector,
                 "folder of the person detector; none: the one that ./dev setup made, if any");
  app.add_option("--workers", s.workers,
                 "forward passes at a time; 0: as many as --threads leaves cores for")
      ->check(Range(0, 1024));
  app.add_option("--threads", s.threads, "threads of one forward pass")->check(Range(1, 1024));
  app.add_option("--decode-threads", s.decode_threads, "clips decoded at a time; 0: one a core")
      ->check(Range(0, 1024));
  app.add_option("--upload-decode-threads", s.upload_decode_threads,
                 "clips decoded while they arrive; 0: half of --decode-threads")
      ->check(Range(0, 1024));
  app.add_option("--kernel", s.kernel,
                 "instructions of a forward pass: auto, avx512_bf16, avx512, avx2 or scalar");
  app.add_option("--precision", s.precision,
                 "of matrix products: fp32, bf16, or auto: fp32 on a CPU, bf16 on a GPU");
  app.add_option("--device", s.device,
                 "what runs forward passes: cpu, GPUs as cuda:0,cuda:1 (a worker each), or auto");
  app.add_option("--max-batch", s.max_batch, "requests that share a forward pass")
      ->check(Range(1, 1024));
  app.add_option("--max-batch-tokens", s.max_batch_tokens, "their tokens; a larger one runs alone")
      ->check(Range(int64_t{1}, kMost));
  app.add_option("--max-requests", s.max_requests, "requests in flight")
      ->check(Range(int64_t{1}, kMost));
  app.add_option("--max-inflight-mib", s.max_inflight_mib, "MiB of clips in flight")
      ->check(Range(int64_t{1}, kMost));
  app.add_option("--max-clip-mib", s.max_clip_mib, "MiB of a clip in one message")
      ->check(Range(int64_t{1}, int64_t{1024}));
  app.add_option("--max-upload-mib", s.max_upload_mib, "MiB of a clip in pieces (UploadClip)")
      ->check(Range(int64_t{1}, kMost >> 20));
  app.add_option("--upload-memory-mib", s.upload_memory_mib,
                 "MiB of an upload kept in memory; a larger one goes to a temporary file")
      ->check(Range(int64_t{0}, int64_t{65'536}));
  app.add_option("--max-upload-total-mib", s.max_upload_total_mib,
                 "MiB that all uploads keep; where it is used up, only the oldest is read on")
      ->check(Range(int64_t{1}, kMost >> 20));
  app.add_option("--upload-dir", s.upload_dir,
                 "folder of uploads' temporary files, which have no name; none: TMPDIR or /tmp");
  app.add_option("--max-streams", s.max_streams, "uploads and streams at a time")
      ->check(Range(1, 1'000'000));
  app.add_option("--idle-timeout", s.idle_timeout, "seconds that a stream may send nothing")
      ->check(RangeCheck("seconds", 0.001, 1e6));
  app.add_option("--max-pixels", s.max_pixels, "pixels of a frame")
      ->check(Range(int64_t{1}, kMost));
  app.add_option("--max-clip-seconds", s.max_clip_seconds, "length of a clip, seconds")
      ->check(RangeCheck("seconds", 0.001, 1e9));
  app.add_option("--max-frames", s.max_frames, "frames walked in a clip")
      ->check(Range(int64_t{1}, kMost));
  app.add_option("--max-decode-seconds", s.max_decode_seconds, "CPU seconds of decoding a clip")
      ->check(RangeCheck("seconds", 0.001, 1e9));
  app.add_option("--max-packets-without-frame", s.max_packets_without_frame,
                 "packets in a row that give no frame")
      ->check(Range(1, 1'000'000'000));
  app.add_option("--max-pictures-mib", s.max_pictures_mib, "MiB of a clip's sampled pictures")
      ->check(Range(int64_t{1}, int64_t{65'536}));
  app.add_option("--max-texts", s.max_texts, "texts of a request")->check(Range(0, 1'000'000));
  app.add_option("--max-text-bytes", s.max_text_bytes, "bytes of a text")
      ->check(Range(int64_t{1}, kMost));
  app.add_option("--max-boxes", s.max_boxes, "boxes of a request")->check(Range(0, 1'000'000));
  app.add_option("--default-deadline", s.default_deadline, "seconds, where a call gives none")
      ->check(RangeCheck("seconds", 0.001, 1e6));
  app.add_option("--max-deadline", s.max_deadline, "seconds; longer ones are cut to it")
      ->check(RangeCheck("seconds", 0.001, 1e6));
  app.add_option("--lame-duck", s.lame_duck, "seconds between NOT_SERVING and the stop")
      ->check(RangeCheck("seconds", 0, 3600));
  app.add_option("--reflection", s.reflection, "describe the services to tools such as grpcurl");
  app.add_option("--log-level", s.log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  app.add_option("--port-file", s.port_file, "file for the two ports, written when ready");
  // The last of a repeated flag counts, so that a script's flags can be added to.
  for (CLI::Option* option : app.get_options()) {
    if (!TakesMany(*option)) option->take_last();
  }
}

int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = std::exchange(row[0], static_cast<int>(i));
    for (size_t j = 1; j <= b.size(); ++j) {
      const int changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

// "" or "; did you mean --listen?".
std::string DidYouMean(absl::string_view name, const std::vector<std::string>& known,
                       absl::string_view prefix) {
  const auto nearest = std::min_element(known.begin(), known.end(),
                                        [name](const std::string& a, const std::string& b) {
                                          return EditDistance(name, a) < EditDistance(name, b);
                                        });
  if (nearest == known.end() || EditDistance(name, *nearest) > 3) return "";
  return absl::StrCat("; did you mean ", prefix, *nearest, "?");
}

// The words of one setting, from the place of highest rank that gives it.
struct Given {
  std::vector<std::string> values;
  std::string origin;  // "flag", "environment SCANLINE_LISTEN", "file x.toml"
};

class Reader {
 public:
  Reader(const std::vector<std::string>& args, const GetEnv& get_env)
      : args_(args), get_env_(get_env) {
    app_.set_help_flag();
    app_.add_flag("--help,-h", help_);
    app_.add_flag("--version", version_);
    app_.add_flag("--print-config", print_config_);
    app_.add_option("--config", config_);
    app_.allow_extras();
    AddOptions(app_, settings_);
    for (const CLI::Option* option : app_.get_options()) {
      const std::string name = option->get_lnames().front();
      all_names_.push_back(name);
      if (std::count(std::begin(kNotSettings), std::end(kNotSettings), name) == 0) {
        names_.push_back(name);
      }
    }
  }

  absl::StatusOr<ParsedSettings> Read() {
    SCANLINE_RETURN_IF_ERROR(ParseFlags());
    if (help_) return ParsedSettings{settings_, kHelp};
    if (version_)
      return ParsedSettings{settings_, absl::StrCat("scanline-server ", kVersion, "\n")};
    ReadEnvironment();
    if (config_.empty()) config_ = get_env_("SCANLINE_CONFIG").value_or("");
    if (!config_.empty()) SCANLINE_RETURN_IF_ERROR(ReadFile());
    SCANLINE_RETURN_IF_ERROR(Apply());
    if (print_config_) return ParsedSettings{settings_, PrintConfig()};
    return ParsedSettings{settings_, std::nullopt};
  }

 private:
  absl::Status ParseFlags() {
    try {
      std::vector<std::string> reversed(args_.rbegin(), args_.rend());
      app_.parse(reversed);
    } catch (const CLI::Error& error) {
      return absl::InvalidArgumentError(error.what());
    }
    if (const std::vector<std::string> extras = app_.remaining(); !extras.empty()) {
      const std::string name(absl::StripLeadingAsciiWhitespace(extras.front()));
      const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
      const std::string key = bare.substr(0, bare.find('='));
      return absl::InvalidArgumentError(
          absl::StrCat("unknown argument ", name, DidYouMean(key, all_names_, "--")));
    }
    for (const std::string& name : names_) {
      const CLI::Option* const option = app_.get_option("--" + name);
      if (option->count() > 0) given_[name] = {option->results(), "flag"};
    }
    return absl::OkStatus();
  }

  void ReadEnvironment() {
    for (const std::string& name : names_) {
      const std::string variable =
          "SCANLINE_" + absl::AsciiStrToUpper(absl::StrReplaceAll(name, {{"-", "_"}}));
      const std::optional<std::string> value = get_env_(variable);
      if (!value.has_value() || given_.contains(name)) continue;
      Given given{{*value}, "environment " + variable};
      // Several in one variable, as in PATH.
      if (TakesMany(*app_.get_option("--" + name)))
        given.values = absl::StrSplit(*value, ':', absl::SkipEmpty());
      given_[name] = std::move(given);
    }
  }

  absl::Status ReadFile() {
    std::vector<CLI::ConfigItem> items;
    try {
      items = CLI::ConfigTOML().from_file(config_);
    } catch (const CLI::Error& error) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot read the settings file ", config_, ": ", error.what()));
    }
    for (const CLI::ConfigItem& item : items) {
      const std::string key = item.fullname();
      if (!item.parents.empty()) {
        return absl::InvalidArgumentError(absl::StrCat("expected no sections in ", config_,
                                                       ", found [", item.parents.front(), "]"));
      }
      if (std::count(names_.begin(), names_.end(), key) == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("unknown key \"", key, "\" in ", config_, DidYouMean(key, names_, "")));
      }
      if (item.inputs.size() > 1 && !TakesMany(*app_.get_option("--" + key))) {
        return absl::InvalidArgumentError(
            absl::StrCat("expected one value of ", key, " in ", config_, ", found ",
                         absl::StrJoin(item.inputs, " and "),
                         key == "device" ? "; GPUs are \"cuda:0,cuda:1\"" : ""));
      }
      if (!given_.contains(key)) given_[key] = {item.inputs, "file " + config_};
    }
    return absl::OkStatus();
  }

  // Parses everything that was given once more, as if all of it were flags.
  absl::Status Apply() {
    for (const auto& [name, given] : given_) {
      Settings settings;
      CLI::App one;
      AddOptions(one, settings_);
      std::vector<std::string> reversed;
      for (const std::string& value : given.values) {
        reversed.insert(reversed.begin(), absl::StrCat("--", name, "=", value));
      }
      try {
        one.parse(reversed);
      } catch (const CLI::Error& error) {
        return absl::InvalidArgumentError(
            absl::StrCat("bad value of ", name, " (", given.origin, "): ", error.what()));
      }
    }
    for (const std::string& address : {settings_.listen, settings_.ops_listen}) {
      SCANLINE_RETURN_IF_ERROR(ParseHostPort(address).status());
    }
    return absl::OkStatus();
  }

  std::string PrintConfig() {
    CLI::App values;
    AddOptions(values, settings_);
    std::string out;
    for (CLI::Option* option : values.get_options()) {
      const std::string name = option->get_lnames().front();
      if (name == "help") continue;
      option->capture_default_str();
      const auto given = given_.find(name);
      const std::string origin = given == given_.end() ? "default" : given->second.origin;
      absl::StrAppendFormat(&out, "%-25s %-22s # %s; %s\n", name, option->get_default_str(), origin,
                            option->get_description());
    }
    return out;
  }

  const std::vector<std::string>& args_;
  const GetEnv& get_env_;
  CLI::App app_;
  Settings settings_;
  bool help_ = false;
  bool version_ = false;
  bool print_config_ = false;
  std::string config_;
  std::vector<std::string> all_names_;
  std::vector<std::string> names_;  // of settings: not --help and its like
  std::map<std::string, Given> given_;
};

}  // namespace

absl::StatusOr<ParsedSettings> ParseSettings(const std::vector<std::string>& args,
                                             const GetEnv& get_env) {
  return Reader(args, get_env).Read();
}

std::optional<std::string> SystemEnv(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

absl::StatusOr<std::string> DefaultBundle(const std::string& program) {
  namespace fs = std::filesystem;
  const fs::path bin = fs::path(program).parent_path();
  const std::vector<fs::path> places = {bin / "../../../assets/models/tagger24",
                                        bin / "../share/scanline/models/tagger24"};
  for (const fs::path& place : places) {
    if (fs::exists(place / "config.json")) return fs::weakly_canonical(place).string();
  }
  return absl::NotFoundError(
      absl::StrCat("no model: expected one in ", places[0].lexically_normal().string(), " or ",
                   places[1].lexically_normal().string(), "; name a folder with --model DIR"));
}

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text) {
  const size_t colon = text.rfind(':');
  HostPort parsed;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(text.substr(colon + 1), &parsed.port) || parsed.port < 0 ||
      parsed.port > 65'535) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected an address as HOST:PORT, e.g. 127.0.0.1:50051, found \"", text, "\""));
  }
  parsed.host = std::string(text.substr(0, colon));
  return parsed;
}

}  // namespace scanline
