// SPDX-License-Identifier: Apache-2.0
#include "testing/tile_networks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "testing/tile_network_maker.h"

namespace neap::cascade {
namespace {

using graph::ElementType;
using graph::Shape;
using graph::TensorId;

class Maker : TileNetworkMaker {
 public:
  Maker(Random* random, bool quantized, bool moves = false, bool onnx = false)
      : TileNetworkMaker(random, quantized, onnx), moves_(moves) {}

  Network Tflite() {
    const TensorId input = Activation({1, Draw(6, 15), Draw(6, 13), Draw(1, 3)});
    Main().inputs = {input};
    made_ = {input};
    for (std::int64_t layers = Draw(1, 6); layers > 0; --layers) {
      const TensorId from = Chance(1, 5) ? Any() : made_.back();
      TfliteLayer(from);
    }
    return Finish();
  }

  // A batch of images, or one image of one row, some of whose axes are moved or reduced on the way.
  Network TfliteAxes() {
    const bool signal = Chance(1, 4);
    const std::int64_t rows = signal ? 1 : Draw(3, 8);
    const TensorId input = Activation({signal ? 1 : Draw(1, 4), rows, Draw(4, 12), Draw(1, 4)});
    Main().inputs = {input};
    made_ = {input};
    for (std::int64_t layers = Draw(1, 6); layers > 0; --layers) {
      const TensorId from = Chance(1, 6) ? Any() : made_.back();
      const std::size_t rank = ShapeOf(from).size();
      if (Chance(1, 3)) {
        AxisMove(from);
      } else if (rank == 4) {
        TfliteLayer(from);
      } else if (rank > 1) {
        RowLayer(from);
      }
    }
    return Finish();
  }

  Network TfliteRows() {
    const std::int64_t rows = Draw(4, 20);
    const std::int64_t channels = Draw(1, 6);
    const Shape shapes[] = {{rows, channels}, {1, rows, channels}, {rows, Draw(1, 2), channels}};
    const TensorId input = Activation(shapes[random_.Below(3)]);
    Main().inputs = {input};
    made_ = {input};
    for (std::int64_t layers = Draw(1, 6); layers > 0; --layers) {
      RowLayer(Chance(1, 5) ? Any() : made_.back());
    }
    return Finish();
  }

  // Products of one tensor first, which may be cut by columns, then operators that keep their axis.
  Network TfliteColumns() {
    const Shape shapes[] = {{1, Draw(2, 9)},
                            {Draw(2, 6), Draw(2, 9)},
                            {1, Draw(2, 6), Draw(2, 9)},
                            {Draw(2, 3), Draw(2, 6), Draw(2, 9)},
                            {1, Draw(3, 6), Draw(3, 6), Draw(1, 4)}};
    const TensorId input = Activation(shapes[random_.Below(5)]);
    Main().inputs = {input};
    made_ = {input};
    const std::int64_t columns = Draw(2, 12);
    for (std::int64_t products = Draw(1, 2); products > 0; --products) Columns(input, columns);
    for (std::int64_t layers = Draw(0, 5); layers > 0; --layers) {
      const TensorId from = Chance(1, 6) ? Any() : made_.back();
      if (from != input) AfterColumns(from);
    }
    return Finish();
  }

  Network Onnx() {
    const TensorId input = Activation({1, Draw(1, 4), Draw(6, 14), Draw(6, 12)});
    Main().inputs = {input};
    made_ = {input};
    for (std::int64_t layers = Draw(1, 6); layers > 0; --layers) {
      const TensorId from = Chance(1, 5) ? Any() : made_.back();
      OnnxLayer(from);
    }
    return Finish();
  }

