// SPDX-License-Identifier: Apache-2.0
//
// Dependence maps: which elements of an input an operator needs for a part of its output. Parts are
// boxes: an interval of indices for every axis. Intervals are those of the kernels, in exact
// integers, clipped to the input. The padding records how far a window reaches beyond the input, so
// that a part can be computed from a part with exactly that padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::ops {

// Indices [begin, end); empty when end <= begin.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end > begin ? end - begin : 0; }
  bool empty() const { return end <= begin; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// An interval for every axis, outermost first; as many as the tensor has dimensions.
using Box = std::vector<Interval>;

// The whole tensor.
Box WholeBox(const graph::Shape& shape);
bool IsEmpty(const Box& box);
// The smallest box that contains both; an empty one adds nothing. Of equal rank.
Box Hull(const Box& a, const Box& b);
// Elements in the box; 0 for an empty one. The box is within a tensor whose bytes are known.
std::int64_t ElementsOf(const Box& box);

struct Need {
  Box box;  // of the input, clipped
  // For every axis of the input, how many indices the operator would read in front of the input and
  // behind it: residual padding of windows and of PAD. 0 elsewhere.
  struct Padding {
    std::int64_t before = 0;
    std::int64_t after = 0;
    friend bool operator==(const Padding&, const Padding&) = default;
  };
  std::vector<Padding> padding;
};

// The part of input `input` that `op` needs to compute `output_box` of its output `output`. The box
// of the result contains every element that any element of `output_box` may depend on, and for
// windows, element-wise operators, moves of data and reductions it is the smallest such box;
// resampling may add one index on either side, where a float decides between two. An empty output
// box needs nothing. nullopt: the operator is unknown, takes part in control flow or keeps a state,
// its parameters (axes, amounts of padding, starts) are not constants with known data, or shapes
// are unknown or contradict it. Both formats: domains "tflite" and ONNX. O(rank); constants are
// decoded in each call.
std::optional<Need> NeedOf(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t input,
                           const Box& output_box, std::size_t output = 0);

// Whether a kernel quantises the float activations of `op` while it runs, by their own range,
// because its weights are integers ("hybrid"): CONV_2D and similar, FULLY_CONNECTED, BATCH_MATMUL
// with float inputs and integer weights. Every output element then depends on every activation
// under that range: a row of FULLY_CONNECTED, an image of a convolution.
bool IsHybrid(const graph::Subgraph& subgraph, const graph::Op& op);

// Whether the kernel of `op`, given only the part of every input that NeedOf() names for
// `output_box` (with that padding), computes exactly these elements, by the same arithmetic as in
// the whole. False where some input is needed beyond the place of the output and the kernel takes
// what it is given for the whole: hybrid operators, normalisation along an axis that is cut. Of an
// operator with one output whose dependence is known; true of the whole output.
bool ComputesPart(const graph::Subgraph& subgraph, const graph::Op& op, const Box& output_box);

// Whether the only output of `op` is one pixel, of which every channel is a function of the sum of
// that channel over all places of input 0, an image (1, height, width, channels) or a signal (1,
// time, channels), with `channels_first` (1, channels, height, width) or (1, channels, time): means
// over places, pooling of a whole image of 8 bits, sums of floats. Exact sums fit 32 bits.
bool IsMeanOfPlaces(const graph::Subgraph& subgraph, const graph::Op& op,
                    bool channels_first = false);
// Of such an operator: whether its sums are rounded (those of float), so that places must be added
// in ascending order, as its kernel adds them.
bool SumsInOrder(const graph::Subgraph& subgraph, const graph::Op& op);
// Bytes that a sum over all places has for each byte of the output. Of 8 bits, exact, of values
// from -128 to 127 (unsigned ones less 128): 2 up to 256 places, else 4; of float 1. Of an operator
// that is a mean of places.
std::int64_t SumBytesOf(const graph::Subgraph& subgraph, const graph::Op& op);

// RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR that make image axis `axis` (1 or 2) larger by a
// power of two, up to 1024, and do not align corners: by how much. All kernels compute the places
// of such an axis without rounding, so that those of a part are those of the whole.
std::optional<std::int64_t> ResizeFactor(const graph::Subgraph& subgraph, const graph::Op& op,
                                         std::size_t axis);

// Whether a part of any output of `op` is the part of its input that NeedOf() names, element by
// element in the same order: operators that split their input, and slices with steps of one that
// keep the number of dimensions.
bool CopiesBoxes(const graph::Subgraph& subgraph, const graph::Op& op);

// Whether `op` has one input that is not a constant and one output, both images (1, height, width,
// channels) of the same shape and type, and every channel of the output needs only the same channel
// of the input.
bool IsByChannel(const graph::Subgraph& subgraph, const graph::Op& op);

}  // namespace neap::ops
