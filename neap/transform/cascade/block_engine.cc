// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/block_engine.h"

#include <algorithm>

#include "neap/base/bytes.h"

namespace neap::cascade {
namespace {

// The array multiplies kernels of at most this side; larger ones are parts of it, and each part
// reads the input.
constexpr std::int64_t kKernelSide = 8;
constexpr std::int64_t kSumBytes = 4;
constexpr std::int64_t kChannelUnit = 8;  // in the engine's memory
// Products saturate here, so that sums of some stay in 64 bits: no such operator is the cheaper
// one.
constexpr std::int64_t kLargest = kMaxBytes / 16;

std::int64_t Product(std::int64_t a, std::int64_t b) {
  return std::min(CheckedMultiply(a, b).value_or(kLargest), kLargest);
}

// Taps are multiplied one by one for up to 32 channels, or four at a time for up to 8
// (part-kernel); four at a time where channels are not summed.
struct Steps {
  std::int64_t count = 1;           // for every unit of depth
  std::int64_t channels_held = 32;  // of a block of the input
};
Steps StepsOf(const EngineLayer& layer) {
  const std::int64_t taps = Product(layer.kernel_height, layer.kernel_width);
  if (layer.per_channel) return {CeilDiv(taps, 4), 0};
  const std::int64_t depth_first = Product(taps, CeilDiv(layer.in_depth, 32));
  const std::int64_t part_kernel = Product(CeilDiv(taps, 4), CeilDiv(layer.in_depth, 8));
  return depth_first <= part_kernel ? Steps{depth_first, 32} : Steps{part_kernel, 16};
}

std::int64_t ArrayCycles(const EngineLayer& layer, const BlockEngine& engine,
                         const EngineBlock& block) {
  if (!layer.multiplies) return 0;
  const std::int64_t plane =
      Product(CeilDiv(block.height, engine.block_height), CeilDiv(block.width, engine.block_width));
  const std::int64_t decoding = layer.has_weights ? engine.weight_cycles : 0;
  const std::int64_t step = std::max(decoding, Product(engine.step_cycles, plane));
  return Product(step, Product(StepsOf(layer).count, CeilDiv(block.depth, engine.block_depth)));
}

std::int64_t OutputCycles(const EngineLayer& layer, const EngineBlock& block) {
  const std::int64_t elements = Product(Product(block.height, block.width), block.depth);
  return CeilDiv(Product(elements, layer.output_millicycles), 1000);
}

// Rows or columns of the input for so many of the output, without those of a kernel's later parts.
std::int64_t Reach(std::int64_t outputs, std::int64_t stride, std::int64_t kernel,
                   std::int64_t dilation) {
  return Product(outputs - 1, stride) + Product(std::min(kernel, kKernelSide) - 1, dilation) + 1;
}
// Rows and columns of a block of the input.
std::int64_t RowsFor(const EngineLayer& layer, std::int64_t height) {
  return Reach(height, layer.stride_height, layer.kernel_height, layer.dilation_height);
}
std::int64_t ColumnsFor(const EngineLayer& layer, std::int64_t width) {
  return Reach(width, layer.stride_width, layer.kernel_width, layer.dilation_width);
}

// Two blocks of each, as the engine's memory is divided.
bool Fits(const EngineLayer& layer, const BlockEngine& engine, const EngineBlock& block) {
  const std::int64_t held =
      layer.per_channel ? block.depth : std::min(layer.in_depth, StepsOf(layer).channels_held);
  const std::int64_t plane = Product(RowsFor(layer, block.height), ColumnsFor(layer, block.width));
  const std::int64_t input =
      Product(plane, AlignUp(Product(held, layer.input_element_bytes), kChannelUnit));
  const std::int64_t sums =
      Product(Product(block.height, block.width), AlignUp(block.depth, kChannelUnit) * kSumBytes);
  const auto twice = [](std::int64_t bytes, std::int64_t granule) {
    return AlignUp(bytes * 2, granule);
  };
  return twice(input, engine.input_granule_bytes) + twice(sums, engine.sums_granule_bytes) <=
         engine.buffer_bytes;
}

}  // namespace

EngineWork WorkInOneBlock(const EngineLayer& layer, const BlockEngine& engine) {
  const EngineBlock all{layer.height, layer.width, layer.depth};
  EngineWork work;
  work.cycles = std::max(ArrayCycles(layer, engine, all), OutputCycles(layer, all));
  work.input_bytes = Product(Product(Product(layer.in_height, layer.in_width),
                                     layer.per_channel ? layer.depth : layer.in_depth),
                             layer.input_element_bytes);
  return work;
}

std::optional<EngineWork> WorkOf(const EngineLayer& layer, const BlockEngine& engine,
                                 const EngineBlock& block) {
  if (!Fits(layer, engine, block)) return std::nullopt;
  const EngineBlock done{std::min(block.height, layer.height), std::min(block.width, layer.width),
                         std::min(block.depth, layer.depth)};
  const std::int64_t spatial =
      Product(CeilDiv(layer.height, block.height), CeilDiv(layer.width, block.width));
  const std::int64_t depths = CeilDiv(layer.depth, block.depth);
  const std::int64_t array = ArrayCycles(layer, engine, done);
  const std::int64_t output = OutputCycles(layer, done);
  EngineWork work;
  // The first block fills the pipeline.
  work.cycles =
      Product(std::max(array, output), Product(spatial, depths)) + std::min(array, output);
  const std::int64_t rows = std::min(RowsFor(layer, done.height), layer.in_height);
  const std::int64_t columns = std::min(ColumnsFor(layer, done.width), layer.in_width);
  const std::int64_t parts =
      Product(CeilDiv(layer.kernel_height, kKernelSide), CeilDiv(layer.kernel_width, kKernelSide));
  const std::int64_t channels = layer.per_channel ? layer.depth : Product(layer.in_depth, depths);
  work.input_bytes = Product(Product(Product(rows, columns), Product(spatial, parts)),
                             Product(channels, layer.input_element_bytes));
  work.weight_reads = spatial;
  return work;
}

std::vector<EngineBlock> BlocksOf(const EngineLayer& layer, const BlockEngine& engine) {
  // Descending sizes, each the smallest multiple of `unit` for its number of parts.
  const auto sizes = [](std::int64_t size, std::int64_t unit, std::int64_t largest) {
    std::vector<std::int64_t> list;
    const std::int64_t most = std::max(largest / unit, std::int64_t{1}) * unit;
    std::int64_t parts = CeilDiv(size, most);
    while (true) {
      const std::int64_t block = AlignUp(CeilDiv(size, parts), unit);
      list.push_back(block);
      if (block == unit) return list;
      // The smallest number of parts that a smaller block gives.
      parts = CeilDiv(size, block - unit);
    }
  };
  std::vector<EngineBlock> blocks;
  for (const std::int64_t height :
       sizes(layer.height, engine.block_height, engine.largest_height)) {
    for (const std::int64_t width : sizes(layer.width, engine.block_width, engine.largest_width)) {
      for (const std::int64_t depth :
           sizes(layer.depth, engine.block_depth, engine.largest_depth)) {
        blocks.push_back({height, width, depth});
      }
    }
  }
  return blocks;
}

}  // namespace neap::cascade