 private:
  // Some indices of every axis; of an image in `kept` axes all.
  void Take(TensorId from, std::size_t kept) {
    const Shape in = ShapeOf(from);
    std::vector<std::int64_t> begins;
    std::vector<std::int64_t> ends;
    std::vector<std::int64_t> steps;
    Shape out;
    const bool plain = !onnx_ && Chance(1, 2);
    for (std::size_t d = 0; d < in.size(); ++d) {
      const bool all = d < kept || in[d] < 4 || Chance(1, 3);
      begins.push_back(all ? 0 : Draw(0, 1));
      ends.push_back(all ? in[d] : in[d] - Draw(0, 1));
      steps.push_back(all || plain || Chance(1, 2) ? 1 : 2);
      out.push_back((ends[d] - begins[d] + steps[d] - 1) / steps[d]);
    }
    const TensorId output = Like(from, out);
    const TensorId first = Integers(begins);
    if (plain) return Run("SLICE", {from, first, Integers(out)}, output, {});
    const TensorId end = Integers(ends);
    if (onnx_) {
      std::vector<std::int64_t> axes;
      for (std::size_t d = 0; d < in.size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
      const TensorId all_axes = Integers(axes);
      return Run("Slice", {from, first, end, all_axes, Integers(steps)}, output, {});
    }
    Run("STRIDED_SLICE", {from, first, end, Integers(steps)}, output,
        {{"begin_mask", std::int64_t{0}}, {"end_mask", std::int64_t{0}}});
  }

  void Repeat(TensorId from) {
    const Shape in = ShapeOf(from);
    Shape out = in;
    std::vector<std::int64_t> times(in.size(), 1);
    const std::size_t axis = random_.Below(in.size());
    times[axis] = in[axis] > 8 ? 1 : 2;
    out[axis] *= times[axis];
    const TensorId multiples = Integers(times);
    Run(onnx_ ? "Tile" : "TILE", {from, multiples}, Like(from, out), {});
  }

  void Spread(TensorId from) {
    const Shape in = ShapeOf(from);
    const std::int64_t stride = Draw(1, 2);
    const std::int64_t kernel = Draw(stride, 4);
    const std::int64_t channels = Draw(1, 4);
    if (onnx_) {
      const std::int64_t before = Draw(0, kernel - 1);
      const std::int64_t after = Draw(0, kernel - 1);
      const auto size = [&](std::int64_t n) { return (n - 1) * stride + kernel - before - after; };
      if (size(in[2]) < 2 || size(in[3]) < 2) return Run("Relu", {from}, Like(from, in), {});
      const TensorId weights = Weights({in[1], channels, kernel, kernel}, 1);
      return Run("ConvTranspose", {from, weights},
                 Activation({in[0], channels, size(in[2]), size(in[3])}),
                 {{"kernel_shape", std::vector<std::int64_t>{kernel, kernel}},
                  {"strides", std::vector<std::int64_t>{stride, stride}},
                  {"pads", std::vector<std::int64_t>{before, before, after, after}}});
    }
    const bool same = Chance(1, 2);
    const auto size = [&](std::int64_t n) { return same ? n * stride : (n - 1) * stride + kernel; };
    const Shape out = {in[0], size(in[1]), size(in[2]), channels};
    const TensorId shape = Integers(out);
    const TensorId weights = Weights({channels, kernel, kernel, in[3]}, 0);
    Run("TRANSPOSE_CONV", {shape, weights, from}, Activation(out, 0.1F),
        {{"padding", std::int64_t{same ? 0 : 1}}, {"stride_h", stride}, {"stride_w", stride}});
  }

  // Parts of an axis, some of which are read.
  void Divide(TensorId from, std::size_t first_axis) {
    const Shape in = ShapeOf(from);
    const std::size_t axis = first_axis + random_.Below(in.size() - first_axis);
    const auto rank = static_cast<std::int64_t>(in.size());
    const std::int64_t given = static_cast<std::int64_t>(axis) - (Chance(1, 3) ? rank : 0);
    if (!onnx_ && first_axis == 0 && rank > 2 && in[axis] < 9 && Chance(1, 2)) {
      return Unpack(from, axis, given);
    }
    const std::int64_t parts = Draw(2, 3);
    if (in[axis] < parts) return Run(onnx_ ? "Relu" : "RELU", {from}, Like(from, in), {});
    const bool even = !onnx_ && in[axis] % parts == 0 && Chance(2, 3);
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), in[axis] / parts);
    if (!even) sizes[random_.Below(sizes.size())] += in[axis] % parts;
    if (!even && sizes[0] > 1 && Chance(1, 2)) {
      --sizes[0];
      ++sizes[1];
    }
    std::vector<TensorId> outputs;
    for (const std::int64_t size : sizes) {
      Shape out = in;
      out[axis] = size;
      outputs.push_back(Like(from, out));
    }
    const TensorId where = onnx_ ? TensorId() : Scalar(given);
    if (onnx_) {
      RunSplit("Split", {from, Integers(sizes)}, outputs, {{"axis", given}});
    } else if (even) {
      RunSplit("SPLIT", {where, from}, outputs, {{"num_splits", parts}});
    } else {
      RunSplit("SPLIT_V", {from, Integers(sizes), where}, outputs, {{"num_splits", parts}});
    }
    Rejoin(outputs, first_axis);
  }

