// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/explain.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "neap/base/work.h"
#include "neap/check/runtime_check.h"
#include "neap/compile/headline.h"
#include "neap/deliver/options.h"
#include "neap/deliver/written_model.h"
#include "neap/plan/profile.h"
#include "neap/transform/rewrite/interface.h"

namespace neap::deliver {
namespace {

// Sets of runtimes and of formats, as bits.
using Set32 = std::uint32_t;
constexpr Set32 In(plan::Runtime runtime) { return 1U << static_cast<Set32>(runtime); }
constexpr Set32 In(formats::Format format) { return 1U << static_cast<Set32>(format); }

constexpr Set32 kTflm = In(plan::Runtime::kTflm);
constexpr Set32 kNeap = In(plan::Runtime::kNeap);
constexpr Set32 kIdeal = In(plan::Runtime::kIdeal) | In(plan::Runtime::kIdealInPlace);
constexpr Set32 kRuntimePlaces = In(plan::Runtime::kLitert) | In(plan::Runtime::kOnnxRuntime);
constexpr Set32 kStock = kTflm | kIdeal | kRuntimePlaces;
constexpr Set32 kAnyRuntime = kStock | kNeap;

constexpr Set32 kTflite = In(formats::Format::kTflite);
constexpr Set32 kModels = kTflite | In(formats::Format::kOnnx);
constexpr Set32 kAnyFormat = kModels | In(formats::Format::kGraphJson);

// A row of the table: options that are planned together.
struct Row {
  std::string_view label;
  std::array<FeatureOption, 3> options;  // a name "" ends them
  Set32 runtimes;                        // for which the model is explained
  Set32 formats;
  std::string_view requires_text;
  bool is_free = false;
  int weight = 1;  // share of the limits; lighter rows first, their unused share goes to the others
  // Whether the row applies to the model, and the reason if not; nullptr: it always applies.
  bool (*applies)(const graph::Graph& graph) = nullptr;
  std::string_view lacks = "";
};

bool HasConversions(const graph::Graph& graph) {
  return !rewrite::ConversionsAtEnds(graph, {true, true}).empty();
}

constexpr std::string_view kNeapRun = "neap run";

constexpr Row kRows[] = {
    {"order alone", {{{"rewrite", "none"}, {"no-memory-plan", ""}}}, kTflm, kAnyFormat, "", true},
    {"order and addresses", {{{"rewrite", "none"}}}, kTflm | kIdeal | kNeap, kAnyFormat, "", true},
    {"order", {{{"rewrite", "none"}}}, kRuntimePlaces, kAnyFormat, "", true},
    {"rewriting (default)", {}, kAnyRuntime, kAnyFormat, "", true, 2},
    {"reassociated sums",
     {{{"rewrite", "reassociate"}}},
     kAnyRuntime,
     kModels,
     "outputs round differently",
     false,
     2},
    {"copies in place", {{{"overlap", "copies"}}}, kTflm | kIdeal, kTflite, "", true},
    {"overlap",
     {{{"overlap", "tflm-reference"}}},
     kTflm | kIdeal,
     kTflite,
     "TFLM reference kernels",
     false,
     2},
    {"integer interface",
     {{{"integer-io", "both"}}},
     kAnyRuntime,
     kModels,
     "caller converts floats",
     false,
     1,
     HasConversions,
     "no float input is quantized, no float output dequantized"},
    {"moves", {{{"moves", "best"}}}, kTflm | kIdeal, kAnyFormat, "copies at run time"},
    {"tiles", {{{"cascade", "auto"}}}, kStock, kAnyFormat, "", false, 6},
    {"tiles and overlap",
     {{{"overlap", "tflm-reference"}, {"cascade", "auto"}}},
     kTflm | kIdeal,
     kTflite,
     "TFLM reference kernels",
     false,
     6},
    {"Neap's executor", {{{"runtime", "neap"}}}, kStock, kModels, kNeapRun, false, 2},
    {"streams", {{{"runtime", "neap"}, {"stream", "auto"}}}, kStock, kModels, kNeapRun, false, 8},
    {"streams", {{{"stream", "auto"}}}, kNeap, kModels, "", true, 8},
    {"streams fed by rows",
     {{{"runtime", "neap"}, {"stream", "auto"}, {"input", "rows"}}},
     kStock,
     kModels,
     "neap run; input not in arena",
     false,
     6},
    {"streams fed by rows",
     {{{"stream", "auto"}, {"input", "rows"}}},
     kNeap,
     kModels,
     "input not in arena",
     false,
     6},
};

// The rows for a model, with nothing planned.
struct Job {
  const Row* row = nullptr;
  Feature feature;
};

std::vector<Job> JobsFor(plan::Runtime runtime, formats::Format format) {
  const bool is_default = runtime == DefaultRuntime(format);
  std::vector<Job> jobs;
  for (const Row& row : kRows) {
    if ((row.runtimes & In(runtime)) == 0 || (row.formats & In(format)) == 0) continue;
    Job job{&row, {}};
    Feature& feature = job.feature;
    feature.label = row.label;
    feature.runtime = runtime;
    feature.requires_text = row.requires_text;
    feature.is_free = row.is_free;
    for (const FeatureOption& option : row.options) {
      if (option.name.empty()) break;
      feature.options.push_back(option);
      if (option.name == "runtime") feature.runtime = *plan::RuntimeNamed(option.value);
    }
    const bool names_runtime = !feature.options.empty() && feature.options[0].name == "runtime";
    if (!is_default && !names_runtime) {
      feature.options.insert(feature.options.begin(), {"runtime", plan::ProfileOf(runtime).name});
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

bool IsDefault(const Row& row) { return row.options[0].name.empty(); }

std::set<std::string> TypesOf(const graph::Graph& graph) {
  std::set<std::string> types;
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    for (const graph::Op& op : subgraph.ops) {
      if (!op.folded) types.insert(op.type);
    }
  }
  return types;
}

std::vector<std::string> NewTypes(const graph::Graph& given, const graph::Graph& planned) {
  const std::set<std::string> before = TypesOf(given);
  const std::set<std::string> after = TypesOf(planned);
  std::vector<std::string> types;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(types));
  return types;
}

// Time or work of one row, and whether its searches may have ended for want of it.
class Share {
 public:
  Share(const ExplainRequest& request, Limits::Clock::time_point end, int weight, int weights)
      : start_(LimitNow()) {
    if (request.time_limit_seconds > 0) {
      const auto left = std::max(end - start_, Limits::Clock::duration::zero());
      deadline_ = start_ + left / weights * weight;
    } else {
      work_.emplace(weight, weights);
      work_left_ = WorkLeft();
    }
  }

  const std::optional<Limits::Clock::time_point>& deadline() const { return deadline_; }

  // Deliver() shares its limits among searches of different kinds, so that one of them may end with
  // half of the row's limit.
  bool IsHalfUsed() const {
    if (deadline_) return LimitNow() - start_ >= (*deadline_ - start_) / 2;
    return WorkLeft() <= work_left_ / 2;
  }
  bool IsUsed() const { return deadline_ ? LimitNow() >= *deadline_ : IsOutOfWork(); }

 private:
  Limits::Clock::time_point start_;
  std::optional<Limits::Clock::time_point> deadline_;
  std::optional<WorkScope> work_;
  std::int64_t work_left_ = 0;
};

class Explainer {
 public:
  Explainer(const formats::SourceModel& source, const ExplainRequest& request)
      : source_(source), request_(request) {}

  Result<Explanation> Run() {
    NEAP_CHECK_OK(Begin());
    const int count = static_cast<int>(jobs_.size());
    // The default plan first: without it nothing is explained.
    for (Job& job : jobs_) {
      if (IsDefault(*job.row)) NEAP_CHECK_OK(PlanDefault(1, count, &job));
    }
    std::vector<Job*> others;
    for (Job& job : jobs_) {
      if (!IsDefault(*job.row)) others.push_back(&job);
    }
    std::stable_sort(others.begin(), others.end(),
                     [](const Job* a, const Job* b) { return a->row->weight < b->row->weight; });
    int number = 1;
    for (Job* const job : others) Plan(++number, count, job);
    for (Job& job : jobs_) {
      if (IsDefault(*job.row)) out_.default_feature = out_.features.size();
      out_.features.push_back(std::move(job.feature));
    }
    out_.interrupted = IsInterrupted();
    return std::move(out_);
  }

 private:
  Status Begin() {
    Words words;
    if (!request_.runtime.empty()) NEAP_CHECK_OK(Set("runtime", request_.runtime, &words));
    NEAP_TRY(out_.runtime, RuntimeOf(words, source_.format));
    jobs_ = JobsFor(out_.runtime, source_.format);
    for (const Job& job : jobs_) weights_left_ += job.row->weight;
    out_.writes_model =
        source_.format != formats::Format::kGraphJson && out_.runtime != plan::Runtime::kNeap;
    if (const auto refusal = check::FindRefusal(source_.graph, out_.runtime)) {
      const graph::Subgraph& subgraph = source_.graph.subgraphs[refusal->subgraph];
      out_.refused = "operator " + graph::Describe(refusal->op, subgraph.ops[refusal->op]) + ": " +
                     refusal->why;
    }
    if (request_.time_limit_seconds > 0) {
      Limits limits;
      limits.max_seconds = request_.time_limit_seconds;
      end_ = limits.EndOfSearch(LimitNow());
    } else {
      work_.emplace(request_.work);
    }
    return {};
  }

  bool IsInterrupted() const { return request_.stop != nullptr && *request_.stop; }

  Share TakeShare(const Row& row) {
    const int weights = weights_left_;
    weights_left_ -= row.weight;
    return {request_, end_, row.weight, weights};
  }

  Result<Request> RequestFor(const Feature& feature, const Share& share) const {
    Words words;
    for (const FeatureOption& option : feature.options) {
      NEAP_CHECK_OK(Set(option.name, option.value, &words));
    }
    words.writes_model = WritesModel(feature);
    // RequestOf() leaves limits of states out where there is one of time.
    words.time_limit_seconds = request_.time_limit_seconds;
    NEAP_TRY(Request request, RequestOf(words, source_, request_.load));
    request.compile.limits.deadline = share.deadline();
    request.compile.limits.stop = request_.stop;
    request.compile.limits.observer = request_.search_observer;
    request.compile.placements = placements_;
    request.tiles_observer = request_.tiles_observer;
    return request;
  }

  bool WritesModel(const Feature& feature) const {
    return out_.writes_model && feature.runtime != plan::Runtime::kNeap;
  }

  void Announce(const Feature& feature, int number, int count) const {
    if (request_.feature_observer) request_.feature_observer(feature.label, number, count);
  }

  Status PlanDefault(int number, int count, Job* job) {
    Announce(job->feature, number, count);
    const Share share = TakeShare(*job->row);
    NEAP_TRY(const Request request, RequestFor(job->feature, share));
    NEAP_TRY(out_.plan, Deliver(source_, request));
    Measure(out_.plan, share, &job->feature);
    out_.file_order = out_.plan.compiled.file_order;
    NEAP_TRY(const auto inspections, compile::Inspect(source_.graph, out_.runtime));
    out_.file_peak =
        std::max_element(inspections.begin(), inspections.end(), [](const auto& a, const auto& b) {
          return a.peak_bytes < b.peak_bytes;
        })->peak_at;
    return {};
  }

  void Plan(int number, int count, Job* job) {
    Feature& feature = job->feature;
    const Row& row = *job->row;
    const Share share = TakeShare(row);
    if (row.applies != nullptr && !row.applies(source_.graph)) {
      feature.state = FeatureState::kNotApplicable;
      feature.reason = row.lacks;
      return;
    }
    if (share.IsUsed() || IsInterrupted()) return;  // kNotStarted
    Announce(feature, number, count);
    const auto planned = [&]() -> Result<Delivery> {
      NEAP_TRY(const Request request, RequestFor(feature, share));
      return Deliver(source_, request);
    }();
    if (planned) {
      Measure(*planned, share, &feature);
    } else {
      feature.state = FeatureState::kNotApplicable;
      feature.reason = planned.error().message;
    }
  }

  void Measure(const Delivery& delivery, const Share& share, Feature* feature) const {
    const compile::Compiled& compiled = delivery.compiled;
    const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
    feature->kind = delivery.kind;
    feature->arena_bytes = compile::HeadlineBytes(compiled, true);
    feature->lower_bound_bytes = entry.arena_lower_bound_bytes;
    if (!compiled.totals.empty()) {
      feature->total_arena_bytes = compiled.totals.front().total_arena_bytes;
    }
    if (delivery.kind == Kind::kTiles && delivery.tiles) {
      feature->macs = delivery.tiles->front[delivery.tiles->chosen].macs;
      feature->model_macs = delivery.tiles->macs;
      // Of every choice of tiles.
      feature->lower_bound_bytes = delivery.tiles->arena_lower_bound_bytes;
    } else if (entry.stream) {
      feature->macs = entry.stream->macs;
      feature->model_macs = entry.stream->layerwise_macs;
    }
    const bool cut_short = compiled.interrupted || share.IsUsed() ||
                           (delivery.tiles ? delivery.tiles->cut_short : share.IsHalfUsed());
    feature->state = FeatureState::kPlanned;
    if (cut_short && !feature->IsOptimal()) feature->state = FeatureState::kUnfinished;
    if (!WritesModel(*feature)) return;
    std::vector<std::string> notes;
    const auto written =
        WrittenModel(delivery.Planned(source_), compiled, "-", request_.load, &notes);
    if (!written) {
      feature->state = FeatureState::kNotApplicable;
      feature->reason = written.error().message;
      return;
    }
    feature->new_operators = NewTypes(
        source_.graph, compiled.edited ? *compiled.edited : delivery.Planned(source_).graph);
    feature->growth_bytes = static_cast<std::int64_t>((*written)->size()) -
                            static_cast<std::int64_t>(source_.bytes->size());
  }

  const formats::SourceModel& source_;
  const ExplainRequest& request_;
  std::shared_ptr<compile::PlacementMemo> placements_ = compile::MakePlacementMemo();
  std::vector<Job> jobs_;
  int weights_left_ = 0;
  Limits::Clock::time_point end_;  // with a time limit
  std::optional<WorkScope> work_;  // without
  Explanation out_;
};

}  // namespace

std::string_view NameOf(FeatureState state) {
  constexpr std::array<std::string_view, 4> kNames = {"planned", "unfinished", "not started",
                                                      "not applicable"};
  return kNames.at(static_cast<std::size_t>(state));
}

bool NeedsLess(const Feature& a, const Feature& b) {
  if (a.total_arena_bytes >= 0 && b.total_arena_bytes >= 0) {
    return a.total_arena_bytes < b.total_arena_bytes;
  }
  return a.arena_bytes < b.arena_bytes;
}

const Feature* Explanation::Best(const std::function<bool(const Feature&)>& allowed) const {
  const Feature* best = nullptr;
  for (const Feature& feature : features) {
    if (!feature.HasPlan() || !allowed(feature)) continue;
    if (best == nullptr || NeedsLess(feature, *best)) best = &feature;
  }
  return best;
}

Result<Explanation> Explain(const formats::SourceModel& source, const ExplainRequest& request) {
  return Explainer(source, request).Run();
}

}  // namespace neap::deliver
