// SPDX-License-Identifier: Apache-2.0
//
// The maps of ops/dependence.h compared with kernels: every element of an operator's first inputs
// is changed in turn, and the outputs that change are compared with the map.
#include "neap/ops/dependence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "testing/execute.h"

namespace neap::execute {
namespace {

using graph::Attribute;
using graph::ElementType;
using graph::OpId;
using graph::Shape;
using graph::SubgraphId;
using graph::TensorId;
using ops::Box;
using Whole = std::vector<std::int64_t>;

std::int64_t Count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  return count;
}

// One operator with inputs of floats and one output or several.
struct Case {
  GraphMaker maker;
  bool tight = true;  // the map is the least box
};

class Cases {
 public:
  explicit Cases(Random* random) : random_(*random) {}

  Case Take() { return std::move(case_); }

  TensorId In(const Shape& shape) { return case_.maker.Input(ElementType::kFloat32, shape); }
  TensorId Out(const Shape& shape) {
    const TensorId id = case_.maker.Floats(shape);
    case_.maker.Output(id);
    return id;
  }
  // No zero: every element matters.
  TensorId Weights(const Shape& shape) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < Count(shape); ++i) {
      values.push_back(static_cast<float>(0.5 + random_.Unit()));
    }
    return case_.maker.Constant(ElementType::kFloat32, shape, values);
  }
  TensorId Ints(const std::vector<std::int32_t>& values) {
    return case_.maker.Constant(ElementType::kInt32, {static_cast<std::int64_t>(values.size())},
                                values);
  }
  TensorId Matrix(const std::vector<std::int32_t>& pairs) {
    return case_.maker.Constant(ElementType::kInt32,
                                {static_cast<std::int64_t>(pairs.size() / 2), 2}, pairs);
  }
  TensorId Longs(const Whole& values) {
    return case_.maker.Constant(ElementType::kInt64, {static_cast<std::int64_t>(values.size())},
                                values);
  }
  void Lite(const std::string& type, std::vector<TensorId> in, std::vector<TensorId> out,
            std::map<std::string, Attribute> attributes = {}) {
    case_.maker.Op("tflite", type, std::move(in), std::move(out), std::move(attributes));
  }
  void Onnx(const std::string& type, std::vector<TensorId> in, std::vector<TensorId> out,
            std::map<std::string, Attribute> attributes = {}) {
    const OpId id = case_.maker.Op("", type, std::move(in), std::move(out), std::move(attributes));
    case_.maker.Main().ops[id].version = 13;
  }
  std::int64_t Draw(std::int64_t low, std::int64_t high) { return random_.Between(low, high); }
  bool Coin() { return random_.Chance(1, 2); }
  void Loose() { case_.tight = false; }
  TensorId Bytes(const Shape& shape, float scale) {
    std::vector<std::int8_t> values;
    for (std::int64_t i = 0; i < Count(shape); ++i) {
      values.push_back(static_cast<std::int8_t>(random_.Between(20, 127)));
    }
    const TensorId id = case_.maker.Constant(ElementType::kInt8, shape, values);
    case_.maker.Main().tensors[id].quantization = graph::Quantization{{scale}, {0}, 0};
    return id;
  }
  // Float activations, integer weights: a scale for all of an image.
  void Hybrid() {
    const std::int64_t h = Draw(2, 6);
    const std::int64_t c = Draw(1, 2);
    const std::int64_t k = Draw(1, 3);
    const TensorId in = In({Draw(1, 2), h, 3, c});
    const Shape shape = *case_.maker.Main().tensors[in].shape;  // tensors move as they are added
    Loose();
    Lite("CONV_2D", {in, Bytes({2, k, 1, c}, 0.0625F), Weights({2})}, {Out({shape[0], h, 3, 2})},
         {{"padding", std::int64_t{0}},
          {"stride_h", std::int64_t{1}},
          {"stride_w", std::int64_t{1}}});
  }

  // Output size of a window; 0: none fits.
  static std::int64_t Slides(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                             std::int64_t dilation, bool same) {
    const std::int64_t span = (kernel - 1) * dilation + 1;
    if (same) return (in + stride - 1) / stride;
    return in < span ? 0 : (in - span) / stride + 1;
  }

  void LiteWindow(const std::string& type) {
    const bool pool = type.ends_with("_POOL_2D");
    for (;;) {
      const std::int64_t h = Draw(1, 7);
      const std::int64_t w = Draw(1, 5);
      const std::int64_t c = Draw(1, 2);
      const std::int64_t kh = Draw(1, 3);
      const std::int64_t kw = Draw(1, 3);
      const std::int64_t sh = Draw(1, 3);
      const std::int64_t sw = Draw(1, 2);
      const std::int64_t dh = pool ? 1 : Draw(1, 2);
      const std::int64_t dw = pool ? 1 : Draw(1, 2);
      const bool same = Coin();
      const std::int64_t oh = Slides(h, kh, sh, dh, same);
      const std::int64_t ow = Slides(w, kw, sw, dw, same);
      if (oh < 1 || ow < 1) continue;
      const std::int64_t oc = pool ? c : (type == "CONV_2D" ? Draw(1, 3) : c * Draw(1, 2));
      std::vector<TensorId> in = {In({1, h, w, c})};
      if (!pool) {
        in.push_back(Weights(type == "CONV_2D" ? Shape{oc, kh, kw, c} : Shape{1, kh, kw, oc}));
        in.push_back(Weights({oc}));
      }
      std::map<std::string, Attribute> attributes = {
          {"padding", std::int64_t{same ? 0 : 1}}, {"stride_h", sh}, {"stride_w", sw}};
      if (pool) {
        attributes["filter_height"] = kh;
        attributes["filter_width"] = kw;
      } else {
        attributes["dilation_h_factor"] = dh;
        attributes["dilation_w_factor"] = dw;
        if (type != "CONV_2D") attributes["depth_multiplier"] = oc / c;
      }
      Lite(type, in, {Out({1, oh, ow, oc})}, std::move(attributes));
      return;
    }
  }

  void OnnxWindow(const std::string& type) {
    const bool pool = type != "Conv";
    for (;;) {
      const std::int64_t groups = Draw(1, 2);
      const std::int64_t c = groups * Draw(1, 2);
      const std::int64_t oc = pool ? c : groups * Draw(1, 2);
      Whole in = {1, c};
      Whole out = {1, oc};
      Whole weights = {oc, c / groups};
      Whole strides;
      Whole dilations;
      Whole kernel;
      Whole before;
      Whole after;
      bool fits = true;
      for (int d = 0; d < 2; ++d) {
        kernel.push_back(Draw(1, 3));
        strides.push_back(Draw(1, 3));
        dilations.push_back(pool ? 1 : Draw(1, 2));
        before.push_back(Draw(0, kernel.back() - 1));
        after.push_back(Draw(0, kernel.back() - 1));
        in.push_back(Draw(1, 6));
        out.push_back(Slides(in.back() + before.back() + after.back(), kernel.back(),
                             strides.back(), dilations.back(), false));
        fits = fits && out.back() > 0;
      }
      if (!fits) continue;
      weights.insert(weights.end(), kernel.begin(), kernel.end());
      Whole pads = before;
      pads.insert(pads.end(), after.begin(), after.end());
      std::vector<TensorId> inputs = {In(in)};
      if (!pool) inputs.push_back(Weights(weights));
      std::map<std::string, Attribute> attributes = {
          {"strides", strides}, {"pads", pads}, {"kernel_shape", kernel}};
      if (!pool) {
        attributes["dilations"] = dilations;
        attributes["group"] = groups;
      }
      Onnx(type, inputs, {Out(out)}, std::move(attributes));
      return;
    }
  }

 private:
  Random& random_;
  Case case_;
};

