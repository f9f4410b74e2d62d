// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/partition/lattice.h"

#include <algorithm>
#include <numeric>

#include "neap/base/random.h"

namespace neap::partition {
namespace {

constexpr std::size_t kFirstTable = 1024;

}  // namespace

Lattice::Lattice(const Problem& problem)
    : problem_(problem),
      relations_(problem),
      words_((static_cast<std::size_t>(problem.num_ops) + 63) / 64),
      table_(kFirstTable, kUnknown) {
  Random random(1);
  for (OpIndex op = 0; op < problem.num_ops; ++op) keys_.push_back(random.Next());
  bits_.assign(words_, 0);
  hashes_.push_back(0);
  operators_.push_back(0);
  rest_compute_.push_back(
      std::accumulate(problem.compute_cost.begin(), problem.compute_cost.end(), std::int64_t{0}));
  rest_parameters_.push_back(std::accumulate(problem.parameter_bytes.begin(),
                                             problem.parameter_bytes.end(), std::int64_t{0}));
  std::vector<OpIndex> ready;
  for (OpIndex op = 0; op < problem.num_ops; ++op) {
    if (relations_.before[At(op)].empty()) ready.push_back(op);
  }
  ready_start_.push_back(0);
  AddReady(ready);
  Insert(0, kEmpty);
}

void Lattice::AddReady(std::span<const OpIndex> ready) {
  ready_.insert(ready_.end(), ready.begin(), ready.end());
  grown_.resize(ready_.size(), kUnknown);
  ready_start_.push_back(ready_.size());
}

DownsetIndex Lattice::Find(std::uint64_t hash, std::span<const std::uint64_t> bits) const {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t slot = hash & mask; table_[slot] != kUnknown; slot = (slot + 1) & mask) {
    const DownsetIndex set = table_[slot];
    if (hashes_[At(set)] != hash) continue;
    if (std::equal(bits.begin(), bits.end(),
                   bits_.begin() + static_cast<std::ptrdiff_t>(At(set) * words_))) {
      return set;
    }
  }
  return kUnknown;
}

void Lattice::Insert(std::uint64_t hash, DownsetIndex set) {
  if (2 * operators_.size() > table_.size()) {
    table_.assign(2 * table_.size(), kUnknown);
    for (DownsetIndex old = 0; old < set; ++old) Insert(hashes_[At(old)], old);
  }
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = hash & mask;
  while (table_[slot] != kUnknown) slot = (slot + 1) & mask;
  table_[slot] = set;
}

DownsetIndex Lattice::Grown(DownsetIndex set, std::size_t i) {
  const std::size_t place = ready_start_[At(set)] + i;
  if (grown_[place] != kUnknown) return grown_[place];
  const OpIndex op = ready_[place];
  Downset bits = Bits(set);
  bits[static_cast<std::size_t>(op) / 64] |= std::uint64_t{1} << (op % 64);
  const std::uint64_t hash = hashes_[At(set)] ^ keys_[At(op)];
  const DownsetIndex known = Find(hash, bits);
  if (known != kUnknown) return grown_[place] = known;
  const DownsetIndex grown = size();
  bits_.insert(bits_.end(), bits.begin(), bits.end());
  hashes_.push_back(hash);
  operators_.push_back(operators_[At(set)] + 1);
  rest_compute_.push_back(rest_compute_[At(set)] - problem_.compute_cost[At(op)]);
  rest_parameters_.push_back(rest_parameters_[At(set)] - problem_.parameter_bytes[At(op)]);
  std::vector<OpIndex> ready;
  for (const OpIndex other : Ready(set)) {
    if (other != op) ready.push_back(other);
  }
  for (const OpIndex next : relations_.after[At(op)]) {
    const auto& before = relations_.before[At(next)];
    if (std::all_of(before.begin(), before.end(), [&](OpIndex b) { return Has(grown, b); })) {
      ready.push_back(next);
    }
  }
  AddReady(ready);
  Insert(hash, grown);
  return grown_[place] = grown;
}

Downset Lattice::Bits(DownsetIndex set) const {
  const auto first = bits_.begin() + static_cast<std::ptrdiff_t>(At(set) * words_);
  return {first, first + static_cast<std::ptrdiff_t>(words_)};
}

std::int64_t Lattice::MemoryBytes() const {
  const std::size_t each = words_ * 8 + 8 + 4 + 8 + 8 + 8;
  return static_cast<std::int64_t>(operators_.size() * each + ready_.size() * 8 +
                                   table_.size() * 4);
}

}  // namespace neap::partition
