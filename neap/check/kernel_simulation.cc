// SPDX-License-Identifier: Apache-2.0
#include "neap/check/kernel_simulation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "neap/check/kernel_tape.h"
#include "neap/check/library_kernels.h"
#include "neap/check/neap_rt_kernels.h"
#include "neap/ops/neap_rt.h"
#include "neap/ops/op_table.h"
#include "neap/ops/resize.h"
#include "neap/ops/window.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::Subgraph;
using graph::Tensor;
using ops::Is;
using ops::OpKind;

struct Sizes {
  std::int64_t in_element = 0;
  std::int64_t out_element = 0;
  std::int64_t in_elements = 0;
  std::int64_t out_elements = 0;
};

const Tensor& InputOf(const Subgraph& subgraph, const Op& op, std::size_t input) {
  return subgraph.tensors[op.inputs[input]];
}

std::optional<Sizes> SizesOf(const Tensor& in, const Tensor& out) {
  const auto in_bytes = graph::TensorBytes(in);
  const auto out_bytes = graph::TensorBytes(out);
  Sizes sizes;
  sizes.in_element = graph::BitsOf(in.type) / 8;
  sizes.out_element = graph::BitsOf(out.type) / 8;
  const bool whole = graph::BitsOf(in.type) % 8 == 0 && graph::BitsOf(out.type) % 8 == 0;
  if (!in_bytes || !out_bytes || !whole || sizes.in_element == 0 || sizes.out_element == 0) {
    return std::nullopt;
  }
  sizes.in_elements = *in_bytes / sizes.in_element;
  sizes.out_elements = *out_bytes / sizes.out_element;
  return sizes;
}

// One output pixel: channel after channel, each after its window.
void WalkPixel(const ops::Window& w, const Sizes& sizes, std::int64_t b, std::int64_t y,
               std::int64_t x, Tape* tape) {
  for (std::int64_t c = 0; c < w.out_channels; ++c) {
    for (std::int64_t ky = 0; ky < w.kernel_height; ++ky) {
      const std::int64_t row = y * w.stride_height - w.pad_top + ky * w.dilation_height;
      if (row < 0 || row >= w.in_height) continue;
      for (std::int64_t kx = 0; kx < w.kernel_width; ++kx) {
        const std::int64_t column = x * w.stride_width - w.pad_left + kx * w.dilation_width;
        if (column < 0 || column >= w.in_width) continue;
        const std::int64_t pixel = (b * w.in_height + row) * w.in_width + column;
        const std::int64_t first = pixel * w.in_channels;
        if (w.per_channel) {
          const std::int64_t from = first + c * w.in_channels / w.out_channels;
          tape->Read(from * sizes.in_element, (from + 1) * sizes.in_element);
        } else {
          tape->Read(first * sizes.in_element, (first + w.in_channels) * sizes.in_element);
        }
      }
    }
    tape->Write(sizes.out_element);
  }
}

bool WalkWindow(const ops::Window& w, const Sizes& sizes, Tape* tape) {
  for (std::int64_t b = 0; b < w.batches; ++b) {
    for (std::int64_t y = 0; y < w.out_height && tape->Intact(); ++y) {
      for (std::int64_t x = 0; x < w.out_width; ++x) WalkPixel(w, sizes, b, y, x, tape);
    }
  }
  return true;
}

bool WalkElements(const Sizes& sizes, Tape* tape) {
  for (std::int64_t i = 0; i < sizes.out_elements; ++i) {
    tape->Read(i * sizes.in_element, (i + 1) * sizes.in_element);
    tape->Write(sizes.out_element);
  }
  return true;
}

// Row by row: the largest, then the sum, then the quotients.
bool WalkSoftmax(const Sizes& sizes, std::int64_t depth, Tape* tape) {
  for (std::int64_t begin = 0; begin < sizes.in_elements; begin += depth) {
    for (int pass = 0; pass < 2; ++pass) {
      tape->Read(begin * sizes.in_element, (begin + depth) * sizes.in_element);
    }
    for (std::int64_t i = begin; i < begin + depth; ++i) {
      tape->Read(i * sizes.in_element, (i + 1) * sizes.in_element);
      tape->Write(sizes.out_element);
    }
  }
  return true;
}

bool WalkFullyConnected(const Sizes& sizes, std::int64_t outputs, Tape* tape) {
  const std::int64_t batches = sizes.out_elements / outputs;
  const std::int64_t depth = sizes.in_elements / batches;
  for (std::int64_t b = 0; b < batches; ++b) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      tape->Read(b * depth * sizes.in_element, (b + 1) * depth * sizes.in_element);
      tape->Write(sizes.out_element);
    }
  }
  return true;
}

