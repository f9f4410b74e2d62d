// SPDX-License-Identifier: Apache-2.0
//
// What operators need for parts of their outputs. Regions that end with the same operators need the
// same parts. Private to neap/cascade.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "neap/base/id.h"
#include "neap/graph/graph.h"
#include "neap/ops/dependence.h"
#include "neap/ops/stock_kernels.h"

namespace neap::cascade {

// Of the operators of one subgraph, which does not change.
class NeedsMemo {
 public:
  struct Needs {
    const char* refusal = nullptr;  // why the part cannot be computed
    // Of each input; nullopt: a constant or none.
    std::vector<std::optional<ops::Need>> inputs;
    std::map<std::size_t, ops::Box> constants;  // the parts of those that are cut
    bool columns = false;  // of a product, some of them: all of the first operand
  };

  NeedsMemo(const graph::Subgraph& subgraph, ops::StockRuntime runtime)
      : subgraph_(subgraph), runtime_(runtime), known_(subgraph.tensors.size()) {}

  // For this part of an output of the operator, which exists. Until the next call of Trim().
  const Needs& Of(graph::OpId id, const ops::Box& part, std::size_t output = 0);
  // Forgets all, if that is much.
  void Trim();

 private:
  struct Hash {
    std::size_t operator()(const ops::Box& box) const;
  };
  Needs Compute(const graph::Op& op, const ops::Box& part, std::size_t output) const;

  // Of an operator that splits.
  void Widen(const graph::Op& op, std::size_t output, ops::Box* source) const;

  static constexpr std::size_t kMost = 100'000;

  const graph::Subgraph& subgraph_;
  const ops::StockRuntime runtime_;
  IdVector<graph::TensorId, std::unordered_map<ops::Box, Needs, Hash>> known_;  // by output
  std::size_t size_ = 0;
};

}  // namespace neap::cascade
