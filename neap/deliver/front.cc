// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/front.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "neap/base/check.h"
#include "neap/base/work.h"
#include "neap/check/check.h"
#include "neap/deliver/edits.h"
#include "neap/deliver/rewriting.h"

namespace neap::deliver {
namespace {

constexpr std::string_view kReferenceKernels = "TFLM reference kernels";
constexpr std::string_view kNeapRuns = "neap run or neap emit";

// Whether `a` requires nothing that `b` does not.
bool RequiresNoMore(const FrontPoint& a, const FrontPoint& b) {
  return a.requires_text.empty() || a.requires_text == b.requires_text;
}

std::int64_t TotalOf(const FrontPoint& point) {
  return point.total_arena_bytes < 0 ? std::numeric_limits<std::int64_t>::max()
                                     : point.total_arena_bytes;
}

bool IsNoWorse(const FrontPoint& a, const FrontPoint& b, const cascade::Criteria& by) {
  // A stream has no total arena: its runtime allocates nothing else.
  const bool totals = by.total_arena && !a.stream && !b.stream;
  return RequiresNoMore(a, b) && (!by.arena || a.arena_bytes <= b.arena_bytes) &&
         (!totals || TotalOf(a) <= TotalOf(b)) && (!by.cycles || a.cycles <= b.cycles) &&
         (!by.macs || a.macs <= b.macs);
}

// Leaves out what another point beats; of equal ones the first stays.
void KeepUnbeaten(const cascade::Criteria& by, std::vector<FrontPoint>* points) {
  std::vector<FrontPoint> kept;
  for (std::size_t i = 0; i < points->size(); ++i) {
    bool beaten = false;
    for (std::size_t j = 0; j < points->size() && !beaten; ++j) {
      if (i == j || !IsNoWorse((*points)[j], (*points)[i], by)) continue;
      beaten = !IsNoWorse((*points)[i], (*points)[j], by) || j < i;
    }
    if (!beaten) kept.push_back((*points)[i]);
  }
  *points = std::move(kept);
}

class FrontSearch {
 public:
  FrontSearch(const formats::SourceModel& source, const FrontRequest& request)
      : source_(source), request_(request), by_(request.search.criteria) {
    const plan::Runtime runtime = request.search.compile.runtime;
    overlaps_ = request.overlap && runtime == plan::Runtime::kTflm &&
                request.search.compile.kernels == ops::KernelLibrary::kNone;
    streams_ = request.streams && source.format != formats::Format::kGraphJson;
  }

  Result<Front> Run() {
    // Two for each search of tiles, one for the others.
    parts_left_ = 2 + (request_.rewriting ? 3 : 0) + (streams_ ? 2 : 0);
    if (overlaps_) parts_left_ += request_.rewriting ? 4 : 2;
    NEAP_CHECK_OK(AddTiles(nullptr, request_.search.compile.kernels, ""));
    if (request_.rewriting) NEAP_CHECK_OK(FindRewritten());
    const formats::SourceModel* const rewritten = out_.rewritten ? &*out_.rewritten : nullptr;
    if (rewritten != nullptr) {
      NEAP_CHECK_OK(AddTiles(rewritten, request_.search.compile.kernels, ""));
    }
    if (overlaps_) {
      const auto reference = ops::KernelLibrary::kTflmReference;
      NEAP_CHECK_OK(AddTiles(nullptr, reference, kReferenceKernels));
      if (rewritten != nullptr) {
        NEAP_CHECK_OK(AddTiles(rewritten, reference, kReferenceKernels));
      }
    }
    if (streams_) AddStreams();
    out_.criteria = by_;
    KeepUnbeaten(by_, &out_.points);
    std::stable_sort(out_.points.begin(), out_.points.end(),
                     [](const auto& a, const auto& b) { return a.arena_bytes > b.arena_bytes; });
    return std::move(out_);
  }

 private:
  // Limits of the next search, which takes `parts` of those that are left.
  Limits TakeLimits(int parts) {
    Limits limits = request_.search.compile.limits;
    if (limits.deadline) {
      const auto now = LimitNow();
      const auto left = std::max(*limits.deadline - now, Limits::Clock::duration::zero());
      limits.deadline = now + left / parts_left_ * parts;
    }
    return limits;
  }
  int TakeParts(int parts) {
    const int left = parts_left_;
    parts_left_ -= parts;
    return left;
  }