// The integers of a small constant; empty where they are not known.
std::vector<std::int64_t> ConstantIntegers(const Subgraph& subgraph, const Op& op,
                                           std::size_t input) {
  std::vector<std::int64_t> values;
  if (input >= op.inputs.size() || !op.inputs[input].valid()) return values;
  const Tensor& tensor = subgraph.tensors[op.inputs[input]];
  if (!tensor.data) return values;
  const auto bytes = tensor.data->bytes;
  if (tensor.type == graph::ElementType::kInt32) {
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      std::int32_t value = 0;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      values.push_back(value);
    }
  } else if (tensor.type == graph::ElementType::kInt64) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      std::int64_t value = 0;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      values.push_back(value);
    }
  }
  return values;
}

// Output element by output element, counting up its coordinates.
bool WalkPad(const graph::Shape& in, const graph::Shape& out,
             const std::vector<std::int64_t>& paddings, const Sizes& sizes, Tape* tape) {
  const std::size_t rank = out.size();
  if (in.size() != rank || paddings.size() != 2 * rank) return false;
  graph::Shape at(rank, 0);
  for (std::int64_t k = 0; k < sizes.out_elements; ++k) {
    std::int64_t index = 0;
    bool inside = true;
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t coordinate = at[d] - paddings[2 * d];
      inside = inside && coordinate >= 0 && coordinate < in[d];
      index = index * in[d] + coordinate;
    }
    if (inside) tape->Read(index * sizes.in_element, (index + 1) * sizes.in_element);
    tape->Write(sizes.out_element);
    for (std::size_t d = rank; d-- > 0;) {
      if (++at[d] < out[d]) break;
      at[d] = 0;
    }
  }
  return true;
}

// The mean of every channel of one image, one channel after the other.
bool WalkSpatialMean(const graph::Shape& in, const Sizes& sizes, Tape* tape) {
  const std::int64_t channels = in[3];
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t pixel = 0; pixel < in[1] * in[2]; ++pixel) {
      const std::int64_t from = pixel * channels + c;
      tape->Read(from * sizes.in_element, (from + 1) * sizes.in_element);
    }
    tape->Write(sizes.out_element);
  }
  return true;
}

// The row (or column) of `in` at or below each of `out`, as the kernel computes it; in single
// precision with and without fused multiplication, the lower of the two.
std::vector<std::int64_t> LowerNeighbours(const Op& op, graph::ElementType type, std::int64_t in,
                                          std::int64_t out) {
  const bool nearest = Is(op, OpKind::kResizeNearestNeighbor);
  const bool corners = ops::IntegerAttribute(op, "align_corners", 0) != 0;
  const bool centers = ops::IntegerAttribute(op, "half_pixel_centers", 0) != 0;
  const bool inner = corners && out > 1;
  std::vector<std::int64_t> lower;
  if (!nearest && (type == graph::ElementType::kInt8 || type == graph::ElementType::kInt16)) {
    const std::int64_t steps = inner ? out - 1 : out;
    const std::int64_t scale = (1024 * (inner ? in - 1 : in) + steps / 2) / steps;
    for (std::int64_t o = 0; o < out; ++o) {
      const std::int64_t place = o * scale + (centers ? scale / 2 - 512 : 0);
      lower.push_back(std::max<std::int64_t>(place, 0) / 1024);
    }
  } else {
    const float scale = inner ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                              : static_cast<float>(in) / static_cast<float>(out);
    for (std::int64_t o = 0; o < out; ++o) {
      const float from = static_cast<float>(o) + (centers ? 0.5F : 0.0F);
      const float back = centers && !nearest ? -0.5F : 0.0F;
      const auto round = [&](float place) {
        return static_cast<std::int64_t>(nearest && corners ? std::round(place)
                                                            : std::floor(place));
      };
      lower.push_back(std::min(round(from * scale + back), round(std::fma(from, scale, back))));
    }
  }
  for (std::int64_t& index : lower) index = std::clamp<std::int64_t>(index, 0, in - 1);
  return lower;
}