using Make = std::function<void(Cases&)>;
struct Maker {
  const char* name;
  Make make;
};

Shape RandomShape(Cases& c, int rank) {
  Shape shape;
  for (int d = 0; d < rank; ++d) shape.push_back(c.Draw(1, 4));
  return shape;
}

void LitePad(Cases& c, const std::string& type) {
  const Shape in = {c.Draw(2, 4), c.Draw(2, 4), c.Draw(2, 3)};
  Shape out = in;
  std::vector<std::int32_t> amounts;
  for (std::int64_t& d : out) {
    amounts.push_back(static_cast<std::int32_t>(c.Draw(0, 1)));
    amounts.push_back(static_cast<std::int32_t>(c.Draw(0, 1)));
    d += amounts[amounts.size() - 2] + amounts.back();
  }
  std::map<std::string, Attribute> attributes;
  if (type == "MIRROR_PAD") attributes["mode"] = c.Draw(0, 1);
  const TensorId x = c.In(in);
  c.Lite(type, {x, c.Matrix(amounts)}, {c.Out(out)}, std::move(attributes));
}

void OnnxPad(Cases& c) {
  const char* const modes[] = {"constant", "edge", "reflect"};
  const Shape in = {c.Draw(3, 4), c.Draw(3, 4)};
  const Whole pads = {c.Draw(0, 2), c.Draw(0, 2), c.Draw(0, 2), c.Draw(0, 2)};
  const TensorId x = c.In(in);
  c.Onnx("Pad", {x, c.Longs(pads)}, {c.Out({in[0] + pads[0] + pads[2], in[1] + pads[1] + pads[3]})},
         {{"mode", std::string(modes[c.Draw(0, 2)])}});
}