  // Points of the model as given, or of the rewritten one.
  Status AddTiles(const formats::SourceModel* rewritten, ops::KernelLibrary kernels,
                  std::string_view requires_text) {
    cascade::SearchOptions options = request_.search;
    options.whole_front = true;
    options.compile.kernels = kernels;
    options.compile.limits = TakeLimits(2);
    const WorkScope work(2, TakeParts(2));
    const formats::SourceModel& base = rewritten == nullptr ? source_ : *rewritten;
    auto outcome = cascade::FindPlan(base.graph, options);
    if (!outcome) {
      // What the model as given lacks is an error; a rewritten one then adds no points.
      if (out_.points.empty()) return Fail(std::move(outcome).error());
      return {};
    }
    if (out_.points.empty()) {
      given_cycles_ = outcome->uncut.cycles;
      out_.macs = outcome->macs;
      out_.note = outcome->note;
      // Where no total is known there is nothing to compare.
      if (outcome->uncut.total_arena_bytes < 0) by_.total_arena = false;
    } else if (outcome->note.empty()) {
      out_.note.clear();
    }
    out_.cut_short = out_.cut_short || outcome->cut_short;
    for (cascade::Proposal& proposal : outcome->front) {
      FrontPoint point;
      const bool cut = !proposal.regions.empty();
      point.kind = rewritten == nullptr ? (cut ? Kind::kTiles : Kind::kAsGiven)
                                        : (cut ? Kind::kRewrittenTiles : Kind::kRewritten);
      point.runtime = options.compile.runtime;
      point.kernels = kernels;
      point.requires_text = requires_text;
      point.arena_bytes = proposal.arena_bytes;
      point.total_arena_bytes = proposal.total_arena_bytes;
      point.macs = proposal.macs;
      point.cycles = proposal.cycles;
      point.tiles = std::move(proposal);
      out_.points.push_back(std::move(point));
    }
    return {};
  }

  Status FindRewritten() {
    compile::Options options = request_.search.compile;
    options.limits = TakeLimits(1);
    const WorkScope work(1, TakeParts(1));
    auto rewritten = Rewrite(source_, options, {}, request_.load);
    if (!rewritten) return {};  // the model as given has been planned
    if (!rewritten->applications.empty()) out_.rewritten = std::move(rewritten->model);
    return {};
  }

  void AddStreams() {
    compile::Options options = request_.search.compile;
    options.runtime = plan::Runtime::kNeap;
    options.kernels = ops::KernelLibrary::kNeap;
    options.limits = TakeLimits(2);
    const WorkScope work(2, TakeParts(2));
    const auto seen = AsSeenBy(source_, options.runtime, request_.load);
    if (!seen) return;
    auto front = stream::FindStreamFront(seen->graph, options, {});
    if (!front) return;  // the model cannot be streamed
    out_.cut_short = out_.cut_short || front->cut_short;
    for (stream::StreamPoint& streamed : front->points) {
      NEAP_CHECK(check::CheckPlan(seen->graph, streamed.plan).empty(),
                 "a streamed plan does not pass its check");
      const plan::Stream& stream = *streamed.plan.entries[0].stream;
      FrontPoint point;
      point.kind = Kind::kStreamed;
      point.runtime = plan::Runtime::kNeap;
      point.kernels = ops::KernelLibrary::kNeap;
      point.requires_text = kNeapRuns;
      point.arena_bytes = streamed.arena_bytes;
      point.macs = streamed.macs;
      point.cycles = Scaled(streamed.cycles, stream.layerwise_cycles);
      point.stream = std::move(streamed);
      out_.points.push_back(std::move(point));
    }
  }

  // `cycles` of a network that takes `layerwise` layer by layer, as those of the model as given.
  std::int64_t Scaled(std::int64_t cycles, std::int64_t layerwise) const {
    if (layerwise <= 0) return cycles;
    __extension__ using Wide = __int128;
    const Wide scaled = static_cast<Wide>(cycles) * given_cycles_ / layerwise;
    return static_cast<std::int64_t>(
        std::min<Wide>(scaled, std::numeric_limits<std::int64_t>::max()));
  }

  const formats::SourceModel& source_;
  const FrontRequest& request_;
  cascade::Criteria by_;
  bool overlaps_ = false;
  bool streams_ = false;
  int parts_left_ = 1;
  std::int64_t given_cycles_ = 0;
  Front out_;
};

}  // namespace

Result<Front> FindFront(const formats::SourceModel& source, const FrontRequest& request) {
  return FrontSearch(source, request).Run();
}

}  // namespace neap::deliver
