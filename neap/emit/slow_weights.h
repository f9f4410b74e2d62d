// SPDX-License-Identifier: Apache-2.0
//
// Weights in slow memory (plan::StreamWeights) of kernels whose parameters are a neap_conv. Private
// to neap/emit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/emit/lowering.h"
#include "neap/emit/pack.h"
#include "neap/emit/program.h"

namespace neap::emit {

inline constexpr std::int64_t kBiasBytes = 4;  // of one output channel

// Of the portable kernels, and the inputs of the operator that they are made of.
struct ConvValues {
  const std::vector<std::int64_t>& weights;
  const std::vector<std::int64_t>& bias;
  std::size_t weights_input = 0;
  std::size_t bias_input = 0;
  bool in_fours = false;  // in the order of InFours()
};
// C expressions for a neap_conv.
struct ConvTables {
  std::string weights;
  std::string bias;
};
// Adds the tables. With Lowering::slow_weights(), sets call->weights: what comes from the buffer is
// NULL in a neap_conv. Tables in slow memory have the bytes that the plan counts. Fails where the
// plan reads other parts.
Result<ConvTables> TablesOf(Lowering& lowering, const Subject& subject, const Product& product,
                            const ConvValues& values, Call* call);

// Of all weights that stay, or of the first block.
std::vector<WeightCopy> FirstCopies(const SlowWeights& weights);

// Calls that compute the same blocks of weights in boxes of so many row steps, each with few enough
// of them for the rows of its table (runtime/neap_slow_weights.h).
std::vector<Call> SplitBlocks(const Call& call);
// The rows of that table for the boxes of `call`, which has weights.
std::vector<plan::StreamRange> RowsOfBlocks(const Call& call);

}  // namespace neap::emit