void LiteResize(Cases& c, const std::string& type) {
  const Shape in = {1, c.Draw(1, 5), c.Draw(1, 4), 1};
  const Shape out = {1, c.Draw(1, 9), c.Draw(1, 7), 1};
  const std::int64_t corners = c.Draw(0, 1);
  const std::int64_t centers = corners == 1 ? 0 : c.Draw(0, 1);
  c.Loose();
  const TensorId x = c.In(in);
  const TensorId sizes =
      c.Ints({static_cast<std::int32_t>(out[1]), static_cast<std::int32_t>(out[2])});
  c.Lite(type, {x, sizes}, {c.Out(out)},
         {{"align_corners", corners}, {"half_pixel_centers", centers}});
}

void Concat(Cases& c, bool onnx) {
  const std::int64_t axis = c.Draw(0, 2);
  const auto at = static_cast<std::size_t>(axis);
  Shape out = RandomShape(c, 3);
  out[at] = 0;
  std::vector<TensorId> inputs;
  for (std::int64_t i = c.Draw(1, 3); i > 0; --i) {
    Shape one = out;
    one[at] = c.Draw(1, 3);
    out[at] += one[at];
    inputs.push_back(c.In(one));
  }
  const TensorId y = c.Out(out);
  if (onnx) {
    c.Onnx("Concat", inputs, {y}, {{"axis", axis}});
  } else {
    c.Lite("CONCATENATION", inputs, {y}, {{"axis", axis}});
  }
}

void LiteSlice(Cases& c) {
  const Shape in = {c.Draw(1, 5), c.Draw(1, 5)};
  const Whole begin = {c.Draw(0, in[0] - 1), c.Draw(0, in[1] - 1)};
  const Shape out = {c.Draw(1, in[0] - begin[0]), c.Draw(1, in[1] - begin[1])};
  const auto ints = [](const Whole& list) {
    return std::vector<std::int32_t>(list.begin(), list.end());
  };
  const TensorId x = c.In(in);
  const TensorId begins = c.Ints(ints(begin));
  const TensorId sizes = c.Ints(ints(out));
  c.Lite("SLICE", {x, begins, sizes}, {c.Out(out)});
}

