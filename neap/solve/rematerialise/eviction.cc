// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/rematerialise/eviction.h"

#include <algorithm>
#include <cstddef>

#include "neap/base/index.h"
#include "neap/base/random.h"

namespace neap::rematerialise {
namespace {

constexpr std::int64_t kNever = INT64_MAX;
// Looking for the dropped copies around one ends after so many.
constexpr std::size_t kMostAround = 256;
// Of costs: up to kNoise / kNoiseOf more.
constexpr std::int64_t kNoise = 16;
constexpr std::int64_t kNoiseOf = 64;
// Products of a cost with noise, of bytes and of steps fit into 128 bits.
constexpr std::int64_t kMaxCost = std::int64_t{1} << 48;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 40;
constexpr std::int64_t kMaxSteps = std::int64_t{1} << 30;

__extension__ using Product = unsigned __int128;

class Execution {
 public:
  Execution(const Access& access, std::span<const OpIndex> start, std::int64_t limit_bytes,
            EvictionRule rule, std::int64_t max_work)
      : access_(access),
        problem_(access.problem()),
        start_(start),
        limit_bytes_(limit_bytes),
        rule_(rule),
        max_work_(max_work),
        random_(rule.seed),
        position_(problem_.ops.size(), 0),
        uses_(problem_.values.size()),
        next_use_(problem_.values.size(), 0),
        resident_(problem_.values.size(), 0),
        locks_(problem_.values.size(), 0),
        op_stamps_(problem_.ops.size(), 0) {}

  std::optional<std::vector<OpIndex>> Run(std::int64_t* work) {
    const bool done = Execute();
    *work += work_;
    if (!done) return std::nullopt;
    return std::move(sequence_);
  }

 private:
  bool Execute() {
    for (std::size_t at = 0; at < start_.size(); ++at) {
      position_[At(start_[at])] = static_cast<std::int64_t>(at);
    }
    for (std::size_t value = 0; value < uses_.size(); ++value) {
      const Value& is = problem_.values[value];
      for (const OpIndex reader : is.readers) uses_[value].push_back(position_[At(reader)]);
      std::sort(uses_[value].begin(), uses_[value].end());
      if (is.live_at_end) uses_[value].push_back(static_cast<std::int64_t>(start_.size()));
      if (is.writer == kNoWriter && !uses_[value].empty()) {
        Enter(static_cast<ValueIndex>(value));
      }
    }
    for (now_ = 0; now_ < static_cast<std::int64_t>(start_.size()); ++now_) {
      const OpIndex op = start_[static_cast<std::size_t>(now_)];
      if (!Provide(access_.ReadsOf(op)) || !RunOp(op)) return false;
      // Its reads are behind it now.
      for (const ValueIndex value : access_.ReadsOf(op)) {
        next_use_[At(value)] += 1;
        Unlock(value);
      }
    }
    std::vector<ValueIndex> at_end;
    for (std::size_t value = 0; value < uses_.size(); ++value) {
      if (problem_.values[value].live_at_end) at_end.push_back(static_cast<ValueIndex>(value));
    }
    return Provide(at_end);
  }

  void Enter(ValueIndex value) {
    resident_[At(value)] = 1;
    live_bytes_ += problem_.values[At(value)].bytes;
    live_.push_back(value);
  }
  void Leave(ValueIndex value) {
    resident_[At(value)] = 0;
    live_bytes_ -= problem_.values[At(value)].bytes;
    live_.erase(std::find(live_.begin(), live_.end(), value));
    work_ += static_cast<std::int64_t>(live_.size());
  }
  bool IsRepeatable(OpIndex writer) const {
    return writer != kNoWriter && problem_.ops[At(writer)].repeatable;
  }
  std::int64_t NextUse(ValueIndex value) const {
    const std::vector<std::int64_t>& uses = uses_[At(value)];
    const std::size_t next = next_use_[At(value)];
    return next < uses.size() ? uses[next] : kNever;
  }
  void Unlock(ValueIndex value) {
    locks_[At(value)] -= 1;
    LeaveIfUseless(value);
  }
  void LeaveIfUseless(ValueIndex value) {
    if (locks_[At(value)] > 0 || resident_[At(value)] == 0 || NextUse(value) != kNever) return;
    if (rule_.keeps_sources && !IsRepeatable(problem_.values[At(value)].writer)) return;
    Leave(value);
  }

  // Makes all `reads` resident and locks each once.
  bool Provide(std::span<const ValueIndex> reads) {
    for (const ValueIndex value : reads) locks_[At(value)] += 1;
    std::vector<OpIndex> missing;
    ++stamp_;
    for (const ValueIndex value : reads) {
      if (!Collect(value, &missing)) return false;
    }
    std::sort(missing.begin(), missing.end(),
              [&](OpIndex a, OpIndex b) { return position_[At(a)] < position_[At(b)]; });
    for (const OpIndex op : missing) {
      for (const ValueIndex value : access_.ReadsOf(op)) locks_[At(value)] += 1;
    }
    for (const OpIndex op : missing) {
      if (!RunOp(op)) return false;
      for (const ValueIndex value : access_.ReadsOf(op)) Unlock(value);
    }
    return true;
  }

