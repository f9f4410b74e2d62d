// SPDX-License-Identifier: Apache-2.0
//
// A subgraph with a prepared kernel for each of its operators, shared by the planned and the
// unplanned run. Private to neap/execute.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "neap/base/result.h"
#include "neap/execute/kernel.h"
#include "neap/execute/value.h"
#include "neap/graph/graph.h"

namespace neap::execute {

// Of operators with a state: the input that is the hidden state before the first step, behind which
// that of the cell follows, if there is one.
inline constexpr std::size_t kInitialHidden = 5;
// Tensors of the state: 1, with a cell 2.
std::size_t StatesOf(const graph::Op& op);

// Immutable once prepared, so that any number of threads may run it.
class Program {
 public:
  // `graph` has passed graph::Verify() and outlives the program. Folded operators are computed
  // here. Fails, naming the operator, when one has no kernel, when its kernel does not do its types
  // or attributes, or when the bytes of a tensor are not known. `max_memory_bytes` bounds what
  // folded operators may allocate.
  static Result<Program> Prepare(const graph::Graph& graph, graph::SubgraphId subgraph,
                                 Kernels kernels, std::int64_t max_memory_bytes);

  const graph::Subgraph& subgraph() const { return *subgraph_; }
  // Operators that are not folded in topological order, earlier ones of the file first.
  const std::vector<graph::OpId>& order() const { return order_; }
  // 0 for tensors that no operator touches.
  std::int64_t BytesOf(graph::TensorId tensor) const { return bytes_[tensor]; }
  // The initial bytes of variables and of tensors without a producer: zero in real numbers.
  std::byte InitialByte(graph::TensorId tensor) const;
  bool IsConstant(graph::TensorId tensor) const { return subgraph_->tensors[tensor].constant; }
  // Of a constant.
  std::span<const std::byte> ConstantBytes(graph::TensorId tensor) const {
    return constants_[tensor];
  }
  // The shapes of a part of an operator's only output and of the required parts of its inputs;
  // empty for constants, which are read whole.
  struct PartShapes {
    std::vector<graph::Shape> inputs;
    graph::Shape output;
    std::optional<Padding> pad;
    // Instead of the shapes, for kernels that place their elements by the size of the whole.
    std::optional<Within> within;
  };
  // The operator's kernel for a part. `pads`: its second input, the amounts of padding, is that of
  // the part. The error names the operator.
  Result<RunKernel> PreparePart(graph::OpId op, const PartShapes& shapes, bool pads) const;

  // The kernel for `steps` steps of an operator with a state (ops::RecurrenceOf), whose inputs have
  // the state before them (kInitialHidden, kInitialCell) and whose outputs have it after them, all
  // present, behind the steps. Of one with variables they are its inputs and, behind its output,
  // two more outputs of the call.
  Result<RunKernel> PrepareSteps(graph::OpId op, std::int64_t steps) const;

  // The error names the operator.
  Status RunOp(graph::OpId op, const Arguments& arguments) const;

 private:
  Status PrepareSizes(std::int64_t max_memory_bytes);
  Status PrepareOrder(const graph::Graph& graph, graph::SubgraphId subgraph);
  Status PrepareOps(Kernels kernels, std::int64_t max_memory_bytes);
  Result<Node> NodeOf(const graph::Op& op, Kernels kernels) const;
  Status Fold(graph::OpId id, std::int64_t* memory_left);

  const graph::Subgraph* subgraph_ = nullptr;
  std::vector<graph::OpId> order_;         // without folded operators
  std::vector<graph::OpId> folded_order_;  // these
  IdVector<graph::TensorId, std::int64_t> bytes_;
  IdVector<graph::TensorId, std::span<const std::byte>> constants_;
  IdVector<graph::OpId, RunKernel> kernels_;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> folded_values_;
  Kernels kernels_of_ = Kernels::kLitert;
};

}  // namespace neap::execute
