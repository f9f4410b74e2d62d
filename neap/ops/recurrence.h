// SPDX-License-Identifier: Apache-2.0
//
// Operators over time that carry a state: step t of the output depends on step t of the input and
// on the state after step t - 1. As a function of elements every output depends on all inputs
// before it (NeedOf() does not know them). Computed step by step, each step once and in order, with
// the state in between, a step needs only its own input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/dependence.h"

namespace neap::ops {

struct Recurrence {
  // The only output that anything reads. The others need not be computed.
  std::size_t output = 0;
  // It is the state after the last step, which starts with it: hidden, then that of the cell.
  // Otherwise it has a step, along its first axis, for each one of input 0.
  bool last_only = false;
  // The dimension of input 0 and of an output with steps that is the time. No dimension before it
  // is larger than 1.
  std::size_t axis = 0;
  std::int64_t steps = 0;  // of input 0; at least 2
  std::int64_t state_bytes = 0;
  // Inputs, other than constants, that are (parts of) the state before the first step. All other
  // inputs but input 0 and variables are constants or absent.
  std::vector<std::size_t> initial;
  // Inputs that are the state before the first step and after the last one: hidden, cell. They are
  // variable tensors, whose values outlive the run; `state_bytes` is 0 then.
  std::vector<std::size_t> variables;
};

// nullopt: `op` has no such form that is known, or several of its outputs are read, or one step.
// LSTM, GRU and RNN of ONNX, forward, in float32, of a layout with the time first. Of .tflite
// UNIDIRECTIONAL_SEQUENCE_LSTM in float32 or int8, with the time first or one batch, where
// OwnsVariables(). O(operands of the subgraph) for these, else O(1).
std::optional<Recurrence> RecurrenceOf(const graph::Subgraph& subgraph, const graph::Op& op);

// Bytes of the variables of `op`, where OwnsVariables(); else 0.
std::int64_t VariableBytesOf(const graph::Subgraph& subgraph, const graph::Op& op);

// Whether the only state of `op` is in variable tensors that nothing else reads or writes: a
// UNIDIRECTIONAL_SEQUENCE_LSTM and its inputs kHiddenVariable and kCellVariable. O(operands of the
// subgraph) for these, else O(1).
bool OwnsVariables(const graph::Subgraph& subgraph, const graph::Op& op);
inline constexpr std::size_t kHiddenVariable = 18;
inline constexpr std::size_t kCellVariable = 19;

// NeedOf() where a recurrence is computed step by step: of input 0 the same steps, or all where
// only the last state is read; initial states for the first step alone. NeedOf() of others.
std::optional<Need> NeedOfSteps(const graph::Subgraph& subgraph, const graph::Op& op,
                                std::size_t input, const Box& output_box, std::size_t output = 0);

}  // namespace neap::ops
