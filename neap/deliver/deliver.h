// SPDX-License-Identifier: Apache-2.0
//
// From a model to the best plan among several models with the same outputs: as given, rewritten, in
// tiles, streamed, and combinations of these. Each is planned on its own and the best plan is
// taken, so that no feature makes a result worse. With a budget, features are tried in the order of
// their price, until a plan is within it. Nothing here writes files.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/result.h"
#include "neap/base/step_time.h"
#include "neap/compile/compile.h"
#include "neap/compile/repetition.h"
#include "neap/deliver/interface.h"
#include "neap/deliver/kind.h"
#include "neap/deliver/measure.h"
#include "neap/deliver/price.h"
#include "neap/deliver/rewriting.h"
#include "neap/formats/formats.h"
#include "neap/target/board.h"
#include "neap/transform/cascade/device.h"
#include "neap/transform/cascade/plan.h"
#include "neap/transform/stream/options.h"

namespace neap::deliver {

// Features that a plan of any kind may have beside those that the request states for every plan.
struct Extras {
  ops::KernelLibrary kernels = ops::KernelLibrary::kNone;  // overlaps as far as these allow
  compile::MoveStrategy moves = compile::MoveStrategy::kNone;
  bool shared_bodies = false;  // equal tiles call one body

  bool operator==(const Extras&) const = default;
};

// When a kind of plan that may cost computation is planned.
enum class Use : std::uint8_t {
  kNever,
  kIfNeeded,  // no cheaper plan is within the budgets, of which there are some
  kAlways,    // tiles all the same only where a given budget needs them
};

// Parts of the model are streamed.
struct Streaming {
  Use use = Use::kNever;
  stream::Settings settings;
};

// Operators are computed in tiles.
struct Tiling {
  Use use = Use::kNever;
  cascade::Device device;
  cascade::TileBodies bodies = cascade::TileBodies::kClones;
  cascade::Grids grids;
  std::function<void(const cascade::SearchProgress&)> observer;  // may be empty
};

struct Request {
  // Order, placement, memories and limits, which are those of every plan: one part, so that a step
  // can compile a model as it is. `limits` has its observer and stop flag; `budget_bytes` is
  // overwritten.
  compile::Options compile;
  // Whose target and budget are meant; nullptr: none was named.
  const target::Board* board = nullptr;
  Budgets budgets;
  IntegerIo integer_io = IntegerIo::kNone;
  RewriteSettings rewriting;
  Streaming streaming;
  Tiling tiling;
  // Maximum cost of a plan with operators that run again, in thousandths of that of all
  // operators (ops::CostOf); 0: none run again.
  std::int64_t max_cost_permille = 0;
  // Each of `extras` that is set is tried, where `compile` and `tiling` have none of its kind.
  Use use_extras = Use::kNever;
  Extras extras;
  // Names of steps that are left out (Delivery::steps).
  std::vector<std::string_view> skipped;
  // Operator types that the application registers beside those of the model as given: plans that
  // need another one are not made. nullopt: not known, and no plan is left out.
  std::optional<std::set<std::string>> registered;
  formats::LoadOptions load;  // with which the model was read
};

// A plan that was compared.
struct Tried {
  Kind kind = Kind::kAsGiven;
  Extras extras;
  Measure measure;
  Price price;
  std::int64_t peak_lower_bound_bytes = 0;  // of every order of the planned graph
};
// "rewritten and tiles", "as given with overlap copies": the kind and the extras.
std::string LabelOf(const Tried& tried);

struct Delivery {
  Kind kind = Kind::kAsGiven;
  Extras extras;
  // The given model as its runtime sees it, with the requested interface, and the planned model,
  // each only if it differs from the one before; with the path and the hash of the given one.
  std::optional<formats::SourceModel> interfaced;
  std::vector<graph::OpId> caller_ops;  // of the given model, which its caller runs
  std::optional<formats::SourceModel> edited;
  // Its plan names the given model, the edits and the dimensions; `file_order` is that of the
  // interfaced model.
  compile::Compiled compiled;
  compile::Options options;            // with which it was compiled
  std::optional<Rewritten> rewriting;  // of a rewritten plan; without its model
  // The search for tiles, where there was one: its chosen proposal is this plan, if that has tiles.
  std::optional<cascade::SearchOutcome> tiles;
  // Of the search for operators to run again, on the model that this plan repeats operators of or,
  // where it repeats none, on the given one; without sequences.
  std::optional<compile::Repetitions> repetitions;
  std::vector<Tried> tried;  // at most one of each kind and extras, in the order of Kind
  // "rewrite", "as given", "overlap", "moves", "stream", "tiles", "rewritten and tiles", "shared
  // bodies", "rewritten and streamed", "recompute", "file order": those that ran, in the order in
  // which they began; each name once.
  std::vector<StepTime> steps;
  std::vector<std::string> notes;  // a line each

  // `given`: the model that was delivered.
  const formats::SourceModel& Interfaced(const formats::SourceModel& given) const {
    return interfaced ? *interfaced : given;
  }
  const formats::SourceModel& Planned(const formats::SourceModel& given) const {
    return edited ? *edited : Interfaced(given);
  }
};

// The default runtime for models of this format: the ideal one, and for .tflite TensorFlow Lite
// Micro.
plan::Runtime DefaultRuntime(formats::Format format);

// The file order, placed without overlaps and moves in one memory: the plan that others are
// compared with. `options` are those of the compared plan.
Result<compile::Compiled> PlanFileOrder(const graph::Graph& graph, compile::Options options);

// Whether the main subgraph has operators that run: there is something to cut.
bool HasOperators(const graph::Graph& graph);

// Fails where no kind of plan succeeds, with the error of the model as given, or where the model
// has no such interface. Deterministic, unless a time limit or an interrupt ends it.
Result<Delivery> Deliver(const formats::SourceModel& source, const Request& request);

}  // namespace neap::deliver
