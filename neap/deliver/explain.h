// SPDX-License-Identifier: Apache-2.0
//
// Why a model needs its memory, and how far each feature lowers it. Every number comes from a plan:
// a fixed table of option sets is planned with Deliver(), one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/limits.h"
#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/deliver/deliver.h"
#include "neap/formats/formats.h"
#include "neap/plan/plan.h"
#include "neap/transform/cascade/plan.h"

namespace neap::deliver {

// Work of all features together (base/work.h) without a time limit: at most about 20 seconds of one
// core, including uncounted work.
inline constexpr std::int64_t kExplainWork = 12'000'000'000;

struct ExplainRequest {
  std::string runtime;            // "": DefaultRuntime()
  double time_limit_seconds = 0;  // of all features together; 0: `work` limits them
  std::int64_t work = kExplainWork;
  formats::LoadOptions load;                // with which the model was read
  const std::atomic<bool>* stop = nullptr;  // not owned; set by a signal handler
  // Called before each feature, and by its searches. May be empty.
  std::function<void(std::string_view label, int number, int of)> feature_observer;
  Observer search_observer;
  std::function<void(const cascade::SearchProgress&)> tiles_observer;
};

// An option of neap/deliver/options.h and its value; "": a flag.
struct FeatureOption {
  std::string_view name;
  std::string_view value;
};

enum class FeatureState : std::uint8_t {
  kPlanned,
  kUnfinished,     // a limit ended a search: the plan is the best one found until then
  kNotStarted,     // the limits of all features were used up before
  kNotApplicable,  // to this model: `reason`
};
// "planned", "unfinished", "not started", "not applicable".
std::string_view NameOf(FeatureState state);

struct Feature {
  std::string_view label;              // "tiles"
  std::vector<FeatureOption> options;  // that request it, the runtime included if not the default
  plan::Runtime runtime = plan::Runtime::kIdeal;  // that executes the plan
  std::string_view requires_text;  // from the user: "TFLM reference kernels"; "": nothing
  // Same outputs, interface and kernels as the given model, and no more multiplications.
  bool is_free = false;
  FeatureState state = FeatureState::kNotStarted;
  std::string reason;  // of kNotApplicable

  // The rest belongs to kPlanned and kUnfinished.
  Kind kind = Kind::kAsGiven;           // of the best plan
  std::int64_t arena_bytes = 0;         // compile::HeadlineBytes()
  std::int64_t total_arena_bytes = -1;  // TFLM's whole arena on a Cortex-M; -1: not known
  std::int64_t lower_bound_bytes = 0;   // no order and placement of the planned graph is smaller
  std::int64_t macs = 0;                // of the plan and of the model; 0: both are equal
  std::int64_t model_macs = 0;
  std::optional<std::int64_t> growth_bytes;  // of the model's file; nullopt: no model is written
  // Operator types of the written model that the given one lacks, sorted: under TFLM the
  // application has to register them. Empty where no model is written.
  std::vector<std::string> new_operators;
  bool fits = true;  // within the budgets, where there are any

  bool HasPlan() const {
    return state == FeatureState::kPlanned || state == FeatureState::kUnfinished;
  }
  bool IsOptimal() const { return HasPlan() && arena_bytes <= lower_bound_bytes; }
};

struct Explanation {
  plan::Runtime runtime = plan::Runtime::kIdeal;
  // The model in file order: as the runtime places it, or Neap where it has no planner of its own.
  compile::FileOrder file_order;
  compile::PeakCause file_peak;     // operators and tensors of the given model
  Delivery plan;                    // with default options
  std::vector<Feature> features;    // in the order of the table
  std::size_t default_feature = 0;  // of `features`: the one of `plan`
  std::string refused;  // why the stock runtime does not execute the model; "": it does, or unknown
  bool writes_model = false;  // stock plans can be written as a model
  bool interrupted = false;

  // Features are compared by the total arena where both are known, else by the arena. Among equal
  // ones the first. nullptr: there is none.
  const Feature* Best(const std::function<bool(const Feature&)>& allowed) const;

  // The model in file order, to be compared with features: its arena, and with the persistent data
  // of the unchanged model the total. The total is -1 where no feature leaves the operators as
  // they are, or where it is not known.
  Feature FileOrderNeed() const;
};

// Whether `a` needs fewer bytes: of the whole arena where it is known of both, else of the arena.
bool NeedsLess(const Feature& a, const Feature& b);

// Fails as Deliver() does for default options, and with kUsage for an unknown runtime. Without a
// time limit the same input gives the same explanation on every machine.
Result<Explanation> Explain(const formats::SourceModel& source, const ExplainRequest& request);

}  // namespace neap::deliver
