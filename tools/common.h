// SPDX-License-Identifier: Apache-2.0
//
// Shared by the verbs of the command line: exit codes, options, output, signals, progress.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neap/base/limits.h"
#include "neap/base/result.h"
#include "neap/deliver/dims.h"
#include "neap/deliver/options.h"
#include "neap/formats/formats.h"
#include "neap/graph/graph.h"
#include "neap/plan/profile.h"
#include "neap/show/report/text.h"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
class Option;
}  // namespace CLI

namespace neap::tools {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,  // bad input, a failure, or a check that found a mismatch
  kUsage = 2,
  kOverBudget = 3,  // no model is written
  kUnproven = 4,    // only with --require-optimal
  kInterrupted = 130,
};

// One function a verb; `args` are the words after it. Returns the exit code.
int PlanCommand(std::vector<std::string> args, bool short_form);
int InspectCommand(std::vector<std::string> args);
int ExplainCommand(std::vector<std::string> args);
int BoardsCommand(std::vector<std::string> args);
int CheckBudgetCommand(std::vector<std::string> args);
int CheckCommand(std::vector<std::string> args);
int EmitCommand(std::vector<std::string> args);
int ZooCommand(std::vector<std::string> args);
int BatchCommand(std::vector<std::string> args);
int RunCommand(std::vector<std::string> args);
int PlaceCommand(std::vector<std::string> args);
int PipelineCommand(std::vector<std::string> args);
int UnitsCommand(std::vector<std::string> args);
int TrafficCommand(std::vector<std::string> args);
int ParetoCommand(std::vector<std::string> args);
int BenchCommand(std::vector<std::string> args);
int ServeCommand(std::vector<std::string> args);
// One job of `neap serve`, in its working folder (neap/serve/serve.h); not for people.
int ServeJobCommand();

// Alone after a verb: its options as JSON, from which documents and completions are made
// (scripts/make_reference.py). Alone: the verbs.
inline constexpr std::string_view kDescribe = "--describe";

// Parses; an exit code when the verb ends here: help or an error has been printed.
std::optional<int> Parse(CLI::App* app, std::vector<std::string> args);

// Prints "neap VERB: ..." on standard error and returns the exit code of the kind of error.
int Report(std::string_view verb, const Diagnostic& diagnostic);

// Options of every verb that reads a model.
struct ModelOptions {
  std::string input;
  deliver::Words words;  // of them the runtime
  std::vector<std::string> dims;
};
struct OutputOptions {
  bool json = false;
  bool quiet = false;
  std::string color = "auto";
};
void AddModelOptions(CLI::App* app, ModelOptions* options);
// The same without --runtime.
void AddInputOptions(CLI::App* app, ModelOptions* options);
void AddOutputOptions(CLI::App* app, OutputOptions* options);

inline Result<std::map<std::string, std::int64_t>> ParseDims(const std::vector<std::string>& dims) {
  return deliver::DimsOf(dims, "--");
}
inline Diagnostic WithAllSymbols(Diagnostic diagnostic, const graph::Graph& graph) {
  return deliver::WithAllSymbols(std::move(diagnostic), graph, "--");
}

// The capabilities of `stream`.
report::Style StyleFor(std::FILE* stream, const OutputOptions& options);

// Fails before any work if io::WriteFile would fail: the file exists (without `force`), or its
// folder does not. "" and "-" never fail.
Status CheckOutput(const std::string& path, bool force);

// A file that the command line names: the option, and the path.
struct NamedFile {
  std::string option;
  std::string path;
};
// Fails with kUsage where one of `written` is a file that is read or written otherwise. "" and "-"
// are no files.
Status CheckDistinct(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written);

// The bytes that an option was given; errors name it.
Result<std::int64_t> ParseSize(std::string_view option, const std::string& text);

// Of --time-limit, for the whole run; 0: no limit.
Status CheckTimeLimit(double seconds);
std::optional<Limits::Clock::time_point> DeadlineAfter(double seconds);
// Of a file: the last part of its path. Outputs name files by it, so that they do not depend on the
// folder.
std::string BaseName(const std::string& path);

// Writes all of `text` or fails.
Status Print(std::FILE* stream, std::string_view text);

// `head`, and behind it `text` in lines of at most 100 columns, whose continuations begin where the
// text does. ASCII; ends with a newline.
std::string Hanging(const std::string& head, const std::string& text);

class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// From here on the first Ctrl-C sets the flag that is returned; the second one ends the program.
const std::atomic<bool>* StopOnInterrupt();

// One line on standard error, rewritten in place, from the second second of the work on.
class ProgressLine {
 public:
  explicit ProgressLine(bool enabled) : enabled_(enabled) {}
  ~ProgressLine() { Erase(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(const Progress& progress);
  void Erase();
  // From here on all of them print lines for a program, "progress UPPER LOWER STATES", instead.
  static void PrintForPrograms();

 private:
  bool enabled_;
  bool shown_ = false;
  Stopwatch watch_;
  double last_seconds_ = 0;
};

// --seed and the like: a whole number; anything else fails with one short line.
CLI::Option* AddSeedOption(CLI::App* app, const std::string& names, std::uint64_t* seed,
                           const std::string& description);

}  // namespace neap::tools
