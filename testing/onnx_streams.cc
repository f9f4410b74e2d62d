// SPDX-License-Identifier: Apache-2.0
//
// Random networks of ONNX, whose images have their channels first.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testing/execute.h"
#include "testing/streams.h"

namespace neap::stream::test {
namespace {

using graph::Attribute;
using graph::ElementType;
using graph::TensorId;
using Attributes = std::map<std::string, Attribute>;
using Integers = std::vector<std::int64_t>;

struct Plane {
  TensorId id;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

class OnnxMaker {
 public:
  explicit OnnxMaker(Random* random) : random_(*random) {}

  graph::Graph Make(int operators) {
    const Plane input = {{}, random_.Between(1, 4), random_.Between(3, 14), random_.Between(3, 14)};
    open_.push_back({maker_.Input(ElementType::kFloat32, ShapeOf(input)), input.channels,
                     input.height, input.width});
    for (int i = 0; i < operators; ++i) AddOperator();
    std::vector<TensorId> read;
    for (const graph::Op& op : maker_.Main().ops) {
      read.insert(read.end(), op.inputs.begin(), op.inputs.end());
    }
    for (const Plane& plane : open_) {
      if (std::find(read.begin(), read.end(), plane.id) == read.end()) maker_.Output(plane.id);
    }
    return maker_.graph();
  }

 private:
  static graph::Shape ShapeOf(const Plane& plane) {
    return {1, plane.channels, plane.height, plane.width};
  }
  Plane New(std::int64_t channels, std::int64_t height, std::int64_t width) {
    return {maker_.Floats({1, channels, height, width}), channels, height, width};
  }
  TensorId Values(const graph::Shape& shape) {
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<float>(random_.Unit() - 0.4));
    }
    return maker_.Constant(ElementType::kFloat32, shape, values);
  }
  void Add(const std::string& type, std::vector<TensorId> inputs, const Plane& out,
           Attributes attributes = {}) {
    const graph::OpId id = maker_.Op("", type, std::move(inputs), {out.id}, std::move(attributes));
    maker_.Main().ops[id].version = 13;
    open_.push_back(out);
  }

  const Plane& Pick() {
    return random_.Below(4) == 0 ? open_[random_.Below(open_.size())] : open_.back();
  }

  void AddOperator() {
    const Plane in = Pick();
    if (random_.Below(4) == 0) return AddMove(in);
    switch (random_.Below(11)) {
      case 10:
        return AddGate(in);
      case 9:
        return AddAttention(in);
      case 0:
      case 1:
      case 2:
        return AddWindow(in, "Conv");
      case 3:
        return AddWindow(in, "MaxPool");
      case 4:
        return AddWindow(in, "AveragePool");
      case 5:
        return Join(in);
      case 6:
        return Add("Relu", {in.id}, New(in.channels, in.height, in.width));
      case 7:
        return AddByChannel(in);
      default:
        return Add("Softmax", {in.id}, New(in.channels, in.height, in.width),
                   {{"axis", std::int64_t{1}}});
    }
  }

  TensorId Whole(const Integers& values) {
    return maker_.Constant(ElementType::kInt64, {static_cast<std::int64_t>(values.size())}, values);
  }
  TensorId Reals(const std::vector<float>& values) {
    return maker_.Constant(ElementType::kFloat32, {static_cast<std::int64_t>(values.size())},
                           values);
  }

  // Operators that resample, spread or move pixels.
  void AddMove(const Plane& in) {
    switch (random_.Below(11)) {
      case 8:
        return AddShuffle(in);
      case 7:
        return AddLine(in);
      case 6:
        return AddSplit(in);
      case 0:
        return AddResize(in);
      case 1:
        return AddTransposeConv(in);
      case 2:
      case 9:
      case 10:
        return AddBlocks(in);
      case 3:
        return AddSlice(in);
      case 4: {
        const Integers pads = {random_.Between(0, 2), random_.Between(0, 2), random_.Between(0, 2),
                               random_.Between(0, 2)};
        const char* const modes[] = {"constant", "edge", "reflect"};
        const char* const mode = modes[random_.Below(in.height > 2 && in.width > 2 ? 3 : 2)];
        return Add("Pad", {in.id, Whole({0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3]})},
                   New(in.channels, in.height + pads[0] + pads[2], in.width + pads[1] + pads[3]),
                   {{"mode", std::string(mode)}});
      }
      default: {
        const std::int64_t rows = random_.Between(1, 2);
        const std::int64_t columns = random_.Between(1, 2);
        if (in.height * rows > 40 || in.width * columns > 40) return AddByChannel(in);
        return Add("Tile", {in.id, Whole({1, 1, rows, columns})},
                   New(in.channels, in.height * rows, in.width * columns));
      }
    }
  }