  // The operators that have to run again before `value` is resident.
  bool Collect(ValueIndex wanted, std::vector<OpIndex>* missing) {
    std::vector<ValueIndex> open = {wanted};
    while (!open.empty()) {
      const ValueIndex value = open.back();
      open.pop_back();
      if (resident_[At(value)] != 0) continue;
      const OpIndex writer = problem_.values[At(value)].writer;
      if (!IsRepeatable(writer)) return false;
      if (op_stamps_[At(writer)] == stamp_) continue;
      op_stamps_[At(writer)] = stamp_;
      missing->push_back(writer);
      for (const ValueIndex read : access_.ReadsOf(writer)) open.push_back(read);
      work_ += 1;
    }
    return true;
  }

  bool RunOp(OpIndex op) {
    std::int64_t more = problem_.ops[At(op)].scratch_bytes;
    for (const ValueIndex value : access_.WritesOf(op)) {
      if (resident_[At(value)] == 0) more += problem_.values[At(value)].bytes;
      locks_[At(value)] += 1;  // not to be dropped for its own operator
    }
    while (live_bytes_ + more > limit_bytes_) {
      if (!DropOne()) return false;
    }
    sequence_.push_back(op);
    for (const ValueIndex value : access_.WritesOf(op)) {
      if (resident_[At(value)] == 0) Enter(value);
    }
    for (const ValueIndex value : access_.WritesOf(op)) Unlock(value);
    return true;
  }

  bool DropOne() {
    ValueIndex best = -1;
    Product best_cost = 0;
    Product best_use = 1;
    for (const ValueIndex value : live_) {
      const Value& is = problem_.values[At(value)];
      if (locks_[At(value)] > 0 || is.bytes == 0 || !IsRepeatable(is.writer)) continue;
      const std::int64_t steps = std::clamp<std::int64_t>(NextUse(value) - now_, 1, kMaxSteps);
      const auto cost =
          static_cast<Product>(std::min(CostAround(value), kMaxCost)) *
          static_cast<Product>(rule_.seed == 0 ? 1 : kNoiseOf + random_.Between(0, kNoise));
      const Product use = static_cast<Product>(std::min(is.bytes, kMaxBytes)) *
                          static_cast<Product>(rule_.distance ? steps : 1);
      // cost / use < best_cost / best_use; of equal ones the lowest index.
      const Product left = cost * best_use;
      const Product right = best_cost * use;
      if (best >= 0 && (left > right || (left == right && value > best))) continue;
      best = value;
      best_cost = cost;
      best_use = use;
    }
    if (best < 0 || work_ > max_work_) return false;
    Leave(best);
    return true;
  }

  // Of computing `value` again, with the dropped values that its operator reads, and with those
  // that are computed from it.
  std::int64_t CostAround(ValueIndex value) {
    ++stamp_;
    around_.clear();
    const OpIndex writer = problem_.values[At(value)].writer;
    std::int64_t cost = 0;
    AddAround(writer, &cost);
    for (std::size_t at = 0; at < around_.size() && at < kMostAround; ++at) {
      for (const ValueIndex read : access_.ReadsOf(around_[at])) {
        if (resident_[At(read)] == 0) AddAround(problem_.values[At(read)].writer, &cost);
      }
    }
    if (!rule_.readers) return cost;
    std::size_t next = around_.size();
    AddReaders(value, &cost);
    for (; next < around_.size() && around_.size() < 2 * kMostAround; ++next) {
      for (const ValueIndex written : access_.WritesOf(around_[next])) AddReaders(written, &cost);
    }
    return cost;
  }
  void AddReaders(ValueIndex value, std::int64_t* cost) {
    for (const OpIndex reader : problem_.values[At(value)].readers) {
      if (position_[At(reader)] >= now_) continue;
      const auto written = access_.WritesOf(reader);
      const bool dropped = std::any_of(written.begin(), written.end(), [&](ValueIndex other) {
        return resident_[At(other)] == 0 && NextUse(other) != kNever;
      });
      if (dropped) AddAround(reader, cost);
    }
  }
  void AddAround(OpIndex op, std::int64_t* cost) {
    work_ += 1;
    if (op == kNoWriter || op_stamps_[At(op)] == stamp_) return;
    op_stamps_[At(op)] = stamp_;
    around_.push_back(op);
    *cost += problem_.ops[At(op)].cost;
  }

  const Access& access_;
  const Problem& problem_;
  std::span<const OpIndex> start_;
  std::int64_t limit_bytes_;
  EvictionRule rule_;
  std::int64_t max_work_;
  Random random_;
  std::int64_t work_ = 0;
  std::int64_t now_ = 0;                         // the step of `start_`
  std::vector<std::int64_t> position_;           // per operator, in `start_`
  std::vector<std::vector<std::int64_t>> uses_;  // per value: positions of its readers, increasing
  std::vector<std::size_t> next_use_;            // per value, in `uses_`
  std::vector<char> resident_;
  std::vector<std::int32_t> locks_;
  std::vector<ValueIndex> live_;
  std::int64_t live_bytes_ = 0;
  std::vector<OpIndex> around_;
  std::vector<std::int64_t> op_stamps_;
  std::int64_t stamp_ = 0;
  std::vector<OpIndex> sequence_;
};

}  // namespace

std::optional<std::vector<OpIndex>> ExecuteWithin(const Access& access,
                                                  std::span<const OpIndex> start,
                                                  std::int64_t limit_bytes, EvictionRule rule,
                                                  std::int64_t max_work, std::int64_t* work) {
  return Execution(access, start, limit_bytes, rule, max_work).Run(work);
}

}  // namespace neap::rematerialise
