// SPDX-License-Identifier: Apache-2.0
//
// neap batch: a manifest of graphs in, a line for each out.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <system_error>
#include <thread>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/batch/batch.h"
#include "neap/database/answers.h"
#include "tools/common.h"
#include "tools/words.h"

namespace neap::tools {
namespace {

constexpr const char* kBatchFooter =
    "A line of the manifest: {\"id\": ..., \"path\": \"model.tflite\"} or {\"id\": ..., \"graph\": "
    "{...}},\n"
    "the graph as graph JSON. Its answer: {\"id\", \"peak_bytes\", \"peak_lower_bound_bytes\",\n"
    "\"arena_bytes\", \"delivered_arena_bytes\", \"status\": \"optimal\"|\"bounded\"|\"error\",\n"
    "\"error\"}, in the same order.\n"
    "\n"
    "Examples:\n"
    "  neap batch graphs.jsonl > answers.jsonl\n"
    "  neap batch graphs.jsonl --order-only --jobs 8 -o answers.jsonl\n"
    "  neap batch graphs.jsonl -o answers.jsonl --resume        continue after an interruption\n"
    "  neap batch graphs.jsonl --shard 3/16 -o part-3.jsonl     lines 3, 19, 35, ...\n"
    "  neap batch graphs.jsonl --store answers.db > answers.jsonl   answers from earlier runs\n"
    "  search | neap batch - | rank\n"
    "\n"
    "Exit: 0 every line has an answer, 1 the manifest cannot be read or the answers cannot be\n"
    "written, or, with --strict, some answer is an error, 2 usage, 130 interrupted: the lines "
    "that\n"
    "were started have their answers.\n";

struct BatchOptions {
  std::string manifest;
  std::string out;
  deliver::Words words;  // runtime and rewriting
  std::vector<std::string> dims;
  std::string shard;
  std::string store;
  int jobs = 0;  // 0: all cores
  std::int64_t max_states = 50'000;
  double time_limit_seconds = 0;
  std::string max_memory = "1GiB";
  bool order_only = false;
  bool resume = false;
  bool strict = false;
  bool force = false;
  bool quiet = false;
};

class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (owned_ && fd_ >= 0) ::close(fd_);
  }
  Status Open(const std::string& path, int flags) {
    constexpr mode_t kAnyNewFile = 0666;
    fd_ = ::open(path.c_str(), flags | O_CLOEXEC, kAnyNewFile);
    if (fd_ >= 0) return {};
    Diagnostic error = IoError("cannot be opened: " + std::generic_category().message(errno));
    error.file = path;
    return Fail(std::move(error));
  }
  void Borrow(int fd) {
    fd_ = fd;
    owned_ = false;
  }
  int Number() const { return fd_; }

 private:
  int fd_ = -1;
  bool owned_ = true;
};

Status ParseShard(const std::string& text, batch::Task* task) {
  if (text.empty()) return {};
  const char* const end = text.data() + text.size();
  const auto [slash, error] = std::from_chars(text.data(), end, task->shard_index);
  bool good = error == std::errc() && slash != end && *slash == '/';
  if (good) {
    const auto [rest, count_error] = std::from_chars(slash + 1, end, task->shard_count);
    good = count_error == std::errc() && rest == end;
  }
  if (good && task->shard_index >= 0 && task->shard_index < task->shard_count) return {};
  return Fail(UsageError("--shard '" + text + "' is not I/N with whole numbers 0 <= I < N"));
}

// "12,345 lines, 4 bounded, 3 errors, 8.1 s"
std::string Summary(const batch::Counts& counts, double seconds) {
  std::string text = FormatCount(counts.answered) + (counts.answered == 1 ? " line" : " lines");
  if (counts.kept > 0) text += fmt::format(" after {} kept", FormatCount(counts.kept));
  if (counts.repeated > 0) text += fmt::format(", {} repeated", FormatCount(counts.repeated));
  if (counts.bounded > 0) text += fmt::format(", {} bounded", FormatCount(counts.bounded));
  if (counts.errors > 0) text += fmt::format(", {} errors", FormatCount(counts.errors));
  return text + fmt::format(", {:.1f} s", seconds);
}

class BatchProgress {
 public:
  explicit BatchProgress(bool enabled) : enabled_(enabled) {}
  void Show(const batch::Counts& counts) {
    constexpr double kEverySeconds = 0.2;
    if (!enabled_ || watch_.Seconds() - last_seconds_ < kEverySeconds) return;
    last_seconds_ = watch_.Seconds();
    shown_ = true;
    fmt::print(stderr, "\r{}\x1b[K", Summary(counts, last_seconds_));
    std::fflush(stderr);
  }
  void Erase() const {
    if (!shown_) return;
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
  }
  double Seconds() const { return watch_.Seconds(); }

