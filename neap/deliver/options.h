// SPDX-License-Identifier: Apache-2.0
//
// A request as text: the planning options of the command line, the C interface and other callers.
// One table has them all; parsing, help, documents and completions come from it. Conflicts between
// options are also defined here.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/result.h"
#include "neap/deliver/deliver.h"
#include "neap/deliver/rewriting.h"
#include "neap/formats/formats.h"
#include "neap/plan/plan.h"
#include "neap/target/board.h"
#include "neap/target/target.h"
#include "neap/transform/cascade/device.h"
#include "neap/transform/cascade/plan.h"

namespace neap::deliver {

// The parsed values, each by itself. The members are those of the table's options.
struct Words {
  // The prefix of option names in messages. A command line has "--".
  std::string prefix;
  std::set<std::string_view> given;  // names of options that were set

  std::string runtime;  // "": by the format of the model
  std::string target;   // "": that of the board or of the kernels of `overlap`, or the default
  std::string board;    // "": none
  // RAM of the board that the firmware uses beside the arena.
  std::int64_t reserve_bytes = std::int64_t{16} << 10;
  std::optional<std::int64_t> budget_bytes;
  std::optional<std::int64_t> budget_activations_bytes;
  std::optional<std::int64_t> budget_total_bytes;  // the same as budget_bytes
  // Operator types that the application registers, or kAllOperators; empty: not known.
  std::vector<std::string> registered;
  // Orders.
  std::string order = "exact";
  std::uint64_t seed = 0;
  std::string forced;  // "": not given
  std::int64_t slack_bytes = 0;
  std::int64_t step_states = 0;        // 0: not given
  std::int64_t soft_budget_bytes = 0;  // 0: not given
  bool order_only = false;
  // Placements.
  std::string overlap;  // "": none
  bool keep_inputs = false;
  bool no_memory_plan = false;
  std::vector<plan::Memory> memories;
  std::string moves = "none";
  // Models.
  std::string integer_io;  // "": the interface stays
  std::string rewrite = "bitwise";
  std::vector<std::string> rules;      // as given, "-name" among them
  std::int64_t rewrite_work = 0;       // 0: not given
  std::int64_t accumulator_bytes = 0;  // 0: not given
  // Tiles.
  std::string cascade;  // "": where a budget needs it
  std::string cascade_bodies = "clones";
  std::string device;  // "": the default preset
  cascade::Grids grids;
  // Streams.
  std::string stream;  // "": where a budget needs it
  std::string input = "resident";
  std::int64_t max_macs_permille = 0;  // 0: not given
  std::int64_t block_columns = 0;      // 0: chosen
  std::int64_t fast_bytes = 0;         // 0: one memory
  bool prefetch = false;               // with two
  bool slow_weights = false;           // with two
  std::int64_t max_cost_permille = 0;  // of `recompute`; 0: not given
  // Limits.
  std::int64_t max_states = 0;    // 0: not given
  double time_limit_seconds = 0;  // 0: none
  std::string effort;             // "": that of a budget, or of the features that are stated
  std::int64_t max_memory_bytes = std::int64_t{4} << 30;
  std::int64_t threads = 0;                // 0: all cores
  std::vector<std::string> skipped_steps;  // names of OptionalSteps()

  // Stated by other means than these options: the caller states the scratch of operators; a model
  // or a C header will be written.
  bool has_scratch = false;
  bool writes_model = false;
  bool writes_header = false;

  bool Has(std::string_view name) const { return given.count(name) > 0; }
  std::string Named(std::string_view name) const { return prefix + std::string(name); }
};

struct Option {
  std::string_view name;   // "time-limit"
  std::string_view group;  // of the help
  std::string value;       // the value's form, "SIZE"; "": a flag
  std::string help;        // without its name
  // Reads `text` ("": of a flag) into *words. Fails with kUsage, without the name of the option.
  Status (*set)(std::string_view text, Words* words);
};

// All options, in groups. Built once; thread-safe.
const std::vector<Option>& Options();
// nullptr: there is none of that name.
const Option* OptionNamed(std::string_view name);

// Fails with kUsage, naming option and value, for an unknown one as well. An option that is set
// again takes the last value, except that "memory" adds one.
Status Set(std::string_view name, std::string_view text, Words* words);

// A step of planning that a request can leave out, for studies and to locate a defect.
struct OptionalStep {
  std::string_view name;  // as in Delivery::steps and Compiled::steps
  std::string_view summary;
  void (*leave_out)(Request* request);
};
std::span<const OptionalStep> OptionalSteps();

// Checks that need no model; errors are kUsage.
Status CheckWords(const Words& words);

// The request for a model that was read with `load`: CheckWords(), and the checks that depend on
// its format. Limits: `time-limit` counts from now on; with neither that nor `max-states` the
// searches share DefaultWorkOf(), which the caller sets up (base/work.h). Reads a `device` that is
// a file.
Result<Request> RequestOf(const Words& words, const formats::SourceModel& source,
                          const formats::LoadOptions& load);

// The parts of it that other commands have alone.
Result<RewriteSettings> RewritingOf(const Words& words);
Result<plan::Runtime> RuntimeOf(const Words& words, formats::Format format);
Result<cascade::Device> DeviceOf(const Words& words);
IntegerIo IntegerIoOf(const Words& words);
// The target that `target`, `board` or the kernels of `overlap` name, or the default. Fails with
// kUsage where a plan with the overlaps would be wrong on it.
Result<const target::Target*> TargetOf(const Words& words);
// Fails with kUsage where a runtime has other kernels than those that `overlap` names.
Status CheckOverlap(const Words& words, plan::Runtime runtime);

// Of a request without a limit of states or seconds: all its searches together end after about half
// a minute of one core, at the same place on every machine.
inline constexpr std::int64_t kDefaultWork = 30'000'000'000;
// The limit of work of a request: kDefaultWork, or less by its effort. 0: it has another limit.
std::int64_t DefaultWorkOf(const Words& words);

// Among registered operators: all of them.
inline constexpr std::string_view kAllOperators = "all";

}  // namespace neap::deliver
