#include "server/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace scanline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Env = std::map<std::string, std::string>;

absl::StatusOr<ParsedSettings> Parse(const std::vector<std::string>& args, const Env& env = {}) {
  return ParseSettings(args, [env](const std::string& name) -> std::optional<std::string> {
    const auto found = env.find(name);
    if (found == env.end()) return std::nullopt;
    return found->second;
  });
}

std::string WriteFile(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

TEST(Config, DefaultsAreTheContracts) {
  const auto parsed = Parse({});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const Settings& s = parsed->settings;
  EXPECT_EQ(s.listen, "127.0.0.1:50051");
  EXPECT_EQ(s.ops_listen, "127.0.0.1:9090");
  EXPECT_EQ(s.max_clip_mib, 16);
  EXPECT_EQ(s.max_upload_mib, 2048);
  EXPECT_EQ(s.upload_memory_mib, 32);
  EXPECT_EQ(s.max_streams, 100);
  EXPECT_EQ(s.idle_timeout, 30);
  EXPECT_EQ(s.max_pixels, 33'554'432);
  EXPECT_EQ(s.max_clip_seconds, 3 * 3600);
  EXPECT_EQ(s.max_frames, 400'000);
  EXPECT_EQ(s.max_decode_seconds, 60);
  EXPECT_EQ(s.max_packets_without_frame, 512);
  EXPECT_EQ(s.max_texts, 1000);
  EXPECT_EQ(s.max_text_bytes, 4096);
  EXPECT_EQ(s.max_boxes, 1000);
  EXPECT_EQ(s.max_requests, 256);
  EXPECT_EQ(s.max_inflight_mib, 256);
  EXPECT_EQ(s.default_deadline, 60);
  EXPECT_EQ(s.max_deadline, 600);
  EXPECT_FALSE(parsed->print.has_value());
}

TEST(Config, EveryLimitOfTheContractsIsAFlag) {
  const auto parsed = Parse({"--max-clip-mib=1",          "--max-upload-mib=2",
                             "--upload-memory-mib=3",     "--max-upload-total-mib=4",
                             "--upload-dir=/five",        "--max-streams=6",
                             "--idle-timeout=7",          "--max-requests=8",
                             "--max-inflight-mib=9",      "--max-pixels=10",
                             "--max-clip-seconds=11",     "--max-frames=12",
                             "--max-decode-seconds=13",   "--max-packets-without-frame=14",
                             "--max-pictures-mib=15",     "--max-texts=16",
                             "--max-text-bytes=17",       "--max-boxes=18",
                             "--default-deadline=19",     "--max-deadline=20",
                             "--upload-decode-threads=21"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const Settings& s = parsed->settings;
  EXPECT_THAT(
      (std::vector<double>{double(s.max_clip_mib),
                           double(s.max_upload_mib),
                           double(s.upload_memory_mib),
                           double(s.max_upload_total_mib),
                           5,
                           double(s.max_streams),
                           s.idle_timeout,
                           double(s.max_requests),
                           double(s.max_inflight_mib),
                           double(s.max_pixels),
                           s.max_clip_seconds,
                           double(s.max_frames),
                           s.max_decode_seconds,
                           double(s.max_packets_without_frame),
                           double(s.max_pictures_mib),
                           double(s.max_texts),
                           double(s.max_text_bytes),
                           double(s.max_boxes),
                           s.default_deadline,
                           s.max_deadline,
                           double(s.upload_decode_threads)}),
      ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21));
  EXPECT_EQ(s.upload_dir, "/five");
}

TEST(Config, AFlagWinsOverTheEnvironmentAndThatOverTheFile) {
  const std::string file =
      WriteFile("rank.toml", "workers = 1\nthreads = 2\nmax-batch = 3\nlame-duck = 0.5\n");
  const Env env = {{"SCANLINE_WORKERS", "10"}, {"SCANLINE_THREADS", "20"}};
  const auto parsed = Parse({"--config", file, "--workers", "100"}, env);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->settings.workers, 100);
  EXPECT_EQ(parsed->settings.threads, 20);
  EXPECT_EQ(parsed->settings.max_batch, 3);
  EXPECT_EQ(parsed->settings.lame_duck, 0.5);
  EXPECT_EQ(parsed->settings.max_requests, 256);
}

TEST(Config, PrintConfigShowsEachValueAndItsOrigin) {
  const std::string file = WriteFile("origin.toml", "threads = 2\n");
  const auto parsed =
      Parse({"--print-config", "--workers=3", "--config", file}, {{"SCANLINE_MAX_BATCH", "5"}});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_TRUE(parsed->print.has_value());
  std::string text = *parsed->print;
  text.erase(
      std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
      text.end());
  EXPECT_THAT(text, HasSubstr("workers 3 # flag;"));
  EXPECT_THAT(text, HasSubstr("max-batch 5 # environment SCANLINE_MAX_BATCH;"));
  EXPECT_THAT(text, HasSubstr("threads 2 # file " + file + ";"));
  EXPECT_THAT(text, HasSubstr("listen 127.0.0.1:50051 # default;"));
}

TEST(Config, ModelsRepeatInEveryPlace) {
  EXPECT_THAT(Parse({"--model", "a", "--model", "b"})->settings.models, ElementsAre("a", "b"));
  EXPECT_THAT(Parse({"--model", "a", "b"}).status().message(), HasSubstr("unknown argument b"));
  EXPECT_THAT(Parse({"--model", "[a,b]"})->settings.models, ElementsAre("[a,b]"));
  EXPECT_THAT(Parse({}, {{"SCANLINE_MODEL", "a:b"}})->settings.models, ElementsAre("a", "b"));
  const std::string file = WriteFile("models.toml", "model = [\"a\", \"b\"]\n");
  EXPECT_THAT(Parse({"--config", file})->settings.models, ElementsAre("a", "b"));
  EXPECT_THAT(Parse({"--config", file, "--model", "c"})->settings.models, ElementsAre("c"));
}

TEST(Config, TheLastOfARepeatedFlagCounts) {
  EXPECT_EQ(Parse({"--workers", "1", "--workers", "2"})->settings.workers, 2);
}

TEST(Config, TheFileMayComeFromTheEnvironment) {
  const std::string file = WriteFile("env.toml", "workers = 7\n");
  EXPECT_EQ(Parse({}, {{"SCANLINE_CONFIG", file}})->settings.workers, 7);
}

TEST(Config, AnUnknownKeyOfTheFileIsRefusedWithTheNearestOne) {
  const std::string file = WriteFile("unknown.toml", "wokers = 7\n");
  const auto parsed = Parse({"--config", file});
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(parsed.status().message(), HasSubstr("unknown key \"wokers\""));
  EXPECT_THAT(parsed.status().message(), HasSubstr("did you mean workers?"));
  const std::string section = WriteFile("section.toml", "[limits]\nworkers = 7\n");
  EXPECT_THAT(Parse({"--config", section}).status().message(),
              HasSubstr("expected no sections in " + section + ", found [limits]"));
}

TEST(Config, ASettingHasOneValueInTheFile) {
  const std::string list = WriteFile("list.toml", "device = [\"cuda:0\", \"cuda:1\"]\n");
  EXPECT_THAT(Parse({"--config", list}).status().message(),
              HasSubstr("expected one value of device in " + list +
                        ", found cuda:0 and cuda:1; GPUs are \"cuda:0,cuda:1\""));
  const std::string twice = WriteFile("twice.toml", "threads = 1\nthreads = 3\n");
  EXPECT_THAT(Parse({"--config", twice}).status().message(), HasSubstr("found 1 and 3"));
}

TEST(Config, AnUnknownFlagIsRefusedWithTheNearestOne) {
  const auto parsed = Parse({"--lisen", "127.0.0.1:1"});
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(parsed.status().message(), HasSubstr("unknown argument --lisen"));
  EXPECT_THAT(parsed.status().message(), HasSubstr("did you mean --listen?"));
  EXPECT_THAT(Parse({"--frobnicate-all"}).status().message(), Not(HasSubstr("did you mean")));
}

TEST(Config, BadValuesAreRefusedAndTheirPlaceIsNamed) {
  EXPECT_FALSE(Parse({"--workers", "many"}).ok());
  EXPECT_FALSE(Parse({"--workers", "-1"}).ok());
  EXPECT_FALSE(Parse({"--listen", "50051"}).ok());
  EXPECT_FALSE(Parse({"--listen", "127.0.0.1:66000"}).ok());
  EXPECT_FALSE(Parse({"--config", "/does/not/exist.toml"}).ok());
  EXPECT_THAT(Parse({}, {{"SCANLINE_WORKERS", "many"}}).status().message(),
              HasSubstr("environment SCANLINE_WORKERS"));
  const std::string file = WriteFile("bad.toml", "log-level = \"loud\"\n");
  EXPECT_THAT(Parse({"--config", file}).status().message(), HasSubstr("log-level"));
}

// Every setting with a fraction: NaN passes a check by comparisons, and then no wait ends.
TEST(Config, NoSettingTakesWhatIsNoFiniteNumber) {
  for (const std::string flag : {"--idle-timeout", "--max-clip-seconds", "--max-decode-seconds",
                                 "--default-deadline", "--max-deadline", "--lame-duck"}) {
    for (const std::string value : {"nan", "-nan", "NAN", "inf", "-inf", "1e308", "1e400", "-1"}) {
      EXPECT_FALSE(Parse({flag, value}).ok()) << flag << " " << value;
    }
    EXPECT_TRUE(Parse({flag, "1.5"}).ok()) << flag;
  }
  EXPECT_FALSE(Parse({}, {{"SCANLINE_LAME_DUCK", "nan"}}).ok());
  EXPECT_FALSE(Parse({"--config", WriteFile("nan.toml", "lame-duck = nan\n")}).ok());
}

TEST(Config, HelpFitsAScreenAndHasTwoExamples) {
  const auto parsed = Parse({"--help"});
  ASSERT_TRUE(parsed.ok() && parsed->print.has_value());
  const std::string& help = *parsed->print;
  EXPECT_LE(std::count(help.begin(), help.end(), '\n'), 25);
  EXPECT_THAT(help, HasSubstr("Examples:\n  scanline-server\n  scanline-server --listen"));
}

// The help is written by hand so that it fits; this keeps it from naming what is not there.
TEST(Config, HelpNamesOnlyRealFlags) {
  const std::string help = *Parse({"--help"})->print;
  const std::string config = *Parse({"--print-config"})->print;
  for (size_t at = help.find("  --"); at != std::string::npos; at = help.find("  --", at + 1)) {
    const std::string name = help.substr(at + 4, help.find_first_of(" ,\n", at + 4) - at - 4);
    if (name == "config" || name == "print-config" || name == "version") continue;
    EXPECT_THAT("\n" + config, HasSubstr("\n" + name + " ")) << help.substr(at, 30);
  }
}

TEST(Config, HostAndPortAreSplitAtTheLastColon) {
  EXPECT_EQ(ParseHostPort("[::1]:0")->host, "[::1]");
  EXPECT_EQ(ParseHostPort("localhost:9090")->port, 9090);
  EXPECT_FALSE(ParseHostPort(":9090").ok());
  EXPECT_FALSE(ParseHostPort("host:").ok());
}

TEST(Config, TheDefaultBundleIsFoundFromTheProgramsPlace) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(::testing::TempDir()) / "bundle_places";
  fs::remove_all(root);
  const fs::path beside = root / "checkout/assets/models/tagger24";
  const fs::path shared = root / "usr/share/scanline/models/tagger24";
  for (const fs::path& place : {beside, shared}) {
    fs::create_directories(place);
    std::ofstream(place / "config.json") << "{}";
  }
  fs::create_directories(root / "checkout/build/release/bin");
  fs::create_directories(root / "usr/bin");
  EXPECT_EQ(*DefaultBundle((root / "checkout/build/release/bin/scanline-server").string()),
            fs::weakly_canonical(beside).string());
  EXPECT_EQ(*DefaultBundle((root / "usr/bin/scanline-server").string()),
            fs::weakly_canonical(shared).string());
  const auto none = DefaultBundle("/nowhere/at/all/bin/scanline-server");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr("--model DIR"));
}

}  // namespace
}  // namespace scanline