  void AddResize(const Plane& in) {
    const char* const places[] = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                  "asymmetric"};
    const char* const roundings[] = {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"};
    Attributes attributes = {
        {"mode", std::string(random_.Below(2) == 0 ? "nearest" : "linear")},
        {"coordinate_transformation_mode", std::string(places[random_.Below(4)])},
        {"nearest_mode", std::string(roundings[random_.Below(4)])}};
    if (random_.Below(2) == 0 && in.height < 20 && in.width < 20) {
      const std::int64_t factor = random_.Between(2, 3);
      const auto scale = static_cast<float>(factor);
      return Add("Resize", {in.id, {}, Reals({1, 1, scale, scale})},
                 New(in.channels, in.height * factor, in.width * factor), std::move(attributes));
    }
    const Plane out =
        New(in.channels, random_.Between(1, random_.Below(4) == 0 ? 1 : 2 * in.height),
            random_.Between(1, random_.Below(4) == 0 ? 1 : 2 * in.width));
    if (out.height > 40 || out.width > 40) return AddByChannel(in);
    Add("Resize", {in.id, {}, {}, Whole({1, in.channels, out.height, out.width})}, out,
        std::move(attributes));
  }

  void AddTransposeConv(const Plane& in) {
    const std::int64_t kernel = random_.Between(1, 4);
    const std::int64_t stride = random_.Between(1, 3);
    const std::int64_t before = random_.Between(0, kernel - 1);
    const std::int64_t after = random_.Between(0, kernel - 1);
    const auto size = [&](std::int64_t d) { return (d - 1) * stride + kernel - before - after; };
    if (size(in.height) < 1 || size(in.width) < 1 || size(in.height) > 40 || size(in.width) > 40) {
      return AddByChannel(in);
    }
    const std::int64_t channels = random_.Between(1, 4);
    Add("ConvTranspose",
        {in.id, Values({in.channels, channels, kernel, kernel}), Values({channels})},
        New(channels, size(in.height), size(in.width)),
        {{"kernel_shape", Integers{kernel, kernel}},
         {"strides", Integers{stride, stride}},
         {"pads", Integers{before, before, after, after}}});
  }

  void AddBlocks(const Plane& in) {
    const std::int64_t block = random_.Between(2, 3);
    const std::int64_t squares = block * block;
    if (in.height % block == 0 && in.width % block == 0 && in.channels * squares <= 40) {
      return Add("SpaceToDepth", {in.id},
                 New(in.channels * squares, in.height / block, in.width / block),
                 {{"blocksize", block}});
    }
    if (in.height * block > 40 || in.width * block > 40) return AddByChannel(in);
    const Plane deep = New(2 * squares, in.height, in.width);
    Add("Conv", {in.id, Values({deep.channels, in.channels, 1, 1}), Values({deep.channels})}, deep,
        {{"kernel_shape", Integers{1, 1}}});
    Add("DepthToSpace", {deep.id}, New(2, in.height * block, in.width * block),
        {{"blocksize", block}, {"mode", std::string(random_.Below(2) == 0 ? "DCR" : "CRD")}});
  }

  // Parts of channels, rows or columns, even ones where sizes are not given.
  void AddSplit(const Plane& in) {
    const std::int64_t axis = random_.Between(1, 3);
    const std::int64_t along = axis == 1 ? in.channels : axis == 2 ? in.height : in.width;
    const std::int64_t parts = random_.Between(2, 3);
    if (along < parts) return AddByChannel(in);
    const std::int64_t first = random_.Between(1, along - parts + 1);
    Integers sizes(static_cast<std::size_t>(parts), 1);
    sizes.front() = first;
    sizes.back() = along - first - (parts - 2);
    const bool even = along % parts == 0 && random_.Below(2) == 0;
    if (even) sizes.assign(sizes.size(), along / parts);
    std::vector<TensorId> outputs;
    for (const std::int64_t size : sizes) {
      open_.push_back(New(axis == 1 ? size : in.channels, axis == 2 ? size : in.height,
                          axis == 3 ? size : in.width));
      outputs.push_back(open_.back().id);
    }
    std::vector<TensorId> inputs = {in.id};
    if (!even) inputs.push_back(Whole(sizes));
    const graph::OpId id =
        maker_.Op("", "Split", std::move(inputs), std::move(outputs), {{"axis", axis}});
    maker_.Main().ops[id].version = 13;
  }