void StridedSlice(Cases& c, bool onnx) {
  Shape in;
  Shape out;
  Whole begins;
  Whole ends;
  Whole steps;
  for (int d = 0; d < 2; ++d) {
    const std::int64_t size = c.Draw(2, 7);
    const std::int64_t step = c.Draw(1, 2) * (c.Coin() ? 1 : -1);
    const std::int64_t first = c.Draw(0, size - 1);
    const std::int64_t most = step > 0 ? (size - 1 - first) / step : first / -step;
    const std::int64_t count = c.Draw(1, most + 1);
    const std::int64_t end = first + count * step;
    in.push_back(size);
    out.push_back(count);
    begins.push_back(c.Coin() ? first : first - size);
    // In front of the first index, counted from the end.
    ends.push_back(end < 0 ? end - size : end);
    steps.push_back(step);
  }
  const auto ints = [](const Whole& list) {
    return std::vector<std::int32_t>(list.begin(), list.end());
  };
  const TensorId x = c.In(in);
  if (onnx) {
    const TensorId starts = c.Longs(begins);
    const TensorId stops = c.Longs(ends);
    const TensorId axes = c.Longs({0, 1});
    const TensorId strides = c.Longs(steps);
    c.Onnx("Slice", {x, starts, stops, axes, strides}, {c.Out(out)});
  } else {
    const TensorId starts = c.Ints(ints(begins));
    const TensorId stops = c.Ints(ints(ends));
    const TensorId strides = c.Ints(ints(steps));
    c.Lite("STRIDED_SLICE", {x, starts, stops, strides}, {c.Out(out)});
  }
}

void LiteSplit(Cases& c) {
  const std::int64_t axis = c.Draw(0, 1);
  const std::int64_t parts = c.Draw(1, 3);
  Shape out = RandomShape(c, 2);
  Shape in = out;
  in[static_cast<std::size_t>(axis)] *= parts;
  const TensorId x = c.In(in);
  const TensorId along = c.Ints({static_cast<std::int32_t>(axis)});
  std::vector<TensorId> outputs;
  for (std::int64_t i = 0; i < parts; ++i) outputs.push_back(c.Out(out));
  c.Lite("SPLIT", {along, x}, outputs, {{"num_splits", parts}});
}

void Reduce(Cases& c, bool onnx) {
  const Shape in = RandomShape(c, 3);
  const bool keeps = c.Coin();
  Shape out;
  std::vector<std::int32_t> axes;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const bool gone = c.Coin() || (d + 1 == in.size() && axes.empty());
    if (gone) axes.push_back(static_cast<std::int32_t>(d));
    if (!gone || keeps) out.push_back(gone ? 1 : in[d]);
  }
  const TensorId x = c.In(in);
  if (onnx) {
    c.Onnx("ReduceMean", {x}, {c.Out(out)},
           {{"axes", Whole(axes.begin(), axes.end())}, {"keepdims", std::int64_t{keeps}}});
  } else {
    const TensorId list = c.Ints(axes);
    c.Lite("MEAN", {x, list}, {c.Out(out)}, {{"keep_dims", std::int64_t{keeps}}});
  }
}

void LiteReshape(Cases& c) {
  const Shape pieces = {c.Draw(1, 3), c.Draw(1, 3), c.Draw(1, 3), c.Draw(1, 2)};
  const auto merged = [&] {
    Shape shape = {1};
    for (const std::int64_t piece : pieces) {
      if (c.Coin()) {
        shape.back() *= piece;
      } else {
        shape.push_back(piece);
      }
    }
    return shape;
  };
  c.Loose();
  const TensorId x = c.In(merged());
  const Shape out = merged();
  const TensorId shape = c.Ints(std::vector<std::int32_t>(out.begin(), out.end()));
  c.Lite("RESHAPE", {x, shape}, {c.Out(out)});
}