 private:
  bool enabled_;
  bool shown_ = false;
  Stopwatch watch_;
  double last_seconds_ = 0;
};

// From the command line to a run; files stay open as long as it lives.
class BatchSession {
 public:
  explicit BatchSession(const BatchOptions& options) : options_(options) {}

  Result<int> Run() {
    NEAP_CHECK_OK(ParseOptions());
    NEAP_CHECK_OK(OpenManifest());
    NEAP_CHECK_OK(OpenAnswers());
    task_.stop = StopOnInterrupt();
    BatchProgress progress(!options_.quiet && ::isatty(::fileno(stderr)) != 0);
    const auto counts =
        batch::Run(task_, settings_, [&](const batch::Counts& seen) { progress.Show(seen); });
    progress.Erase();
    if (!counts) return Fail(counts.error());
    if (counts->stopped) {
      fmt::print(stderr, "neap batch: interrupted after {}\n",
                 Summary(*counts, progress.Seconds()));
      return kInterrupted;
    }
    if (WritesFile() && !options_.quiet) {
      NEAP_CHECK_OK(
          Print(stdout, fmt::format("wrote {}: {}\n", report::Printable(options_.out, 4096),
                                    Summary(*counts, progress.Seconds()))));
    }
    return options_.strict && counts->errors > 0 ? ErrorsAreFailures(*counts) : kDone;
  }

 private:
  bool WritesFile() const { return !options_.out.empty() && options_.out != "-"; }

  static int ErrorsAreFailures(const batch::Counts& counts) {
    fmt::print(stderr, "neap batch: {} of {} answers are errors\n", FormatCount(counts.errors),
               FormatCount(counts.kept + counts.answered));
    return kFailed;
  }

  Status ParseOptions() {
    NEAP_CHECK_OK(ParseShard(options_.shard, &task_));
    if (options_.resume && !WritesFile()) {
      return Fail(UsageError("--resume requires -o FILE, the file to continue"));
    }
    if (options_.resume && options_.force) {
      return Fail(
          UsageError("--resume cannot be combined with --force, which overwrites the file"));
    }
    NEAP_CHECK_OK(CheckTimeLimit(options_.time_limit_seconds));
    if (!options_.words.runtime.empty()) {
      NEAP_TRY(settings_.runtime, deliver::RuntimeOf(options_.words, formats::Format::kOnnx));
    }
    NEAP_TRY(settings_.dims, ParseDims(options_.dims));
    settings_.option_prefix = "--";
    NEAP_TRY(settings_.limits.max_memory_bytes, ParseSize("--max-memory", options_.max_memory));
    settings_.limits.max_states = options_.max_states;
    settings_.limits.max_seconds = options_.time_limit_seconds;
    settings_.place = !options_.order_only;
    NEAP_CHECK_OK(ParseRewriting());
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    task_.jobs = options_.jobs > 0 ? options_.jobs : static_cast<int>(cores);
    task_.resume = options_.resume;
    task_.store = options_.store;
    return {};
  }

  Status ParseRewriting() {
    const bool neap = settings_.runtime == plan::Runtime::kNeap;
    if (options_.words.accumulator_bytes != 0 && !neap) {
      return Fail(UsageError("--accumulator-bytes requires --runtime neap"));
    }
    NEAP_TRY(deliver::RewriteSettings wanted, deliver::RewritingOf(options_.words));
    if (wanted.any) settings_.rewrite = std::move(wanted);
    return {};
  }

  Status OpenManifest() {
    const bool standard = options_.manifest == "-";
    task_.manifest_name = standard ? "standard input" : options_.manifest;
    if (standard) {
      manifest_.Borrow(STDIN_FILENO);
    } else {
      NEAP_CHECK_OK(manifest_.Open(options_.manifest, O_RDONLY));
    }
    struct stat status = {};
    if (::fstat(manifest_.Number(), &status) == 0 && S_ISDIR(status.st_mode)) {
      Diagnostic error = IoError("is a folder, expected a file");
      error.file = task_.manifest_name;
      return Fail(std::move(error));
    }
    task_.manifest = manifest_.Number();
    return CheckIsText();
  }

