// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/library_overlap.h"

#include <algorithm>

#include "neap/ops/op_table.h"

namespace neap::ops::overlap {
namespace {

using graph::ElementType;
using graph::Operand;
using graph::Shape;
using graph::Tensor;

// Bytes are elements: all kernels here are of 8 bits.

// Images of the input and output, one behind the other.
struct Images {
  std::int64_t count = 1;
  std::int64_t in_bytes = 0;
  std::int64_t pixels = 0;  // of an output
};

// `block` pixels are gathered, then written; a smaller block ends an image.
std::int64_t GatheredDistance(const std::vector<std::int64_t>& lowest, std::int64_t channels,
                              const Images& images, std::int64_t block) {
  std::int64_t distance = 0;
  for (std::int64_t at = 0; at < images.count * images.pixels; ++at) {
    const std::int64_t in_image = at % images.pixels;
    const std::int64_t first = at - in_image % block;
    Note(first * channels, lowest[static_cast<std::size_t>(at)], &distance);
  }
  return distance;
}

// A pixel's first element is copied to the output before the others of its window are read.
std::int64_t CopiedFirstDistance(const std::vector<std::int64_t>& lowest, std::int64_t channels) {
  std::int64_t distance = 0;
  for (std::size_t at = 0; at < lowest.size(); ++at) {
    Note((static_cast<std::int64_t>(at) + 1) * channels, lowest[at], &distance);
  }
  return distance;
}

// Rows of a matrix: those of the input are `stride` bytes apart, of the output `columns`.
struct Rows {
  std::int64_t count = 0;
  std::int64_t stride = 0;
  std::int64_t columns = 0;
  std::int64_t first_in = 0;
  std::int64_t first_out = 0;
};

// Two columns of all rows, then the next two; a last one alone.
void ColumnPairs(const Rows& rows, std::int64_t* distance) {
  const bool odd = rows.columns % 2 != 0;
  const std::int64_t last_pass = odd ? rows.columns - 1 : rows.columns - 2;
  if (last_pass > 0) {
    // All rows are read again after the pass before has written the last row.
    Note(rows.first_out + (rows.count - 1) * rows.columns + last_pass, rows.first_in, distance);
    return;
  }
  // One pass: two rows at once, or one by one.
  const std::int64_t at_once = odd ? 1 : 2;
  for (std::int64_t row = 0; row < rows.count; row += at_once) {
    Note(rows.first_out + row * rows.columns, rows.first_in + row * rows.stride, distance);
  }
}

// Four rows at once, column by column; then single rows, four columns at once.
void RowQuads(const Rows& rows, std::int64_t* distance) {
  std::int64_t row = 0;
  for (; row + 4 <= rows.count; row += 4) {
    const std::int64_t in = rows.first_in + row * rows.stride;
    const std::int64_t out = rows.first_out + row * rows.columns;
    Note(out, in, distance);
    if (rows.columns > 1) Note(out + 3 * rows.columns + rows.columns - 1, in, distance);
  }
  for (; row < rows.count; ++row) {
    const std::int64_t quads = (rows.columns - 1) / 4;  // written before the last read
    Note(rows.first_out + row * rows.columns + 4 * quads, rows.first_in + row * rows.stride,
         distance);
  }
}

void MatrixProduct(KernelLibrary library, const Rows& rows, std::int64_t* distance) {
  library == KernelLibrary::kCmsisNnMve ? RowQuads(rows, distance) : ColumnPairs(rows, distance);
}

std::int64_t PointwiseDistance(KernelLibrary library, const ops::Window& w) {
  std::int64_t distance = 0;
  if (w.stride_height == 1 && w.stride_width == 1) {
    MatrixProduct(library,
                  {w.batches * w.in_height * w.in_width, w.in_channels, w.out_channels, 0, 0},
                  &distance);
    return distance;
  }
  // A row of the image at a time.
  for (std::int64_t b = 0; b < w.batches; ++b) {
    for (std::int64_t y = 0; y < w.out_height; ++y) {
      const std::int64_t in_row = b * w.in_height + y * w.stride_height;
      MatrixProduct(library,
                    {w.out_width, w.stride_width * w.in_channels, w.out_channels,
                     in_row * w.in_width * w.in_channels,
                     (b * w.out_height + y) * w.out_width * w.out_channels},
                    &distance);
    }
  }
  return distance;
}

bool IsUndilated(const ops::Window& w) { return w.dilation_height == 1 && w.dilation_width == 1; }

Images ImagesOf(const ops::Window& w) {
  return {w.batches, w.in_height * w.in_width * w.in_channels, w.out_height * w.out_width};
}

std::optional<std::int64_t> ConvolutionDistance(const Subject& s, const ops::Window& w) {
  const Tensor* filter = Operand(s.subgraph, s.op.inputs, 1);
  const bool grouped = !filter->shape || filter->shape->back() != w.in_channels;
  if (grouped) return std::nullopt;
  const bool is_1x1 = w.kernel_height == 1 && w.kernel_width == 1;
  if (is_1x1 && w.pad_top == 0 && w.pad_left == 0 && IsUndilated(w)) {
    return PointwiseDistance(s.library, w);
  }
  const bool mve = s.library == KernelLibrary::kCmsisNnMve;
  // A single row has a kernel of its own there, another in each version of the library.
  if (mve && w.in_height == 1 && w.kernel_height == 1) return std::nullopt;
  return GatheredDistance(LowestReads(w, 1), w.out_channels, ImagesOf(w), mve ? 4 : 2);
}

// 124 channels of all pixels, then the next 124, each in blocks of four pixels.
std::int64_t ChannelBlocksDistance(const ops::Window& w) {
  constexpr std::int64_t kBlock = 124;
  const std::vector<std::int64_t> lowest = LowestReads(w, 1);
  const std::int64_t channels = w.out_channels;
  const std::int64_t pixels = w.out_height * w.out_width;
  std::int64_t distance = 0;
  for (std::int64_t first = 0; first < channels; first += kBlock) {
    const std::int64_t end = std::min(first + kBlock, channels);
    for (std::int64_t at = 0; at < pixels; ++at) {
      const std::int64_t own = lowest[static_cast<std::size_t>(at)];
      if (own == kNever) continue;
      const std::int64_t done = at - at % 4;
      if (done > 0) Note((done - 1) * channels + end, own + first, &distance);
      if (first > 0) Note((pixels - 1) * channels + first, own + first, &distance);
    }
  }
  return distance;
}

// A channel of the input at a time, four of its outputs at once.
std::int64_t FourOutputsDistance(const ops::Window& w) {
  const std::vector<std::int64_t> lowest = LowestReads(w, 1);
  const std::int64_t multiplier = w.out_channels / w.in_channels;
  const std::int64_t last = w.in_channels - 1;
  std::int64_t distance = 0;
  for (std::size_t at = 0; at < lowest.size(); ++at) {
    if (lowest[at] == kNever) continue;
    const std::int64_t first = static_cast<std::int64_t>(at) * w.out_channels;
    Note(first + last * multiplier + multiplier - 4, lowest[at] + last, &distance);
  }
  return distance;
}

std::optional<std::int64_t> DepthwiseDistance(const Subject& s, const ops::Window& w) {
  if (w.in_channels == 0 || w.out_channels % w.in_channels != 0) return std::nullopt;
  const std::int64_t multiplier = w.out_channels / w.in_channels;
  const bool single = w.batches == 1 && IsUndilated(w);
  if (single && multiplier == 1) {
    const bool is_3x3 =
        w.kernel_height == 3 && w.kernel_width == 3 && w.pad_top <= 1 && w.pad_left <= 1;
    if (s.library == KernelLibrary::kCmsisNnMve) return ChannelBlocksDistance(w);
    // Four channels at once, or a pixel: the same distance.
    if (is_3x3 || s.library == KernelLibrary::kCmsisNnDsp) {
      return GatheredDistance(LowestReads(w, 1), w.out_channels, ImagesOf(w), 1);
    }
  }
  if (single && multiplier % 4 == 0) return FourOutputsDistance(w);
  const auto reference = Window(s);
  return reference ? std::optional(reference->bytes) : std::nullopt;
}

// Groups of outputs, each after the whole row: the last one is the least far.
std::optional<std::int64_t> FullyConnectedDistance(const Subject& s) {
  const std::int64_t outputs = s.out.shape->empty() ? 0 : s.out.shape->back();
  std::int64_t elements = 1;
  std::int64_t results = 1;
  for (const std::int64_t size : *s.in.shape) elements *= size;
  for (const std::int64_t size : *s.out.shape) results *= size;
  if (outputs <= 0 || results % outputs != 0) return std::nullopt;
  const std::int64_t batches = results / outputs;
  if (batches == 0 || elements % batches != 0) return std::nullopt;
  const std::int64_t depth = elements / batches;
  std::int64_t distance = 0;
  if (s.out.shape->size() > 2 && depth % 4 == 0) {
    // The runtime calls the kernel of a 1x1 convolution.
    MatrixProduct(s.library, {batches, depth, outputs, 0, 0}, &distance);
    return distance;
  }
  const std::int64_t group = s.library == KernelLibrary::kCmsisNnDsp ? 2 : 3;
  const std::int64_t last = outputs % group == 0 ? outputs - group : outputs - 1;
  for (std::int64_t b = 0; b < batches; ++b) {
    Note(b * outputs + last, b * depth, &distance);
  }
  return distance;
}

std::optional<std::int64_t> CmsisDistance(const Subject& s) {
  const OpKind kind = KindOf(s.op);
  if (kind == OpKind::kFullyConnected) return FullyConnectedDistance(s);
  const auto window = WindowOf(s.subgraph, s.op);
  if (!window) return std::nullopt;
  switch (kind) {
    case OpKind::kConv2d:
      return ConvolutionDistance(s, *window);
    case OpKind::kDepthwiseConv2d:
      return DepthwiseDistance(s, *window);
    case OpKind::kAveragePool2d:
    case OpKind::kMaxPool2d: {
      // The kernels have no loop over images.
      if (window->batches != 1) return std::nullopt;
      const auto lowest = LowestReads(*window, 1);
      return kind == OpKind::kMaxPool2d
                 ? CopiedFirstDistance(lowest, window->out_channels)
                 : GatheredDistance(lowest, window->out_channels, ImagesOf(*window), 1);
    }
    default:
      return std::nullopt;
  }
}

// Of 8 bits, weights too: other types run other kernels.
bool HasKernel(const Subject& s) {
  if (s.in.type != ElementType::kInt8 || s.out.type != ElementType::kInt8) return false;
  const bool weighted =
      Is(s.op, OpKind::kConv2d, OpKind::kDepthwiseConv2d, OpKind::kFullyConnected);
  if (!weighted) {
    return Is(s.op, OpKind::kAveragePool2d, OpKind::kMaxPool2d, OpKind::kAdd, OpKind::kMul);
  }
  const Tensor* weights = Operand(s.subgraph, s.op.inputs, 1);
  return weights != nullptr && weights->type == ElementType::kInt8 && !weights->compressed;
}

}  // namespace

std::optional<OverlapRule> CmsisNn(const Subject& s) {
  if (s.input != 0 || !HasKernel(s)) return std::nullopt;
  const auto distance = CmsisDistance(s);
  if (!distance) return std::nullopt;
  return OverlapRule{OverlapRule::Kind::kStartsBelow, *distance};
}

// Its loops are those of the reference kernels; where four channels are computed at once, they are
// neighbours of one pixel, which needs no more.
std::optional<OverlapRule> EspNn(const Subject& s) {
  if (!HasKernel(s)) return std::nullopt;
  return Is(s.op, OpKind::kAdd, OpKind::kMul) ? Binary(s)
         : Is(s.op, OpKind::kFullyConnected)  ? FullyConnected(s)
                                              : Window(s);
}

}  // namespace neap::ops::overlap
