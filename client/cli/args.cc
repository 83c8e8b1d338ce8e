#include "client/cli/args.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/number_check.h"
#include "client/cli/did_you_mean.h"
#include "client/cli/exit_code.h"
#include "client/cli/help.h"
#include "client/cli/save_name.h"
#include "client/cli/text_file.h"
#include "client/cli/text_width.h"
#include "client/utf8.h"

namespace scanline::cli {
namespace {

constexpr std::array<std::pair<const char*, Verb>, 10> kVerbs = {{{"classify", Verb::kClassify},
                                                                  {"detect", Verb::kDetect},
                                                                  {"embed", Verb::kEmbed},
                                                                  {"eval", Verb::kEval},
                                                                  {"index", Verb::kIndex},
                                                                  {"search", Verb::kSearch},
                                                                  {"export", Verb::kExport},
                                                                  {"models", Verb::kModels},
                                                                  {"health", Verb::kHealth},
                                                                  {"import", Verb::kImport}}};

template <typename T>
using Choices = std::vector<std::pair<std::string, T>>;

const Choices<Format>& FormatChoices() {
  static const auto* const kAll = new Choices<Format>{{"auto", Format::kAuto},
                                                      {"table", Format::kTable},
                                                      {"ndjson", Format::kNdjson},
                                                      {"json", Format::kJson},
                                                      {"csv", Format::kCsv}};
  return *kAll;
}

const Choices<When>& WhenChoices() {
  static const auto* const kAll =
      new Choices<When>{{"auto", When::kAuto}, {"always", When::kAlways}, {"never", When::kNever}};
  return *kAll;
}

template <typename T>
CLI::Option* AddChoice(CLI::App& app, const std::string& flag, T& value,
                       const Choices<T>& choices) {
  const auto choose = [flag, &value, &choices](const std::string& typed) {
    std::vector<std::string> names;
    for (const auto& [name, choice] : choices) {
      if (name == typed) {
        value = choice;
        return;
      }
      names.push_back(name);
    }
    throw CLI::ValidationError(flag, absl::StrCat("expected ", absl::StrJoin(names, ", "),
                                                  ", found ", typed, DidYouMean(typed, names)));
  };
  return app.add_option_function<std::string>(flag, choose)->default_str(choices.front().first);
}

// How a run over clips goes.
void AddRunFlags(CLI::App& app, Args& a) {
  app.add_option("--model", a.model);
  app.add_flag("--allow-partial", a.allow_partial);
  app.add_option("--timeout", a.timeout_seconds)
      ->check(NumberCheck("seconds, more than 0", 0, false, 1e9));
  app.add_option("--jobs", a.jobs)->check(NumberCheck("a number from 1 to 256", 1, true, 256));
  AddChoice(app, "--progress", a.progress, WhenChoices());
}

void AddSpanFlags(CLI::App& app, Args& a) {
  app.add_option("--start", a.start_seconds)
      ->check(NumberCheck("seconds, 0 or more", 0, true, 1e9));
  app.add_option("--end", a.end_seconds)->check(NumberCheck("seconds, more than 0", 0, false, 1e9));
}

// What `classify`, `embed` and `eval` share: also which frames are looked at.
void AddFrameFlags(CLI::App& app, Args& a) {
  const auto length = NumberCheck("seconds, more than 0", 0, false, 1e9);
  AddSpanFlags(app, a);
  app.add_option("--frames", a.frames)
      ->check(NumberCheck("a number from 1 to 4096", 1, true, 4096));
  app.add_option("--sample-rate", a.sample_rate_hz)
      ->check(NumberCheck("frames a second, more than 0", 0, false, 1000));
  app.add_option("--window", a.window_seconds)->check(length);
  app.add_option("--window-stride", a.window_stride_seconds)->check(length);
  app.add_option("--temporal-views", a.temporal_views)
      ->check(NumberCheck("a number from 1 to 64", 1, true, 64));
  app.add_option("--spatial-views", a.spatial_views)
      ->check(NumberCheck("a number from 1 to 3", 1, true, 3));
  AddRunFlags(app, a);
}

void AddSaveFlags(CLI::App& app, Args& a) {
  app.add_option("--save", a.save)->take_all();
  app.add_flag("--force", a.force);
}

// When `detect` and `eval ava` look, and for whom.
void AddLookFlags(CLI::App& app, Args::Detect& a) {
  app.add_option("--interval", a.interval_seconds)
      ->check(NumberCheck("seconds from 0.05 to 3600", 0.05, true, 3600));
  app.add_option("--min-person-score", a.min_person_score)
      ->check(NumberCheck("a score from 0 to 1", 0, true, 1));
}

void AddDetectFlags(CLI::App& app, Args& a) {
  app.add_option("INPUT", a.inputs);
  AddLookFlags(app, a.detect);
  app.add_option("--boxes", a.detect.boxes);
  app.add_option("--min-score", a.min_score)->check(NumberCheck("a score from 0 to 1", 0, true, 1));
  app.add_option("--top-k", a.detect.top_k)
      ->default_str(absl::StrCat(Args::Detect::kTopActions))
      ->check(NumberCheck("a number from 0 to 10000", 0, true, 10000));
  app.add_flag("--tracks", a.detect.tracks);
  app.add_flag("--include-logits", a.include_logits);
  app.add_flag("--fail-fast", a.fail_fast);
  AddSaveFlags(app, a);
  AddSpanFlags(app, a);
  AddRunFlags(app, a);
}

void AddClassifyFlags(CLI::App& app, Args& a) {
  app.add_option("INPUT", a.inputs);
  app.add_option("--texts", a.texts_file);
  app.add_option("--top-k", a.top_k)
      ->check(NumberCheck("a number from 1 to 10000", 1, true, 10000));
  app.add_option("--min-score", a.min_score)->check(NumberCheck("a score from 0 to 1", 0, true, 1));
  app.add_flag("--include-logits", a.include_logits);
  app.add_flag("--fail-fast", a.fail_fast);
  AddSaveFlags(app, a);
  AddFrameFlags(app, a);
}

void AddEmbedFlags(CLI::App& app, Args& a) {
  app.add_option("INPUT", a.inputs);
  app.add_option("--text", a.embed.texts)->take_all();
  app.add_option("--texts", a.texts_file);
  app.add_flag("--per-window", a.embed.per_window);
  app.add_flag("--no-normalize", a.embed.no_normalize);
  app.add_option("--output,-o", a.embed.output);
  app.add_flag("--force", a.embed.force);
  app.add_flag("--fail-fast", a.fail_fast);
  AddFrameFlags(app, a);
}

void AddEvalFlags(CLI::App& app, Args& a) {
  app.add_option("TASK", a.eval.task);
  app.add_option("--manifest", a.eval.manifest);
  app.add_option("--output,-o", a.eval.output);
  app.add_flag("--rerank", a.eval.rerank);
  app.add_option("--truth", a.eval.truth);
  app.add_option("--detections", a.eval.detections);
  app.add_option("--clips", a.eval.clips);
  app.add_flag("--true-boxes", a.eval.true_boxes);
  AddLookFlags(app, a.detect);
  app.add_option("--exclude", a.eval.exclude);
  app.add_option("--actions", a.eval.actions);
  AddFrameFlags(app, a);
}

void AddTimeAndModel(CLI::App& app, Args& a) {
  app.add_option("--model", a.model);
  app.add_option("--timeout", a.timeout_seconds)
      ->check(NumberCheck("seconds, more than 0", 0, false, 1e9));
  app.add_option("--jobs", a.jobs)->check(NumberCheck("a number from 1 to 256", 1, true, 256));
}

void AddIndexFlags(CLI::App& app, Args& a) {
  const auto length = NumberCheck("seconds, more than 0", 0, false, 1e9);
  app.add_option("INPUT", a.inputs);
  app.add_option("--output,-o", a.index.folder);
  app.add_option("--window", a.window_seconds)->check(length);
  app.add_option("--stride", a.window_stride_seconds)->check(length);
  app.add_flag("--allow-partial", a.allow_partial);
  app.add_flag("--prune", a.index.prune);
  app.add_flag("--rebuild", a.index.rebuild);
  app.add_flag("--retry", a.index.retry);
  AddTimeAndModel(app, a);
  AddChoice(app, "--progress", a.progress, WhenChoices());
}

void AddSearchFlags(CLI::App& app, Args& a) {
  app.add_option("INDEX", a.search.folder);
  app.add_option("TEXT", a.search.text);
  app.add_option("--clip", a.search.clip);
  app.add_option("--top-k,-k", a.search.top_k)
      ->check(NumberCheck("a number from 1 to 10000", 1, true, 10000));
  app.add_flag("--per-file", a.search.per_file);
  app.add_flag("--rerank", a.search.rerank);
  app.add_option("--save", a.search.save);
  app.add_flag("--force", a.search.force);
  AddTimeAndModel(app, a);
}

const Choices<ExportAs>& ExportChoices() {
  static const auto* const kAll = new Choices<ExportAs>{
      {"npy", ExportAs::kNpy}, {"jsonl", ExportAs::kJsonl}, {"csv", ExportAs::kCsv}};
  return *kAll;
}

void AddExportFlags(CLI::App& app, Args::Export& a) {
  app.add_option("INDEX", a.folder);
  AddChoice(app, "--to", a.to, ExportChoices())->default_str("");
  app.add_option("--output,-o", a.output);
  app.add_flag("--force", a.force);
}

// Names that stand for themselves, "" for what the file and its labels say.
Choices<std::string> Names(std::initializer_list<const char*> names) {
  Choices<std::string> choices;
  for (const char* name : names) choices.emplace_back(name, name);
  return choices;
}

const Choices<std::string>& MixerChoices() {
  static const auto* const kAll =
      new Choices<std::string>(Names({"videomamba", "videomambapro_v1", "videomambapro_v2",
                                      "videomambapro_intended", "videomambapro_paper"}));
  return *kAll;
}

const Choices<std::string>& RuleChoices() {
  static const auto* const kAll =
      new Choices<std::string>(Names({"k400_sparse", "k400_dense", "ssv2", "uniform", "middle"}));
  return *kAll;
}

const Choices<std::string>& PoolChoices() {
  static const auto* const kAll = new Choices<std::string>(Names({"cls", "avg", "cls+avg"}));
  return *kAll;
}

void AddImportFlags(CLI::App& app, Args::Import& a) {
  app.add_option("FILE", a.file);
  app.add_option("--labels", a.labels);
  app.add_option("--vocab", a.vocab);
  app.add_option("--name", a.name);
  app.add_option("--output,-o", a.output);
  app.add_option("--license", a.license);
  AddChoice(app, "--mixer", a.mixer, MixerChoices())->default_str("");
  app.add_option("--frames", a.frames)
      ->check(NumberCheck("a number from 1 to 1024", 1, true, 1024));
  app.add_option("--size", a.size)->check(NumberCheck("pixels from 1 to 4096", 1, true, 4096));
  app.add_option("--tubelet", a.tubelet)
      ->check(NumberCheck("a number from 1 to 1024", 1, true, 1024));
  app.add_flag("--detect", a.detect);
  AddChoice(app, "--pool", a.pool, PoolChoices())->default_str("");
  app.add_flag("--no-keep-temporal", a.no_keep_temporal);
  app.add_option("--heads", a.heads)->check(NumberCheck("a number from 1 to 1024", 1, true, 1024));
  app.add_option("--max-text-length", a.max_text_length)
      ->check(NumberCheck("tokens from 3 to 16384", 3, true, 16384));
  AddChoice(app, "--rule", a.rule, RuleChoices())->default_str("");
  app.add_option("--temporal-views", a.temporal_views)
      ->check(NumberCheck("a number from 1 to 64", 1, true, 64));
  app.add_option("--spatial-views", a.spatial_views)
      ->check(NumberCheck("a number from 1 to 3", 1, true, 3));
  app.add_flag("--drop-unexpected", a.drop_unexpected);
  app.add_flag("--force", a.force);
}

struct Common {
  std::string server = ServerAddress().host_port();
  std::string config;
  bool print_config = false;
  bool help = false;
};

// What does not prints no table either.
bool AsksServer(Verb verb) { return verb != Verb::kImport && verb != Verb::kExport; }

void AddFlags(CLI::App& app, Args& args, Common& common) {
  app.set_help_flag();
  app.option_defaults()->always_capture_default()->multi_option_policy(
      CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--config", common.config);
  app.add_flag("--print-config", common.print_config);
  app.add_flag("--help,-h", common.help);
  if (AsksServer(args.verb)) {
    app.add_option("--server", common.server);
    AddChoice(app, "--format", args.format, FormatChoices());
    AddChoice(app, "--color", args.color, WhenChoices());
  }
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  if (args.verb == Verb::kClassify) AddClassifyFlags(app, args);
  if (args.verb == Verb::kDetect) AddDetectFlags(app, args);
  if (args.verb == Verb::kEmbed) AddEmbedFlags(app, args);
  if (args.verb == Verb::kEval) AddEvalFlags(app, args);
  if (args.verb == Verb::kIndex) AddIndexFlags(app, args);
  if (args.verb == Verb::kSearch) AddSearchFlags(app, args);
  if (args.verb == Verb::kExport) AddExportFlags(app, args.export_index);
  if (args.verb == Verb::kImport) AddImportFlags(app, args.import);
  // A flag takes one value each time it is there; what follows that is an argument of its own.
  for (CLI::Option* option : app.get_options()) {
    if (!option->get_lnames().empty()) option->allow_extra_args(false);
  }
  app.allow_extras();
}

std::vector<std::string> FlagsOf(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

// The flag that is written "--flag=", whose value CLI11 would take from the word behind it; empty
// if none is.
std::string FlagWithoutValue(const CLI::App& app, const std::vector<std::string>& words) {
  const std::vector<std::string> flags = FlagsOf(app);
  for (const std::string& word : words) {
    if (word == "--") break;
    if (!absl::EndsWith(word, "=")) continue;
    const std::string flag = word.substr(0, word.size() - 1);
    if (std::find(flags.begin(), flags.end(), flag) != flags.end()) return flag;
  }
  return "";
}

// Settings that are no question of one command line.
bool IsSetting(const std::string& name) {
  return name != "help" && name != "print-config" && name != "config";
}

std::string EnvName(const std::string& name) {
  return absl::StrCat("SCANLINE_", absl::AsciiStrToUpper(absl::StrReplaceAll(name, {{"-", "_"}})));
}

std::map<std::string, std::vector<std::string>> ReadSettingsFile(const std::string& path) {
  absl::StatusOr<std::string> text = ReadTextFile("the settings file", path);
  if (!text.ok()) throw CLI::FileError(std::string(text.status().message()));
  std::istringstream file(*std::move(text));
  std::vector<std::string> known;
  for (const auto& [name, verb] : kVerbs) {
    for (const std::string& flag : FlagNames(verb)) known.push_back(flag.substr(2));
  }
  std::map<std::string, std::vector<std::string>> settings;
  for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(file)) {
    const std::string name = item.fullname();
    if (!IsSetting(name) || std::find(known.begin(), known.end(), name) == known.end()) {
      throw CLI::ConfigError(absl::StrCat(path, ": unknown key ", name, DidYouMean(name, known)));
    }
    settings[name] = item.inputs;
  }
  return settings;
}

// Where each option's value comes from. CLI11's own order would let the file win over the
// environment, so both are laid under the command line here.
using Origins = std::map<std::string, std::string>;

Origins LayerSettings(CLI::App& app, const std::string& path, const Getenv& getenv) {
  std::map<std::string, std::vector<std::string>> file;
  if (!path.empty()) file = ReadSettingsFile(path);
  Origins origins;
  for (CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty() || !IsSetting(option->get_lnames()[0])) continue;
    const std::string& name = option->get_lnames()[0];
    const std::optional<std::string> env = getenv(EnvName(name));
    std::string& origin = origins[name];
    if (option->count() > 0) {
      origin = "--" + name;
      continue;
    }
    if (env.has_value() && !env->empty()) {
      origin = EnvName(name);
      option->add_result(*env);
    } else if (file.count(name) > 0) {
      origin = path;
      for (const std::string& value : file[name]) option->add_result(value);
    } else {
      origin = "default";
      continue;
    }
    try {
      option->run_callback();
    } catch (const CLI::ParseError& error) {
      throw CLI::ValidationError(origin, error.what());
    }
  }
  return origins;
}

std::string PrintConfig(const CLI::App& app, const Origins& origins) {
  std::string out;
  for (const auto& [name, origin] : origins) {
    const CLI::Option* option = app.get_option("--" + name);
    const bool flag = option->get_items_expected_max() == 0;
    std::string value = option->count() > 0 ? absl::StrJoin(option->results(), ",")
                                            : (flag ? "false" : option->get_default_str());
    double number = 0;
    if (!flag && !absl::SimpleAtod(value, &number)) value = absl::StrCat("\"", value, "\"");
    absl::StrAppend(&out, name, " = ", value, "  # ", origin, "\n");
  }
  return out;
}

// What `detect` is set to elsewhere is no contradiction for an `eval` that does not look.
void DropUnaskedLooks(const Origins& origins, Args& args) {
  const bool looks = !args.eval.clips.empty();
  const auto drop = [&](const char* name, bool used, double& value) {
    if (!used && origins.at(name) != absl::StrCat("--", name)) value = 0;
  };
  drop("interval", looks && !args.eval.true_boxes, args.detect.interval_seconds);
  drop("min-person-score", looks, args.detect.min_person_score);
}

Reply UsageError(absl::string_view message, absl::string_view verb) {
  const absl::string_view space = verb.empty() ? "" : " ";
  return {kExitUsage, "",
          absl::StrCat("scanline: ", message, "\n  see: scanline", space, verb, " --help\n")};
}

std::string AvaContradiction(const Args::Eval& eval, const Args::Detect& looks) {
  if (!eval.manifest.empty()) return "--manifest is not for eval ava: --truth names its file";
  if (eval.truth.empty()) return "no --truth: name a CSV file of what people really do";
  if (eval.detections.empty() && eval.clips.empty()) {
    return "no --detections: name a CSV file of what was found, or --clips FOLDER to find it";
  }
  if (!eval.detections.empty() && !eval.clips.empty()) {
    return "expected --detections or --clips, found both";
  }
  if (eval.clips.empty()) {
    if (eval.true_boxes) return "--true-boxes is for --clips";
    if (looks.interval_seconds > 0) return "--interval is for --clips";
    if (looks.min_person_score > 0) return "--min-person-score is for --clips";
    return "";
  }
  if (eval.output.empty()) return "--clips needs -o DIR, where detections.csv goes";
  if (eval.true_boxes && looks.interval_seconds > 0) {
    return "expected --true-boxes or --interval, found both";
  }
  return "";
}

std::string EvalContradiction(const Args::Eval& eval, const Args::Detect& looks) {
  const std::vector<std::string> tasks = {"classify", "retrieval", "ava"};
  if (std::find(tasks.begin(), tasks.end(), eval.task) == tasks.end()) {
    return absl::StrCat("expected eval classify, eval retrieval or eval ava, found eval ",
                        eval.task.empty() ? "without a task" : eval.task,
                        DidYouMean(eval.task, tasks));
  }
  if (eval.rerank && eval.task != "retrieval") return "--rerank is for eval retrieval";
  if (eval.task == "ava") return AvaContradiction(eval, looks);
  if (eval.true_boxes) return "--true-boxes is for eval ava";
  if (looks.interval_seconds > 0) return "--interval is for eval ava";
  if (looks.min_person_score > 0) return "--min-person-score is for eval ava";
  for (const auto& [flag, value] :
       {std::pair("--truth", &eval.truth), std::pair("--detections", &eval.detections),
        std::pair("--clips", &eval.clips), std::pair("--exclude", &eval.exclude),
        std::pair("--actions", &eval.actions)}) {
    if (!value->empty()) return absl::StrCat(flag, " is for eval ava");
  }
  if (eval.manifest.empty()) {
    return absl::StrCat("no --manifest: name a CSV or JSON file of clips and ",
                        eval.task == "classify" ? "labels" : "captions");
  }
  return "";
}

std::string EmbedContradiction(const Args& a) {
  const bool texts = !a.embed.texts.empty() || !a.texts_file.empty();
  if (a.inputs.empty() && !texts) {
    return "nothing to embed: name a file, a folder, a pattern, @LIST or -, or --text TEXT or "
           "--texts FILE";
  }
  if (!a.inputs.empty() && texts) return "expected clips or texts, found both";
  if (!a.embed.texts.empty() && !a.texts_file.empty()) {
    return "expected --text or --texts, found both";
  }
  if (texts && (a.embed.per_window || a.embed.no_normalize)) {
    return absl::StrCat(a.embed.per_window ? "--per-window" : "--no-normalize",
                        " is for clips; a text has one vector, of unit length");
  }
  if (!a.embed.output.empty() && !absl::EndsWith(a.embed.output, ".npy")) {
    return absl::StrCat("--output ", a.embed.output, ": expected a name that ends with .npy");
  }
  return "";
}

std::string IndexContradiction(const Args& a) {
  if (a.inputs.empty()) return "no INPUT: name a folder, a file, a pattern or @LIST";
  if (a.index.folder.empty()) return "no -o: name the folder of the index";
  for (const std::string& input : a.inputs) {
    if (input == "-") return "- has no name to find again: index takes files and folders";
  }
  return "";
}

std::string SearchContradiction(const Args::Search& a) {
  if (a.folder.empty()) return "no INDEX: name a folder that scanline index made";
  if (a.text.empty() == a.clip.empty()) {
    return a.text.empty() ? "nothing to search for: give a TEXT or --clip FILE"
                          : "expected a TEXT or --clip, found both";
  }
  if (a.rerank && a.text.empty()) return "--rerank compares moments with a TEXT, not with a clip";
  if (!a.save.empty() && !absl::EndsWith(a.save, ".png")) {
    return absl::StrCat("--save ", a.save, ": expected a name that ends with .png");
  }
  return "";
}

std::string WrongText(const Args& a) {
  if (!IsUtf8(a.model)) return "--model: the text is not UTF-8";
  for (const std::string& text : a.embed.texts) {
    if (!IsUtf8(text))
      return absl::StrCat("--text ", PrintableText(text), ": the text is not UTF-8");
  }
  if (IsUtf8(a.search.text)) return "";
  return absl::StrCat("TEXT ", PrintableText(a.search.text), ": the text is not UTF-8");
}

// What parsing accepts but no clip could satisfy; empty if nothing.
std::string Contradiction(const Args& a) {
  if (const std::string wrong = WrongText(a); !wrong.empty()) return wrong;
  if (a.verb == Verb::kImport) {
    if (a.import.file.empty()) return "no FILE: name a .pth or a .safetensors";
    if (a.import.labels.empty() && a.import.vocab.empty()) {
      return "--labels is missing: a list (kinetics400, ...) or a file; of a multimodal model, "
             "--vocab FILE";
    }
    if (a.import.name.empty()) return "--name is missing: what the model shall be called";
  }
  if (a.verb == Verb::kEval) {
    const std::string wrong = EvalContradiction(a.eval, a.detect);
    if (!wrong.empty()) return wrong;
  }
  if (a.verb == Verb::kEmbed) {
    const std::string wrong = EmbedContradiction(a);
    if (!wrong.empty()) return wrong;
  }
  if (a.verb == Verb::kIndex) return IndexContradiction(a);
  if (a.verb == Verb::kSearch) return SearchContradiction(a.search);
  if (a.verb == Verb::kExport && a.export_index.folder.empty()) {
    return "no INDEX: name a folder that scanline index made";
  }
  const bool labels = a.verb == Verb::kClassify || a.verb == Verb::kDetect;
  if (!labels && a.verb != Verb::kEmbed && a.verb != Verb::kEval) return "";
  if (labels && a.inputs.empty()) return "no INPUT: name a file, a folder, a pattern, @LIST or -";
  if (const std::string wrong = WrongSave(a.save, a.verb == Verb::kDetect); !wrong.empty()) {
    return wrong;
  }
  if (a.end_seconds.has_value() && *a.end_seconds <= a.start_seconds) {
    return absl::StrCat("--end ", *a.end_seconds, " is not after --start ", a.start_seconds);
  }
  return "";
}

std::variant<Args, Reply> ParseVerb(const std::string& verb_name, Verb verb,
                                    std::vector<std::string> words, const Getenv& getenv) {
  Args args;
  args.verb = verb;
  Common common;
  CLI::App app;
  AddFlags(app, args, common);
  if (const std::string flag = FlagWithoutValue(app, words); !flag.empty()) {
    return UsageError(absl::StrCat(flag, "= has no value"), verb_name);
  }
  std::reverse(words.begin(), words.end());  // CLI11 wants them last first.
  try {
    app.parse(std::move(words));
    if (common.help) return Reply{kExitOk, VerbHelp(verb), ""};
    for (const std::string& extra : app.remaining()) {
      if (extra == "--") continue;
      if (!absl::StartsWith(extra, "-")) {
        return UsageError(absl::StrCat("unexpected argument ", extra), verb_name);
      }
      const std::string flag = extra.substr(0, extra.find('='));
      return UsageError(absl::StrCat("unknown flag ", flag, DidYouMean(flag, FlagsOf(app))),
                        verb_name);
    }
    args.config = common.config.empty() ? getenv(EnvName("config")).value_or("") : common.config;
    const Origins origins = LayerSettings(app, args.config, getenv);
    if (common.print_config) return Reply{kExitOk, PrintConfig(app, origins), ""};
    if (verb == Verb::kEval) DropUnaskedLooks(origins, args);
    if (AsksServer(verb)) {
      auto server = ParseServerAddress(common.server, origins.at("server"));
      if (!server.ok()) return UsageError(std::string(server.status().message()), verb_name);
      args.server = *std::move(server);
    }
  } catch (const CLI::ParseError& error) {
    return UsageError(error.what(), verb_name);
  }
  const std::string contradiction = Contradiction(args);
  if (!contradiction.empty()) return UsageError(contradiction, verb_name);
  return args;
}

}  // namespace

std::variant<Args, Reply> ParseArgs(const std::vector<std::string>& words, const Getenv& getenv) {
  if (words.empty()) return Reply{kExitUsage, "", OverviewHelp()};
  std::vector<std::string> rest(words.begin() + 1, words.end());
  std::string first = words[0];
  if (first == "--version") return Reply{kExitOk, "scanline " SCANLINE_VERSION "\n", ""};
  const bool asks_help = first == "--help" || first == "-h" || first == "help";
  if (asks_help && rest.empty()) return Reply{kExitOk, OverviewHelp(), ""};
  if (first == "help") {
    first = rest[0];
    rest = {"--help"};
  }
  std::vector<std::string> names;
  for (const auto& [name, verb] : kVerbs) {
    if (first == name) return ParseVerb(name, verb, std::move(rest), getenv);
    names.emplace_back(name);
  }
  if (absl::StartsWith(first, "-")) {
    return UsageError(absl::StrCat("a verb comes first (", absl::StrJoin(names, ", "),
                                   "), then flags; found ", first),
                      "");
  }
  return UsageError(absl::StrCat("unknown verb ", first, DidYouMean(first, names)), "");
}

std::vector<std::string> FlagNames(Verb verb) {
  Args args;
  args.verb = verb;
  Common common;
  CLI::App app;
  AddFlags(app, args, common);
  return FlagsOf(app);
}

}  // namespace scanline::cli