  // A model in place of the manifest would have an error for every line feed among its bytes. The
  // bytes are not consumed; those of a pipe cannot be looked at.
  Status CheckIsText() {
    char head[256] = {};
    const ssize_t size = ::pread(task_.manifest, head, sizeof(head), 0);
    if (size <= 0) return {};
    const std::string_view text(head, static_cast<std::size_t>(size));
    const std::string_view line = text.substr(0, text.find('\n'));
    const bool binary = std::any_of(line.begin(), line.end(), [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return byte < ' ' && c != '\t' && c != '\r';
    });
    const std::string& name = task_.manifest_name;
    const bool model = text.substr(0, 8).ends_with("TFL3") || name.ends_with(".onnx");
    if (!binary) return {};
    Diagnostic error = BadInput(model ? "is a model, not a list of models"
                                      : "is binary, expected one JSON object per line");
    error.file = name;
    error.hint = R"(write a line {"path": "model.tflite"} for each model)";
    return Fail(std::move(error));
  }

  Status OpenAnswers() {
    task_.answers_name = WritesFile() ? options_.out : "standard output";
    task_.answers = STDOUT_FILENO;
    NEAP_CHECK_OK(CheckDistinct({{"--store", database::DatabasePath(options_.store)}},
                                {{"-o", options_.out}}));
    if (!WritesFile()) return {};
    NEAP_CHECK_OK(CheckOutput(options_.out, options_.force || options_.resume));
    const bool may_exist = options_.force || options_.resume;
    NEAP_CHECK_OK(answers_.Open(options_.out, O_RDWR | O_CREAT | (may_exist ? 0 : O_EXCL)));
    task_.answers = answers_.Number();
    struct stat out = {};
    struct stat in = {};
    if (::fstat(answers_.Number(), &out) == 0 && ::fstat(task_.manifest, &in) == 0 &&
        out.st_dev == in.st_dev && out.st_ino == in.st_ino) {
      Diagnostic error = IoError("is the manifest: the answers would overwrite it");
      error.file = options_.out;
      return Fail(std::move(error));
    }
    // Only now, so that the manifest is safe. Devices have no length to cut.
    if (options_.force && S_ISREG(out.st_mode) && ::ftruncate(answers_.Number(), 0) != 0) {
      Diagnostic error = IoError("cannot be emptied: " + std::generic_category().message(errno));
      error.file = options_.out;
      return Fail(std::move(error));
    }
    return {};
  }

  const BatchOptions& options_;
  batch::Task task_;
  batch::Options settings_;
  File manifest_;
  File answers_;
};

void AddOptions(CLI::App* app, BatchOptions* options) {
  app->add_option("MANIFEST", options->manifest, "one JSON object per line; - is stdin")
      ->required();
  app->add_option("-o,--output", options->out, "answers; - is stdout, which is the default")
      ->option_text("FILE");
  app->add_flag("--resume", options->resume, "continue after the answers in FILE");
  app->add_option("--shard", options->shard, "only lines I, I+N, I+2N, ...; counted from 0")
      ->option_text("I/N");
  app->add_option("--store", options->store,
                  "SQLite file of answers, or the folder of a server: those of earlier runs and of "
                  "other processes are read, new ones are added")
      ->option_text("PATH");
  app->add_option("--jobs", options->jobs,
                  "number of threads; answers are always the same; default: all cores")
      ->option_text("N")
      ->check(CLI::Range(1, 1024));
  app->add_flag("--order-only", options->order_only, "do not place tensors: no arena_bytes");
  app->add_option("--dim", options->dims, "value of a symbolic dimension of models with a path")
      ->option_text("NAME=N")
      ->allow_extra_args(false);
  app->add_option("--max-states", options->max_states,
                  "maximum number of states of the search for each graph; default: 50000")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}));
  options->words.rewrite = "none";  // many graphs: speed matters
  AddWords(app, &options->words,
           {"runtime", "rewrite", "rules", "rewrite-work", "accumulator-bytes"});
  app->add_option("--time-limit", options->time_limit_seconds,
                  "time limit of each search; answers may then differ between runs; default: none")
      ->option_text("SECONDS");
  app->add_option("--max-memory", options->max_memory,
                  "maximum memory of each search; default: 1GiB")
      ->option_text("SIZE");
  app->add_flag("--strict", options->strict, "exit 1 if any answer is an error");
  app->add_flag("--force", options->force, "overwrite an existing output");
  app->add_flag("--quiet", options->quiet, "print only errors");
}

}  // namespace

int BatchCommand(std::vector<std::string> args) {
  BatchOptions options;
  CLI::App app("Plan many graphs: one line of output for each line of input, in the same order.",
               "neap batch");
  app.footer(kBatchFooter);
  AddOptions(&app, &options);
  if (const auto code = Parse(&app, std::move(args))) return *code;
  BatchSession session(options);
  const Result<int> code = session.Run();
  return code ? *code : Report("batch", code.error());
}

}  // namespace neap::tools