// Nearest: pixel by pixel, each copied at once. Bilinear: channel by channel of four pixels, of
// which the one above on the left comes first in memory.
bool WalkResize(const Op& op, const Tensor& in, const Tensor& out, const Sizes& sizes, Tape* tape) {
  const graph::Shape& from = *in.shape;
  const graph::Shape& to = *out.shape;
  const bool nearest = Is(op, OpKind::kResizeNearestNeighbor);
  const auto rows = LowerNeighbours(op, in.type, from[1], to[1]);
  const auto columns = LowerNeighbours(op, in.type, from[2], to[2]);
  const std::int64_t element = sizes.in_element;
  for (std::int64_t b = 0; b < to[0]; ++b) {
    for (const std::int64_t row : rows) {
      for (const std::int64_t column : columns) {
        const std::int64_t first = ((b * from[1] + row) * from[2] + column) * from[3] * element;
        if (nearest) {
          tape->Write(from[3] * element);
          tape->Read(first, first + from[3] * element);
          continue;
        }
        for (std::int64_t c = 0; c < from[3]; ++c) {
          tape->Read(first + c * element, first + (c + 1) * element);
          tape->Write(element);
        }
      }
    }
  }
  return true;
}

bool IsPointwise(const Op& op) {
  return Is(op, OpKind::kAbs, OpKind::kAdd, OpKind::kCast, OpKind::kCeil, OpKind::kCos,
            OpKind::kDequantize, OpKind::kElu, OpKind::kExp, OpKind::kFloor, OpKind::kLog,
            OpKind::kLogicalNot, OpKind::kLogistic, OpKind::kMul, OpKind::kNeg, OpKind::kRelu,
            OpKind::kHardSwish, OpKind::kLeakyRelu, OpKind::kSin, OpKind::kQuantize, OpKind::kRelu6,
            OpKind::kSub, OpKind::kRound, OpKind::kTanh, OpKind::kRsqrt, OpKind::kSqrt,
            OpKind::kSquare);
}

bool WalkForward(const Subgraph& subgraph, const Op& op, std::size_t input, const Sizes& sizes,
                 ops::KernelLibrary library, Tape* tape) {
  const Tensor& in = InputOf(subgraph, op, input);
  const Tensor& out = subgraph.tensors[op.outputs[0]];
  if (IsPointwise(op)) {
    const bool binary = Is(op, OpKind::kAdd, OpKind::kMul, OpKind::kSub);
    return input <= (binary ? 1U : 0U) && in.shape == out.shape && WalkElements(sizes, tape);
  }
  if (input != 0) return false;
  if (const auto window = ops::WindowOf(subgraph, op)) return WalkWindow(*window, sizes, tape);
  if (ops::ResizeOf(subgraph, op)) return WalkResize(op, in, out, sizes, tape);
  if (Is(op, OpKind::kSoftmax)) {
    return in.shape == out.shape && !in.shape->empty() &&
           WalkSoftmax(sizes, in.shape->back(), tape);
  }
  if (Is(op, OpKind::kFullyConnected)) {
    const std::int64_t outputs = out.shape->empty() ? 1 : out.shape->back();
    return outputs > 0 && sizes.out_elements >= outputs && WalkFullyConnected(sizes, outputs, tape);
  }
  if (Is(op, OpKind::kPad, OpKind::kPadv2)) {
    return WalkPad(*in.shape, *out.shape, ConstantIntegers(subgraph, op, 1), sizes, tape);
  }
  if (Is(op, OpKind::kMean)) {
    // Stock kernels clear the whole output first, including bytes that they have not read.
    return library == ops::KernelLibrary::kNeap && in.shape->size() == 4 &&
           in.shape->front() == 1 &&
           ConstantIntegers(subgraph, op, 1) == std::vector<std::int64_t>{1, 2} &&
           sizes.out_elements == in.shape->back() && WalkSpatialMean(*in.shape, sizes, tape);
  }
  return false;
}

// By one library; false: its kernel is not known.
bool Walk(const Subgraph& subgraph, const Op& op, std::size_t input, const Sizes& sizes,
          ops::KernelLibrary library, Tape* tape) {
  if (library == ops::kNeapRt) return WalkNeapRt(subgraph, op, input, tape);
  switch (library) {
    case ops::KernelLibrary::kTflmReference:
    case ops::KernelLibrary::kNeap:
      return WalkForward(subgraph, op, input, sizes, library, tape);
    case ops::KernelLibrary::kCmsisNnScalar:
    case ops::KernelLibrary::kCmsisNnDsp:
    case ops::KernelLibrary::kCmsisNnMve:
      return input == 0 && WalkCmsisNn(subgraph, op, library, tape);
    case ops::KernelLibrary::kEspNn:
      return HasLibraryKernel(subgraph, op, library) &&
             WalkForward(subgraph, op, input, sizes, library, tape);
    default:
      return false;
  }
}

