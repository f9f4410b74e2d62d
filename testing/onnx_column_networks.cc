// SPDX-License-Identifier: Apache-2.0
//
// Random networks of .onnx whose products may be cut by columns.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "testing/tile_network_maker.h"

namespace neap::cascade {
namespace {

// Products of floats, of integers, or of dequantised integers, and operators behind them.
class ColumnMaker : TileNetworkMaker {
 public:
  explicit ColumnMaker(Random* random) : TileNetworkMaker(random, false, true) {}

  Network Make() {
    const bool image = Chance(1, 3);
    const Shape shapes[] = {
        {1, Draw(2, 9)}, {Draw(2, 6), Draw(2, 9)}, {Draw(1, 3), Draw(2, 6), Draw(2, 9)}};
    const Shape shape =
        image ? Shape{1, Draw(2, 4), Draw(3, 6), Draw(3, 6)} : shapes[random_.Below(3)];
    const bool floats = !image && Chance(1, 3);
    quantized_ = !floats;
    const TensorId input = Activation(shape);
    Main().inputs = {input};
    made_ = {input};
    const std::int64_t columns = Draw(2, 12);
    const bool dequantised = !floats && Chance(1, 2);
    const TensorId from = dequantised ? Dequantised(input) : input;
    for (std::int64_t products = Draw(1, 2); products > 0; --products) {
      if (floats) {
        OnnxProduct(from, columns);
      } else if (dequantised) {
        DequantisedProduct(from, columns);
      } else {
        LinearProduct(input, columns);
      }
    }
    for (std::int64_t layers = Draw(0, 4); layers > 0; --layers) {
      const TensorId last = made_.back();
      const bool integers = Main().tensors[last].type == ElementType::kInt8;
      integers ? (void)Dequantised(last) : OnnxAfterColumns(last);
    }
    return Finish();
  }

 private:
  TensorId OneFloat(float value) {
    return Constant(ElementType::kFloat32, Shape{}, std::vector{value});
  }
  TensorId OneInt8(std::int64_t value) {
    return Constant(ElementType::kInt8, Shape{}, std::vector{static_cast<std::int8_t>(value)});
  }
  TensorId Floats(const Shape& shape) {
    quantized_ = false;
    const TensorId tensor = Activation(shape);
    return tensor;
  }
  // The axis of its channels.
  static std::size_t ChannelAxis(const Shape& shape) {
    return shape.size() == 4 ? 1 : shape.size() - 1;
  }

  TensorId Dequantised(TensorId from) {
    const Shape in = ShapeOf(from);
    const TensorId scale = OneFloat(0.05F);
    Run("DequantizeLinear", {from, scale, OneInt8(Draw(-9, 9))}, Floats(in), {});
    quantized_ = true;
    return made_.back();
  }

  // A scale for each channel, or one.
  TensorId Scales(std::int64_t count, bool one) {
    if (one) return OneFloat(0.01F);
    std::vector<float> scales;
    for (std::int64_t i = 0; i < count; ++i)
      scales.push_back(0.005F + 0.002F * static_cast<float>(i));
    return Constant(ElementType::kFloat32, {count}, scales);
  }
  TensorId Zeros(std::int64_t count, bool one) {
    if (one) return OneInt8(0);
    return Constant(ElementType::kInt8, {count},
                    std::vector<std::int8_t>(static_cast<std::size_t>(count), 0));
  }

  void OnnxProduct(TensorId from, std::int64_t columns) {
    const Shape in = ShapeOf(from);
    Shape out = in;
    out.back() = columns;
    if (in.size() == 2 && Chance(1, 2)) {
      const bool turned = Chance(1, 2);
      const std::int64_t depth = in.back();
      std::vector<TensorId> inputs = {
          from, Weights(turned ? Shape{columns, depth} : Shape{depth, columns}, 0)};
      if (Chance(1, 2))
        inputs.push_back(Weights(Chance(1, 2) ? Shape{columns} : Shape{1, columns}, 0));
      return Run("Gemm", std::move(inputs), Activation(out), {{"transB", std::int64_t{turned}}});
    }
    Shape matrix = {in.back(), columns};
    if (in.size() == 3 && Chance(1, 3)) matrix.insert(matrix.begin(), in[0]);
    Run("MatMul", {from, Weights(matrix, 0)}, Activation(out), {});
  }

  // QLinearConv, or QLinearMatMul with constants or an input of the network.
  void LinearProduct(TensorId from, std::int64_t columns) {
    const Shape in = ShapeOf(from);
    const bool window = in.size() == 4;
    const bool one = Chance(1, 2);
    Shape out = in;
    out[ChannelAxis(in)] = columns;
    Shape matrix = in;
    matrix.back() = columns;
    matrix[in.size() - 2] = in.back();
    TensorId weights;
    const bool constant = window || Chance(1, 2);
    if (constant) {
      const bool whole = in.size() == 3 && Chance(1, 2);
      weights = Weights(window  ? Shape{columns, in[1], 3, 3}
                        : whole ? matrix
                                : Shape{in.back(), columns},
                        0);
    } else {
      weights = Activation(matrix);
      Main().inputs.push_back(weights);
    }
    std::vector<TensorId> inputs = {from, OneFloat(0.05F), OneInt8(Draw(-9, 9)), weights};
    inputs.push_back(Scales(columns, one || !window));
    inputs.push_back(Zeros(columns, one || !window));
    inputs.push_back(OneFloat(0.3F));
    inputs.push_back(OneInt8(Draw(-9, 9)));
    if (!window) return Run("QLinearMatMul", std::move(inputs), Activation(out), {});
    if (Chance(1, 2)) inputs.push_back(Bias(columns));
    Run("QLinearConv", std::move(inputs), Activation(out),
        {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}, {"group", std::int64_t{1}}});
  }