  TensorId Reshaped(TensorId in, const Integers& shape) {
    const TensorId out = maker_.Floats(shape);
    maker_.Main().ops[maker_.Op("", "Reshape", {in, Whole(shape)}, {out})].version = 13;
    return out;
  }

  // Channels in groups, exchanged: through five dimensions.
  void AddShuffle(const Plane& in) {
    Plane from = in;
    std::int64_t groups = 2;
    while (groups < in.channels && in.channels % groups != 0) ++groups;
    if (groups >= in.channels) {
      from = New(random_.Below(2) == 0 ? 4 : 6, in.height, in.width);
      Add("Conv", {in.id, Values({from.channels, in.channels, 1, 1}), Values({from.channels})},
          from, {{"kernel_shape", Integers{1, 1}}});
      groups = 2;
    }
    const std::int64_t each = from.channels / groups;
    TensorId grouped = Reshaped(from.id, {1, groups, each, from.height, from.width});
    if (random_.Below(4) == 0) {
      const TensorId relu = maker_.Floats({1, groups, each, from.height, from.width});
      maker_.Main().ops[maker_.Op("", "Relu", {grouped}, {relu})].version = 13;
      grouped = relu;
    }
    const TensorId exchanged = maker_.Floats({1, each, groups, from.height, from.width});
    maker_.Op("", "Transpose", {grouped}, {exchanged}, {{"perm", Integers{0, 2, 1, 3, 4}}});
    const Plane out = New(from.channels, from.height, from.width);
    Add("Reshape", {exchanged, Whole(ShapeOf(out))}, out);
  }

  // Rows and columns as one axis, and two again; tokens of it may be an output.
  void AddLine(const Plane& in) {
    const std::int64_t places = in.height * in.width;
    const TensorId line = Reshaped(in.id, {1, in.channels, places});
    if (random_.Below(2) == 0) {
      const TensorId tokens = maker_.Floats({1, places, in.channels});
      maker_.Op("", "Transpose", {line}, {tokens}, {{"perm", Integers{0, 2, 1}}});
      const TensorId sums = maker_.Floats({1, places, 3});
      maker_.Main()
          .ops[maker_.Op("", "MatMul", {tokens, Values({in.channels, 3})}, {sums})]
          .version = 13;
      maker_.Output(sums);
    }
    const Plane out = New(in.channels, in.height, in.width);
    Add("Reshape", {line, Whole(ShapeOf(out))}, out);
  }

  void AddSlice(const Plane& in) {
    const std::int64_t step = random_.Between(1, 2);
    const std::int64_t top = random_.Between(0, in.height - 1);
    const std::int64_t left = random_.Between(0, in.width - 1);
    const std::int64_t first = random_.Between(0, in.channels - 1);
    Add("Slice",
        {in.id, Whole({first, top, left}), Whole({in.channels, in.height, in.width}),
         Whole({1, 2, 3}), Whole({1, step, step})},
        New(in.channels - first, (in.height - top + step - 1) / step,
            (in.width - left + step - 1) / step));
  }

  struct Slide {
    std::int64_t kernel, stride, dilation, before, after;
    std::int64_t Places(std::int64_t in) const {
      const std::int64_t room = in + before + after - (kernel - 1) * dilation - 1;
      return room < 0 ? 0 : room / stride + 1;
    }
  };
  Slide RandomSlide(bool dilates) {
    const std::int64_t kernel = random_.Between(1, 4);
    const std::int64_t stride = random_.Below(3) == 0 ? random_.Between(1, 3) : 1;
    const std::int64_t dilation = dilates && random_.Below(6) == 0 ? 2 : 1;
    return {kernel, stride, dilation, random_.Between(0, kernel - 1),
            random_.Between(0, kernel - 1)};
  }

