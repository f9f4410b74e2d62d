// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/partition/load.h"

#include "neap/base/random.h"

namespace neap::partition {

ByOperator::Lists ByOperator::Pack(const std::vector<std::vector<std::int32_t>>& lists) {
  Lists packed;
  packed.starts.reserve(lists.size() + 1);
  packed.starts.push_back(0);
  for (const auto& list : lists) {
    packed.items.insert(packed.items.end(), list.begin(), list.end());
    packed.starts.push_back(packed.items.size());
  }
  return packed;
}

ByOperator::ByOperator(const Problem& problem) {
  const auto ops = static_cast<std::size_t>(problem.num_ops);
  std::vector<std::vector<std::int32_t>> reads(ops);
  std::vector<std::vector<std::int32_t>> makes(ops);
  std::vector<std::vector<std::int32_t>> shares(ops);
  for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
    const Tensor& tensor = problem.tensors[t];
    const auto index = static_cast<TensorIndex>(t);
    for (const OpIndex op : tensor.consumers) reads[static_cast<std::size_t>(op)].push_back(index);
    if (tensor.producer != kOutside) {
      makes[static_cast<std::size_t>(tensor.producer)].push_back(index);
    }
  }
  for (std::size_t s = 0; s < problem.shared.size(); ++s) {
    for (const OpIndex op : problem.shared[s].users) {
      shares[static_cast<std::size_t>(op)].push_back(static_cast<std::int32_t>(s));
    }
  }
  reads_ = Pack(reads);
  makes_ = Pack(makes);
  shares_ = Pack(shares);
}

StageLoad::StageLoad(const Problem& problem, const ByOperator& lists)
    : problem_(problem),
      machine_(problem.machine),
      lists_(lists),
      read_here_(problem.tensors.size(), 0),
      made_here_(problem.tensors.size(), 0),
      shared_here_(problem.shared.size(), 0),
      here_(static_cast<std::size_t>(problem.num_ops), 0) {
  Random random(1);
  for (OpIndex op = 0; op < problem.num_ops; ++op) keys_.push_back(random.Next());
  for (std::size_t i = 0; i < problem.forbidden.size(); ++i) {
    std::uint64_t key = 0;
    for (const OpIndex op : problem.forbidden[i]) key ^= keys_[static_cast<std::size_t>(op)];
    forbidden_.emplace_back(key, i);
  }
  std::sort(forbidden_.begin(), forbidden_.end());
}

bool StageLoad::IsForbidden() const {
  auto entry =
      std::lower_bound(forbidden_.begin(), forbidden_.end(), std::pair(key_, std::size_t{0}));
  for (; entry != forbidden_.end() && entry->first == key_; ++entry) {
    const std::vector<OpIndex>& stage = problem_.forbidden[entry->second];
    if (static_cast<std::int64_t>(stage.size()) != count_) continue;
    const bool all = std::all_of(stage.begin(), stage.end(), [&](OpIndex op) {
      return here_[static_cast<std::size_t>(op)] != 0;
    });
    if (all) return true;
  }
  return false;
}

}  // namespace neap::partition
