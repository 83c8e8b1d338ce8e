#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

// Runs the real programs for tests: with pipes, as a shell's pipeline does, or on a terminal of a
// given width.
namespace scanline::testing {

struct ProcessOptions {
  std::string input;             // for its standard input
  std::vector<std::string> env;  // "NAME=VALUE", beside the test's own environment
  std::string out_file;          // where standard output goes instead of to `out`
};

struct ProcessResult {
  int exit_code = -1;  // 128 + signal where a signal ended it
  std::string out;
  std::string err;
};

inline int ExitCodeOfWait(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class Pipe {
 public:
  Pipe() {
    int fds[2];
    SCANLINE_CHECK(pipe2(fds, O_CLOEXEC) == 0);
    read_ = fds[0];
    write_ = fds[1];
  }
  ~Pipe() {
    CloseRead();
    CloseWrite();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int read() const { return read_; }
  int write() const { return write_; }
  void CloseRead() { Close(read_); }
  void CloseWrite() { Close(write_); }

 private:
  static void Close(int& fd) {
    if (fd >= 0) close(std::exchange(fd, -1));
  }
  int read_ = -1;
  int write_ = -1;
};

// A program under way, with pipes to its three streams. Killed if it still runs at the end of its
// scope.
class Process {
 public:
  explicit Process(const std::vector<std::string>& argv, const ProcessOptions& options = {}) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in_.read(), 0);
    posix_spawn_file_actions_adddup2(&files, out_.write(), 1);
    posix_spawn_file_actions_adddup2(&files, err_.write(), 2);
    if (!options.out_file.empty()) {
      posix_spawn_file_actions_addopen(&files, 1, options.out_file.c_str(), O_WRONLY, 0);
    }
    std::vector<char*> args;
    for (const std::string& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
    args.push_back(nullptr);
    std::vector<char*> env;
    for (const std::string& variable : options.env) {
      env.push_back(const_cast<char*>(variable.c_str()));  // getenv finds the first of a name.
    }
    for (char** variable = environ; *variable != nullptr; ++variable) env.push_back(*variable);
    env.push_back(nullptr);
    const int error = posix_spawn(&pid_, args[0], &files, nullptr, args.data(), env.data());
    posix_spawn_file_actions_destroy(&files);
    if (error != 0) pid_ = -1;
    in_.CloseRead();
    out_.CloseWrite();
    err_.CloseWrite();
  }
  ~Process() {
    if (pid_ <= 0 || reaped_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const { kill(pid_, signal); }

  // Reads both streams until `text` has come on either of them, or both end, or `seconds` pass.
  bool WaitForText(const std::string& text, int seconds = 30) {
    for (int waited_ms = 0; waited_ms < seconds * 1000; waited_ms += kTickMs) {
      if (result_.out.find(text) != std::string::npos) return true;
      if (result_.err.find(text) != std::string::npos) return true;
      if (!Read(kTickMs)) return false;
    }
    return false;
  }

  // What has been read so far, of both streams.
  std::string text() const { return result_.out + result_.err; }

  // Gives it `input`, closes its standard input, reads all and waits for the end.
  ProcessResult Finish(const std::string& input = "") {
    if (pid_ <= 0) return result_;
    size_t written = 0;
    signal(SIGPIPE, SIG_IGN);  // It may end without having read its input.
    fcntl(in_.write(), F_SETFL, O_NONBLOCK);
    for (bool open = true; open;) {
      if (written < input.size()) {
        const ssize_t n = ::write(in_.write(), input.data() + written, input.size() - written);
        if (n > 0) written += static_cast<size_t>(n);
        if (n < 0 && errno != EAGAIN) written = input.size();
      }
      if (written == input.size()) in_.CloseWrite();
      open = Read(kTickMs);
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    reaped_ = true;
    result_.exit_code = ExitCodeOfWait(status);
    return result_;
  }

 private:
  static constexpr int kTickMs = 20;

  // Whether either stream is still open.
  bool Read(int wait_ms) {
    pollfd streams[2] = {{out_.read(), POLLIN, 0}, {err_.read(), POLLIN, 0}};
    poll(streams, 2, wait_ms);
    if (streams[0].revents != 0 && !Take(out_.read(), result_.out)) out_.CloseRead();
    if (streams[1].revents != 0 && !Take(err_.read(), result_.err)) err_.CloseRead();
    return out_.read() >= 0 || err_.read() >= 0;
  }

  static bool Take(int fd, std::string& text) {
    char buffer[65536];
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n > 0) text.append(buffer, static_cast<size_t>(n));
    return n > 0;
  }

  Pipe in_, out_, err_;
  pid_t pid_ = -1;
  bool reaped_ = false;
  ProcessResult result_;
};

inline ProcessResult RunProcess(const std::vector<std::string>& argv,
                                const ProcessOptions& options = {}) {
  return Process(argv, options).Finish(options.input);
}

// On a terminal of `columns` columns. Both streams are what the terminal saw, in `out`.
inline ProcessResult RunInTerminal(const std::vector<std::string>& argv, int columns,
                                   const std::vector<std::string>& env = {}) {
  std::vector<char*> args;
  for (const std::string& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
  args.push_back(nullptr);
  std::vector<char*> variables;
  for (const std::string& variable : env) variables.push_back(const_cast<char*>(variable.c_str()));
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  variables.push_back(nullptr);
  winsize size{};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  int terminal = -1;
  ProcessResult result;
  const pid_t pid = forkpty(&terminal, nullptr, nullptr, &size);
  if (pid < 0) return result;
  if (pid == 0) {
    execve(args[0], args.data(), variables.data());
    _exit(127);
  }
  char buffer[4096];
  for (ssize_t n; (n = read(terminal, buffer, sizeof buffer)) > 0;) {
    result.out.append(buffer, static_cast<size_t>(n));
  }
  close(terminal);
  int status = 0;
  waitpid(pid, &status, 0);
  result.exit_code = ExitCodeOfWait(status);
  return result;
}

}  // namespace scanline::testing
