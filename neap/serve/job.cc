// SPDX-License-Identifier: Apache-2.0
#include "neap/serve/job.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <system_error>

#include "neap/io/file.h"

namespace neap::serve {
namespace {

using Object = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxMessage = 2000;
constexpr std::string_view kProgressWord = "progress ";

Diagnostic Failed(const std::string& what, int error) {
  return IoError(what + ": " + std::generic_category().message(error));
}

// Closed at the end of its scope.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { Close(); }
  int get() const { return fd_; }
  void Set(int fd) {
    Close();
    fd_ = fd;
  }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

// What a job prints on standard error: lines of progress, and messages, of which the last one is
// kept. A job may print anything.
class Listener {
 public:
  explicit Listener(const std::function<void(const JobProgress&)>& progress)
      : progress_(progress) {}
  void Take(std::string_view bytes) {
    for (const char c : bytes) {
      if (c == '\n') {
        TakeLine();
      } else if (line_.size() < kMaxMessage) {
        line_ += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
      }
    }
  }
  std::string Message() {
    TakeLine();
    return message_;
  }

 private:
  void TakeLine() {
    if (line_.starts_with(kProgressWord)) {
      TakeProgress(std::string_view(line_).substr(kProgressWord.size()));
    } else if (!line_.empty()) {
      message_ = line_;
    }
    line_.clear();
  }
  void TakeProgress(std::string_view text) {
    std::array<std::int64_t, 3> numbers = {};
    for (std::int64_t& number : numbers) {
      while (text.starts_with(' ')) text.remove_prefix(1);
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
      if (parsed.ec != std::errc()) return;
      text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    }
    progress_({numbers[0], numbers[1], numbers[2]});
  }

  const std::function<void(const JobProgress&)>& progress_;
  std::string line_;
  std::string message_;
};

std::int64_t BytesIn(const std::string& folder) {
  std::int64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    struct stat info = {};
    if (::lstat(entry.path().c_str(), &info) == 0) bytes += info.st_blocks * 512;
  }
  return bytes;
}

// Standard input, output and error of the child, and its folder.
Result<pid_t> Spawn(const std::string& program, const std::string& folder, int errors) {
  const std::string report = folder + "/" + kJobOutput + "/" + kReportFile;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, report.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  // A group of its own: signals of a terminal are for the server, which decides.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  std::string name = "neap";
  std::string verb = kJobVerb;
  std::array<char*, 3> arguments = {name.data(), verb.data(), nullptr};
  // Nothing of the server's environment, which may have secrets.
  std::string locale = "LC_ALL=C.UTF-8";
  std::string sanitizer = "ASAN_OPTIONS=detect_leaks=0";
  std::array<char*, 3> environment = {locale.data(), sanitizer.data(), nullptr};
  pid_t child = -1;
  const int error = posix_spawn(&child, program.c_str(), &actions, &attributes, arguments.data(),
                                environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return Fail(Failed("the job cannot be started", error));
  return child;
}

std::string Reason(int status, const std::string& message) {
  if (WIFEXITED(status)) {
    if (WEXITSTATUS(status) == 0) return "";
    return message.empty() ? "the job ended with code " + std::to_string(WEXITSTATUS(status))
                           : message;
  }
  switch (WTERMSIG(status)) {
    case SIGXCPU:
      return "the job exceeded its processor time";
    case SIGXFSZ:
      return "the job exceeded the size of a file";
    case SIGKILL:
      return "the job was killed";
    default:
      return "the job ended with signal " + std::to_string(WTERMSIG(status));
  }
}

}  // namespace

std::string JobText(const Job& job) {
  Object out;
  out["name"] = job.name;
  out["options"] = job.options;
  out["kind"] = static_cast<int>(job.kind);
  out["memory_bytes"] = job.limits.memory_bytes;
  out["cpu_seconds"] = job.limits.cpu_seconds;
  out["file_bytes"] = job.limits.file_bytes;
  out["open_files"] = job.limits.open_files;
  return out.dump();
}

Result<Job> ReadJob(const std::string& folder) {
  NEAP_TRY(const auto bytes, io::ReadFile(folder + "/" + kJobFile));
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const Object in = Object::parse(text, nullptr, false);
  Job job;
  try {
    in.at("name").get_to(job.name);
    in.at("options").get_to(job.options);
    job.kind = static_cast<JobKind>(in.at("kind").get<int>());
    in.at("memory_bytes").get_to(job.limits.memory_bytes);
    in.at("cpu_seconds").get_to(job.limits.cpu_seconds);
    in.at("file_bytes").get_to(job.limits.file_bytes);
    in.at("open_files").get_to(job.limits.open_files);
  } catch (const Object::exception&) {
    Diagnostic error = BadInput("is not a job of the server");
    error.file = kJobFile;
    return Fail(std::move(error));
  }
  return job;
}

Result<JobEnd> RunJob(const std::string& program, const std::string& folder,
                      const JobLimits& limits, const std::atomic<bool>& stop,
                      const std::function<void(const JobProgress&)>& progress) {
  std::array<int, 2> pipe = {-1, -1};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return Fail(Failed("no pipe", errno));
  const Fd errors(pipe[0]);
  Fd writer(pipe[1]);
  NEAP_TRY(const pid_t child, Spawn(program, folder, writer.get()));
  writer.Close();
  ::fcntl(errors.get(), F_SETFL, O_NONBLOCK);
  Listener listener(progress);
  JobEnd end;
  std::string killed;
  const auto kill_for = [&](const std::string& reason) {
    if (killed.empty()) killed = reason;
    ::kill(child, SIGKILL);
  };
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(limits.wall_seconds);
  Clock::time_point next_look = Clock::now();
  constexpr std::chrono::milliseconds kLook{500};
  constexpr int kPollMilliseconds = 50;
  bool open = true;
  int status = 0;
  rusage used = {};
  for (;;) {
    if (open) {
      pollfd wait = {errors.get(), POLLIN, 0};
      ::poll(&wait, 1, kPollMilliseconds);
      std::array<char, 4096> buffer = {};
      const ssize_t got = ::read(errors.get(), buffer.data(), buffer.size());
      if (got > 0) listener.Take({buffer.data(), static_cast<std::size_t>(got)});
      if (got == 0) open = false;
    } else {
      ::poll(nullptr, 0, 1);
    }
    const pid_t ended = ::wait4(child, &status, WNOHANG, &used);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) return Fail(Failed("the job is lost", errno));
    const Clock::time_point now = Clock::now();
    if (stop.load()) {
      end.stopped = true;
      kill_for("the server ended");
    }
    if (now >= deadline) kill_for("the job exceeded its time");
    if (now >= next_look) {
      next_look = now + kLook;
      if (BytesIn(folder + "/" + kJobOutput) > limits.total_bytes) {
        kill_for("the job exceeded the size of its files");
      }
    }
  }
  std::array<char, 4096> rest = {};
  for (ssize_t got = 1; got > 0;) {
    got = ::read(errors.get(), rest.data(), rest.size());
    if (got > 0) listener.Take({rest.data(), static_cast<std::size_t>(got)});
  }
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  end.error = killed.empty() ? Reason(status, listener.Message()) : killed;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  end.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  end.peak_bytes = static_cast<std::int64_t>(used.ru_maxrss) * 1024;
  return end;
}

}  // namespace neap::serve
