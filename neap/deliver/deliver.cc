// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/deliver.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "neap/base/version.h"
#include "neap/base/work.h"
#include "neap/compile/stream.h"
#include "neap/deliver/edits.h"
#include "neap/plan/profile.h"
#include "neap/rewrite/rewrite.h"

namespace neap::deliver {
namespace {

// Of the order search whose bound may show that the model as given needs no placement.
constexpr std::int64_t kStatesOfALook = 20'000;

class Deliverer {
 public:
  Deliverer(const formats::SourceModel& source, const Request& request)
      : source_(source), request_(request), options_(request.compile) {
    options_.stream = false;
    options_.budget_bytes = request.budgets.arena_bytes.value_or(0);
    if (request.budgets.Any()) return;
    if (streams_ == Use::kIfNeeded) streams_ = Use::kNever;
    if (tiles_ == Use::kIfNeeded) tiles_ = Use::kNever;
  }

  Result<Delivery> Run() {
    kinds_left_ = 1 + (streams_ == Use::kNever ? 0 : 1) + (tiles_ == Use::kNever ? 0 : 1);
    // The searches for tiles and streams plan the model as given, too. Tiles cost computation: with
    // a budget they are the last resort.
    const bool tiles_first = tiles_ == Use::kAlways && !request_.budgets.Any();
    if (tiles_first) NEAP_CHECK_OK(TryTiles());
    if (streams_ == Use::kAlways) NEAP_CHECK_OK(TryStreamed());
    NEAP_CHECK_OK(TryWhole());
    if (!tiles_first && tiles_ != Use::kNever) {
      if (Misses()) {
        NEAP_CHECK_OK(TryTiles());
      } else if (tiles_ == Use::kAlways) {
        notes_.emplace_back(
            "no operators are cut into tiles: a plan without tiles is within the budget");
      }
    }
    if (streams_ == Use::kIfNeeded && Misses()) NEAP_CHECK_OK(TryStreamed());
    if (!best_) return Fail(std::move(*error_));
    return Finish();
  }

 private:
  // Without tiles and streams.
  Status TryWhole() {
    const WorkScope work = ShareOfWork();
    share_ = Share();
    if (request_.rewriting.any) NEAP_CHECK_OK(TryRewritten());
    return TryAsGiven();
  }

  // Two thirds of the work for each kind but the last, which has what the others leave.
  WorkScope ShareOfWork() const { return kinds_left_ > 1 ? WorkScope(2, 3) : WorkScope(1, 1); }

  bool Misses() const { return !(best_ && best_measure_.fits) && !error_is_final_; }

  // An equal share of the time for each of the kinds that are still to come.
  Limits Share() {
    Limits limits = options_.limits;
    if (kinds_left_ > 1) limits = WithShareOfTime(limits, 1, kinds_left_);
    kinds_left_ = std::max(kinds_left_ - 1, 1);
    return limits;
  }

  void Offer(Delivery candidate) {
    const graph::Graph& graph = candidate.edited ? candidate.edited->graph : source_.graph;
    const Measure measure = MeasureOf(graph, candidate.compiled, options_.place, request_.budgets);
    const auto known = std::find_if(tried_.begin(), tried_.end(), [&](const Tried& tried) {
      return tried.kind == candidate.kind;
    });
    if (known == tried_.end()) {
      tried_.push_back({candidate.kind, measure});
    } else if (IsBetter(measure, known->measure)) {
      known->measure = measure;
    }
    const bool better = !best_ || IsBetter(measure, best_measure_) ||
                        (!IsBetter(best_measure_, measure) && candidate.kind < best_->kind);
    if (!better) return;
    best_ = std::move(candidate);
    best_measure_ = measure;
  }

  // Whether the interrupt leaves a kind of plan untried that was wanted.
  bool LeftOut() {
    if (!best_ || !options_.limits.Interrupted()) return false;
    left_out_ = true;
    return true;
  }

  // --- the model as given ---