void Transpose(Cases& c, bool onnx) {
  const Shape in = RandomShape(c, 3);
  Whole order = {0, 1, 2};
  std::rotate(order.begin(), order.begin() + c.Draw(0, 2), order.end());
  if (c.Coin()) std::swap(order[0], order[1]);
  Shape out;
  for (const std::int64_t axis : order) out.push_back(in[static_cast<std::size_t>(axis)]);
  const TensorId x = c.In(in);
  if (onnx) {
    c.Onnx("Transpose", {x}, {c.Out(out)}, {{"perm", order}});
  } else {
    const TensorId perm = c.Ints(std::vector<std::int32_t>(order.begin(), order.end()));
    c.Lite("TRANSPOSE", {x, perm}, {c.Out(out)});
  }
}

void LiteTransposeConv(Cases& c) {
  for (;;) {
    const Shape in = {1, c.Draw(1, 4), c.Draw(1, 3), c.Draw(1, 2)};
    const std::int64_t stride = c.Draw(1, 3);
    const std::int64_t kernel = c.Draw(1, 4);
    const bool same = c.Coin();
    const auto size = [&](std::int64_t d) { return same ? d * stride : (d - 1) * stride + kernel; };
    const Shape out = {1, size(in[1]), size(in[2]), c.Draw(1, 2)};
    // Taps that no output reaches leave gaps, where boxes cannot be tight.
    c.Loose();
    const TensorId x = c.In(in);
    const TensorId shape = c.Ints(std::vector<std::int32_t>(out.begin(), out.end()));
    const TensorId weights = c.Weights({out[3], kernel, kernel, in[3]});
    c.Lite("TRANSPOSE_CONV", {shape, weights, x}, {c.Out(out)},
           {{"padding", std::int64_t{same ? 0 : 1}}, {"stride_h", stride}, {"stride_w", stride}});
    return;
  }
}

void Binary(Cases& c, const std::string& domain, const std::string& type) {
  Shape a = RandomShape(c, 3);
  Shape b = a;
  const Shape out = a;
  for (std::size_t d = 0; d < 3; ++d) {
    if (c.Draw(0, 3) == 0) (c.Coin() ? a : b)[d] = 1;
  }
  Shape full;
  for (std::size_t d = 0; d < 3; ++d) full.push_back(std::max(a[d], b[d]));
  while (b.size() > 1 && b.front() == 1 && c.Coin()) b.erase(b.begin());
  const TensorId x = c.In(a);
  const TensorId y = c.In(b);
  if (domain == "tflite") {
    c.Lite(type, {x, y}, {c.Out(full)});
  } else {
    c.Onnx(type, {x, y}, {c.Out(full)});
  }
}

