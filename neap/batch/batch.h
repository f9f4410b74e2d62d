// SPDX-License-Identifier: Apache-2.0
//
// Plans many graphs in one call: reads a manifest with one JSON object per line and writes one
// answer per line, in the same order. docs/reference/batch.md and schemas/batch-*.schema.json
// define the lines.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "neap/base/limits.h"
#include "neap/base/result.h"
#include "neap/deliver/rewriting.h"
#include "neap/plan/profile.h"

namespace neap::batch {

// A longer line is answered with an error, and is never held in memory.
inline constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;

// The inputs of an answer, except its line.
struct Options {
  std::optional<plan::Runtime> runtime;      // nullopt: tflm for .tflite, ideal for all others
  std::map<std::string, std::int64_t> dims;  // symbolic dimensions of the models with a "path"
  std::string option_prefix;                 // before names of options in messages: "--"
  bool place = true;                         // false: no arena_bytes
  Limits limits;                             // of each search; `observer` and `stop` are not used
  std::int64_t placement_states = 200'000;
  // Other operators with the same outputs where that needs less: numbers are then those of the
  // rewritten graph. nullopt: every graph stays as it is.
  std::optional<deliver::RewriteSettings> rewrite;
};

// The answer to one line, a line of JSON with its "\n". A pure function of its arguments and of the
// files that the line names; the answer reports the errors of the line. Thread-safe.
std::string AnswerLine(std::string_view line, const Options& options);

// Where lines come from and where answers go. The descriptors stay the caller's.
struct Task {
  int manifest = 0;
  std::string manifest_name;  // for messages
  int answers = 1;
  std::string answers_name;
  // Line k (from 0) is taken when k % shard_count == shard_index.
  std::int64_t shard_index = 0;
  std::int64_t shard_count = 1;
  // `answers` is a regular file that an earlier run of the same task has written the beginning of:
  // its whole lines are kept, a torn last line is cut off, and the run continues after them.
  bool resume = false;
  // An SQLite file: numbers in it are not computed again, and new ones are added. Created
  // if it does not exist; several processes of one machine may use it at the same time. "": none.
  std::string store;
  int jobs = 1;                             // threads, >= 1; never changes an answer
  const std::atomic<bool>* stop = nullptr;  // no further line is begun when it is set
};

struct Counts {
  std::int64_t kept = 0;      // answers of an earlier run
  std::int64_t answered = 0;  // by this run
  std::int64_t errors = 0;    // among both
  std::int64_t bounded = 0;   // among those of this run
  // Of this run, not computed: with the structure of an earlier graph, or from the store.
  std::int64_t repeated = 0;
  bool stopped = false;  // Task::stop ended the run
};

// Called after every answer has been written, one call at a time, from any thread.
using Observer = std::function<void(const Counts&)>;

// Answers every line of the task. Graphs that are equal except for names are computed once, while
// the answer is among the 65,536 cached ones (with Options::rewrite every graph is computed:
// rewriting also depends on constants). Memory does not grow with the manifest: at most 64 lines
// per job are stored and, beyond the lines in progress, 256 MiB of text. Fails when the manifest
// cannot be read, the answers cannot be written, or, with `resume`, they are not answers to these
// lines; answers written before the failure stay.
Result<Counts> Run(const Task& task, const Options& options, const Observer& observer);

}  // namespace neap::batch
