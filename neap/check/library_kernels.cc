// SPDX-License-Identifier: Apache-2.0
#include "neap/check/library_kernels.h"

#include <algorithm>
#include <optional>

#include "neap/check/window_walk.h"
#include "neap/ops/op_table.h"
#include "neap/ops/window.h"

namespace neap::check {
namespace {

using graph::ElementType;
using graph::Op;
using graph::Subgraph;
using graph::Tensor;
using ops::Is;
using ops::KernelLibrary;
using ops::OpKind;
using ops::Window;

// arm_convolve_s8: columns of `buffers` pixels, then their outputs.
void WalkIm2col(const WindowImage& image, std::int64_t buffers, Tape* tape) {
  const Window& w = image.w;
  std::int64_t filled = 0;
  std::int64_t out = image.out;
  for (std::int64_t y = 0; y < w.out_height && tape->Intact(); ++y) {
    for (std::int64_t x = 0; x < w.out_width; ++x) {
      ReadWindow(image, y, x, 0, w.in_channels, tape);
      if (++filled < buffers) continue;
      out += filled * w.out_channels;
      tape->WriteUpTo(out);
      filled = 0;
    }
  }
  tape->WriteUpTo(out + filled * w.out_channels);
}

// A product of matrices: rows of the left one are `stride` apart.
struct Product {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t rows = 0;
  std::int64_t stride = 0;
  std::int64_t depth = 0;
  std::int64_t columns = 0;
};

// arm_nn_mat_mult_nt_t_s8 without MVE.
void WalkColumnsFirst(const Product& p, Tape* tape) {
  const auto read = [&](std::int64_t row) {
    tape->Read(p.in + row * p.stride, p.in + row * p.stride + p.depth);
  };
  std::int64_t column = 0;
  for (; column + 2 <= p.columns && tape->Intact(); column += 2) {
    for (std::int64_t row = 0; row < p.rows; row += 2) {
      const std::int64_t end = std::min(row + 2, p.rows);
      for (std::int64_t r = row; r < end; ++r) read(r);
      tape->WriteUpTo(p.out + (end - 1) * p.columns + column + 2);
    }
  }
  for (std::int64_t row = 0; column < p.columns && row < p.rows; ++row) {
    read(row);
    tape->WriteUpTo(p.out + row * p.columns + p.columns);
  }
}

// arm_nn_mat_mult_nt_t_s8 with MVE.
void WalkRowsFirst(const Product& p, Tape* tape) {
  std::int64_t row = 0;
  for (; row + 4 <= p.rows && tape->Intact(); row += 4) {
    for (std::int64_t column = 0; column < p.columns; ++column) {
      for (std::int64_t r = row; r < row + 4; ++r) {
        tape->Read(p.in + r * p.stride, p.in + r * p.stride + p.depth);
      }
      tape->WriteUpTo(p.out + (row + 3) * p.columns + column + 1);
    }
  }
  for (; row < p.rows; ++row) {
    for (std::int64_t column = 0; column < p.columns; ++column) {
      tape->Read(p.in + row * p.stride, p.in + row * p.stride + p.depth);
      if (column % 4 == 3) tape->WriteUpTo(p.out + row * p.columns + column + 1);
    }
    tape->WriteUpTo(p.out + (row + 1) * p.columns);
  }
}

void WalkProduct(KernelLibrary library, const Product& product, Tape* tape) {
  library == KernelLibrary::kCmsisNnMve ? WalkRowsFirst(product, tape)
                                        : WalkColumnsFirst(product, tape);
}

// arm_convolve_wrapper_s8.
bool WalkConvolution(const Subgraph& subgraph, const Op& op, const Window& w, KernelLibrary library,
                     Tape* tape) {
  const Tensor& filter = subgraph.tensors[op.inputs[1]];
  if (!filter.shape || filter.shape->size() != 4 || filter.shape->back() != w.in_channels) {
    return false;
  }
  const bool vector = library == KernelLibrary::kCmsisNnMve;
  const std::int64_t in_image = w.in_height * w.in_width * w.in_channels;
  const std::int64_t out_image = w.out_height * w.out_width * w.out_channels;
  if (w.kernel_height * w.kernel_width == 1 && w.pad_top == 0 && w.pad_left == 0 &&
      w.dilation_height == 1 && w.dilation_width == 1) {
    if (w.stride_height * w.stride_width == 1) {
      const std::int64_t rows = w.batches * w.in_height * w.in_width;
      WalkProduct(library, {0, 0, rows, w.in_channels, w.in_channels, w.out_channels}, tape);
      return true;
    }
    for (std::int64_t b = 0; b < w.batches; ++b) {
      for (std::int64_t y = 0; y < w.out_height; ++y) {
        WalkProduct(library,
                    {b * in_image + y * w.stride_height * w.in_width * w.in_channels,
                     b * out_image + y * w.out_width * w.out_channels, w.out_width,
                     w.stride_width * w.in_channels, w.in_channels, w.out_channels},
                    tape);
      }
    }
    return true;
  }
  if (vector && w.in_height == 1 && w.kernel_height == 1) return false;
  for (std::int64_t b = 0; b < w.batches; ++b) {
    WalkIm2col({w, b * in_image, b * out_image}, vector ? 4 : 2, tape);
  }
  return true;
}

// arm_depthwise_conv_s8_opt with MVE.
void WalkChannelBlocks(const Window& w, Tape* tape) {
  constexpr std::int64_t kChannels = 124;
  const WindowImage image{w};
  for (std::int64_t channel = 0; channel < w.in_channels; channel += kChannels) {
    const std::int64_t width = std::min(kChannels, w.in_channels - channel);
    std::int64_t pixel = 0;
    for (std::int64_t y = 0; y < w.out_height && tape->Intact(); ++y) {
      for (std::int64_t x = 0; x < w.out_width; ++x, ++pixel) {
        ReadWindow(image, y, x, channel, width, tape);
        if (pixel % 4 == 3) tape->WriteUpTo(pixel * w.out_channels + channel + width);
      }
    }
    tape->WriteUpTo((pixel - 1) * w.out_channels + channel + width);
  }
}

// Pixel by pixel: `width` outputs of a channel or of `width` channels, then the next.
void WalkPixels(const WindowImage& image, std::int64_t width, bool of_one_channel, Tape* tape) {
  const Window& w = image.w;
  const std::int64_t multiplier = w.out_channels / w.in_channels;
  std::int64_t out = image.out;
  for (std::int64_t y = 0; y < w.out_height && tape->Intact(); ++y) {
    for (std::int64_t x = 0; x < w.out_width; ++x) {
      for (std::int64_t c = 0; c < w.out_channels;) {
        const bool whole = c + width <= w.out_channels;
        const std::int64_t now = whole ? width : 1;
        ReadWindow(image, y, x, c / multiplier, of_one_channel ? 1 : now, tape);
        c += now;
        tape->WriteUpTo(out + c);
      }
      out += w.out_channels;
    }
  }
}

// arm_depthwise_conv_wrapper_s8.
bool WalkDepthwise(const Window& w, KernelLibrary library, Tape* tape) {
  if (w.in_channels == 0 || w.out_channels % w.in_channels != 0) return false;
  const std::int64_t multiplier = w.out_channels / w.in_channels;
  const bool plain = w.batches == 1 && w.dilation_height == 1 && w.dilation_width == 1;
  if (plain && multiplier == 1) {
    if (library == KernelLibrary::kCmsisNnMve) {
      WalkChannelBlocks(w, tape);
      return true;
    }
    if (w.kernel_height == 3 && w.kernel_width == 3 && w.pad_top <= 1 && w.pad_left <= 1) {
      WalkPixels({w}, 4, false, tape);
      return true;
    }
    if (library == KernelLibrary::kCmsisNnDsp) {
      WalkPixels({w}, w.out_channels, false, tape);
      return true;
    }
  }
  if (plain && multiplier % 4 == 0) {
    WalkPixels({w}, 4, true, tape);
    return true;
  }
  for (std::int64_t b = 0; b < w.batches; ++b) {
    WalkPixels({w, b * w.in_height * w.in_width * w.in_channels,
                b * w.out_height * w.out_width * w.out_channels},
               1, true, tape);
  }
  return true;
}

// arm_avgpool_s8: channels one by one, sixteen at once, or all.
void WalkAveragePool(const Window& w, KernelLibrary library, Tape* tape) {
  const std::int64_t width = library == KernelLibrary::kCmsisNnScalar ? 1
                             : library == KernelLibrary::kCmsisNnDsp  ? w.out_channels
                                                                      : 16;
  const WindowImage image{w};
  std::int64_t out = 0;
  for (std::int64_t y = 0; y < w.out_height && tape->Intact(); ++y) {
    for (std::int64_t x = 0; x < w.out_width; ++x, out += w.out_channels) {
      for (std::int64_t c = 0; c < w.out_channels; c += width) {
        const std::int64_t end = std::min(c + width, w.out_channels);
        ReadWindow(image, y, x, c, end - c, tape);
        tape->WriteUpTo(out + end);
      }
    }
  }
}

// arm_max_pool_s8: the window's first element is copied to the output, in any order of bytes, and
// the others are compared with it there.
void WalkMaxPool(const Window& w, Tape* tape) {
  const WindowImage image{w};
  std::int64_t out = 0;
  for (std::int64_t y = 0; y < w.out_height && tape->Intact(); ++y) {
    for (std::int64_t x = 0; x < w.out_width; ++x) {
      out += w.out_channels;
      tape->WriteUpTo(out);
      ReadWindow(image, y, x, 0, w.out_channels, tape);
    }
  }
}

// arm_fully_connected_s8, or a 1x1 convolution in its place.
bool WalkFullyConnected(const Subgraph& subgraph, const Op& op, KernelLibrary library, Tape* tape) {
  const auto in = graph::TensorBytes(subgraph.tensors[op.inputs[0]]);
  const auto out = graph::TensorBytes(subgraph.tensors[op.outputs[0]]);
  const auto& shape = subgraph.tensors[op.outputs[0]].shape;
  if (!in || !out || !shape || shape->empty() || shape->back() <= 0) return false;
  const std::int64_t columns = shape->back();
  const std::int64_t rows = *out / columns;
  if (rows == 0 || *in % rows != 0) return false;
  const std::int64_t depth = *in / rows;
  if (shape->size() > 2 && depth % 4 == 0) {
    WalkProduct(library, {0, 0, rows, depth, depth, columns}, tape);
    return true;
  }
  const std::int64_t at_once = library == KernelLibrary::kCmsisNnDsp ? 2 : 3;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns;) {
      tape->Read(row * depth, (row + 1) * depth);
      column += column + at_once <= columns ? at_once : 1;
      tape->WriteUpTo(row * columns + column);
    }
  }
  return true;
}

}  // namespace

