// SPDX-License-Identifier: Apache-2.0
//
// UNIDIRECTIONAL_SEQUENCE_LSTM and SVDF. Their states are variables: a run is one inference, which
// starts from the values of the variables and does not change them. An LSTM that is called with two
// more outputs writes its states, hidden and cell, after the last step to them. Private to
// neap/execute.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "neap/base/result.h"
#include "neap/execute/kernel.h"

namespace neap::execute::tflite {

// The gates in the order of the operator's inputs.
inline constexpr std::size_t kInputGate = 0;
inline constexpr std::size_t kForgetGate = 1;
inline constexpr std::size_t kCellGate = 2;
inline constexpr std::size_t kOutputGate = 3;
inline constexpr std::size_t kGates = 4;

// Where the operator's inputs begin, one for each gate: weights of the input, of the state, of the
// cell (peepholes: no cell gate), biases, coefficients of layer normalisation. Any may be left out.
enum LstmInput : std::size_t {
  kInputWeights = 1,
  kStateWeights = 5,
  kPeepholes = 9,
  kBiases = 12,
  kProjection = 16,
  kProjectionBias = 17,
  kState = 18,
  kCell = 19,
  kNorms = 20,
  kLstmInputs = 24,
};

struct LstmPlan {
  std::int64_t batches = 0;
  std::int64_t steps = 0;
  std::int64_t width = 0;  // of the input
  std::int64_t cells = 0;
  std::int64_t outputs = 0;  // width of the state and of the output
  bool time_major = false;
  bool coupled = false;  // no input gate of its own: 1 - forget gate
  bool projects = false;
  double cell_clip = 0;  // 0: none
  double projection_clip = 0;
  std::array<bool, kLstmInputs> has = {};
};

// Checks shapes, and that tanh is the activation.
Result<LstmPlan> PlanLstm(const Node& node);

// Whether the call takes the states after the last step, and the outputs that do.
inline constexpr std::size_t kHiddenAfter = 1;
inline constexpr std::size_t kCellAfter = 2;
inline bool TakesStates(const Arguments& arguments) {
  return arguments.outputs.size() > kCellAfter;
}

// Calls f(place, batch) in the order of the rows of the output; places of one batch come in the
// order of time.
template <typename F>
void ForEachPlace(const LstmPlan& plan, const F& f) {
  const std::int64_t outer = plan.time_major ? plan.steps : plan.batches;
  const std::int64_t inner = plan.time_major ? plan.batches : plan.steps;
  for (std::int64_t i = 0; i < outer; ++i) {
    for (std::int64_t j = 0; j < inner; ++j) f(i * inner + j, plan.time_major ? j : i);
  }
}

// int8 with a cell of 16 bits; without peepholes, projection and layer normalisation.
Result<RunKernel> QuantizedLstm(const Node& node, const LstmPlan& plan);

Result<RunKernel> PrepareSvdf(const Node& node);

}  // namespace neap::execute::tflite
