// SPDX-License-Identifier: Apache-2.0
//
// A price for every resident byte and step. With prices the tensors no longer compete for space:
// each has a cheapest residency of its own, and the sum of those costs minus the price of the whole
// memory is a lower bound of all traffic, for any prices (Lagrangian relaxation of the capacity).
// Prices are integers, so the bound is exact. Private to neap/solve/traffic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/solve/traffic/problem.h"
#include "neap/solve/traffic/trace.h"

namespace neap::traffic {

__extension__ using Wide = __int128;

enum class Status : std::uint8_t {
  kDirty,    // on chip, no copy outside
  kClean,    // on chip, with a copy outside
  kOutside,  // outside only
};

class Prices {
 public:
  static constexpr std::int64_t kScale = 1 << 12;  // units of cost to a byte of traffic

  // Both outlive this. All prices are 0.
  Prices(const Problem& problem, const Trace& trace, std::int64_t on_chip_bytes);

  // Subgradient steps towards the prices with the largest bound; `upper_bytes` is the traffic of
  // some decisions. O(rounds x (accesses + steps)).
  void Improve(std::int64_t upper_bytes, int rounds);

  // The bound, in units of cost.
  Wide Bound() const { return bound_; }
  // Units of cost as bytes of traffic, rounded up to a sum of whole tensors.
  std::int64_t BytesOf(Wide cost) const;

  // The lowest cost of the end of a tensor's life from the boundary before `step` on, `done` of its
  // accesses behind it.
  Wide Rest(TensorIndex tensor, std::size_t done, Status status, Step step) const;
  // The same of all tensors that are written in `step` or later.
  Wide Unborn(Step step) const { return unborn_[static_cast<std::size_t>(step)]; }
  // Price of `bytes` held during `step`.
  Wide OfHolding(std::int64_t bytes, Step step) const {
    return static_cast<Wide>(bytes) * prices_[static_cast<std::size_t>(step)];
  }
  // The price of the whole memory from `step` on.
  Wide Earned(Step step) const { return earned_[static_cast<std::size_t>(step)]; }
  // Bytes for tensors beside the scratch of `step`.
  std::int64_t Room(Step step) const { return room_[static_cast<std::size_t>(step)]; }

 private:
  using Arrivals = std::array<std::int64_t, 3>;  // by Status
  struct Walk {
    std::vector<std::int64_t> change;  // of held bytes, per step
  };
  void Evaluate();
  void EvaluateTensor(TensorIndex tensor);
  Wide Start(TensorIndex tensor) const;
  void Follow(TensorIndex tensor, Walk* walk) const;
  Wide Interior(TensorIndex tensor, Step from, Step to) const;

  const Problem& problem_;
  std::vector<std::int64_t> room_;
  std::int64_t unit_ = 1;  // common divisor of all sizes
  std::vector<std::int64_t> prices_;
  std::vector<Wide> sums_;  // of prices, per boundary
  std::vector<Wide> earned_;
  std::vector<Wide> unborn_;
  std::vector<std::vector<Arrivals>> arrivals_;  // per tensor and access: cost from there on
  Wide bound_ = 0;
};

}  // namespace neap::traffic
