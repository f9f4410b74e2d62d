// SPDX-License-Identifier: Apache-2.0
//
// What callers of the library do with a model and its plan: read, plan, check, write, run. The C
// interface (neap/api) and the Python package translate, and call these functions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/limits.h"
#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/deliver/deliver.h"
#include "neap/deliver/measure.h"
#include "neap/deliver/options.h"
#include "neap/emit/emit.h"
#include "neap/execute/run.h"
#include "neap/formats/formats.h"
#include "neap/plan/plan.h"
#include "neap/transform/cascade/plan.h"

namespace neap::session {

// A model and the options with which it was read.
struct Model {
  formats::SourceModel source;
  formats::LoadOptions load;
};
// `dims`: values of symbolic dimensions, "batch=1". O(file size).
Result<Model> ReadModel(const std::string& path, const std::vector<std::string>& dims);
// The same from memory; `name` appears in messages, and its ending decides the format if the first
// bytes do not.
Result<Model> ParseModel(std::shared_ptr<const std::vector<std::byte>> bytes,
                         const std::string& name, const std::vector<std::string>& dims);

// How a caller follows and ends a search. All parts may be empty; called from the searching thread.
struct Hooks {
  const std::atomic<bool>* stop = nullptr;  // not owned; set: the best result found is returned
  Observer observer;
  std::function<void(const cascade::SearchProgress&)> tiles_observer;
};

// A plan, made here or read from plan.json.
struct Planned {
  plan::Plan plan;
  bool placed = true;                         // false: an order without addresses
  std::optional<deliver::Delivery> delivery;  // of a plan that was made here
  std::optional<std::int64_t> budget_bytes;   // of the arena, for pictures
  deliver::Verdict verdict;                   // on the budgets of the options

  // Whether the plan is within all budgets; nullopt: the need is unknown.
  std::optional<bool> Fits() const;
  // kOverBudget: the plan is not known to be within its budgets.
  Status RequireFit() const;
  // The arena that the stock runtime allocates, if that is known, else that of the plan; of an
  // order alone the peak.
  std::int64_t ArenaBytes() const;
  // Over every order and placement of the planned graph; of an order alone over every order.
  std::int64_t LowerBoundBytes() const;
  std::int64_t PeakBytes() const;
  // As compile::IsProven().
  bool IsOptimal() const;
  // Of the given model in file order; nullopt: unknown.
  std::optional<std::int64_t> FileOrderArenaBytes() const;
  // Of TensorFlow Lite Micro on the request's target; nullopt: unknown.
  std::optional<std::int64_t> TotalArenaBytes() const;
  std::string_view Kind() const;  // deliver::NameOf(); "" of a plan that was read
  bool IsInterrupted() const;     // Hooks::stop ended a search
};

// The best plan within the limits of `words`, with the work of deliver::DefaultWorkOf() where they
// have none. Errors name the file, and hints every symbol without a value.
Result<Planned> MakePlan(const Model& model, const deliver::Words& words, const Hooks& hooks = {});
Result<Planned> ParsePlan(std::string_view json);

// Whether some order of the model as given, under the runtime of `words`, has a peak of at most
// `budget_bytes`: then peak_bytes is at most that; or none has: then lower_bound_bytes is larger.
// Neither: the limits ended the search. Stops as soon as the answer is known.
Result<compile::PeakOfOrder> FindPeakWithin(const Model& model, std::int64_t budget_bytes,
                                            const deliver::Words& words, const Hooks& hooks = {});

// The model that the plan orders and places. `weights`: with the bytes of all constants. Fails
// where the plan is not for this model.
Result<formats::SourceModel> PlannedModel(const Model& model, const plan::Plan& plan, bool weights);

// Everything that is wrong with the plan, found by code that shares nothing with the planner; a
// plan for another model is one violation. Empty: the plan is valid. O(model + plan), and for
// overlaps the steps of the overlapping kernels.
Result<std::vector<std::string>> Violations(const Model& model, const plan::Plan& plan);

// The planned model as the bytes of a file; read back and compared. Fails with kUsage for plans
// that no file can represent, and for plans that were read.
Result<std::string> WrittenModel(const Model& model, const Planned& planned);

// Executes the largest entry of the plan in an arena of exactly the planned size; one element of
// `inputs` for every input of the model. RunResult::violations is not empty if the plan reads a
// byte that does not contain its tensor.
Result<execute::RunResult> RunPlan(const Model& model, const plan::Plan& plan,
                                   std::span<const std::string_view> inputs);

// C99 that runs the planned model in its arena (neap/emit/emit.h). Without a prefix in `options`:
// that of the model's name. Fails with kUsage for a prefix that is none, kBadInput for operators
// without a kernel and for a plan that is not valid.
Result<emit::Emitted> EmittedC(const Model& model, const plan::Plan& plan, emit::Options options);

}  // namespace neap::session