// An input that is read in two places is walked for operators that read both at once.
bool IsWellFormed(const Op& op, std::size_t input) {
  if (op.domain != "tflite" || !op.bodies.empty() || op.outputs.size() != 1 ||
      !op.outputs[0].valid() || input >= op.inputs.size() || !op.inputs[input].valid()) {
    return false;
  }
  const auto times = std::count(op.inputs.begin(), op.inputs.end(), op.inputs[input]);
  return times == 1 || Is(op, OpKind::kAdd, OpKind::kMul, OpKind::kSub);
}

}  // namespace

std::optional<std::int64_t> LeastDistance(const Subgraph& subgraph, const Op& op, std::size_t input,
                                          ops::KernelLibrary library, std::int64_t max_bytes) {
  if (!IsWellFormed(op, input)) return std::nullopt;
  const auto sizes = SizesOf(InputOf(subgraph, op, input), subgraph.tensors[op.outputs[0]]);
  if (!sizes) return std::nullopt;
  std::optional<std::int64_t> least;
  for (const ops::KernelLibrary each : ops::LibrariesOf(library)) {
    Tape tape(max_bytes);
    if (!Walk(subgraph, op, input, *sizes, each, &tape) || !tape.Intact()) return std::nullopt;
    least = std::max(least.value_or(0), tape.distance());
  }
  return least;
}

bool ReadsSurvive(const Subgraph& subgraph, const Op& op, std::size_t input,
                  ops::KernelLibrary library, std::int64_t distance_bytes) {
  return LeastDistance(subgraph, op, input, library, distance_bytes).has_value();
}

std::int64_t LowestRead(const Subgraph& subgraph, const Op& op, std::size_t input) {
  if (!Is(op, OpKind::kSlice) || op.stateful || input != 0) return 0;
  if (op.inputs.size() < 2 || op.outputs.size() != 1 || !op.inputs[0].valid()) return 0;
  const Tensor& in = subgraph.tensors[op.inputs[0]];
  const Tensor& out = subgraph.tensors[op.outputs[0]];
  const std::vector<std::int64_t> begins = ConstantIntegers(subgraph, op, 1);
  if (!in.shape || !out.shape || in.shape->size() != out.shape->size() ||
      begins.size() != in.shape->size() || !graph::TensorBytes(out) || !graph::TensorBytes(in)) {
    return 0;
  }
  std::int64_t first = 0;
  for (std::size_t d = 0; d < begins.size(); ++d) {
    const std::int64_t size = (*out.shape)[d];
    if (size == 0 || begins[d] < 0 || begins[d] + size > (*in.shape)[d]) return 0;
    first = first * (*in.shape)[d] + begins[d];
  }
  const int bits = graph::BitsOf(in.type);
  return bits % 8 != 0 ? 0 : first * (bits / 8);
}

bool HoldsInput(const Subgraph& subgraph, const Op& op, std::size_t input,
                ops::KernelLibrary library, std::int64_t offset_bytes) {
  if (!IsWellFormed(op, input) || library == ops::KernelLibrary::kNone) return false;
  const Tensor& out = subgraph.tensors[op.outputs[0]];
  if (Is(op, OpKind::kReshape)) {
    const auto in_bytes = graph::TensorBytes(InputOf(subgraph, op, input));
    const auto out_bytes = graph::TensorBytes(out);
    return input == 0 && offset_bytes == 0 && in_bytes && out_bytes && *in_bytes == *out_bytes;
  }
  if (!Is(op, OpKind::kConcatenation) || !out.shape) return false;
  std::int64_t axis = ops::IntegerAttribute(op, "axis", 0);
  const auto rank = static_cast<std::int64_t>(out.shape->size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return false;
  // With something outside the axis every input is copied in several pieces.
  const bool one_piece = std::all_of(out.shape->begin(), out.shape->begin() + axis,
                                     [](std::int64_t d) { return d == 1; });
  std::int64_t begin = 0;
  int times = 0;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].valid()) return false;
    const Tensor& part = subgraph.tensors[op.inputs[i]];
    const auto bytes = graph::TensorBytes(part);
    if (!bytes || part.type != out.type) return false;
    // Kernels of uint8 compute with scales: only equal ones leave bytes as they are.
    const bool scaled = out.type == graph::ElementType::kUint8 && part.quantization;
    if (scaled && (!out.quantization || part.quantization->scales != out.quantization->scales ||
                   part.quantization->zero_points != out.quantization->zero_points)) {
      return false;
    }
    if (op.inputs[i] == op.inputs[input]) ++times;
    if (i == input && begin != offset_bytes) return false;
    begin += *bytes;
  }
  return one_piece && times == 1;
}

}  // namespace neap::check