  void AddWindow(const Plane& in, const std::string& type) {
    const bool conv = type == "Conv";
    Slide rows{};
    Slide columns{};
    do {
      rows = RandomSlide(conv);
      columns = RandomSlide(conv);
    } while (rows.Places(in.height) < 1 || columns.Places(in.width) < 1);
    const std::int64_t groups = conv && random_.Below(3) == 0 ? in.channels : 1;
    const std::int64_t channels =
        conv ? groups * random_.Between(1, groups > 1 ? 2 : 5) : in.channels;
    Attributes attributes = {
        {"kernel_shape", Integers{rows.kernel, columns.kernel}},
        {"strides", Integers{rows.stride, columns.stride}},
        {"pads", Integers{rows.before, columns.before, rows.after, columns.after}}};
    if (conv) {
      attributes["dilations"] = Integers{rows.dilation, columns.dilation};
      attributes["group"] = groups;
    } else if (type == "AveragePool") {
      attributes["count_include_pad"] = std::int64_t{random_.Below(2) == 0};
    }
    std::vector<TensorId> inputs = {in.id};
    if (conv) {
      inputs.push_back(Values({channels, in.channels / groups, rows.kernel, columns.kernel}));
      inputs.push_back(Values({channels}));
    }
    Add(type, std::move(inputs), New(channels, rows.Places(in.height), columns.Places(in.width)),
        std::move(attributes));
  }

  // A sum with, or channels beside, or rows below another plane.
  void Join(const Plane& in) {
    for (const Plane& other : open_) {
      if (other.id == in.id || other.height != in.height || other.width != in.width) continue;
      if (other.channels == in.channels && random_.Below(2) == 0) {
        return Add("Add", {in.id, other.id}, New(in.channels, in.height, in.width));
      }
      return Add("Concat", {in.id, other.id},
                 New(in.channels + other.channels, in.height, in.width),
                 {{"axis", std::int64_t{1}}});
    }
    const std::int64_t axis = random_.Between(2, 3);
    Add("Concat", {in.id, in.id},
        New(in.channels, axis == 2 ? 2 * in.height : in.height,
            axis == 3 ? 2 * in.width : in.width),
        {{"axis", axis}});
  }

  // The mean of each channel, a product of them, and the product with the image.
  void AddGate(const Plane& in) {
    const Plane mean = New(in.channels, 1, 1);
    if (random_.Below(2) == 0) {
      Add("GlobalAveragePool", {in.id}, mean);
    } else {
      Add("ReduceMean", {in.id}, mean, {{"axes", Integers{2, 3}}, {"keepdims", std::int64_t{1}}});
    }
    const Plane gate = New(in.channels, 1, 1);
    Add("Conv", {mean.id, Values({in.channels, in.channels, 1, 1}), Values({in.channels})}, gate,
        {{"kernel_shape", Integers{1, 1}}});
    open_.resize(open_.size() - 2);
    Add("Mul", {in.id, gate.id}, New(in.channels, in.height, in.width));
  }

  // Rows of scores, normalised, times rows of values: those of another plane, or constants.
  void AddAttention(const Plane& in) {
    const std::int64_t keys = random_.Between(1, 6);
    const Plane scores = New(in.channels, in.height, keys);
    Add("MatMul", {in.id, Values({in.width, keys})}, scores);
    const Plane weights = New(in.channels, in.height, keys);
    Add("Softmax", {scores.id}, weights, {{"axis", std::int64_t{-1}}});
    for (const Plane& other : open_) {
      if (other.channels == in.channels && other.height == keys) {
        return Add("MatMul", {weights.id, other.id}, New(in.channels, in.height, other.width));
      }
    }
    const std::int64_t width = random_.Between(1, 6);
    Add("MatMul", {weights.id, Values({keys, width})}, New(in.channels, in.height, width));
  }

  void AddByChannel(const Plane& in) {
    if (random_.Below(2) == 0) {
      return Add("Mul", {in.id, Values({1, in.channels, 1, 1})},
                 New(in.channels, in.height, in.width));
    }
    const std::vector<float> spread(static_cast<std::size_t>(in.channels), 0.7F);
    Add("BatchNormalization",
        {in.id, Values({in.channels}), Values({in.channels}), Values({in.channels}),
         maker_.Constant(ElementType::kFloat32, {in.channels}, spread)},
        New(in.channels, in.height, in.width));
  }

  Random& random_;
  execute::GraphMaker maker_;
  std::vector<Plane> open_;
};

}  // namespace

graph::Graph RandomOnnxNetwork(Random* random, int operators) {
  return OnnxMaker(random).Make(operators);
}

}  // namespace neap::stream::test