const std::vector<Maker>& Makers() {
  static const std::vector<Maker> makers = {
      {"CONV_2D", [](Cases& c) { c.LiteWindow("CONV_2D"); }},
      {"DEPTHWISE_CONV_2D", [](Cases& c) { c.LiteWindow("DEPTHWISE_CONV_2D"); }},
      {"AVERAGE_POOL_2D", [](Cases& c) { c.LiteWindow("AVERAGE_POOL_2D"); }},
      {"MAX_POOL_2D", [](Cases& c) { c.LiteWindow("MAX_POOL_2D"); }},
      {"TRANSPOSE_CONV", LiteTransposeConv},
      {"RESIZE_BILINEAR", [](Cases& c) { LiteResize(c, "RESIZE_BILINEAR"); }},
      {"RESIZE_NEAREST_NEIGHBOR", [](Cases& c) { LiteResize(c, "RESIZE_NEAREST_NEIGHBOR"); }},
      {"ADD", [](Cases& c) { Binary(c, "tflite", "ADD"); }},
      {"PAD", [](Cases& c) { LitePad(c, "PAD"); }},
      {"MIRROR_PAD", [](Cases& c) { LitePad(c, "MIRROR_PAD"); }},
      {"CONCATENATION", [](Cases& c) { Concat(c, false); }},
      {"SLICE", LiteSlice},
      {"STRIDED_SLICE", [](Cases& c) { StridedSlice(c, false); }},
      {"SPLIT", LiteSplit},
      {"MEAN", [](Cases& c) { Reduce(c, false); }},
      {"RESHAPE", LiteReshape},
      {"TRANSPOSE", [](Cases& c) { Transpose(c, false); }},
      {"SOFTMAX",
       [](Cases& c) {
         const Shape shape = RandomShape(c, 2);
         const TensorId x = c.In(shape);
         if (shape.back() == 1) c.Loose();  // the answer is always one
         c.Lite("SOFTMAX", {x}, {c.Out(shape)}, {{"beta", 1.0}});
       }},
      {"FULLY_CONNECTED",
       [](Cases& c) {
         const std::int64_t rows = c.Draw(1, 3);
         const std::int64_t depth = c.Draw(1, 4);
         const std::int64_t units = c.Draw(1, 3);
         const TensorId x = c.In({rows, depth});
         const TensorId weights = c.Weights({units, depth});
         const TensorId bias = c.Weights({units});
         c.Lite("FULLY_CONNECTED", {x, weights, bias}, {c.Out({rows, units})});
       }},
      {"Conv", [](Cases& c) { c.OnnxWindow("Conv"); }},
      {"MaxPool", [](Cases& c) { c.OnnxWindow("MaxPool"); }},
      {"AveragePool", [](Cases& c) { c.OnnxWindow("AveragePool"); }},
      {"Mul", [](Cases& c) { Binary(c, "", "Mul"); }},
      {"Concat", [](Cases& c) { Concat(c, true); }},
      {"Slice", [](Cases& c) { StridedSlice(c, true); }},
      {"Pad", OnnxPad},
      {"ReduceMean", [](Cases& c) { Reduce(c, true); }},
      {"Transpose", [](Cases& c) { Transpose(c, true); }},
      {"MatMul",
       [](Cases& c) {
         const std::int64_t n = c.Draw(1, 3);
         const std::int64_t k = c.Draw(1, 3);
         const std::int64_t m = c.Draw(1, 3);
         const TensorId a = c.In({2, n, k});
         const TensorId b = c.In({k, m});
         c.Onnx("MatMul", {a, b}, {c.Out({2, n, m})});
       }},
      {"Gemm",
       [](Cases& c) {
         const std::int64_t n = c.Draw(1, 3);
         const std::int64_t k = c.Draw(1, 3);
         const std::int64_t m = c.Draw(1, 3);
         const std::int64_t swap_a = c.Draw(0, 1);
         const std::int64_t swap_b = c.Draw(0, 1);
         const TensorId a = c.In(swap_a == 1 ? Shape{k, n} : Shape{n, k});
         const TensorId b = c.In(swap_b == 1 ? Shape{m, k} : Shape{k, m});
         c.Onnx("Gemm", {a, b}, {c.Out({n, m})}, {{"transA", swap_a}, {"transB", swap_b}});
       }},
      {"CONV_2D_hybrid", [](Cases& c) { c.Hybrid(); }},
  };
  return makers;
}

std::vector<std::int64_t> PlaceOf(std::int64_t number, const Shape& shape) {
  std::vector<std::int64_t> place(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    place[d] = number % shape[d];
    number /= shape[d];
  }
  return place;
}

bool Holds(const Box& box, const std::vector<std::int64_t>& place) {
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (place[d] < box[d].begin || place[d] >= box[d].end) return false;
  }
  return true;
}

Box PointBox(const std::vector<std::int64_t>& place) {
  Box box;
  for (const std::int64_t at : place) box.push_back({at, at + 1});
  return box;
}

Box RandomBox(const Shape& shape, Random* random) {
  Box box;
  for (const std::int64_t d : shape) {
    const std::int64_t begin = random->Between(0, d - 1);
    box.push_back({begin, random->Between(begin + 1, d)});
  }
  return box;
}

// changed[output][element of the input][element of the output].
using Changes = std::vector<std::vector<std::vector<bool>>>;