  void Unpack(TensorId from, std::size_t axis, std::int64_t given) {
    const Shape in = ShapeOf(from);
    Shape out = in;
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis));
    std::vector<TensorId> outputs;
    for (std::int64_t i = 0; i < in[axis]; ++i) outputs.push_back(Like(from, out));
    RunSplit("UNPACK", {from}, outputs, {{"num", in[axis]}, {"axis", given}});
    Rejoin(outputs, 0);
  }

  TensorId Scalar(std::int64_t value) {
    return Constant(ElementType::kInt32, Shape{},
                    std::vector<std::int32_t>{static_cast<std::int32_t>(value)});
  }

  // Two of the parts as one, if they have the same shape; else one of them is the last tensor.
  void Rejoin(const std::vector<TensorId>& parts, std::size_t first_axis) {
    const TensorId first = parts[random_.Below(parts.size())];
    const TensorId other = parts[random_.Below(parts.size())];
    const Shape shape = ShapeOf(first);
    if (first == other || ShapeOf(other) != shape || Chance(1, 4)) {
      return Run(onnx_ ? "Relu" : "RELU", {first}, Like(first, shape), {});
    }
    const bool adds = Chance(1, 2);
    Attributes attributes;
    if (!onnx_) attributes["fused_activation_function"] = std::int64_t{0};
    if (adds) {
      return Run(onnx_ ? "Add" : "ADD", {first, other}, Activation(shape, 0.08F),
                 std::move(attributes));
    }
    const std::size_t axis = first_axis + random_.Below(shape.size() - first_axis);
    Shape joined = shape;
    joined[axis] *= 2;
    attributes["axis"] = static_cast<std::int64_t>(axis);
    Run(onnx_ ? "Concat" : "CONCATENATION", {first, other}, Like(first, joined),
        std::move(attributes));
  }

  // Operators of .onnx that place their input.
  void OnnxPlace(TensorId from) {
    const Shape in = ShapeOf(from);
    const bool large = in[2] > 16 || in[3] > 16;
    const std::int64_t way = Draw(0, 5);
    if (way == 5) return Divide(from, 1);
    if (way == 0 || (large && way > 2)) return Take(from, 1);
    if (way == 1) {
      const char* const modes[] = {"constant", "edge", "reflect", "wrap"};
      const std::uint64_t mode = random_.Below(4);
      const std::int64_t rows = mode == 2 ? std::min<std::int64_t>(in[2] - 1, 3) : 2;
      const std::int64_t columns = mode == 2 ? std::min<std::int64_t>(in[3] - 1, 3) : 2;
      const std::vector<std::int64_t> pads = {0, 0, Draw(0, rows), Draw(0, columns),
                                              0, 0, Draw(0, rows), Draw(0, columns)};
      const TensorId amounts = Integers(pads);
      return Run("Pad", {from, amounts},
                 Like(from, {in[0], in[1], in[2] + pads[2] + pads[6], in[3] + pads[3] + pads[7]}),
                 {{"mode", std::string(modes[mode])}});
    }
    if (way == 2) {
      std::vector<std::int64_t> channels;
      for (std::int64_t c = Draw(1, 4); c > 0; --c) channels.push_back(Draw(0, in[1] - 1));
      const TensorId indices = Integers(channels);
      return Run("Gather", {from, indices},
                 Like(from, {in[0], static_cast<std::int64_t>(channels.size()), in[2], in[3]}),
                 {{"axis", std::int64_t{1}}});
    }
    if (way == 3) return Spread(from);
    const std::int64_t rows = std::int64_t{1} << Draw(0, 2);
    const std::int64_t columns = std::int64_t{1} << Draw(0, 1);
    const TensorId scales =
        Constant(ElementType::kFloat32, {4},
                 std::vector<float>{1, 1, static_cast<float>(rows), static_cast<float>(columns)});
    const bool nearest = Chance(1, 2);
    const bool centers = Chance(1, 2);
    Run("Resize", {from, TensorId(), scales},
        Like(from, {in[0], in[1], in[2] * rows, in[3] * columns}),
        {{"mode", std::string(nearest ? "nearest" : "linear")},
         {"coordinate_transformation_mode", std::string(centers ? "half_pixel" : "asymmetric")}});
  }

  // Resizing and blocks of pixels.
  void TfliteMove(TensorId from) {
    const Shape in = ShapeOf(from);
    if (Chance(1, 4)) return Take(from, 1);
    if (Chance(1, 5) && in[1] < 20 && in[2] < 20) return Mirror(from);
    if (Chance(1, 3)) return Divide(from, 1);
    if (Chance(1, 4) && in[1] < 12 && in[2] < 12) return Spread(from);
    const std::int64_t block = Draw(2, 3);
    const bool deepens = in[1] % block == 0 && in[2] % block == 0 && in[1] / block > 1 &&
                         in[2] / block > 1 && in[3] * block * block <= 27;
    if (deepens && Chance(1, 2)) {
      return Run("SPACE_TO_DEPTH", {from},
                 Like(from, {1, in[1] / block, in[2] / block, in[3] * block * block}),
                 {{"block_size", block}});
    }
    if (in[1] > 20 || in[2] > 20) return TfliteWindow("MAX_POOL_2D", from);
    if (in[3] % (block * block) == 0) {
      return Run("DEPTH_TO_SPACE", {from},
                 Like(from, {1, in[1] * block, in[2] * block, in[3] / (block * block)}),
                 {{"block_size", block}});
    }
    const std::int64_t rows = Chance(1, 8) ? 3 : std::int64_t{1} << Draw(0, 2);
    const std::int64_t columns = std::int64_t{1} << Draw(0, 2);
    const TensorId size =
        Constant(ElementType::kInt32, {2},
                 std::vector<std::int32_t>{static_cast<std::int32_t>(in[1] * rows),
                                           static_cast<std::int32_t>(in[2] * columns)});
    const bool corners = Chance(1, 8);
    Run(Chance(1, 2) ? "RESIZE_BILINEAR" : "RESIZE_NEAREST_NEIGHBOR", {from, size},
        Like(from, {1, in[1] * rows, in[2] * columns, in[3]}),
        {{"align_corners", std::int64_t{corners ? 1 : 0}},
         {"half_pixel_centers", std::int64_t{!corners && Chance(1, 2) ? 1 : 0}}});
  }

  // Operators that move, add, remove or mirror axes.
  void AxisMove(TensorId from) {
    const Shape in = ShapeOf(from);
    const std::int64_t way = Draw(0, 10);
    if (way > 7) return Divide(from, 0);
    if (way == 6) return Take(from, 0);
    if (way == 7) return Repeat(from);
    if (way == 0) {
      // Two neighbouring axes become one, or one becomes two.
      Shape out = in;
      if (in.size() > 2 && Chance(1, 2)) {
        const std::size_t at = random_.Below(in.size() - 1);
        out[at] *= out[at + 1];
        out.erase(out.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      } else if (in.size() < 4) {
        out.insert(out.begin() + static_cast<std::ptrdiff_t>(random_.Below(in.size())), 1);
      }
      const std::vector<std::int32_t> sizes(out.begin(), out.end());
      const TensorId shape =
          Constant(ElementType::kInt32, {static_cast<std::int64_t>(out.size())}, sizes);
      return Run("RESHAPE", {from, shape}, Like(from, out), {{"new_shape", out}});
    }
    if (way == 1 && in.size() > 1) {
      std::vector<std::int32_t> order;
      for (std::size_t d = 0; d < in.size(); ++d) order.push_back(static_cast<std::int32_t>(d));
      random_.Shuffle(order);
      Shape out;
      for (const std::int32_t d : order) out.push_back(in[static_cast<std::size_t>(d)]);
      const TensorId moved =
          Constant(ElementType::kInt32, {static_cast<std::int64_t>(order.size())}, order);
      return Run("TRANSPOSE", {from, moved}, Like(from, out), {});
    }
    if (way == 2 && in.size() > 2) {
      const auto axis =
          static_cast<std::int32_t>(Draw(0, static_cast<std::int64_t>(in.size()) - 1));
      const bool keeps = Chance(1, 2);
      Shape out = in;
      out[static_cast<std::size_t>(axis)] = 1;
      if (!keeps) out.erase(out.begin() + axis);
      const TensorId axes = Constant(ElementType::kInt32, {1}, std::vector<std::int32_t>{axis});
      return Run("MEAN", {from, axes}, Activation(out),
                 {{"keep_dims", std::int64_t{keeps ? 1 : 0}}});
    }
    if (way == 3 && in.size() < 4) {
      const auto at = static_cast<std::int32_t>(Draw(0, static_cast<std::int64_t>(in.size())));
      Shape out = in;
      out.insert(out.begin() + at, 1);
      const TensorId axis = Constant(ElementType::kInt32, Shape{}, std::vector<std::int32_t>{at});
      return Run("EXPAND_DIMS", {from, axis}, Like(from, out), {});
    }
    const auto one = std::find(in.begin(), in.end(), 1);
    if (way == 4 && one != in.end() && in.size() > 2) {
      const std::int64_t axis = one - in.begin();
      Shape out = in;
      out.erase(out.begin() + axis);
      return Run("SQUEEZE", {from}, Like(from, out),
                 {{"squeeze_dims", std::vector<std::int64_t>{axis}}});
    }
    if (in.size() == 4 && in[1] > 2 && in[2] > 2) {
      return Mirror(from);
    }
    Run("RELU", {from}, Like(from, in), {});
  }

  // Each row as a query of all of them.
  void Attention(TensorId from) {
    const Shape in = ShapeOf(from);
    Shape scores = in;
    scores.back() = in[in.size() - 2];
    // Constants are not cut matrix by matrix.
    const bool one = in.size() == 2 || in[0] == 1;
    const std::int64_t turns = one && Chance(1, 4) ? 0 : 1;
    TensorId keys = from;
    if (turns == 0) {
      Shape back = in;
      std::swap(back[in.size() - 1], back[in.size() - 2]);
      keys = Weights(back, 0);
    }
    Run("BATCH_MATMUL", {from, keys}, Activation(scores), {{"adj_y", turns}});
    Run("SOFTMAX", {made_.back()}, Activation(scores), {{"beta", 1.0}});
    Run("BATCH_MATMUL", {made_.back(), from}, Activation(in), {});
  }

  // A product with matrices of constants, or with an input of the network.
  void Columns(TensorId from, std::int64_t columns) {
    const Shape in = ShapeOf(from);
    Shape out = in;
    out.back() = columns;
    if (in.size() == 4 && Chance(2, 3)) {
      const std::int64_t size = Draw(1, 3);
      const TensorId weights = Weights({columns, size, size, in[3]}, 0);
      return Run("CONV_2D", {from, weights, Bias(columns)}, Activation(out, 0.1F),
                 {{"padding", std::int64_t{0}},
                  {"stride_h", std::int64_t{1}},
                  {"stride_w", std::int64_t{1}},
                  {"fused_activation_function", Draw(0, 1)}});
    }
    if (in.size() < 4 && !quantized_ && Chance(1, 2)) {
      const bool turned = Chance(1, 2);
      Shape second = in;
      second[in.size() - 2] = turned ? columns : in.back();
      second.back() = turned ? in.back() : columns;
      TensorId matrix;
      if (Chance(1, 3)) {
        matrix = Weights(second, in.size() - 1);
      } else {
        matrix = Activation(second);
        Main().inputs.push_back(matrix);
        if (Chance(1, 2)) {
          Run("RELU", {matrix}, Like(matrix, second), {});
          matrix = made_.back();
        }
      }
      return Run("BATCH_MATMUL", {from, matrix}, Activation(out, 0.1F),
                 {{"adj_y", std::int64_t{turned ? 1 : 0}}});
    }
    std::vector<TensorId> inputs = {from, Weights({columns, in.back()}, 0)};
    if (Chance(3, 4)) inputs.push_back(Bias(columns));
    Run("FULLY_CONNECTED", std::move(inputs), Activation(out, 0.1F),
        {{"keep_num_dims", std::int64_t{1}}, {"fused_activation_function", Draw(0, 1)}});
  }

  void AfterColumns(TensorId from) {
    const Shape in = ShapeOf(from);
    switch (Draw(0, 6)) {
      case 0:
        return Sum(from, "ADD");
      case 1: {
        // A bias as an operator of its own.
        const TensorId other = Weights({in.back()}, 0);
        if (quantized_) Main().tensors[other].quantization = graph::Quantization{{0.02F}, {3}, 0};
        return Run("ADD", {from, other}, Activation(in, 0.1F),
                   {{"fused_activation_function", std::int64_t{0}}});
      }
      case 2:
        return Run("MUL", {from, Chance(1, 2) ? from : SameShape(from)}, Activation(in, 0.3F),
                   {{"fused_activation_function", std::int64_t{0}}});
      case 3:
        return in.size() == 4 ? TfliteWindow("DEPTHWISE_CONV_2D", from) : AxisMove(from);
      case 4:
        return Concatenate(from, "CONCATENATION", 0);
      case 5:
        return AxisMove(from);
      default:
        return Run("RELU", {from}, Like(from, in), {});
    }
  }

  // Rows and columns repeated at the borders of an image.
  void Mirror(TensorId from) {
    const Shape in = ShapeOf(from);
    const auto by = [&](std::int64_t size) {
      return static_cast<std::int32_t>(Draw(0, std::min<std::int64_t>(3, size - 1)));
    };
    const std::vector<std::int32_t> amounts = {0,         0,         by(in[1]), by(in[1]),
                                               by(in[2]), by(in[2]), 0,         0};
    const TensorId paddings = Constant(ElementType::kInt32, {4, 2}, amounts);
    Run("MIRROR_PAD", {from, paddings},
        Like(from,
             {in[0], in[1] + amounts[2] + amounts[3], in[2] + amounts[4] + amounts[5], in[3]}),
        {{"mode", Draw(0, 1)}});
  }

  // Products of rows, and operators between them.
  void RowLayer(TensorId from) {
    const Shape in = ShapeOf(from);
    const std::uint64_t way = random_.Below(8);
    if (way == 7) return Divide(from, in.size() - 1);
    if (way == 6 && !quantized_) return Attention(from);
    if (way == 0) return Sum(from, "ADD");
    if (way == 1) return Concatenate(from, "CONCATENATION", in.size() - 1);
    if (way == 2) return Run("RELU", {from}, Like(from, in), {});
    if (way == 3 && !quantized_) {
      return Run(Chance(1, 2) ? "SOFTMAX" : "LOGISTIC", {from}, Activation(in), {{"beta", 1.0}});
    }
    Shape out = in;
    out.back() = Draw(1, 8);
    std::vector<TensorId> inputs = {from, Weights({out.back(), in.back()}, 0)};
    if (Chance(3, 4)) inputs.push_back(Bias(out.back()));
    Run("FULLY_CONNECTED", std::move(inputs), Activation(out),
        {{"keep_num_dims", std::int64_t{1}}, {"fused_activation_function", std::int64_t{0}}});
  }

  void TfliteLayer(TensorId from) {
    if (moves_ && Chance(1, 3)) return TfliteMove(from);
    switch (Draw(0, 8)) {
      case 0:
      case 1:
        return TfliteWindow("CONV_2D", from);
      case 2:
      case 3:
        return TfliteWindow("DEPTHWISE_CONV_2D", from);
      case 4:
        return TfliteWindow(Chance(1, 2) ? "MAX_POOL_2D" : "AVERAGE_POOL_2D", from);
      case 5:
        return Sum(from, "ADD");
      case 6:
        return Pad(from);
      case 7:
        return Concatenate(from, "CONCATENATION", 3);
      default:
        Run("RELU", {from}, Like(from, ShapeOf(from)), {});
    }
  }

  void TfliteWindow(const std::string& type, TensorId from) {
    const Shape in = ShapeOf(from);
    const bool pool = type.ends_with("_POOL_2D");
    for (int tries = 0; tries < 20; ++tries) {
      const std::int64_t kh = Draw(1, 5);
      const std::int64_t kw = Draw(1, 3);
      const std::int64_t sh = Draw(1, 3);
      const std::int64_t sw = Draw(1, 2);
      const std::int64_t dh = pool || sh > 1 || sw > 1 ? 1 : Draw(1, 2);
      const std::int64_t dw = pool || sh > 1 || sw > 1 ? 1 : Draw(1, 2);
      const bool same = Chance(3, 4);
      const std::int64_t oh = Slides(in[1], kh, sh, dh, same);
      const std::int64_t ow = Slides(in[2], kw, sw, dw, same);
      if (oh < std::min<std::int64_t>(in[1], 2) || ow < 2) continue;
      Attributes attributes = {{"padding", std::int64_t{same ? 0 : 1}},
                               {"stride_h", sh},
                               {"stride_w", sw},
                               {"fused_activation_function", Draw(0, 1)}};
      if (pool) {
        attributes["filter_height"] = kh;
        attributes["filter_width"] = kw;
        return Run(type, {from}, Like(from, {in[0], oh, ow, in[3]}), std::move(attributes));
      }
      const bool conv = type == "CONV_2D";
      const std::int64_t multiplier = conv ? 1 : Draw(1, 2);
      const std::int64_t channels = conv ? Draw(1, 4) : in[3] * multiplier;
      attributes["dilation_h_factor"] = dh;
      attributes["dilation_w_factor"] = dw;
      if (!conv) attributes["depth_multiplier"] = multiplier;
      const TensorId weights =
          conv ? Weights({channels, kh, kw, in[3]}, 0) : Weights({1, kh, kw, channels}, 3);
      const auto sums = static_cast<float>(kh * kw * (conv ? in[3] : 1));
      const TensorId bias = Bias(channels);
      return Run(type, {from, weights, bias},
                 Activation({in[0], oh, ow, channels}, 0.04F * std::sqrt(sums)),
                 std::move(attributes));
    }
  }

  void Sum(TensorId from, const std::string& type) {
    for (std::size_t i = made_.size(); i-- > 0;) {
      if (made_[i] == from || ShapeOf(made_[i]) != ShapeOf(from)) continue;
      const TensorId other = made_[i];
      const TensorId out = Activation(ShapeOf(from), 0.08F);
      Attributes attributes;
      if (!onnx_) attributes["fused_activation_function"] = std::int64_t{0};
      return Run(type, {from, other}, out, std::move(attributes));
    }
    // A branch of one layer, to have two.
    if (onnx_) {
      OnnxWindow("Conv", from, true);
    } else {
      Run("RELU", {from}, Like(from, ShapeOf(from)), {});
    }
  }

  void Pad(TensorId from) {
    const Shape in = ShapeOf(from);
    const std::vector<std::int32_t> amounts = {0,
                                               0,
                                               static_cast<std::int32_t>(Draw(0, 2)),
                                               static_cast<std::int32_t>(Draw(0, 2)),
                                               static_cast<std::int32_t>(Draw(0, 1)),
                                               static_cast<std::int32_t>(Draw(0, 1)),
                                               0,
                                               0};
    const TensorId paddings = Constant(ElementType::kInt32, {4, 2}, amounts);
    const Shape out = {in[0], in[1] + amounts[2] + amounts[3], in[2] + amounts[4] + amounts[5],
                       in[3]};
    Run("PAD", {from, paddings}, Like(from, out), {});
  }

  void Concatenate(TensorId from, const std::string& type, std::size_t axis) {
    for (std::size_t i = made_.size(); i-- > 0;) {
      const TensorId other = made_[i];
      if (other == from) continue;
      Shape a = ShapeOf(other);
      Shape b = ShapeOf(from);
      if (a.size() != b.size()) continue;
      const std::int64_t channels = a[axis] + b[axis];
      if (channels > 12) continue;
      a[axis] = b[axis] = 0;
      const auto& qa = Main().tensors[other].quantization;
      const auto& qb = Main().tensors[from].quantization;
      if (a != b) continue;
      if (quantized_ && (qa->scales != qb->scales || qa->zero_points != qb->zero_points)) continue;
      b[axis] = channels;
      Attributes attributes = {{"axis", static_cast<std::int64_t>(axis)}};
      if (!onnx_) attributes["fused_activation_function"] = std::int64_t{0};
      return Run(type, {from, other}, Like(from, b), std::move(attributes));
    }
    if (onnx_) {
      Run("Relu", {from}, Like(from, ShapeOf(from)), {});
    } else {
      Run("RELU", {from}, Like(from, ShapeOf(from)), {});
    }
  }

  void OnnxLayer(TensorId from) {
    switch (Draw(0, 7)) {
      case 0:
      case 1:
      case 2:
        return OnnxWindow("Conv", from, false);
      case 7:
        return OnnxPlace(from);
      case 3:
        return OnnxWindow(Chance(1, 2) ? "MaxPool" : "AveragePool", from, false);
      case 4:
        return Sum(from, "Add");
      case 5:
        return Concatenate(from, "Concat", 1);
      default:
        Run("Relu", {from}, Like(from, ShapeOf(from)), {});
    }
  }

  void OnnxWindow(const std::string& type, TensorId from, bool keeps) {
    const Shape in = ShapeOf(from);
    const bool conv = type == "Conv";
    for (int tries = 0; tries < 20; ++tries) {
      std::vector<std::int64_t> kernel;
      std::vector<std::int64_t> strides;
      std::vector<std::int64_t> dilations;
      std::vector<std::int64_t> pads(4);
      Shape out = {1, 0, 0, 0};
      bool fits = true;
      const bool automatic = !keeps && Chance(1, 4);
      for (std::size_t d = 0; d < 2; ++d) {
        kernel.push_back(keeps ? 3 : Draw(1, 4));
        strides.push_back(keeps ? 1 : Draw(1, 2));
        dilations.push_back(conv && !keeps ? Draw(1, 2) : 1);
        pads[d] = keeps ? 1 : Draw(0, kernel.back() - 1);
        pads[2 + d] = keeps ? 1 : Draw(0, kernel.back() - 1);
        out[2 + d] = automatic ? Slides(in[2 + d], 1, strides.back(), 1, true)
                               : Slides(in[2 + d] + pads[d] + pads[2 + d], kernel.back(),
                                        strides.back(), dilations.back(), false);
        fits = fits && out[2 + d] >= 2;
      }
      if (!fits) continue;
      const std::int64_t groups = conv && !keeps && Chance(1, 3) ? in[1] : 1;
      out[1] = !conv || keeps ? in[1] : groups * Draw(1, groups > 1 ? 2 : 4);
      if (out[1] > 12) continue;
      Attributes attributes = {{"kernel_shape", kernel}, {"strides", strides}};
      if (automatic) {
        attributes["auto_pad"] = std::string(Chance(1, 2) ? "SAME_UPPER" : "SAME_LOWER");
      } else {
        attributes["pads"] = pads;
      }
      std::vector<TensorId> inputs = {from};
      if (conv) {
        attributes["dilations"] = dilations;
        attributes["group"] = groups;
        inputs.push_back(Weights({out[1], in[1] / groups, kernel[0], kernel[1]}, 0));
        if (Chance(1, 2)) inputs.push_back(Weights({out[1]}, 0));
      }
      return Run(type, inputs, Activation(out), std::move(attributes));
    }
  }

  const bool moves_;
};