bool HasLibraryKernel(const Subgraph& subgraph, const Op& op, KernelLibrary library) {
  const auto is_int8 = [&](graph::TensorId id) {
    return id.valid() && subgraph.tensors[id].type == ElementType::kInt8;
  };
  if (op.inputs.empty() || op.outputs.empty() || !is_int8(op.inputs[0]) ||
      !is_int8(op.outputs[0])) {
    return false;
  }
  if (Is(op, OpKind::kAveragePool2d, OpKind::kMaxPool2d)) return true;
  if (Is(op, OpKind::kAdd, OpKind::kMul)) return library == KernelLibrary::kEspNn;
  return Is(op, OpKind::kConv2d, OpKind::kDepthwiseConv2d, OpKind::kFullyConnected) &&
         op.inputs.size() > 1 && is_int8(op.inputs[1]) &&
         !subgraph.tensors[op.inputs[1]].compressed;
}

bool WalkCmsisNn(const Subgraph& subgraph, const Op& op, KernelLibrary library, Tape* tape) {
  if (!HasLibraryKernel(subgraph, op, library)) return false;
  if (Is(op, OpKind::kFullyConnected)) return WalkFullyConnected(subgraph, op, library, tape);
  const auto window = ops::WindowOf(subgraph, op);
  if (!window) return false;
  if (Is(op, OpKind::kConv2d)) return WalkConvolution(subgraph, op, *window, library, tape);
  if (Is(op, OpKind::kDepthwiseConv2d)) return WalkDepthwise(*window, library, tape);
  if (window->batches != 1) return false;
  if (Is(op, OpKind::kMaxPool2d)) {
    WalkMaxPool(*window, tape);
  } else {
    WalkAveragePool(*window, library, tape);
  }
  return true;
}

}  // namespace neap::check
