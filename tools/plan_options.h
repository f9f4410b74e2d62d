// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/cascade/device.h"
#include "neap/compile/compile.h"
#include "neap/deliver/deliver.h"
#include "tools/cascading.h"
#include "tools/common.h"
#include "tools/pictures.h"
#include "tools/rewriting.h"

namespace neap::tools {

// The command line of `neap plan`, as given.
struct PlanOptions {
  ModelOptions model;
  OutputOptions output;
  std::string model_out;  // -o; "": none
  std::string plan_out;   // --plan; "": none
  std::string c_out;      // --emit-c; "": none
  PictureOptions pictures;
  std::string order = "exact";
  std::uint64_t seed = 0;
  std::string forced;  // "": not given
  std::string slack;   // "": not given
  std::optional<std::int64_t> step_states;
  std::string soft_budget;  // "": not given
  std::string budget;
  std::string budget_total;
  std::string overlap;  // "": none
  bool keep_inputs = false;
  std::string moves = "none";
  std::string integer_io;  // "": the interface stays
  std::string stream;      // "": where a budget needs it
  std::string input = "resident";
  std::string block_columns;  // "": chosen; "row"; a number
  std::string max_macs;       // "": 1
  RewriteWords rewriting{"bitwise", {}, 0, 0, false};
  std::string scratch;                // "": none
  std::vector<std::string> memories;  // "sram=256KiB,bw=8"
  std::int64_t max_states = 0;        // 0: by the size of the model
  double time_limit_seconds = 0;      // 0: none
  std::string max_memory = "4GiB";
  std::int64_t threads = 0;  // 0: all cores
  bool require_optimal = false;
  std::string cascade;  // "": where a budget needs it
  std::string cascade_bodies = "clones";
  std::string device;  // "": the default preset
  GridOptions grids;
  bool order_only = false;
  bool no_memory_plan = false;
  bool force = false;

  // Standard output carries a file or JSON, so that the text has to go to standard error.
  bool StdoutIsTaken() const {
    return model_out == "-" || plan_out == "-" || c_out == "-" || pictures.TakesStdout();
  }
};

// The same, understood.
struct PlanSettings {
  compile::Options compile;  // runtime excepted: it may depend on the input
  std::map<std::string, std::int64_t> dims;
  deliver::RewriteSettings rewriting;
  std::optional<std::int64_t> budget_bytes;
  std::optional<std::int64_t> budget_total_bytes;
  deliver::Use streams = deliver::Use::kNever;
  deliver::Use tiles = deliver::Use::kNever;
  std::optional<cascade::Device> device;  // of --cascade auto

  bool HasBudget() const {
    const cascade::DeviceMemory* const memory = device ? MemoryFor(*device, false) : nullptr;
    return budget_bytes || budget_total_bytes || (memory != nullptr && memory->bytes > 0);
  }
};

// nullopt: go on with *options; else the exit code. `short_form`: `neap IN OUT`, where the second
// word is the model to write.
std::optional<int> ParsePlanOptions(std::vector<std::string> args, bool short_form,
                                    PlanOptions* options);

// Fails with kUsage where a runtime has other kernels than those that --overlap names.
Status CheckKernels(plan::Runtime runtime, ops::KernelLibrary kernels);

// Everything that can be known to be wrong before the input is read; fails with kUsage, and with
// kIo for outputs that exist (without --force) or whose folder does not.
Result<PlanSettings> Understand(const PlanOptions& options);

}  // namespace neap::tools