// A few cuts along an axis.
Split RandomSplit(const Shape& shape, std::size_t axis, Random* random) {
  Split split;
  split.axis = axis;
  for (std::int64_t at = 1; at < shape[axis]; ++at) {
    if (random->Chance(2, static_cast<std::uint64_t>(shape[axis]))) split.cuts.push_back(at);
  }
  return split;
}

}  // namespace

Network RandomTflite(Random* random, bool quantized) { return Maker(random, quantized).Tflite(); }

Network RandomTfliteOfMoves(Random* random, bool quantized) {
  return Maker(random, quantized, true).Tflite();
}

Network RandomTfliteOfAxes(Random* random, bool quantized) {
  return Maker(random, quantized).TfliteAxes();
}

Network RandomTfliteOfRows(Random* random, bool quantized) {
  return Maker(random, quantized).TfliteRows();
}

Network RandomTfliteOfColumns(Random* random, bool quantized) {
  return Maker(random, quantized).TfliteColumns();
}

std::vector<Split> RandomColumns(const Shape& shape, std::size_t axis, Random* random) {
  if (axis >= shape.size()) return {};
  Split split = RandomSplit(shape, axis, random);
  return split.cuts.empty() ? std::vector<Split>() : std::vector<Split>{split};
}

Network RandomOnnx(Random* random) { return Maker(random, false, false, true).Onnx(); }

std::vector<Split> RandomSplits(const Shape& shape, std::size_t first_axis, Random* random) {
  std::vector<Split> splits;
  const std::uint64_t which = random->Below(3);
  for (std::size_t a = 0; a < 2; ++a) {
    if (which != 2 && which != a) continue;
    Split split = RandomSplit(shape, first_axis + a, random);
    if (!split.cuts.empty()) splits.push_back(std::move(split));
  }
  return splits;
}

std::vector<Split> RandomSplitsOfAnyAxis(const Shape& shape, Random* random) {
  std::vector<Split> splits;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (!random->Chance(1, 2)) continue;
    Split split = RandomSplit(shape, axis, random);
    if (!split.cuts.empty()) splits.push_back(std::move(split));
  }
  return splits;
}

SearchOptions QuickOptions(plan::Runtime runtime) {
  SearchOptions options;
  options.compile.runtime = runtime;
  options.compile.placement_states = 5000;
  options.compile.limits.max_states = 20000;
  options.device = *DeviceNamed("cortex-m4");
  return options;
}

}  // namespace neap::cascade