  // Where a plan is known and no plan of the model as given can be better, it is not planned.
  Status TryAsGiven() {
    if (as_given_tried_ || error_ || (best_ && (LeftOut() || CannotBeBetterAsGiven()))) return {};
    Delivery candidate;
    candidate.options = options_;
    candidate.options.limits = share_;
    as_given_tried_ = true;
    auto compiled = compile::Compile(source_.graph, candidate.options);
    if (!compiled) return NotPlanned(std::move(compiled).error());
    file_order_ = compiled->file_order;
    candidate.compiled = std::move(*compiled);
    Offer(std::move(candidate));
    return {};
  }

  // Of the model as given the error is that of the whole, unless another kind of plan succeeds.
  Status NotPlanned(Diagnostic error) {
    error_ = std::move(error);
    // Without sizes no kind is planned; the memories may hold another kind.
    error_is_final_ = error_->code != ErrorCode::kOverBudget;
    if (!best_ && error_is_final_) return Fail(*error_);
    return {};
  }

  // Where nothing overlaps inside operators, an arena is no smaller than the peak of its order, so
  // that a bound of the peak may show that the model as given need not be placed.
  bool CannotBeBetterAsGiven() const {
    const bool overlaps =
        options_.place && (options_.kernels != ops::KernelLibrary::kNone ||
                           plan::ProfileOf(options_.runtime).kernels != ops::KernelLibrary::kNone);
    const bool of_total = request_.budgets.CountsTotal();
    if (overlaps || of_total || !options_.memories.empty() || options_.order != "exact") {
      return false;
    }
    if (!best_measure_.fits || !best_measure_.known) return false;
    compile::Options quick = options_;
    quick.limits = share_;
    quick.limits.max_states = kStatesOfALook;
    const auto before = compile::FindPeak(source_.graph, quick, false);
    return before && best_measure_.bytes < before->lower_bound_bytes;
  }

  // --- rewritten ---

  // Fewer rules where all of them give no better plan: a smaller peak may have a larger arena.
  Status TryRewritten() {
    if (LeftOut()) return {};
    const auto start = LimitNow();
    compile::Options search = options_;
    search.limits = WithShareOfTime(share_, 1, 2);
    search.order = "exact";
    RewriteSettings wanted = request_.rewriting;
    std::string left_out;
    for (const std::vector<std::string>& rules : rewrite::RuleSets(request_.rewriting.rules)) {
      wanted.rules = rules;
      std::optional<WorkScope> work(std::in_place, 1, 2);
      auto rewritten = Rewrite(source_, search, wanted, request_.sums_in_place, request_.load);
      work.reset();
      if (!rewritten) {
        // A graph without sizes fails as it is given, with a better message.
        if (rewritten.error().code != ErrorCode::kBadInput) break;
        left_out = "rewrites are left out: " + rewritten.error().message;
        continue;
      }
      if (rewritten->applications.empty()) break;
      NEAP_CHECK_OK(PlanRewritten(std::move(*rewritten)));
      NEAP_CHECK_OK(TryAsGiven());
      if (best_ && best_->kind == Kind::kRewritten) break;
    }
    if (!left_out.empty()) notes_.push_back(std::move(left_out));
    seconds_ = std::chrono::duration<double>(LimitNow() - start).count();
    return {};
  }

  Status PlanRewritten(Rewritten rewritten) {
    Delivery candidate;
    candidate.kind = Kind::kRewritten;
    candidate.options = options_;
    candidate.options.limits = WithShareOfTime(share_, 1, 2);
    std::optional<WorkScope> work(std::in_place, 1, 2);
    auto compiled = compile::Compile(rewritten.model.graph, candidate.options);
    work.reset();
    if (!compiled) return {};
    candidate.compiled = std::move(*compiled);
    candidate.compiled.plan.rewrites = rewritten.applications;
    candidate.compiled.plan.accumulator_bytes = rewritten.accumulator_bytes;
    candidate.compiled.plan.rewritten_sha256 = rewritten.rewritten_sha256;
    candidate.edited = std::move(rewritten.model);
    rewritten.model = {};
    candidate.rewriting = std::move(rewritten);
    Offer(std::move(candidate));
    return {};
  }

  // --- streamed ---

