// SPDX-License-Identifier: Apache-2.0
//
// What the LSTMs of all types have in common. Private to neap/emit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "neap/emit/lowering.h"

namespace neap::emit {

inline constexpr std::size_t kLstmGates = 4;
// Where the inputs of the gates begin, in the order input, forget, cell, output.
inline constexpr std::size_t kLstmInputWeights = 1;
inline constexpr std::size_t kLstmStateWeights = 5;
inline constexpr std::size_t kLstmBiases = 12;

// Steps and batches, and where they are.
struct Sequence {
  std::int64_t width = 0;
  std::int64_t cells = 0;
  std::int64_t rows = 1;        // of the images of input and output
  std::int64_t steps = 1;       // in a row
  std::int64_t batches = 1;     // in a step
  std::int64_t state_rows = 1;  // of the images of the state
};

// Of float32, whose inputs have the shapes of `sequence`: a neap_float_lstm.
Result<Params> FloatLstmParams(Lowering& lowering, const graph::Op& op, const Sequence& sequence);

}  // namespace neap::emit
