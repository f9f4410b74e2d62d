// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/explain.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include "neap/base/work.h"
#include "neap/check/runtime_check.h"
#include "neap/deliver/feature_rows.h"
#include "neap/deliver/options.h"
#include "neap/plan/profile.h"

namespace neap::deliver {
namespace {

// The rows for a model, with nothing planned.
struct FeatureJob {
  const FeatureRow* row = nullptr;
  Feature feature;
};

std::vector<FeatureJob> JobsFor(plan::Runtime runtime, formats::Format format) {
  const bool is_default = runtime == DefaultRuntime(format);
  std::vector<FeatureJob> jobs;
  for (const FeatureRow& row : FeatureRows()) {
    if (!AppliesTo(row, runtime, format)) continue;
    FeatureJob job{&row, FeatureOf(row, runtime)};
    Feature& feature = job.feature;
    const bool names_runtime = !feature.options.empty() && feature.options[0].name == "runtime";
    if (!is_default && !names_runtime) {
      feature.options.insert(feature.options.begin(), {"runtime", plan::ProfileOf(runtime).name});
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

bool IsDefault(const FeatureRow& row) { return row.options[0].name.empty(); }

// Time or work of one row, and whether its searches may have ended for lack of it.
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
    for (FeatureJob& job : jobs_) {
      if (IsDefault(*job.row)) NEAP_CHECK_OK(PlanDefault(1, count, &job));
    }
    std::vector<FeatureJob*> others;
    for (FeatureJob& job : jobs_) {
      if (!IsDefault(*job.row)) others.push_back(&job);
    }
    std::stable_sort(others.begin(), others.end(), [](const FeatureJob* a, const FeatureJob* b) {
      return a->row->weight < b->row->weight;
    });
    int number = 1;
    for (FeatureJob* const job : others) Plan(++number, count, job);
    for (FeatureJob& job : jobs_) {
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
    for (const FeatureJob& job : jobs_) weights_left_ += job.row->weight;
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

  Share TakeShare(const FeatureRow& row) {
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
    request.tiling.observer = request_.tiles_observer;
    return request;
  }

  bool WritesModel(const Feature& feature) const {
    return out_.writes_model && feature.runtime != plan::Runtime::kNeap;
  }

  void Announce(const Feature& feature, int number, int count) const {
    if (request_.feature_observer) request_.feature_observer(feature.label, number, count);
  }

  Status PlanDefault(int number, int count, FeatureJob* job) {
    Announce(job->feature, number, count);
    const Share share = TakeShare(*job->row);
    NEAP_TRY(const Request request, RequestFor(job->feature, share));
    NEAP_TRY(out_.plan, Deliver(source_, request));
    Measure(out_.plan, share, &job->feature);
    out_.file_order = out_.plan.compiled.file_order;
    NEAP_TRY(const auto inspections,
             compile::Inspect(out_.plan.Interfaced(source_).graph, out_.runtime));
    out_.file_peak =
        std::max_element(inspections.begin(), inspections.end(), [](const auto& a, const auto& b) {
          return a.peak_bytes < b.peak_bytes;
        })->peak_at;
    return {};
  }

  void Plan(int number, int count, FeatureJob* job) {
    Feature& feature = job->feature;
    const FeatureRow& row = *job->row;
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
    Describe(source_, delivery, request_.load, WritesModel(*feature), feature);
    const bool cut_short = delivery.compiled.interrupted || share.IsUsed() ||
                           (delivery.tiles ? delivery.tiles->cut_short : share.IsHalfUsed());
    if (feature->HasPlan() && cut_short && !feature->IsOptimal()) {
      feature->state = FeatureState::kUnfinished;
    }
  }

  const formats::SourceModel& source_;
  const ExplainRequest& request_;
  std::shared_ptr<compile::PlacementMemo> placements_ = compile::MakePlacementMemo();
  std::vector<FeatureJob> jobs_;
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

Feature Explanation::FileOrderNeed() const {
  Feature need;
  need.runtime = runtime;
  need.state = FeatureState::kPlanned;
  need.arena_bytes = file_order.arena_bytes;
  for (const Feature& feature : features) {
    const bool is_order =
        std::any_of(feature.options.begin(), feature.options.end(),
                    [](const FeatureOption& option) { return option.name == "no-memory-plan"; });
    if (!is_order || !feature.HasPlan() || feature.total_arena_bytes < 0) continue;
    need.total_arena_bytes =
        file_order.arena_bytes + feature.total_arena_bytes - feature.arena_bytes;
  }
  return need;
}

Result<Explanation> Explain(const formats::SourceModel& source, const ExplainRequest& request) {
  return Explainer(source, request).Run();
}

}  // namespace neap::deliver
