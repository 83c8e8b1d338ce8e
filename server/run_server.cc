#include "server/run_server.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "server/app.h"
#include "server/config.h"
#include "server/decode_request.h"
#include "server/load_models.h"
#include "server/upload.h"

namespace scanline {
namespace {

constexpr int kExitStopped = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitDeviceLost = 3;

// SIGINT and SIGTERM come to WaitSignal alone, whatever thread the system would have picked.
sigset_t BlockStopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

// True when a stop signal came within `most`.
bool WaitSignal(const sigset_t& set, absl::Duration most) {
  const timespec wait = absl::ToTimespec(most);
  return sigtimedwait(&set, nullptr, &wait) > 0;
}

// Whole at once: whoever waits for the file never reads half of it.
absl::Status WritePortFile(const std::string& path, const App& app) {
  const std::string partial = path + ".partial";
  std::ofstream(partial) << app.grpc_port() << ' ' << app.ops_port() << '\n';
  std::error_code error;
  std::filesystem::rename(partial, path, error);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write --port-file ", path));
}

void LogReady(const App& app, const std::vector<ModelPtr>& models, absl::Duration took) {
  const std::string names = absl::StrJoin(models, ",", [](std::string* out, const ModelPtr& m) {
    absl::StrAppend(out, m->full_name());
  });
  const EngineInfo& engine = models.front()->engine;
  LogInfo(
      "ready grpc_port=%d ops_port=%d models=%s device=%s kernel=%s precision=%s threads=%d "
      "workers=%d seconds=%.3f",
      app.grpc_port(), app.ops_port(), names, absl::StrJoin(models.front()->devices, ","),
      engine.kernel, engine.precision, engine.threads, app.workers(), absl::ToDoubleSeconds(took));
  if (!engine.note.empty()) LogInfo("forward passes run on the CPU: %s", engine.note);
  if (engine.device == "cpu" && engine.kernel == "scalar") {
    LogWarning(
        "forward passes run on kernel scalar, over a hundred times slower than others; "
        "expected a CPU with AVX2 and FMA, and --kernel auto");
  }
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  const int running = engine.threads * app.workers();
  if (engine.device == "cpu" && cores > 0 && running > cores) {
    LogWarning("%d threads run forward passes on %d cores: --workers times --threads is too much",
               running, cores);
  }
  const bool blind = std::any_of(models.begin(), models.end(), [](const ModelPtr& model) {
    return model->tasks().detect && !model->find_people;
  });
  if (!blind) return;
  LogInfo(
      "no person detector: people are not looked for, so detect requests need boxes; "
      "./dev setup makes one, --person-detector names one");
}

std::string Address(const std::string& listen, int port) {
  return absl::StrCat(listen.substr(0, listen.rfind(':') + 1), port);
}

// For who started it by hand.
void SayWhere(const App& app, const Settings& settings) {
  if (isatty(STDERR_FILENO) == 0) return;
  LogInfo("gRPC on %s, health and metrics on http://%s; Ctrl-C stops",
          Address(settings.listen, app.grpc_port()), Address(settings.ops_listen, app.ops_port()));
}

// The end: balancers are told, then connections, then what is inside is finished. A second signal
// ends the process at once.
int StopGracefully(App& app, const Settings& settings, const sigset_t& signals) {
  const auto now_if_signalled = [&](absl::Duration wait) {
    if (!WaitSignal(signals, wait)) return;
    LogWarning("second signal: stopping now");
    _exit(kExitFailed);
  };
  LogInfo("stopping: NOT_SERVING, still answering for %.1f s; a second signal stops at once",
          settings.lame_duck);
  app.SayNotServing();
  now_if_signalled(absl::Seconds(settings.lame_duck));
  app.StopAccepting();
  const absl::Time last = absl::Now() + absl::Seconds(settings.max_deadline + 1);
  absl::Time idle_since = absl::InfiniteFuture();
  while (!app.Finished() && absl::Now() < last) {
    now_if_signalled(absl::Milliseconds(20));
    idle_since = app.idle() ? std::min(idle_since, absl::Now()) : absl::InfiniteFuture();
    if (absl::Now() - idle_since > absl::Seconds(1)) app.CutStreams();
  }
  LogInfo("stopped");
  return kExitStopped;
}

int Serve(const Settings& settings, const ModelLoader& load_models) {
  const absl::Time begin = absl::Now();
  const sigset_t signals = BlockStopSignals();
  if (!settings.upload_dir.empty()) {
    if (const absl::Status usable = CheckSpillFolder(settings.upload_dir); !usable.ok()) {
      LogError("%s", std::string(usable.message()));
      return kExitUsage;
    }
  }
  const absl::StatusOr<std::vector<ModelPtr>> models = load_models(settings);
  if (!models.ok()) {
    LogError("%s", std::string(models.status().message()));
    return kExitUsage;
  }
  const DecodeLimits limits = DecodeLimitsOf(settings);
  auto app = App::Start(settings, *models, [limits](const Request& request) {
    return DecodeRequest(request, limits);
  });
  // The thread that waits for signals is the one that stops the server, so it is told by one.
  if (app.ok()) (*app)->pipeline().OnDeviceLost([] { kill(getpid(), SIGTERM); });
  absl::Status status = app.status();
  if (status.ok()) status = (*app)->WaitReady();
  if (status.ok() && !settings.port_file.empty()) status = WritePortFile(settings.port_file, **app);
  if (!status.ok()) {
    LogError("%s", std::string(status.message()));
    return kExitFailed;
  }
  LogReady(**app, *models, absl::Now() - begin);
  SayWhere(**app, settings);
  while (!WaitSignal(signals, absl::Hours(1))) {
  }
  if (!(*app)->pipeline().device_lost()) return StopGracefully(**app, settings, signals);
  LogError("a device was lost: this process cannot recover it");
  Settings at_once = settings;
  at_once.lame_duck = 0;
  StopGracefully(**app, at_once, signals);
  return kExitDeviceLost;
}

LogLevel LogLevelOf(const std::string& name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  return name == "error" ? LogLevel::kError : LogLevel::kInfo;
}

}  // namespace

int RunServer(const std::vector<std::string>& args, const ModelLoader& load_models) {
  const auto parsed = ParseSettings(args, SystemEnv);
  if (!parsed.ok()) {
    std::fprintf(stderr, "scanline-server: %s\n", std::string(parsed.status().message()).c_str());
    return kExitUsage;
  }
  if (parsed->print.has_value()) {
    std::fputs(parsed->print->c_str(), stdout);
    return kExitStopped;
  }
  // What gRPC logs (600 characters for a port that is taken) our own messages say shorter.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  InitLog(LogLevelOf(parsed->settings.log_level));
  return Serve(parsed->settings, load_models);
}

}  // namespace scanline
