// SPDX-License-Identifier: Apache-2.0
//
// Block engines: multiplier arrays such as that of Ethos-U55, which compute an operator's output
// block by block. The engine's own memory contains a block of the input and the sums of a block of
// the output, each twice: one block is fetched while another is computed. Small blocks read the
// overlaps of windows, the input's channels and the weights more often; large ones do not fit.
// Source: TVM RFC 0037 (cascading scheduler), whose parts for Ethos-U have such configurations of
// blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace neap::cascade {

// Of a >= 0 and b > 0 whose sum fits.
inline std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Operations of a block engine's output unit besides scaling sums: table lookups (also for
// functions fused into a convolution), maxima, sums, products, products of 32 bits.
enum class OutputClass : std::uint8_t { kLookup, kMaxPool, kAdd, kMultiply, kMultiplyWide, kOther };
inline constexpr std::size_t kOutputClasses = 5;  // kOther has no rate of its own

struct BlockEngine {
  std::int64_t macs_per_cycle = 0;  // 0: no such engine
  std::int64_t block_height = 1;    // of the unit block; blocks are multiples of it
  std::int64_t block_width = 1;
  std::int64_t block_depth = 8;
  std::int64_t step_cycles = 4;    // of a unit block, a kernel step and a block of input channels
  std::int64_t weight_cycles = 0;  // to decode the weights of a kernel step of one unit of depth
  std::int64_t output_millicycles = 500;  // for each element of an output
  // For each element of outputs that the output unit makes otherwise, by OutputClass; 0: as above.
  std::int64_t output_millicycles_of[kOutputClasses] = {};
  // Memory for blocks of the input and of sums; 0: not described, the output is one block, and all
  // bytes are read once.
  std::int64_t buffer_bytes = 0;
  std::int64_t input_granule_bytes = 1;  // the two blocks of the input take a multiple of it
  std::int64_t sums_granule_bytes = 1;
  std::int64_t largest_height = 32;  // of a block
  std::int64_t largest_width = 64;
  std::int64_t largest_depth = 128;
};

// An operator as the engine sees it. Sizes are at least 1.
struct EngineLayer {
  std::int64_t height = 1;  // of the output
  std::int64_t width = 1;
  std::int64_t depth = 1;
  std::int64_t in_height = 1;
  std::int64_t in_width = 1;
  std::int64_t in_depth = 1;  // channels that are summed, or 1
  std::int64_t kernel_height = 1;
  std::int64_t kernel_width = 1;
  std::int64_t stride_height = 1;
  std::int64_t stride_width = 1;
  std::int64_t dilation_height = 1;
  std::int64_t dilation_width = 1;
  std::int64_t input_element_bytes = 1;
  bool multiplies = true;               // else the output unit does all
  bool has_weights = true;              // pooling has none
  bool per_channel = false;             // an output channel reads one input channel
  std::int64_t output_millicycles = 0;  // for each element
};

struct EngineBlock {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t depth = 0;
  friend bool operator==(const EngineBlock&, const EngineBlock&) = default;
};

struct EngineWork {
  std::int64_t cycles = 0;        // arithmetic and output unit, one block beside the other
  std::int64_t input_bytes = 0;   // read, of the first input
  std::int64_t weight_reads = 1;  // times that all weights are read
};

// Of a layer that is multiplied, with blocks of one size: nullopt where they do not fit into the
// engine's memory. O(1).
std::optional<EngineWork> WorkOf(const EngineLayer& layer, const BlockEngine& engine,
                                 const EngineBlock& block);
// Of a layer that is not multiplied, and of an engine whose memory is not described.
EngineWork WorkInOneBlock(const EngineLayer& layer, const BlockEngine& engine);

// Blocks of which one is best under any rates of the memories: of all multiples of the unit block
// that cut a dimension into equally many parts, the smallest. Largest first. Some may not fit.
std::vector<EngineBlock> BlocksOf(const EngineLayer& layer, const BlockEngine& engine);

}  // namespace neap::cascade