  // Of dequantised constants, which is no step of a plan.
  TensorId Folded(const Shape& shape, std::size_t axis) {
    const bool one = Chance(1, 2);
    quantized_ = true;
    const TensorId weights = Weights(shape, axis);
    const TensorId scales = Scales(shape[axis], one);
    const TensorId zeros = Zeros(shape[axis], one);
    const TensorId output = Floats(shape);
    Run("DequantizeLinear", {weights, scales, zeros}, output,
        {{"axis", static_cast<std::int64_t>(axis)}});
    made_.pop_back();
    Main().ops[OpId(Main().ops.size() - 1)].folded = true;
    Main().tensors[output].constant = true;
    return output;
  }

  void DequantisedProduct(TensorId from, std::int64_t columns) {
    const Shape in = ShapeOf(from);
    Shape out = in;
    out[ChannelAxis(in)] = columns;
    if (in.size() == 4) {
      const TensorId weights = Folded({columns, in[1], 3, 3}, 0);
      Run("Conv", {from, weights}, Floats(out),
          {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}, {"group", std::int64_t{1}}});
    } else if (in.size() == 2 && Chance(1, 2)) {
      const TensorId weights = Folded({columns, in.back()}, 0);
      const TensorId bias = Folded({columns}, 0);
      Run("Gemm", {from, weights, bias}, Floats(out), {{"transB", std::int64_t{1}}});
    } else {
      Run("MatMul", {from, Folded({in.back(), columns}, 1)}, Floats(out), {});
    }
    if (Chance(1, 3)) Run("Relu", {made_.back()}, Like(made_.back(), out), {});
    quantized_ = true;
    const TensorId scale = OneFloat(0.3F);
    const TensorId zero = OneInt8(Draw(-9, 9));
    Run("QuantizeLinear", {made_.back(), scale, zero}, Activation(out), {});
  }

  // Floats.
  void OnnxAfterColumns(TensorId from) {
    const Shape in = ShapeOf(from);
    quantized_ = false;
    const std::size_t axis = ChannelAxis(in);
    switch (Draw(0, 6)) {
      case 0:
        return Run("Mul", {from, SameShape(from)}, Activation(in), {});
      case 1: {
        Shape bias(in.size() - axis, 1);
        bias[0] = in[axis];
        return Run("Add", {from, Weights(bias, 0)}, Activation(in), {});
      }
      case 2: {
        if (in.size() != 4) return Run("Sigmoid", {from}, Activation(in), {});
        const std::int64_t times = in[1] > 6 ? 1 : Draw(1, 2);
        Shape out = in;
        out[1] *= times;
        return Run("Conv", {from, Weights({out[1], 1, 3, 3}, 0), Weights({out[1]}, 0)},
                   Activation(out),
                   {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}, {"group", in[1]}});
      }
      case 3: {
        if (in.size() == 4)
          return Run("GlobalAveragePool", {from}, Activation({in[0], in[1], 1, 1}), {});
        if (in.size() < 2) return Run("Relu", {from}, Activation(in), {});
        Shape out = in;
        out[in.size() - 2] = 1;
        return Run("ReduceMean", {from}, Activation(out),
                   {{"axes", std::vector<std::int64_t>{static_cast<std::int64_t>(in.size()) - 2}},
                    {"keepdims", std::int64_t{1}}});
      }
      case 4: {
        std::vector<std::int64_t> order;
        for (std::size_t d = 0; d < in.size(); ++d) order.push_back(static_cast<std::int64_t>(d));
        if (in.size() == 3) std::swap(order[0], order[1]);
        Shape out;
        for (const std::int64_t d : order) out.push_back(in[static_cast<std::size_t>(d)]);
        return Run("Transpose", {from}, Activation(out), {{"perm", order}});
      }
      case 5: {
        const TensorId values[] = {Weights({in[axis]}, 0), Weights({in[axis]}, 0),
                                   Weights({in[axis]}, 0)};
        if (axis != 1) return Run("Relu", {from}, Activation(in), {});
        const TensorId variance =
            Constant(ElementType::kFloat32, {in[1]},
                     std::vector<float>(static_cast<std::size_t>(in[1]), 0.7F));
        return Run("BatchNormalization", {from, values[0], values[1], values[2], variance},
                   Activation(in), {});
      }
      default:
        return Run("Relu", {from}, Activation(in), {});
    }
  }
};

}  // namespace

Network RandomOnnxOfColumns(Random* random) { return ColumnMaker(random).Make(); }

}  // namespace neap::cascade