Changes Measure(const graph::Graph& graph, std::vector<Value> inputs, std::size_t input) {
  const auto run = [&] {
    auto outputs = Evaluate(graph, SubgraphId(0), inputs, {});
    EXPECT_TRUE(outputs) << outputs.error().ToString();
    return outputs ? std::move(*outputs) : std::vector<Value>();
  };
  const std::vector<Value> before = run();
  Changes changes(before.size());
  const std::int64_t elements = Count(inputs[input].shape);
  for (std::int64_t e = 0; e < elements; ++e) {
    std::byte* const place = inputs[input].bytes.data() + 4 * e;
    float kept = 0;
    std::memcpy(&kept, place, 4);
    const float other = kept + 64.0F;
    std::memcpy(place, &other, 4);
    const std::vector<Value> after = run();
    std::memcpy(place, &kept, 4);
    for (std::size_t o = 0; o < before.size(); ++o) {
      const auto old = NumbersOf<std::uint32_t>(before[o].bytes);
      const auto now = NumbersOf<std::uint32_t>(after[o].bytes);
      std::vector<bool> differs(old.size());
      for (std::size_t i = 0; i < old.size(); ++i) differs[i] = old[i] != now[i];
      changes[o].push_back(std::move(differs));
    }
  }
  return changes;
}

class DependenceOfKernels : public testing::TestWithParam<std::size_t> {};

TEST_P(DependenceOfKernels, BoxesHoldWhatKernelsRead) {
  const Maker& maker = Makers()[GetParam()];
  Random random(7 + GetParam());
  int compared = 0;
  for (int round = 0; round < 300; ++round) {
    Cases cases(&random);
    maker.make(cases);
    Case one = cases.Take();
    const graph::Subgraph& main = one.maker.Main();
    const graph::Op& op = main.ops[OpId(0)];
    const auto inputs = RandomInputs(main, random.Next() >> 40U, 1 << 20);
    ASSERT_TRUE(inputs);
    for (std::size_t i = 0; i < main.inputs.size(); ++i) {
      const auto at = static_cast<std::size_t>(
          std::find(op.inputs.begin(), op.inputs.end(), main.inputs[i]) - op.inputs.begin());
      const Shape& in = *main.tensors[main.inputs[i]].shape;
      const Changes changes = Measure(one.maker.graph(), *inputs, i);
      for (std::size_t o = 0; o < changes.size(); ++o) {
        const Shape& out = *main.tensors[op.outputs[o]].shape;
        for (int draw = 0; draw < 6; ++draw) {
          const Box box = RandomBox(out, &random);
          const auto need = ops::NeedOf(main, op, at, box, o);
          ASSERT_TRUE(need) << maker.name;
          Box read(in.size());
          for (std::size_t e = 0; e < changes[o].size(); ++e) {
            bool matters = false;
            for (std::size_t k = 0; k < changes[o][e].size(); ++k) {
              matters = matters || (changes[o][e][k] &&
                                    Holds(box, PlaceOf(static_cast<std::int64_t>(k), out)));
            }
            if (!matters) continue;
            const auto place = PlaceOf(static_cast<std::int64_t>(e), in);
            EXPECT_TRUE(Holds(need->box, place)) << maker.name << " reads more than its map says";
            read = ops::Hull(read, PointBox(place));
          }
          if (one.tight && !ops::IsEmpty(read)) {
            // Dilated windows may step over a border that they then do not read.
            const bool dilated =
                op.attributes.contains("dilation_h_factor") || op.attributes.contains("dilations");
            if (!dilated) {
              EXPECT_EQ(read, need->box) << maker.name;
            }
            ++compared;
          }
        }
      }
    }
  }
  const std::string name = maker.name;
  const bool loose = name == "RESIZE_BILINEAR" || name == "RESIZE_NEAREST_NEIGHBOR" ||
                     name == "RESHAPE" || name == "TRANSPOSE_CONV" || name == "CONV_2D_hybrid";
  if (!loose) {
    EXPECT_GT(compared, 400);
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, DependenceOfKernels,
                         testing::Range(std::size_t{0}, Makers().size()),
                         [](const auto& test) { return std::string(Makers()[test.param].name); });

}  // namespace
}  // namespace neap::execute