  Status TryStreamed() {
    if (LeftOut()) return {};
    Delivery candidate;
    candidate.options = options_;
    const WorkScope work = ShareOfWork();
    candidate.options.limits = Share();
    candidate.options.stream = true;
    auto compiled = compile::Compile(source_.graph, candidate.options);
    if (!compiled) return NotPlanned(std::move(compiled).error());
    file_order_ = compiled->file_order;
    // Inputs outside the arena are another matter: the plan of a resident one may be smaller.
    as_given_tried_ = options_.stream_input == plan::StreamInput::kResident;
    const bool streamed = plan::LargestEntry(compiled->plan).stream.has_value();
    candidate.kind = streamed ? Kind::kStreamed : Kind::kAsGiven;
    candidate.compiled = std::move(*compiled);
    Offer(std::move(candidate));
    return {};
  }

  // --- in tiles ---

  cascade::PlanOptions TilesOptions() {
    cascade::PlanOptions options;
    options.compile = options_;
    options.compile.limits = Share();
    options.device = request_.device;
    options.bodies = request_.bodies;
    options.grids = request_.grids;
    const Budgets& budgets = request_.budgets;
    options.budget_bytes = budgets.arena_bytes.value_or(0);
    options.budget_total_bytes = budgets.total_bytes.value_or(0);
    if (budgets.memory_bytes) {
      const bool tflm = options_.runtime == plan::Runtime::kTflm;
      std::int64_t* const budget = tflm ? &options.budget_total_bytes : &options.budget_bytes;
      *budget = *budget == 0 ? *budgets.memory_bytes : std::min(*budget, *budgets.memory_bytes);
      *budget = std::max<std::int64_t>(*budget, 1);  // 0: none
    }
    // What is chosen is compiled again, and comes to the same order only by a limit of states.
    if (options.compile.limits.max_states == 0) {
      options.compile.limits.max_states = kStatesForAFewSeconds;
    }
    options.observer = request_.tiles_observer;
    return options;
  }

  Status TryTiles() {
    if (LeftOut()) return {};
    const bool asked = tiles_ == Use::kAlways;
    if (!HasOperators(source_.graph)) {
      if (asked) notes_.emplace_back("no operators are cut into tiles: the model has none");
      return {};
    }
    const WorkScope work = ShareOfWork();
    const cascade::PlanOptions options = TilesOptions();
    auto outcome = cascade::FindPlan(source_.graph, options);
    if (!outcome) return NotCut(outcome.error());
    tiles_outcome_ = std::move(*outcome);
    const cascade::PlanOutcome& found = *tiles_outcome_;
    if (found.cut_short) {
      left_out_ = left_out_ || options_.limits.Interrupted();
      notes_.emplace_back(
          "a limit ended the search before all tiles were tried: another plan may need less "
          "memory");
    }
    if (asked && !found.note.empty()) notes_.push_back(found.note);
    if (!as_given_tried_) {
      as_given_tried_ = true;
      Delivery uncut;
      uncut.options = cascade::OptionsFor(options, found.uncut);
      file_order_ = found.compiled.file_order;
      uncut.compiled = found.compiled;
      Offer(std::move(uncut));
    }
    const cascade::Proposal& chosen = found.front[found.chosen];
    if (chosen.regions.empty()) return {};
    return PlanTiles(options, chosen);
  }

  Status PlanTiles(const cascade::PlanOptions& options, const cascade::Proposal& chosen) {
    Delivery candidate;
    candidate.kind = Kind::kTiles;
    candidate.options = cascade::OptionsFor(options, chosen);
    candidate.options.limits.deadline.reset();
    candidate.options.limits.observer = options_.limits.observer;
    NEAP_TRY(const graph::Graph edited, cascade::GraphOf(source_.graph, chosen));
    auto model = formats::WriteEdited(source_, edited, request_.load);
    if (!model) return NotCut(model.error());
    NEAP_TRY(candidate.compiled, compile::Compile(model->graph, candidate.options));
    RecordTiles(chosen, &candidate.compiled.plan);
    candidate.edited = std::move(*model);
    Offer(std::move(candidate));
    return {};
  }

