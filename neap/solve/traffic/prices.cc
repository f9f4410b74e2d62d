// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/traffic/prices.h"

#include <algorithm>
#include <numeric>

namespace neap::traffic {
namespace {

constexpr auto kDirty = static_cast<std::size_t>(Status::kDirty);
constexpr auto kClean = static_cast<std::size_t>(Status::kClean);
constexpr auto kOutside = static_cast<std::size_t>(Status::kOutside);

}  // namespace

Prices::Prices(const Problem& problem, const Trace& trace, std::int64_t on_chip_bytes)
    : problem_(problem) {
  const auto steps = static_cast<std::size_t>(problem.num_steps);
  for (Step step = 0; step < problem.num_steps; ++step) {
    room_.push_back(on_chip_bytes - std::min(on_chip_bytes, trace.ScratchOf(step)));
  }
  unit_ = 0;
  for (const Tensor& tensor : problem.tensors) unit_ = std::gcd(unit_, tensor.bytes);
  unit_ = std::max<std::int64_t>(unit_, 1);
  prices_.assign(steps, 0);
  arrivals_.resize(problem.tensors.size());
  Evaluate();
}

Wide Prices::Interior(TensorIndex tensor, Step from, Step to) const {
  return problem_.tensors[static_cast<std::size_t>(tensor)].bytes *
         (sums_[static_cast<std::size_t>(to)] - sums_[static_cast<std::size_t>(from)]);
}

Wide Prices::Rest(TensorIndex tensor, std::size_t done, Status status, Step step) const {
  const Tensor& of = problem_.tensors[static_cast<std::size_t>(tensor)];
  const Wide move = static_cast<Wide>(of.bytes) * kScale;
  if (done >= of.accesses.size()) {
    if (of.end == End::kDead || status != Status::kDirty) return 0;
    if (of.end == End::kOffChip) return move;
    return std::min(Interior(tensor, step, problem_.num_steps), move);
  }
  const Arrivals& arrival = arrivals_[static_cast<std::size_t>(tensor)][done];
  if (status == Status::kOutside) return arrival[kOutside];
  const Wide kept = Interior(tensor, step, of.accesses[done]);
  if (status == Status::kDirty) {
    return std::min(kept + arrival[kDirty], move + arrival[kOutside]);
  }
  return std::min(kept + arrival[kClean], Wide{arrival[kOutside]});
}

// From the last access to the first. The first write has one arrival, under every status.
void Prices::EvaluateTensor(TensorIndex tensor) {
  const Tensor& of = problem_.tensors[static_cast<std::size_t>(tensor)];
  std::vector<Arrivals>& arrivals = arrivals_[static_cast<std::size_t>(tensor)];
  arrivals.resize(of.accesses.size());
  const Wide move = static_cast<Wide>(of.bytes) * kScale;
  for (std::size_t i = of.accesses.size(); i-- > 0;) {
    const Step step = of.accesses[i];
    const Wide hold = OfHolding(of.bytes, step);
    const Wide outside = Rest(tensor, i + 1, Status::kOutside, step + 1);
    const Wide clean = Rest(tensor, i + 1, Status::kClean, step + 1);
    const Wide dirty = Rest(tensor, i + 1, Status::kDirty, step + 1);
    const auto set = [&](std::size_t status, Wide cost) {
      arrivals[i][status] = static_cast<std::int64_t>(cost);
    };
    if (i == 0 && of.begin == Begin::kWritten) {
      for (const std::size_t status : {kDirty, kClean, kOutside}) {
        set(status, std::min(hold + dirty, move + outside));
      }
      continue;
    }
    set(kDirty, std::min(hold + dirty, 2 * move + outside));
    set(kClean, std::min(hold + clean, move + outside));
    set(kOutside, move + std::min(hold + clean, outside));
  }
}

Wide Prices::Start(TensorIndex tensor) const {
  const Tensor& of = problem_.tensors[static_cast<std::size_t>(tensor)];
  if (of.begin == Begin::kOffChip) return Rest(tensor, 0, Status::kOutside, 0);
  if (of.begin == Begin::kOnChip) return Rest(tensor, 0, Status::kDirty, 0);
  return arrivals_[static_cast<std::size_t>(tensor)].front()[kOutside];
}

void Prices::Evaluate() {
  const std::size_t steps = prices_.size();
  sums_.assign(steps + 1, 0);
  for (std::size_t step = 0; step < steps; ++step) sums_[step + 1] = sums_[step] + prices_[step];
  earned_.assign(steps + 1, 0);
  for (std::size_t step = steps; step-- > 0;) {
    earned_[step] = earned_[step + 1] + static_cast<Wide>(room_[step]) * prices_[step];
  }
  unborn_.assign(steps + 1, 0);
  bound_ = -earned_[0];
  for (std::size_t i = 0; i < problem_.tensors.size(); ++i) {
    const auto tensor = static_cast<TensorIndex>(i);
    EvaluateTensor(tensor);
    const Wide start = Start(tensor);
    bound_ += start;
    const Tensor& of = problem_.tensors[i];
    if (of.begin == Begin::kWritten)
      unborn_[static_cast<std::size_t>(of.accesses.front())] += start;
  }
  for (std::size_t step = steps; step-- > 0;) unborn_[step] += unborn_[step + 1];
}

// The resident steps in the cheapest life of a tensor.
void Prices::Follow(TensorIndex tensor, Walk* walk) const {
  const Tensor& of = problem_.tensors[static_cast<std::size_t>(tensor)];
  const auto hold = [&](Step from, Step to) {
    walk->change[static_cast<std::size_t>(from)] += of.bytes;
    walk->change[static_cast<std::size_t>(to)] -= of.bytes;
  };
  const Wide move = static_cast<Wide>(of.bytes) * kScale;
  Status status = of.begin == Begin::kOnChip ? Status::kDirty : Status::kOutside;
  Step now = 0;
  for (std::size_t i = 0; i < of.accesses.size(); ++i) {
    const Step step = of.accesses[i];
    const Arrivals& arrival = arrivals_[static_cast<std::size_t>(tensor)][i];
    const bool writes = i == 0 && of.begin == Begin::kWritten;
    if (status != Status::kOutside) {
      const Wide leave = (status == Status::kDirty ? move : Wide{0}) + arrival[kOutside];
      const Wide stay = Interior(tensor, now, step) + arrival[static_cast<std::size_t>(status)];
      if (leave < stay) {
        status = Status::kOutside;
      } else {
        hold(now, step);
      }
    }
    const Status kept = writes || status == Status::kDirty ? Status::kDirty : Status::kClean;
    const Wide held = OfHolding(of.bytes, step) + Rest(tensor, i + 1, kept, step + 1);
    // The cost of not being resident beyond the common cost of both.
    const Wide extra = writes                     ? move
                       : status == Status::kDirty ? 2 * move
                       : status == Status::kClean ? move
                                                  : Wide{0};
    if (held <= extra + Rest(tensor, i + 1, Status::kOutside, step + 1)) {
      hold(step, step + 1);
      status = kept;
    } else {
      status = Status::kOutside;
    }
    now = step + 1;
  }
  if (of.end == End::kAnywhere && status == Status::kDirty &&
      Interior(tensor, now, problem_.num_steps) <= move) {
    hold(now, problem_.num_steps);
  }
}

void Prices::Improve(std::int64_t upper_bytes, int rounds) {
  const std::size_t steps = prices_.size();
  std::vector<std::int64_t> best = prices_;
  Wide best_bound = bound_;
  std::int64_t divisor = 1;
  int since_better = 0;
  constexpr int kPatience = 12;
  constexpr std::int64_t kMaxDivisor = 1 << 14;
  constexpr std::int64_t kMaxPrice = 4 * kScale;
  for (int round = 0; round < rounds && divisor < kMaxDivisor; ++round) {
    Walk walk{std::vector<std::int64_t>(steps + 1, 0)};
    for (std::size_t i = 0; i < problem_.tensors.size(); ++i) {
      Follow(static_cast<TensorIndex>(i), &walk);
    }
    Wide norm = 0;
    std::vector<std::int64_t> excess(steps, 0);
    std::int64_t held = 0;
    for (std::size_t step = 0; step < steps; ++step) {
      held += walk.change[step];
      excess[step] = held - room_[step];
      if (excess[step] < 0 && prices_[step] == 0) excess[step] = 0;
      norm += static_cast<Wide>(excess[step]) * excess[step];
    }
    const Wide gap = static_cast<Wide>(upper_bytes) * kScale - bound_;
    if (norm == 0 || gap <= 0) break;
    for (std::size_t step = 0; step < steps; ++step) {
      const Wide by = gap * excess[step] / divisor / norm;
      const Wide price = std::clamp<Wide>(prices_[step] + by, 0, kMaxPrice);
      prices_[step] = static_cast<std::int64_t>(price);
    }
    Evaluate();
    if (bound_ > best_bound) {
      best_bound = bound_;
      best = prices_;
      since_better = 0;
    } else if (++since_better >= kPatience) {
      since_better = 0;
      divisor *= 2;
    }
  }
  prices_ = std::move(best);
  Evaluate();
}

std::int64_t Prices::BytesOf(Wide cost) const {
  if (cost <= 0) return 0;
  const Wide unit = static_cast<Wide>(unit_) * kScale;
  return static_cast<std::int64_t>((cost + unit - 1) / unit * unit_);
}

}  // namespace neap::traffic
