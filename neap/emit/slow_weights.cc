// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/slow_weights.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "neap/emit/pack.h"
#include "neap/plan/stream_weights.h"

namespace neap::emit {
namespace {

constexpr std::int64_t kMaxRows = UINT16_MAX;

// Blocks one behind the other, each as a whole operator. `kept`: outputs of the first one; 0: as of
// the others.
std::vector<std::int64_t> BlockAfterBlock(const std::vector<std::int64_t>& values,
                                          const Product& product, std::int64_t block,
                                          std::int64_t kept) {
  std::vector<std::int64_t> ordered;
  ordered.reserve(values.size());
  for (std::int64_t first = 0; first < product.outputs;) {
    const std::int64_t size = first == 0 && kept > 0 ? kept : block;
    const std::int64_t last = std::min(first + size, product.outputs);
    for (std::int64_t tap = 0; tap < product.length(); ++tap) {
      for (std::int64_t output = first; output < last; ++output) {
        ordered.push_back(values[product.At(output, tap)]);
      }
    }
    first = last;
  }
  return ordered;
}

// Sets the block and offsets of the buffer. Fails where the plan does not read the weights of
// output channels, block after block.
Status TakePlan(const Lowering& lowering, const Subject& subject, const ConvValues& values,
                SlowWeights* slow) {
  const plan::StreamWeights& planned = *lowering.slow_weights();
  const graph::Op& op = subject.op;
  std::vector<plan::WeightCopy> copies = {plan::AllWeights(lowering.subgraph(), op)};
  slow->blocks = 1;
  if (planned.block > 0) {
    auto found = plan::BlocksOf(lowering.subgraph(), planned);
    NEAP_CHECK_OK(Require(found.has_value(), "has weights in blocks that are not known"));
    copies = std::move(found->blocks);
    slow->block = copies.size() == 1 ? slow->outputs : planned.block;
    slow->blocks = std::ssize(copies);
    slow->kept = planned.kept;
    const auto rank = std::ssize(*OutputOf(lowering, op).shape);
    NEAP_CHECK_OK(Require(copies.size() == 1 || planned.axis + 1 == rank,
                          "has weights in blocks that are not those of output channels"));
  }
  bool has_bias = false;
  std::int64_t left = slow->outputs;
  for (const plan::WeightCopy& copy : copies) {
    const bool stays = slow->kept > 0 && &copy == &copies[0];
    const std::int64_t block = stays ? slow->kept : slow->block;
    const std::int64_t channels = block == 0 ? left : std::min(block, left);
    left -= channels;
    for (const plan::WeightPart& part : copy.parts) {
      const bool is_bias = part.input == values.bias_input;
      const std::int64_t bytes = channels * (is_bias ? kBiasBytes : slow->channel_bytes);
      NEAP_CHECK_OK(Require((is_bias || part.input == values.weights_input) && part.bytes == bytes,
                            "has weights in slow memory of another size than its kernel's"));
      has_bias = has_bias || is_bias;
      if (stays)
        (is_bias ? slow->kept_bias : slow->kept_buffer) = planned.kept_offset + part.offset;
      if (&copy != &copies[slow->kept > 0 ? 1 : 0]) continue;
      (is_bias ? slow->bias_buffer : slow->buffer) = planned.offset + part.offset;
      if (!planned.second) continue;
      (is_bias ? slow->bias_second : slow->second) = *planned.second + part.offset;
    }
  }
  slow->bias = has_bias ? "bias" : "";
  slow->is_ahead = planned.after.valid();
  return Require(left == 0, "has weights in blocks that are not those of output channels");
}

}  // namespace

Result<ConvTables> TablesOf(Lowering& lowering, const Subject& subject, const Product& product,
                            const ConvValues& values, Call* call) {
  const std::string name = "op" + std::to_string(subject.id.value());
  if (lowering.slow_weights() == nullptr) {
    ConvTables tables;
    tables.weights =
        lowering.Add(name + "_weights", "int8_t",
                     values.in_fours ? InFours(values.weights, product) : values.weights, true);
    tables.bias = lowering.Add(name + "_bias", "int32_t", values.bias);
    return tables;
  }
  SlowWeights slow;
  slow.channel_bytes = product.length();
  slow.outputs = product.outputs;
  slow.by_tap = product.depthwise;
  NEAP_CHECK_OK(TakePlan(lowering, subject, values, &slow));
  const bool is_whole = slow.block == 0 || (!product.depthwise && !values.in_fours);
  std::vector<std::int64_t> ordered = values.weights;
  if (values.in_fours) {
    ordered = InFours(values.weights, product, slow.block, slow.kept);
  } else if (!is_whole) {
    ordered = BlockAfterBlock(values.weights, product, slow.block, slow.kept);
  }
  slow.weights =
      lowering.Add(name + "_weights" + (is_whole ? "" : "_by_" + std::to_string(slow.block)) +
                       (is_whole || slow.kept == 0 ? "" : "_from_" + std::to_string(slow.kept)),
                   "int8_t", std::move(ordered), true);
  const bool has_bias = !slow.bias.empty();
  std::string bias = lowering.Add(name + "_bias", "int32_t", values.bias, has_bias);
  if (has_bias) slow.bias = "(const int8_t *)" + bias;
  call->weights = std::move(slow);
  return ConvTables{"NULL", has_bias ? "NULL" : std::move(bias)};
}

std::vector<WeightCopy> FirstCopies(const SlowWeights& weights) {
  const bool keeps = weights.kept > 0;
  const std::int64_t block = keeps ? weights.kept : weights.block;
  const std::int64_t outputs = block == 0 ? weights.outputs : std::min(block, weights.outputs);
  std::vector<WeightCopy> copies = {{weights.weights, keeps ? weights.kept_buffer : weights.buffer,
                                     outputs * weights.channel_bytes}};
  if (!weights.bias.empty()) {
    copies.push_back(
        {weights.bias, keeps ? weights.kept_bias : weights.bias_buffer, outputs * kBiasBytes});
  }
  return copies;
}

std::vector<Call> SplitBlocks(const Call& call) {
  if (!call.weights || call.weights->block == 0) return {call};
  const std::int64_t steps = std::max<std::int64_t>(std::ssize(call.rows), 1);
  const std::int64_t most = std::max<std::int64_t>(kMaxRows / steps, 1);
  std::vector<Call> calls;
  for (std::int64_t first = 0; first < call.weights->blocks; first += most) {
    calls.push_back(call);
    calls.back().weights->first = first;
    calls.back().weights->blocks = std::min(most, call.weights->blocks - first);
    calls.back().weights->is_ahead = call.weights->is_ahead && first == 0;
  }
  return calls;
}

std::vector<plan::StreamRange> RowsOfBlocks(const Call& call) {
  std::vector<plan::StreamRange> rows = call.rows;
  if (rows.empty()) rows = {{0, call.views[0].height}};
  if (call.weights->block == 0) return rows;
  for (std::size_t step = 0; step < rows.size(); ++step) {
    if (rows[step].empty()) continue;
    const std::int64_t first = static_cast<std::int64_t>(step) * call.weights->blocks;
    rows[step] = {first, first + call.weights->blocks};
  }
  return rows;
}

}  // namespace neap::emit
