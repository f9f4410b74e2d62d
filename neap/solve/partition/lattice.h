// SPDX-License-Identifier: Apache-2.0
//
// The downsets of a problem, created on first use. Private to neap/solve/partition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neap/solve/partition/certificate.h"
#include "neap/solve/partition/problem.h"

namespace neap::partition {

using DownsetIndex = std::int32_t;

class Lattice {
 public:
  explicit Lattice(const Problem& problem);

  static constexpr DownsetIndex kEmpty = 0;
  static constexpr DownsetIndex kUnknown = -1;

  DownsetIndex size() const { return static_cast<DownsetIndex>(operators_.size()); }
  // Operators in the downset.
  OpIndex Operators(DownsetIndex set) const { return operators_[At(set)]; }
  // Operators that may be added, and the downset with the i-th of them: kUnknown until the first
  // call of Grown() for it.
  std::span<const OpIndex> Ready(DownsetIndex set) const {
    return std::span(ready_).subspan(ready_start_[At(set)],
                                     ready_start_[At(set) + 1] - ready_start_[At(set)]);
  }
  DownsetIndex KnownGrown(DownsetIndex set, std::size_t i) const {
    return grown_[ready_start_[At(set)] + i];
  }
  DownsetIndex Grown(DownsetIndex set, std::size_t i);
  bool Has(DownsetIndex set, OpIndex op) const {
    return (bits_[At(set) * words_ + static_cast<std::size_t>(op) / 64] >> (op % 64) & 1U) != 0;
  }
  Downset Bits(DownsetIndex set) const;
  // Of computing and of parameters that only one operator uses, outside the downset.
  std::int64_t RestCompute(DownsetIndex set) const { return rest_compute_[At(set)]; }
  std::int64_t RestParameters(DownsetIndex set) const { return rest_parameters_[At(set)]; }
  std::int64_t MemoryBytes() const;

 private:
  static std::size_t At(DownsetIndex index) { return static_cast<std::size_t>(index); }
  DownsetIndex Find(std::uint64_t hash, std::span<const std::uint64_t> bits) const;
  void Insert(std::uint64_t hash, DownsetIndex set);
  void AddReady(std::span<const OpIndex> ready);

  const Problem& problem_;
  Relations relations_;
  std::size_t words_;
  std::vector<std::uint64_t> keys_;  // random, one per op: a hash is the xor of its members'
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint64_t> hashes_;
  std::vector<OpIndex> operators_;
  std::vector<std::int64_t> rest_compute_;
  std::vector<std::int64_t> rest_parameters_;
  std::vector<OpIndex> ready_;
  std::vector<std::size_t> ready_start_;
  std::vector<DownsetIndex> grown_;
  std::vector<DownsetIndex> table_;  // open addressing; kUnknown: free
};

}  // namespace neap::partition
