#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/address.h"

namespace scanline::cli {

enum class Verb {
  kClassify,
  kDetect,
  kEmbed,
  kEval,
  kIndex,
  kSearch,
  kExport,
  kModels,
  kHealth,
  kImport
};
enum class Format { kAuto, kTable, kNdjson, kJson, kCsv };
enum class When { kAuto, kAlways, kNever };
enum class ExportAs { kByName, kNpy, kJsonl, kCsv };

// What the user asked for, checked. Zero and nullopt mean: the model's or the server's own.
struct Args {
  Verb verb = Verb::kClassify;
  ServerAddress server;
  Format format = Format::kAuto;
  When color = When::kAuto;
  std::string config;  // the settings file that was read; empty: none

  // Of `eval`.
  struct Eval {
    std::string task;
    std::string manifest;
    std::string output;   // a folder; empty: none
    bool rerank = false;  // retrieval
    // Of `eval ava`, which asks a server where it has clips.
    std::string truth;
    std::string detections;   // or
    std::string clips;        // a folder
    bool true_boxes = false;  // people are where the truth has them
    std::string exclude;      // keyframes that are not judged; empty: none
    std::string actions;      // the list of actions that are judged; empty: all
  };
  Eval eval;

  // Of `detect`, whose clips are `inputs`.
  struct Detect {
    static constexpr int kTopActions = 3;
    double interval_seconds = 0;
    std::string boxes;  // a CSV file of people's boxes; empty: the server finds them
    double min_person_score = 0;
    std::optional<int> top_k;  // actions a person; unset: kTopActions, of an AVA file all
    bool tracks = false;
  };
  Detect detect;

  // Of `classify` and `detect`: files that show the answer for their one input.
  std::vector<std::string> save;
  bool force = false;  // replaces files of these names

  // Of `embed`.
  struct Embed {
    std::vector<std::string> texts;
    bool per_window = false;
    bool no_normalize = false;
    std::string output;  // an .npy file; empty: standard output
    bool force = false;
  };
  Embed embed;

  // Of `index`, whose files are `inputs`.
  struct Index {
    std::string folder;
    bool prune = false;
    bool rebuild = false;
    bool retry = false;
  };
  Index index;

  // Of `search`.
  struct Search {
    std::string folder;
    std::string text;  // or
    std::string clip;  // a file
    int top_k = 10;
    bool per_file = false;
    bool rerank = false;
    std::string save;  // a PNG file; empty: none
    bool force = false;
  };
  Search search;

  // Of `export`.
  struct Export {
    std::string folder;
    ExportAs to = ExportAs::kByName;
    std::string output;  // empty: standard output
    bool force = false;
  };
  Export export_index;

  // Of `import`.
  struct Import {
    std::string file;
    std::string labels;
    std::string vocab;
    std::string name;
    std::string output = ".";
    std::string license = "not stated";
    std::string mixer;
    int frames = 0;
    int size = 0;
    int tubelet = 0;
    std::string pool;
    bool no_keep_temporal = false;
    bool detect = false;
    int heads = 0;
    int max_text_length = 0;
    std::string rule;
    int temporal_views = 0;
    int spatial_views = 0;
    bool drop_unexpected = false;
    bool force = false;
  };
  Import import;

  // From here on for `classify`, `detect`, `embed` and `eval`; inputs, texts_file and fail_fast not
  // for `eval`, min_score and include_logits for `classify` and `detect`, top_k for `classify`.
  std::vector<std::string> inputs;
  std::string texts_file;  // classify: of labels; empty: none
  std::string model;
  int top_k = 5;
  double min_score = 0;
  bool include_logits = false;
  bool allow_partial = false;
  int frames = 0;
  double sample_rate_hz = 0;
  double start_seconds = 0;
  std::optional<double> end_seconds;
  double window_seconds = 0;
  double window_stride_seconds = 0;
  int temporal_views = 0;
  int spatial_views = 0;
  double timeout_seconds = 60;  // an input
  int jobs = 4;
  bool fail_fast = false;
  When progress = When::kAuto;
};

// What to say, and to leave it at that: help, a version, a usage error.
struct Reply {
  int exit_code = 0;
  std::string out;  // for standard output
  std::string err;  // for standard error
};

using Getenv = std::function<std::optional<std::string>(const std::string& name)>;

// `words` is the command line without the program's name. A flag wins over the environment
// (SCANLINE_TOP_K for --top-k), that over the TOML file of --config, that over the default.
std::variant<Args, Reply> ParseArgs(const std::vector<std::string>& words, const Getenv& getenv);

// The flags of a verb, "--top-k", for the test that its help names each.
std::vector<std::string> FlagNames(Verb verb);

}  // namespace scanline::cli
