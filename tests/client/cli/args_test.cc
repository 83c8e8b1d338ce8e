#include "client/cli/args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "absl/strings/str_split.h"
#include "client/cli/help.h"
#include "client/cli/spec.h"
#include "client/cli/text_width.h"

namespace scanline::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

std::variant<Args, Reply> Parse(const Words& words, const Environment& environment = {}) {
  return ParseArgs(words, [&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end()) return std::nullopt;
    return found->second;
  });
}

Args Accepted(const Words& words, const Environment& environment = {}) {
  auto parsed = Parse(words, environment);
  if (const auto* reply = std::get_if<Reply>(&parsed)) {
    ADD_FAILURE() << reply->err;
    return {};
  }
  return std::get<Args>(parsed);
}

// The message of a refusal, whose exit code must be 2.
std::string Refused(const Words& words, const Environment& environment = {}) {
  const auto parsed = Parse(words, environment);
  const auto* reply = std::get_if<Reply>(&parsed);
  if (reply == nullptr) return "accepted";
  EXPECT_EQ(reply->exit_code, 2);
  EXPECT_EQ(reply->out, "");
  return reply->err;
}

class SettingsFile {
 public:
  explicit SettingsFile(const std::string& text)
      : path_(::testing::TempDir() + "/scanline-XXXXXX") {
    close(mkstemp(path_.data()));
    std::ofstream(path_) << text;
  }
  ~SettingsFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(ParseArgs, HasTheDefaultsThatHelpNames) {
  const Args args = Accepted({"classify", "clip.mp4"});
  EXPECT_EQ(args.verb, Verb::kClassify);
  EXPECT_THAT(args.inputs, ElementsAre("clip.mp4"));
  EXPECT_EQ(args.server.host_port(), "127.0.0.1:50051");
  EXPECT_EQ(args.server.origin, "default");
  EXPECT_EQ(args.format, Format::kAuto);
  EXPECT_EQ(args.top_k, 5);
  EXPECT_EQ(args.timeout_seconds, 60);
  EXPECT_EQ(args.jobs, 4);
}

TEST(ParseArgs, TakesInputsAndFlagsInAnyOrder) {
  const Args args =
      Accepted({"classify", "--top-k", "3", "a.mp4", "-", "--format=csv", "b/", "--allow-partial",
                "--start", "0.5", "--end", "2", "--", "--odd-name.mp4"});
  EXPECT_THAT(args.inputs, ElementsAre("a.mp4", "-", "b/", "--odd-name.mp4"));
  EXPECT_EQ(args.top_k, 3);
  EXPECT_EQ(args.format, Format::kCsv);
  EXPECT_TRUE(args.allow_partial);
  EXPECT_EQ(args.start_seconds, 0.5);
  EXPECT_EQ(args.end_seconds, 2.0);
}

TEST(ParseArgs, TakesAnEvaluation) {
  const Args args = Accepted({"eval", "classify", "--manifest", "val.csv", "-o", "report",
                              "--temporal-views", "4", "--jobs", "2"});
  EXPECT_EQ(args.verb, Verb::kEval);
  EXPECT_EQ(args.eval.manifest, "val.csv");
  EXPECT_EQ(args.eval.output, "report");
  EXPECT_EQ(args.temporal_views, 4);
  EXPECT_EQ(args.top_k, 5);
}

TEST(ParseArgs, TakesClipsOrTextsToEmbed) {
  const Args clips = Accepted({"embed", "a.mp4", "--window-stride", "1", "--per-window",
                               "--no-normalize", "-o", "x.npy", "--force"});
  EXPECT_EQ(clips.verb, Verb::kEmbed);
  EXPECT_THAT(clips.inputs, ElementsAre("a.mp4"));
  EXPECT_TRUE(clips.embed.per_window);
  EXPECT_TRUE(clips.embed.no_normalize);
  EXPECT_EQ(clips.embed.output, "x.npy");
  EXPECT_TRUE(clips.embed.force);
  const Args texts = Accepted({"embed", "--text", "a dog", "--text", "a cat"});
  EXPECT_THAT(texts.embed.texts, ElementsAre("a dog", "a cat"));
  EXPECT_TRUE(texts.inputs.empty());
  EXPECT_EQ(Accepted({"embed", "--texts", "t.txt"}).texts_file, "t.txt");
  EXPECT_EQ(Accepted({"classify", "a.mp4", "--texts", "t.txt"}).texts_file, "t.txt");

  EXPECT_THAT(Refused({"embed"}), HasSubstr("nothing to embed"));
  EXPECT_THAT(Refused({"embed", "a.mp4", "--text", "a"}), HasSubstr("clips or texts, found both"));
  EXPECT_THAT(Refused({"embed", "--texts", "t", "--text", "a"}), HasSubstr("--text or --texts"));
  EXPECT_THAT(Refused({"embed", "--text", "a", "--per-window"}),
              HasSubstr("--per-window is for clips"));
  EXPECT_THAT(Refused({"embed", "--text", "a", "--no-normalize"}),
              HasSubstr("--no-normalize is for clips"));
  EXPECT_THAT(Refused({"embed", "a.mp4", "-o", "x.csv"}), HasSubstr("ends with .npy"));
  EXPECT_THAT(Refused({"classify", "a.mp4", "--texts", "t", "--rerank"}),
              HasSubstr("unknown flag --rerank"));
}

TEST(ParseArgs, TakesWhatIsToBeDetectedAndSaved) {
  const Args args = Accepted({"detect", "a.mp4", "--interval", "0.5", "--boxes", "b.csv",
                              "--min-score", "0.1", "--min-person-score", "0.2", "--top-k", "0",
                              "--tracks", "--save", "x.mp4", "--save", "X.PNG", "--force"});
  EXPECT_EQ(args.verb, Verb::kDetect);
  EXPECT_EQ(args.detect.boxes, "b.csv");
  EXPECT_THAT(args.save, ElementsAre("x.mp4", "X.PNG"));
  EXPECT_TRUE(args.force);
  const v1::AnalysisSpec spec = DetectSpecOf(args);
  EXPECT_THAT(spec.tasks(), ElementsAre(v1::TASK_DETECT_ACTIONS));
  EXPECT_EQ(spec.detect().keyframe_interval().nanos(), 500'000'000);
  EXPECT_EQ(spec.detect().min_score(), 0.1F);
  EXPECT_EQ(spec.detect().min_person_score(), 0.2F);
  EXPECT_EQ(spec.detect().top_k(), 0U);
  EXPECT_TRUE(spec.detect().link_tracks());
  const v1::AnalysisSpec plain = DetectSpecOf(Accepted({"detect", "a.mp4"}));
  EXPECT_FALSE(plain.detect().has_keyframe_interval());
  EXPECT_EQ(plain.detect().top_k(), 3U);
  const auto printed = Parse({"detect", "--print-config"});
  EXPECT_THAT(std::get<Reply>(printed).out, HasSubstr("top-k = 3  # default\n"));

  EXPECT_THAT(Accepted({"classify", "a.mp4", "--save", "x.vtt"}).save, ElementsAre("x.vtt"));
  EXPECT_THAT(Refused({"detect"}), HasSubstr("no INPUT"));
  EXPECT_THAT(Refused({"detect", "a", "--interval", "nan"}), HasSubstr("--interval"));
  EXPECT_THAT(Refused({"detect", "a", "--save", "x.gif"}),
              HasSubstr("--save x.gif: expected a name that ends with .mp4, .webm, .png, .ass, "
                        ".vtt, .csv, .json or .xml"));
  EXPECT_THAT(Refused({"classify", "a", "--save", "x.csv"}),
              HasSubstr("ends with .mp4, .webm, .png, .ass or .vtt"));
  EXPECT_THAT(Refused({"detect", "a", "--save", "x.vtt", "--save", "x.vtt"}), HasSubstr("twice"));
}

// The words that are arguments of `verb`, as they were parsed.
Words ArgumentsOf(const Args& args) {
  switch (args.verb) {
    case Verb::kEval:
      return {args.eval.task};
    case Verb::kSearch:
      return {args.search.folder, args.search.text};
    case Verb::kExport:
      return {args.export_index.folder};
    case Verb::kImport:
      return {args.import.file};
    default:
      return args.inputs;
  }
}

struct VerbCase {
  const char* name;
  Verb verb;
  Words needed;  // flags that it asks for, as --flag=VALUE
  Words arguments;
};
void PrintTo(const VerbCase& verb, std::ostream* out) { *out << verb.name; }

class EachVerb : public ::testing::TestWithParam<VerbCase> {};

TEST_P(EachVerb, AFlagTakesOneValueAndLeavesTheArgumentBehindIt) {
  const VerbCase& verb = GetParam();
  const SettingsFile settings("");
  const std::map<std::string, std::string> values = {
      {"--config", settings.path()}, {"--server", "127.0.0.1:5"},
      {"--format", "csv"},           {"--color", "never"},
      {"--progress", "never"},       {"--save", "x.png"},
      {"--output", "o.npy"},         {"--to", "csv"},
      {"--mixer", "videomamba"},     {"--pool", "avg"},
      {"--rule", "uniform"},         {"--max-text-length", "9"}};
  // Without a value, answered before all others, or not beside these arguments.
  const Words others = {"--print-config",
                        "--help",
                        "--allow-partial",
                        "--force",
                        "--include-logits",
                        "--fail-fast",
                        "--tracks",
                        "--per-window",
                        "--no-normalize",
                        "--prune",
                        "--rebuild",
                        "--retry",
                        "--per-file",
                        "--rerank",
                        "--no-keep-temporal",
                        "--detect",
                        "--drop-unexpected",
                        "--clip",
                        "--truth",
                        "--clips",
                        "--true-boxes",
                        "--detections",
                        "--exclude",
                        "--actions"};
  int tried = 0;
  for (const std::string& flag : FlagNames(verb.verb)) {
    const bool texts = verb.verb == Verb::kEmbed && (flag == "--text" || flag == "--texts");
    const bool of_ava =  // of `eval ava` alone, which is not the task here
        verb.verb == Verb::kEval && (flag == "--interval" || flag == "--min-person-score");
    if (texts || of_ava || std::find(others.begin(), others.end(), flag) != others.end()) continue;
    const auto found = values.find(flag);
    const std::string value = found == values.end() ? "1" : found->second;
    const bool needed = std::any_of(
        verb.needed.begin(), verb.needed.end(),
        [&](const std::string& word) { return word.compare(0, flag.size() + 1, flag + "=") == 0; });
    if (needed) continue;
    for (const Words& given : {Words{flag, value}, Words{flag + "=" + value}}) {
      Words words = {verb.name};
      words.insert(words.end(), verb.needed.begin(), verb.needed.end());
      words.insert(words.end(), given.begin(), given.end());
      words.insert(words.end(), verb.arguments.begin(), verb.arguments.end());
      EXPECT_EQ(ArgumentsOf(Accepted(words)), verb.arguments) << flag;
      ++tried;
    }
    const Words empty = {verb.name, flag + "=", "FILE"};
    EXPECT_THAT(Refused(empty), HasSubstr(flag + "= has no value"));
  }
  EXPECT_GT(tried, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Verbs, EachVerb,
    ::testing::Values(VerbCase{"classify", Verb::kClassify, {}, {"a.mp4", "b.mp4"}},
                      VerbCase{"detect", Verb::kDetect, {}, {"a.mp4", "b.mp4"}},
                      VerbCase{"embed", Verb::kEmbed, {}, {"a.mp4", "b.mp4"}},
                      VerbCase{"index", Verb::kIndex, {"--output=index"}, {"a.mp4", "b.mp4"}},
                      VerbCase{"eval", Verb::kEval, {"--manifest=m.csv"}, {"classify"}},
                      VerbCase{"search", Verb::kSearch, {}, {"index", "a dog"}},
                      VerbCase{"export", Verb::kExport, {}, {"index"}},
                      VerbCase{"import", Verb::kImport, {"--labels=l", "--name=n"}, {"x.pth"}}),
    [](const auto& verb) { return std::string(verb.param.name); });

TEST(ParseArgs, AFlagThatMayBeThereAgainTakesOneValueEachTime) {
  const Args saved = Accepted({"classify", "--save", "x.mp4", "video.mp4", "--force"});
  EXPECT_THAT(saved.save, ElementsAre("x.mp4"));
  EXPECT_THAT(saved.inputs, ElementsAre("video.mp4"));
  EXPECT_THAT(Refused({"embed", "--text", "a dog", "video.mp4"}), HasSubstr("found both"));
  EXPECT_THAT(Accepted({"embed", "--text", "[a,b]"}).embed.texts, ElementsAre("[a,b]"));
}

TEST(ParseArgs, RefusesTextThatIsNotUtf8) {
  EXPECT_THAT(Refused({"embed", "--text", "fine", "--text", "a\xFF"}),
              HasSubstr("--text a?: the text is not UTF-8"));
  EXPECT_THAT(Refused({"embed"}, {{"SCANLINE_TEXT", "\xED\xA0\x80"}}), HasSubstr("is not UTF-8"));
  EXPECT_THAT(Refused({"search", "index", "a\xFF"}), HasSubstr("TEXT a?: the text is not UTF-8"));
  EXPECT_THAT(Refused({"classify", "a.mp4", "--model", "\xC3"}),
              HasSubstr("--model: the text is not UTF-8"));
  EXPECT_THAT(Accepted({"classify", "a\xFF.mp4"}).inputs, ElementsAre("a\xFF.mp4"));
}

TEST(ParseArgs, TakesAnEvaluationOfDetections) {
  const Args args = Accepted({"eval", "ava", "--truth", "t.csv", "--detections", "d.csv",
                              "--exclude", "e.csv", "--actions", "a.tsv", "-o", "report"});
  EXPECT_EQ(args.eval.task, "ava");
  EXPECT_EQ(args.eval.truth, "t.csv");
  EXPECT_EQ(args.eval.exclude, "e.csv");
  EXPECT_THAT(Refused({"eval", "ava", "--truth", "t"}), HasSubstr("no --detections"));
  const Args found = Accepted({"eval", "ava", "--truth", "t", "--clips", "c", "-o", "r",
                               "--interval", "0.5", "--min-person-score", "0.3"});
  EXPECT_EQ(found.eval.clips, "c");
  EXPECT_EQ(found.detect.interval_seconds, 0.5);
  EXPECT_EQ(found.detect.min_person_score, 0.3);
  const Environment detects = {{"SCANLINE_INTERVAL", "0.5"}, {"SCANLINE_MIN_PERSON_SCORE", "0.3"}};
  const Words in_clips = {"eval", "ava", "--truth", "t", "--clips", "c", "-o", "r"};
  EXPECT_EQ(Accepted(in_clips, detects).detect.interval_seconds, 0.5);
  Words in_boxes = in_clips;
  in_boxes.push_back("--true-boxes");
  EXPECT_EQ(Accepted(in_boxes, detects).detect.interval_seconds, 0);
  in_boxes.insert(in_boxes.end(), {"--interval", "1"});
  EXPECT_THAT(Refused(in_boxes), HasSubstr("expected --true-boxes or --interval, found both"));
  EXPECT_EQ(Accepted({"eval", "classify", "--manifest", "m"}, detects).detect.min_person_score, 0);
  EXPECT_THAT(Refused({"eval", "ava", "--truth", "t", "--clips", "c"}), HasSubstr("needs -o DIR"));
  EXPECT_THAT(Refused({"eval", "ava", "--truth", "t", "--clips", "c", "--detections", "d"}),
              HasSubstr("expected --detections or --clips, found both"));
  for (const Words& flag :
       {Words{"--true-boxes"}, Words{"--interval", "1"}, Words{"--min-person-score", "0.1"}}) {
    Words words = {"eval", "ava", "--truth", "t", "--detections", "d"};
    words.insert(words.end(), flag.begin(), flag.end());
    EXPECT_THAT(Refused(words), HasSubstr(flag[0] + " is for --clips"));
    words = {"eval", "classify", "--manifest", "m"};
    words.insert(words.end(), flag.begin(), flag.end());
    EXPECT_THAT(Refused(words), HasSubstr(flag[0] + " is for eval ava"));
  }
  EXPECT_THAT(Refused({"eval", "ava", "--detections", "t"}), HasSubstr("no --truth"));
  EXPECT_THAT(Refused({"eval", "ava", "--truth", "t", "--detections", "d", "--manifest", "m"}),
              HasSubstr("--manifest is not for eval ava"));
  EXPECT_THAT(Refused({"eval", "classify", "--manifest", "m", "--truth", "t"}),
              HasSubstr("--truth is for eval ava"));
}

TEST(ParseArgs, LaysFlagOverEnvironmentOverFileOverDefault) {
  const SettingsFile file("server = \"file:1\"\ntop-k = 7\njobs = 9\n");
  const Environment environment = {{"SCANLINE_SERVER", "env:2"}, {"SCANLINE_TOP_K", "8"}};
  const Words words = {"classify", "x", "--config", file.path()};
  const Args from_file = Accepted(words);
  EXPECT_EQ(from_file.server.host_port(), "file:1");
  EXPECT_EQ(from_file.server.origin, file.path());
  EXPECT_EQ(from_file.top_k, 7);

  const Args from_env = Accepted(words, environment);
  EXPECT_EQ(from_env.server.host_port(), "env:2");
  EXPECT_EQ(from_env.server.origin, "SCANLINE_SERVER");
  EXPECT_EQ(from_env.top_k, 8);
  EXPECT_EQ(from_env.jobs, 9);

  const Args from_flag =
      Accepted({"classify", "x", "--config", file.path(), "--server", "flag:3"}, environment);
  EXPECT_EQ(from_flag.server.host_port(), "flag:3");
  EXPECT_EQ(from_flag.server.origin, "--server");
}

TEST(ParseArgs, TakesSwitchesFromTheEnvironment) {
  EXPECT_TRUE(Accepted({"classify", "x"}, {{"SCANLINE_FAIL_FAST", "true"}}).fail_fast);
  EXPECT_FALSE(Accepted({"classify", "x"}, {{"SCANLINE_FAIL_FAST", "false"}}).fail_fast);
}

TEST(ParseArgs, IgnoresSettingsOfOtherVerbsInASharedFile) {
  const SettingsFile file("top-k = 7\nserver = \"file:1\"\n");
  EXPECT_EQ(Accepted({"health", "--config", file.path()}).server.host_port(), "file:1");
}

TEST(ParseArgs, RefusesUnknownKeysAndBadValuesOfAFile) {
  const SettingsFile typo("tpo-k = 7\n");
  EXPECT_THAT(Refused({"classify", "x", "--config", typo.path()}),
              AllOf(HasSubstr(typo.path()), HasSubstr("unknown key tpo-k; did you mean top-k?")));
  const SettingsFile section("[classify]\ntop-k = 7\n");
  EXPECT_THAT(Refused({"classify", "x", "--config", section.path()}), HasSubstr("unknown key"));
  const SettingsFile value("top-k = 0\n");
  EXPECT_THAT(Refused({"classify", "x", "--config", value.path()}),
              AllOf(HasSubstr(value.path()), HasSubstr("from 1 to 10000, found 0")));
  EXPECT_THAT(Refused({"classify", "x", "--config", "/nowhere.toml"}), HasSubstr("/nowhere.toml"));
  EXPECT_THAT(Refused({"classify", "x"}, {{"SCANLINE_JOBS", "many"}}),
              AllOf(HasSubstr("SCANLINE_JOBS"), HasSubstr("found many")));
}

TEST(ParseArgs, AsksWhetherSomethingElseWasMeant) {
  EXPECT_THAT(Refused({"clasify", "x"}), HasSubstr("unknown verb clasify; did you mean classify?"));
  EXPECT_THAT(Refused({"transcode"}), HasSubstr("unknown verb transcode\n"));
  EXPECT_THAT(Refused({"classify", "x", "--tpo-k", "3"}),
              HasSubstr("unknown flag --tpo-k; did you mean --top-k?"));
  EXPECT_THAT(Refused({"classify", "x", "--tpo-k=3"}), HasSubstr("did you mean --top-k?"));
  EXPECT_THAT(Refused({"classify", "x", "--format", "jsno"}), HasSubstr("did you mean json?"));
  EXPECT_THAT(Refused({"--server", "x:1", "classify"}), HasSubstr("a verb comes first"));
  EXPECT_THAT(Refused({"models", "what"}), HasSubstr("unexpected argument what"));
}

TEST(ParseArgs, RefusesWhatCannotBe) {
  const Words cases[] = {{"--top-k", "0"},         {"--top-k", "2.5"},       {"--top-k", "x"},
                         {"--min-score", "2"},     {"--start", "-1"},        {"--start", "nan"},
                         {"--window", "0"},        {"--window-stride", "0"}, {"--timeout", "0"},
                         {"--timeout", "inf"},     {"--jobs", "0"},          {"--jobs"},
                         {"--spatial-views", "4"}, {"--server", "x"},        {"--color", "yes"}};
  for (const Words& flags : cases) {
    Words words = {"classify", "x"};
    words.insert(words.end(), flags.begin(), flags.end());
    EXPECT_THAT(Refused(words), HasSubstr(flags[0])) << flags.back();
  }
  for (const char* flag : {"--min-score", "--sample-rate", "--start", "--end", "--window",
                           "--window-stride", "--timeout"}) {
    for (const char* value : {"nan", "-nan", "inf", "1e400", "-1"}) {
      EXPECT_THAT(Refused({"classify", "x", flag, value}), HasSubstr(flag)) << value;
    }
  }
  EXPECT_THAT(Refused({"classify", "x", "--start", "2", "--end", "1"}),
              HasSubstr("--end 1 is not after --start 2"));
  EXPECT_THAT(Refused({"classify"}), HasSubstr("no INPUT"));
  EXPECT_THAT(Refused({}), HasSubstr("Usage"));
  EXPECT_THAT(
      Refused({"eval"}),
      HasSubstr("expected eval classify, eval retrieval or eval ava, found eval without a task"));
  EXPECT_THAT(Refused({"eval", "detect"}),
              HasSubstr("expected eval classify, eval retrieval or eval ava, found eval detect\n"));
  EXPECT_THAT(Refused({"eval", "retreival"}), HasSubstr("did you mean retrieval?"));
  EXPECT_THAT(Refused({"eval", "retrieval"}), HasSubstr("of clips and captions"));
  EXPECT_THAT(Refused({"eval", "classify", "--manifest", "x", "--rerank"}),
              HasSubstr("--rerank is for eval retrieval"));
  EXPECT_THAT(Refused({"eval", "classify"}), HasSubstr("no --manifest"));
  EXPECT_THAT(Refused({"eval", "classify", "--top-k", "3"}), HasSubstr("unknown flag --top-k"));
}

TEST(ParseArgs, PrintsEachSettingWithItsOrigin) {
  const SettingsFile file("jobs = 9\n");
  const auto parsed = Parse({"classify", "--print-config", "--config", file.path(), "--top-k", "3"},
                            {{"SCANLINE_SERVER", "env:2"}});
  const auto& reply = std::get<Reply>(parsed);
  EXPECT_EQ(reply.exit_code, 0);
  EXPECT_THAT(
      reply.out,
      AllOf(HasSubstr("server = \"env:2\"  # SCANLINE_SERVER\n"),
            HasSubstr("jobs = 9  # " + file.path() + "\n"), HasSubstr("top-k = 3  # --top-k\n"),
            HasSubstr("format = \"auto\"  # default\n"),
            HasSubstr("fail-fast = false  # default\n"), HasSubstr("timeout = 60  # default\n")));
}

TEST(Help, FitsAScreenAndNamesEveryFlagAndTwoExamples) {
  const std::pair<const char*, Verb> verbs[] = {
      {"classify", Verb::kClassify}, {"detect", Verb::kDetect}, {"embed", Verb::kEmbed},
      {"eval", Verb::kEval},         {"index", Verb::kIndex},   {"search", Verb::kSearch},
      {"export", Verb::kExport},     {"models", Verb::kModels}, {"health", Verb::kHealth},
      {"import", Verb::kImport}};
  for (const auto& [name, verb] : verbs) {
    const auto parsed = Parse({name, "--help"});
    const auto& reply = std::get<Reply>(parsed);
    EXPECT_EQ(reply.exit_code, 0);
    const Words lines = absl::StrSplit(reply.out, '\n');
    EXPECT_LE(lines.size() - 1, 25U) << name;
    int examples = 0;
    for (const std::string& line : lines) {
      EXPECT_LE(TextWidth(line), 80) << line;
      examples += line.find("  scanline ") == 0 || line.find("  until scanline ") == 0 ? 1 : 0;
    }
    EXPECT_EQ(examples, 2) << name;
    for (const std::string& flag : FlagNames(verb)) EXPECT_THAT(reply.out, HasSubstr(flag)) << name;
  }
}

TEST(Help, NamesNoFlagThatThereIsNot) {
  for (const Verb verb :
       {Verb::kClassify, Verb::kDetect, Verb::kEmbed, Verb::kEval, Verb::kIndex, Verb::kSearch,
        Verb::kExport, Verb::kModels, Verb::kHealth, Verb::kImport}) {
    const std::vector<std::string> flags = FlagNames(verb);
    for (const auto word : absl::StrSplit(VerbHelp(verb), absl::ByAnyChar(" \n,;[]"))) {
      if (word.substr(0, 2) != "--") continue;
      EXPECT_THAT(flags, ::testing::Contains(std::string(word)));
    }
  }
}

TEST(Help, IsAnswerWhereverItIsAsked) {
  for (const Words& words : {Words{"--help"}, Words{"-h"}, Words{"help"}}) {
    EXPECT_EQ(std::get<Reply>(Parse(words)).out, OverviewHelp());
  }
  EXPECT_EQ(std::get<Reply>(Parse({"help", "health"})).out, VerbHelp(Verb::kHealth));
  EXPECT_EQ(std::get<Reply>(Parse({"--version"})).out.substr(0, 9), "scanline ");
}

TEST(ParseArgs, TakesTheFlagsOfImport) {
  const Args args =
      Accepted({"import", "m.pth", "--labels", "ssv2", "--name=m", "-o", "out", "--mixer",
                "videomambapro_v2", "--frames", "16", "--rule", "uniform", "--force"},
               {{"SCANLINE_LICENSE", "MIT"}, {"SCANLINE_SERVER", "not an address"}});
  EXPECT_EQ(args.verb, Verb::kImport);
  EXPECT_EQ(args.import.file, "m.pth");
  EXPECT_EQ(args.import.labels, "ssv2");
  EXPECT_EQ(args.import.name, "m");
  EXPECT_EQ(args.import.output, "out");
  EXPECT_EQ(args.import.mixer, "videomambapro_v2");
  EXPECT_EQ(args.import.frames, 16);
  EXPECT_EQ(args.import.rule, "uniform");
  EXPECT_EQ(args.import.license, "MIT");
  EXPECT_TRUE(args.import.force);
  EXPECT_FALSE(args.import.drop_unexpected);
  EXPECT_THAT(Refused({"import", "--labels", "ssv2", "--name", "m"}), HasSubstr("no FILE"));
  EXPECT_THAT(Refused({"import", "m.pth", "--name", "m"}), HasSubstr("--labels is missing"));
  EXPECT_THAT(Refused({"import", "m.pth", "--labels", "ssv2"}), HasSubstr("--name is missing"));
  EXPECT_THAT(Refused({"import", "m.pth", "--mixer", "videomamba_v2"}),
              HasSubstr("did you mean videomamba"));
  EXPECT_THAT(Refused({"import", "m.pth", "--frames", "0"}), HasSubstr("from 1 to 1024"));
  EXPECT_THAT(Refused({"import", "m.pth", "--server", "a:1"}), HasSubstr("unknown flag --server"));
}

TEST(ParseArgs, TakesTheFlagsOfImportForVideoAndText) {
  const Args args =
      Accepted({"import", "m.pth", "--vocab", "vocab.txt", "--name", "m", "--heads", "12",
                "--max-text-length", "64", "--pool", "avg", "--no-keep-temporal"});
  EXPECT_EQ(args.import.labels, "");
  EXPECT_EQ(args.import.vocab, "vocab.txt");
  EXPECT_EQ(args.import.heads, 12);
  EXPECT_EQ(args.import.max_text_length, 64);
  EXPECT_EQ(args.import.pool, "avg");
  EXPECT_TRUE(args.import.no_keep_temporal);
  EXPECT_THAT(Refused({"import", "m.pth", "--pool", "max"}), HasSubstr("cls, avg, cls+avg"));
  EXPECT_THAT(Refused({"import", "m.pth", "--heads", "0"}), HasSubstr("from 1 to 1024"));
  EXPECT_THAT(Refused({"import", "m.pth", "--max-text-length", "2"}), HasSubstr("from 3 to"));
}

TEST(SpecOf, LeavesUnsetWhatWasNotAskedFor) {
  const v1::AnalysisSpec spec = SpecOf(Accepted({"classify", "x"}));
  EXPECT_EQ(spec.model(), "");
  EXPECT_THAT(spec.tasks(), ElementsAre(v1::TASK_CLASSIFY));
  EXPECT_TRUE(spec.include_sampling());
  EXPECT_EQ(spec.classify().top_k(), 5U);
  EXPECT_FALSE(spec.classify().include_logits());
  EXPECT_EQ(spec.sampling().ByteSizeLong(), 0U);
}

TEST(SpecOf, CarriesEverySamplingFlag) {
  const v1::AnalysisSpec spec = SpecOf(Accepted(
      {"classify",         "x", "--model",         "m16", "--min-score",     "0.25",
       "--frames",         "8", "--start",         "0.1", "--end",           "12.000000001",
       "--sample-rate",    "4", "--window",        "2",   "--window-stride", "0.5",
       "--temporal-views", "4", "--spatial-views", "3",   "--allow-partial", "--include-logits"}));
  EXPECT_EQ(spec.model(), "models/m16");
  EXPECT_EQ(spec.classify().min_score(), 0.25F);
  EXPECT_TRUE(spec.allow_partial());
  EXPECT_TRUE(spec.classify().include_logits());
  const v1::SamplingSpec& s = spec.sampling();
  EXPECT_EQ(s.frame_count(), 8U);
  EXPECT_EQ(s.start_offset().nanos(), 100'000'000);
  EXPECT_EQ(s.end_offset().seconds(), 12);
  EXPECT_EQ(s.end_offset().nanos(), 1);
  EXPECT_EQ(s.sample_rate_hz(), 4);
  EXPECT_EQ(s.window().seconds(), 2);
  EXPECT_EQ(s.window_stride().nanos(), 500'000'000);
  EXPECT_EQ(s.temporal_views(), 4U);
  EXPECT_EQ(s.spatial_views(), 3U);
}

}  // namespace
}  // namespace scanline::cli