  Status NotCut(const Diagnostic& error) {
    // What the model as given lacks is reported of that.
    const bool asked = tiles_ == Use::kAlways;
    if (asked) notes_.push_back("no operators are cut into tiles: " + error.message);
    return {};
  }

  // --- the best ---

  Result<Delivery> Finish() {
    Delivery& best = *best_;
    if (!file_order_) NEAP_CHECK_OK(MeasureFileOrder());
    best.compiled.file_order = *file_order_;
    best.compiled.interrupted = best.compiled.interrupted || left_out_;
    if (best.edited) {
      best.edited->path = source_.path;
      best.edited->sha256 = source_.sha256;
    }
    std::sort(tried_.begin(), tried_.end(),
              [](const Tried& a, const Tried& b) { return a.kind < b.kind; });
    best.options.limits.observer = nullptr;
    best.tiles = std::move(tiles_outcome_);
    best.tried = std::move(tried_);
    best.rewrite_seconds = seconds_;
    best.notes = std::move(notes_);
    return std::move(best);
  }

  // The numbers of the file order are those of the model as given.
  Status MeasureFileOrder() {
    compile::Options options = options_;
    options.order = "file";
    options.limits.observer = nullptr;
    options.moves = compile::MoveStrategy::kNone;
    options.memories.clear();
    options.placement_states /= 10;
    NEAP_TRY(const compile::Compiled given, compile::Compile(source_.graph, options));
    file_order_ = given.file_order;
    return {};
  }

  const formats::SourceModel& source_;
  const Request& request_;
  compile::Options options_;
  Use streams_ = request_.streams;
  Use tiles_ = request_.tiles;
  int kinds_left_ = 1;
  Limits share_;  // of the model as given and rewritten
  std::optional<Delivery> best_;
  Measure best_measure_;
  std::vector<Tried> tried_;
  bool as_given_tried_ = false;
  std::optional<compile::FileOrder> file_order_;  // of the model as given
  std::optional<Diagnostic> error_;
  bool error_is_final_ = false;
  std::optional<cascade::PlanOutcome> tiles_outcome_;
  bool left_out_ = false;
  double seconds_ = 0;
  std::vector<std::string> notes_;
};

std::string FileNameOf(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// What the plan is about.
void NameModel(const formats::SourceModel& given, const Request& request, Delivery* delivery) {
  plan::Plan& plan = delivery->compiled.plan;
  plan.neap_version = Version();
  plan.model = FileNameOf(given.path);
  plan.model_sha256 = given.sha256;
  plan.caller_ops = delivery->caller_ops;
  plan.dims.clear();
  for (const auto& [name, value] : request.load.dims) {
    plan.dims.push_back(name + "=" + std::to_string(value));
  }
}

}  // namespace

plan::Runtime DefaultRuntime(formats::Format format) {
  return format == formats::Format::kTflite ? plan::Runtime::kTflm : plan::Runtime::kIdeal;
}

std::string_view NameOf(Kind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"as given", "rewritten", "streamed", "tiles"};
  return kNames.at(static_cast<std::size_t>(kind));
}

bool HasOperators(const graph::Graph& graph) {
  const auto& ops = graph.subgraphs[graph::SubgraphId(0)].ops;
  return std::any_of(ops.begin(), ops.end(), [](const graph::Op& op) { return !op.folded; });
}

Result<Delivery> Deliver(const formats::SourceModel& source, const Request& request) {
  std::optional<Interfaced> interfaced;
  if (request.integer_io != IntegerIo::kNone) {
    NEAP_TRY(interfaced, WithIntegerIo(source, request.integer_io, request.load));
  }
  const formats::SourceModel& model = interfaced ? interfaced->model : source;
  NEAP_TRY(Delivery delivery, Deliverer(model, request).Run());
  if (interfaced) {
    delivery.interfaced = std::move(interfaced->model);
    delivery.caller_ops = std::move(interfaced->caller_ops);
  }
  NameModel(source, request, &delivery);
  return delivery;
}

}  // namespace neap::deliver
