// SPDX-License-Identifier: Apache-2.0
//
// The cost of one stage while operators are added to it and taken back. Private to neap/pipeline.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "neap/solve/partition/problem.h"

namespace neap::partition {

// More than any cost.
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// Lists of a problem by operator, in one piece of memory each.
class ByOperator {
 public:
  explicit ByOperator(const Problem& problem);

  std::span<const TensorIndex> Reads(OpIndex op) const { return reads_.Of(op); }
  std::span<const TensorIndex> Makes(OpIndex op) const { return makes_.Of(op); }
  std::span<const std::int32_t> Shares(OpIndex op) const { return shares_.Of(op); }

 private:
  struct Lists {
    std::vector<std::int32_t> items;
    std::vector<std::size_t> starts;
    std::span<const std::int32_t> Of(OpIndex op) const {
      const auto at = static_cast<std::size_t>(op);
      return std::span(items).subspan(starts[at], starts[at + 1] - starts[at]);
    }
  };
  static Lists Pack(const std::vector<std::vector<std::int32_t>>& lists);

  Lists reads_;
  Lists makes_;
  Lists shares_;
};

// Operators come in an order in which everything before an operator has come or is in an earlier
// stage, and go the other way round. O(tensors of the operator) each.
class StageLoad {
 public:
  // Both outlive this.
  StageLoad(const Problem& problem, const ByOperator& lists);

  void Add(OpIndex op) {
    ++count_;
    key_ ^= keys_[static_cast<std::size_t>(op)];
    here_[static_cast<std::size_t>(op)] = 1;
    compute_ += problem_.compute_cost[static_cast<std::size_t>(op)];
    parameters_ += problem_.parameter_bytes[static_cast<std::size_t>(op)];
    for (const TensorIndex t : lists_.Reads(op)) {
      const auto at = static_cast<std::size_t>(t);
      const Tensor& tensor = problem_.tensors[at];
      const std::int32_t readers = ++read_here_[at];
      if (made_here_[at] == 0) {
        if (readers == 1) in_ += tensor.bytes;
      } else if (!tensor.output && static_cast<std::size_t>(readers) == tensor.consumers.size()) {
        out_ -= tensor.bytes;
      }
    }
    for (const TensorIndex t : lists_.Makes(op)) {
      const auto at = static_cast<std::size_t>(t);
      made_here_[at] = 1;
      if (Leaves(problem_.tensors[at])) out_ += problem_.tensors[at].bytes;
    }
    for (const std::int32_t s : lists_.Shares(op)) {
      const auto at = static_cast<std::size_t>(s);
      if (++shared_here_[at] == 1) parameters_ += problem_.shared[at].bytes;
    }
  }

  // The last one that was added and is still here.
  void Remove(OpIndex op) {
    --count_;
    key_ ^= keys_[static_cast<std::size_t>(op)];
    here_[static_cast<std::size_t>(op)] = 0;
    compute_ -= problem_.compute_cost[static_cast<std::size_t>(op)];
    parameters_ -= problem_.parameter_bytes[static_cast<std::size_t>(op)];
    for (const std::int32_t s : lists_.Shares(op)) {
      const auto at = static_cast<std::size_t>(s);
      if (--shared_here_[at] == 0) parameters_ -= problem_.shared[at].bytes;
    }
    for (const TensorIndex t : lists_.Makes(op)) {
      const auto at = static_cast<std::size_t>(t);
      made_here_[at] = 0;
      if (Leaves(problem_.tensors[at])) out_ -= problem_.tensors[at].bytes;
    }
    for (const TensorIndex t : lists_.Reads(op)) {
      const auto at = static_cast<std::size_t>(t);
      const Tensor& tensor = problem_.tensors[at];
      const std::int32_t readers = read_here_[at]--;
      if (made_here_[at] == 0) {
        if (readers == 1) in_ -= tensor.bytes;
      } else if (!tensor.output && static_cast<std::size_t>(readers) == tensor.consumers.size()) {
        out_ += tensor.bytes;
      }
    }
  }

  // The cost of the stage, and a lower bound of its cost with any operators added.
  std::int64_t cost() const {
    return count_ == 0 ? 0 : floor() + machine_.link_cost_per_byte * out_;
  }
  // The share of its streams and transfers.
  std::int64_t link_cost() const {
    return count_ == 0 ? 0 : cost() - machine_.fixed_cost - compute_;
  }
  std::int64_t floor() const {
    return machine_.fixed_cost + compute_ +
           machine_.stream_cost_per_byte *
               std::max<std::int64_t>(parameters_ - machine_.cache_bytes, 0) +
           machine_.link_cost_per_byte * in_;
  }
  // Adding operators does not make it true again.
  bool allowed() const {
    return machine_.parameter_limit_bytes < 0 || parameters_ <= machine_.parameter_limit_bytes;
  }
  // These operators may not be a stage; with one more they may.
  bool forbidden() const { return !forbidden_.empty() && IsForbidden(); }

 private:
  bool IsForbidden() const;
  static bool Leaves(const Tensor& tensor) { return tensor.output || !tensor.consumers.empty(); }

  const Problem& problem_;
  const Machine& machine_;
  const ByOperator& lists_;
  std::vector<std::int32_t> read_here_;
  std::vector<std::uint8_t> made_here_;
  std::vector<std::int32_t> shared_here_;
  std::vector<std::uint8_t> here_;
  std::vector<std::uint64_t> keys_;  // random, one per op; the key of a set is their xor
  std::vector<std::pair<std::uint64_t, std::size_t>> forbidden_;  // key and index, sorted
  std::uint64_t key_ = 0;
  std::int64_t count_ = 0;
  std::int64_t compute_ = 0;
  std::int64_t parameters_ = 0;
  std::int64_t in_ = 0;
  std::int64_t out_ = 0;
};

}  // namespace neap::partition
