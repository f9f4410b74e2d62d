// SPDX-License-Identifier: Apache-2.0
#include "testing/streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "neap/check/check.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/execute/run.h"
namespace neap::stream::test {
namespace {

using graph::ElementType;
using graph::TensorId;

constexpr std::int64_t kSame = 0;
constexpr std::int64_t kValid = 1;

struct Picture {
  TensorId id;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
};

class NetworkMaker {
 public:
  explicit NetworkMaker(Random* random, bool moves = false) : random_(*random), moves_(moves) {
    graph_.subgraphs.push_back({});
  }

  graph::Graph Make(int operators) {
    const auto channels = random_.Between(1, 4);
    const auto width = random_.Between(3, 14);
    const auto height = random_.Between(3, 14);
    open_.push_back(AddInput(height, width, channels));
    for (int i = 0; i < operators; ++i) AddOperator();
    // Tensors without consumers are joined or become outputs.
    for (const Picture& picture : open_) {
      if (!Main().outputs.empty() && IsRead(picture.id)) continue;
      if (!IsRead(picture.id)) Main().outputs.push_back(picture.id);
    }
    return std::move(graph_);
  }

  graph::Graph MakeDepthwise(std::int64_t height, std::int64_t width, std::int64_t channels) {
    Main().outputs = {AddSmallDepthwise(AddInput(height, width, channels)).id};
    return std::move(graph_);
  }

  graph::Graph MakeNested(std::int64_t side, std::int64_t channels, int depth) {
    std::vector<Picture> chain{AddInput(side, side, channels)};
    for (int i = 0; i < 2 * depth; ++i) {
      const Picture out = NewPicture(side, side, channels);
      AddOp("CONV_2D", {chain.back().id, Weights({channels, 3, 3, channels}), Bias(channels)},
            out.id, WindowAttributes({3, 3, 1, 1, kSame}, false));
      chain.push_back(out);
    }
    Picture sum = chain.back();
    for (std::size_t i = 1; i <= static_cast<std::size_t>(depth); ++i) {
      const Picture out = NewPicture(side, side, channels);
      AddOp("ADD", {sum.id, chain[i].id}, out.id);
      sum = out;
    }
    Main().outputs = {sum.id};
    return std::move(graph_);
  }

  graph::Graph MakeSqueeze(std::int64_t height, std::int64_t width, std::int64_t channels) {
    const TensorId mean = AddMean(AddSmallDepthwise(AddInput(height, width, channels)));
    const Picture out = NewPicture(1, 1, channels);
    AddOp("CONV_2D", {mean, Weights({channels, 1, 1, channels}), Bias(channels)}, out.id,
          WindowAttributes({1, 1, 1, 1, kSame}, false));
    Main().outputs = {out.id};
    return std::move(graph_);
  }

 private:
  graph::Subgraph& Main() { return graph_.subgraphs[graph::SubgraphId(0)]; }

  bool IsRead(TensorId id) {
    for (const graph::Op& op : Main().ops) {
      if (std::find(op.inputs.begin(), op.inputs.end(), id) != op.inputs.end()) return true;
    }
    return false;
  }

  TensorId NewTensor(ElementType type, graph::Shape shape, float scale, std::int64_t zero) {
    graph::Tensor tensor;
    tensor.name = "t" + std::to_string(Main().tensors.size());
    tensor.type = type;
    tensor.shape = std::move(shape);
    tensor.quantization = graph::Quantization{{scale}, {zero}, 0};
    return Main().tensors.push_back(std::move(tensor));
  }

  Picture NewPicture(std::int64_t height, std::int64_t width, std::int64_t channels) {
    const auto zero = random_.Between(-20, 20);
    return {NewTensor(ElementType::kInt8, {1, height, width, channels}, 0.05F, zero), height, width,
            channels};
  }
  Picture Like(const Picture& from, std::int64_t height, std::int64_t width,
               std::int64_t channels) {
    const Picture picture = NewPicture(height, width, channels);
    Main().tensors[picture.id].quantization = Main().tensors[from.id].quantization;
    return picture;
  }

  template <typename T>
  TensorId Constant(ElementType type, graph::Shape shape, const std::vector<T>& values) {
    const TensorId id = NewTensor(type, std::move(shape), 0.02F, 0);
    auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(bytes->data(), values.data(), bytes->size());
    Main().tensors[id].constant = true;
    Main().tensors[id].data = graph::ConstantData{bytes, *bytes};
    return id;
  }
  TensorId Weights(graph::Shape shape) {
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    std::vector<std::int8_t> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<std::int8_t>(random_.Between(-90, 90)));
    }
    return Constant(ElementType::kInt8, std::move(shape), values);
  }
  TensorId Bias(std::int64_t channels) {
    std::vector<std::int32_t> values;
    for (std::int64_t i = 0; i < channels; ++i) {
      values.push_back(static_cast<std::int32_t>(random_.Between(-2000, 2000)));
    }
    const TensorId id = Constant(ElementType::kInt32, {channels}, values);
    Main().tensors[id].quantization = graph::Quantization{{0.001F}, {0}, 0};
    return id;
  }

  void AddOp(const std::string& type, std::vector<TensorId> inputs, TensorId output,
             std::map<std::string, graph::Attribute> attributes = {}) {
    graph::Op op;
    op.type = type;
    op.domain = "tflite";
    op.inputs = std::move(inputs);
    op.outputs = {output};
    op.attributes = std::move(attributes);
    op.source_index = static_cast<std::int32_t>(Main().ops.size());
    Main().ops.push_back(std::move(op));
  }

  struct Geometry {
    std::int64_t kernel_height, kernel_width, stride_height, stride_width, padding;
    std::int64_t dilation_height = 1, dilation_width = 1;
    static std::int64_t Places(std::int64_t in, std::int64_t kernel, std::int64_t stride,
                               std::int64_t dilation, std::int64_t padding) {
      const std::int64_t reach = (kernel - 1) * dilation + 1;
      return padding == kSame ? (in + stride - 1) / stride : (in - reach + stride) / stride;
    }
    std::int64_t OutHeight(const Picture& in) const {
      return Places(in.height, kernel_height, stride_height, dilation_height, padding);
    }
    std::int64_t OutWidth(const Picture& in) const {
      return Places(in.width, kernel_width, stride_width, dilation_width, padding);
    }
  };

  Geometry RandomGeometry(const Picture& in, bool dilates) {
    Geometry g{};
    do {
      g.kernel_height = random_.Between(1, 5);
      g.kernel_width = random_.Below(3) == 0 ? random_.Between(1, 5) : g.kernel_height;
      g.stride_height = random_.Below(3) == 0 ? random_.Between(1, 3) : 1;
      g.stride_width = random_.Below(4) == 0 ? random_.Between(1, 3) : g.stride_height;
      g.padding = random_.Below(4) == 0 ? kValid : kSame;
      g.dilation_height = dilates && g.stride_height == 1 && random_.Below(6) == 0 ? 2 : 1;
      g.dilation_width = dilates && g.stride_width == 1 && random_.Below(6) == 0 ? 2 : 1;
    } while (g.OutHeight(in) < 1 || g.OutWidth(in) < 1);
    return g;
  }

  std::map<std::string, graph::Attribute> WindowAttributes(const Geometry& g, bool pool) {
    std::map<std::string, graph::Attribute> attributes = {
        {"padding", g.padding},
        {"stride_h", g.stride_height},
        {"stride_w", g.stride_width},
        {"fused_activation_function", static_cast<std::int64_t>(random_.Below(2))}};
    if (pool) {
      attributes["filter_height"] = g.kernel_height;
      attributes["filter_width"] = g.kernel_width;
    } else {
      attributes["dilation_h_factor"] = g.dilation_height;
      attributes["dilation_w_factor"] = g.dilation_width;
    }
    return attributes;
  }

  const Picture& Pick() {
    // Mostly the last one, sometimes one before: that makes branches and skips.
    return random_.Below(4) == 0 ? open_[random_.Below(open_.size())] : open_.back();
  }

  void AddOperator() {
    const Picture in = Pick();
    if (moves_ && random_.Below(2) == 0) return AddMove(in);
    switch (random_.Below(10)) {
      case 0:
      case 1:
        return AddConv(in);
      case 2:
      case 3:
        return AddDepthwise(in);
      case 4:
        return AddPool(in);
      case 5:
      case 6:
        return Join(in);
      case 7:
        return AddPad(in);
      case 8:
        return AddGate(in);
      default: {
        const Picture out = NewPicture(in.height, in.width, in.channels);
        AddOp("LOGISTIC", {in.id}, out.id);
        Main().tensors[out.id].quantization = graph::Quantization{{1.0F / 256}, {-128}, 0};
        open_.push_back(out);
      }
    }
  }

  void AddConv(const Picture& in) {
    const Geometry g = RandomGeometry(in, true);
    const std::int64_t channels = random_.Between(1, 6);
    const Picture out = NewPicture(g.OutHeight(in), g.OutWidth(in), channels);
    AddOp(
        "CONV_2D",
        {in.id, Weights({channels, g.kernel_height, g.kernel_width, in.channels}), Bias(channels)},
        out.id, WindowAttributes(g, false));
    open_.push_back(out);
  }

  void AddDepthwise(const Picture& in) {
    const Geometry g = RandomGeometry(in, true);
    const Picture out = NewPicture(g.OutHeight(in), g.OutWidth(in), in.channels);
    auto attributes = WindowAttributes(g, false);
    attributes["depth_multiplier"] = std::int64_t{1};
    AddOp("DEPTHWISE_CONV_2D",
          {in.id, Weights({1, g.kernel_height, g.kernel_width, in.channels}), Bias(in.channels)},
          out.id, std::move(attributes));
    open_.push_back(out);
  }

  void AddPool(const Picture& in) {
    const Geometry g = RandomGeometry(in, false);
    const Picture out = Like(in, g.OutHeight(in), g.OutWidth(in), in.channels);
    AddOp(random_.Below(2) == 0 ? "MAX_POOL_2D" : "AVERAGE_POOL_2D", {in.id}, out.id,
          WindowAttributes(g, true));
    open_.push_back(out);
  }

  void AddPad(const Picture& in) {
    const std::int64_t top = random_.Between(0, 2);
    const std::int64_t left = random_.Between(0, 2);
    const std::int64_t bottom = random_.Between(0, 2);
    const std::int64_t right = random_.Between(0, 2);
    const std::int64_t front = moves_ ? random_.Between(0, 1) : 0;
    const std::int64_t back = moves_ ? random_.Between(0, 3) : 0;
    const Picture out =
        Like(in, in.height + top + bottom, in.width + left + right, in.channels + front + back);
    std::vector<std::int32_t> amounts;
    for (const std::int64_t amount :
         {std::int64_t{0}, std::int64_t{0}, top, bottom, left, right, front, back}) {
      amounts.push_back(static_cast<std::int32_t>(amount));
    }
    AddOp("PAD", {in.id, Constant(ElementType::kInt32, {4, 2}, amounts)}, out.id);
    open_.push_back(out);
  }

  // A sum with, or a concatenation beside, another picture of the same size.
  void Join(const Picture& in) {
    std::vector<Picture> others;
    for (const Picture& other : open_) {
      if (other.height == in.height && other.width == in.width && other.id != in.id) {
        others.push_back(other);
      }
    }
    if (others.empty()) return AddConv(in);
    const Picture other = others[random_.Below(others.size())];
    if (other.channels == in.channels && random_.Below(2) == 0) {
      const Picture out = NewPicture(in.height, in.width, in.channels);
      AddOp("ADD", {in.id, other.id}, out.id);
      open_.push_back(out);
      return;
    }
    if (in.channels + other.channels > 16) return AddConv(in);
    const Picture out = Like(in, in.height, in.width, in.channels + other.channels);
    AddOp("CONCATENATION", {in.id, other.id}, out.id, {{"axis", std::int64_t{3}}});
    open_.push_back(out);
  }

  TensorId Whole(std::vector<std::int32_t> values) {
    const auto size = static_cast<std::int64_t>(values.size());
    return Constant(ElementType::kInt32, {size}, values);
  }
  static std::int32_t Short(std::int64_t value) { return static_cast<std::int32_t>(value); }

  // Operators that move, resample or spread pixels, or mix channels alone.
  void AddMove(const Picture& in) {
    switch (random_.Below(10)) {
      case 8:
        return AddSplit(in);
      case 0:
        return AddResize(in);
      case 1:
        return AddTransposeConv(in);
      case 2:
        return AddBlocks(in);
      case 3:
        return AddSlice(in);
      case 4:
        return AddStridedSlice(in);
      case 5:
        return random_.Below(2) == 0 ? AddPad(in) : AddMirrorPad(in);
      case 6:
        return AddJoinOfRows(in);
      case 7:
        return AddShuffle(in);
      default: {
        const Picture out = NewPicture(in.height, in.width, in.channels);
        AddOp("SOFTMAX", {in.id}, out.id, {{"beta", 1.0}});
        Main().tensors[out.id].quantization = graph::Quantization{{1.0F / 256}, {-128}, 0};
        open_.push_back(out);
      }
    }
  }

  void AddResize(const Picture& in) {
    const bool corners = random_.Below(3) == 0;
    const bool centers = !corners && random_.Below(2) == 0;
    const Picture out =
        Like(in, random_.Between(1, 2 * in.height), random_.Between(1, 2 * in.width), in.channels);
    AddOp(
        random_.Below(2) == 0 ? "RESIZE_BILINEAR" : "RESIZE_NEAREST_NEIGHBOR",
        {in.id, Whole({Short(out.height), Short(out.width)})}, out.id,
        {{"align_corners", std::int64_t{corners}}, {"half_pixel_centers", std::int64_t{centers}}});
    open_.push_back(out);
  }

  void AddTransposeConv(const Picture& in) {
    const std::int64_t kernel = random_.Between(1, 4);
    const std::int64_t stride = random_.Between(1, 3);
    const bool same = random_.Below(2) == 0;
    const auto size = [&](std::int64_t d) { return same ? d * stride : (d - 1) * stride + kernel; };
    if (size(in.height) > 40 || size(in.width) > 40 || (same && kernel < stride)) {
      return AddConv(in);
    }
    const Picture out = NewPicture(size(in.height), size(in.width), random_.Between(1, 4));
    const TensorId shape = Whole({1, Short(out.height), Short(out.width), Short(out.channels)});
    AddOp("TRANSPOSE_CONV",
          {shape, Weights({out.channels, kernel, kernel, in.channels}), in.id, Bias(out.channels)},
          out.id, {{"padding", same ? kSame : kValid}, {"stride_h", stride}, {"stride_w", stride}});
    open_.push_back(out);
  }

  void AddBlocks(const Picture& in) {
    const std::int64_t block = random_.Between(2, 3);
    if (in.height % block == 0 && in.width % block == 0 && in.channels * block * block <= 40) {
      const Picture out =
          Like(in, in.height / block, in.width / block, in.channels * block * block);
      AddOp("SPACE_TO_DEPTH", {in.id}, out.id, {{"block_size", block}});
      open_.push_back(out);
      return;
    }
    const std::int64_t channels = random_.Between(1, 2);
    const Picture deep = NewPicture(in.height, in.width, channels * block * block);
    if (in.height * block > 40 || in.width * block > 40) return AddConv(in);
    AddOp("CONV_2D", {in.id, Weights({deep.channels, 1, 1, in.channels}), Bias(deep.channels)},
          deep.id, WindowAttributes({1, 1, 1, 1, kSame}, false));
    const Picture out = Like(deep, in.height * block, in.width * block, channels);
    AddOp("DEPTH_TO_SPACE", {deep.id}, out.id, {{"block_size", block}});
    open_.push_back(out);
  }

  void AddSlice(const Picture& in) {
    const std::int64_t top = random_.Between(0, in.height - 1);
    const std::int64_t left = random_.Between(0, in.width - 1);
    const std::int64_t first = random_.Between(0, in.channels - 1);
    const Picture out =
        Like(in, random_.Between(1, in.height - top), random_.Between(1, in.width - left),
             random_.Between(1, in.channels - first));
    AddOp("SLICE",
          {in.id, Whole({0, Short(top), Short(left), Short(first)}),
           Whole({1, Short(out.height), Short(out.width), Short(out.channels)})},
          out.id);
    open_.push_back(out);
  }

  // Two to four parts of rows, columns or, mostly, channels; not all of them have consumers.
  void AddSplit(const Picture& in) {
    const std::int64_t axis = random_.Below(3) == 0 ? random_.Between(1, 2) : 3;
    const std::int64_t along = axis == 1 ? in.height : axis == 2 ? in.width : in.channels;
    const std::int64_t parts = random_.Between(2, 4);
    if (along < parts) return AddConv(in);
    const bool even = along % parts == 0 && random_.Below(2) == 0;
    std::vector<std::int32_t> sizes;
    for (std::int64_t p = 0, left = along; p < parts; ++p) {
      const std::int64_t most = left - (parts - 1 - p);
      const std::int64_t size = even             ? along / parts
                                : p + 1 == parts ? left
                                                 : random_.Between(1, most);
      sizes.push_back(Short(size));
      left -= size;
    }
    const TensorId along_axis =
        Constant(ElementType::kInt32, {}, std::vector<std::int32_t>{Short(axis)});
    std::vector<TensorId> inputs = {in.id, Whole(sizes), along_axis};
    if (even) inputs = {along_axis, in.id};
    std::vector<TensorId> outputs;
    for (const std::int32_t size : sizes) {
      const Picture out = Like(in, axis == 1 ? size : in.height, axis == 2 ? size : in.width,
                               axis == 3 ? size : in.channels);
      outputs.push_back(out.id);
      open_.push_back(out);
    }
    AddOp(even ? "SPLIT" : "SPLIT_V", std::move(inputs), outputs[0],
          {{"num_splits", static_cast<std::int64_t>(parts)}});
    Main().ops[graph::OpId(static_cast<std::int32_t>(Main().ops.size()) - 1)].outputs =
        std::move(outputs);
  }

  void AddStridedSlice(const Picture& in) {
    const std::int64_t rows = random_.Between(1, 3);
    const std::int64_t columns = random_.Between(1, 2);
    const std::int64_t top = random_.Between(0, std::min<std::int64_t>(in.height, rows) - 1);
    const std::int64_t left = random_.Between(0, std::min<std::int64_t>(in.width, columns) - 1);
    const Picture out = Like(in, (in.height - top + rows - 1) / rows,
                             (in.width - left + columns - 1) / columns, in.channels);
    AddOp("STRIDED_SLICE",
          {in.id, Whole({0, Short(top), Short(left), 0}),
           Whole({1, Short(in.height), Short(in.width), Short(in.channels)}),
           Whole({1, Short(rows), Short(columns), 1})},
          out.id);
    open_.push_back(out);
  }

  void AddMirrorPad(const Picture& in) {
    std::vector<std::int32_t> amounts = {0, 0};
    std::int64_t sizes[] = {in.height, in.width};
    for (std::int64_t& size : sizes) {
      const std::int64_t most = std::min<std::int64_t>(size - 1, 2);
      for (const std::int64_t amount : {random_.Between(0, most), random_.Between(0, most)}) {
        amounts.push_back(Short(amount));
        size += amount;
      }
    }
    amounts.insert(amounts.end(), {0, 0});
    const Picture out = Like(in, sizes[0], sizes[1], in.channels);
    AddOp("MIRROR_PAD", {in.id, Constant(ElementType::kInt32, {4, 2}, amounts)}, out.id,
          {{"mode", std::int64_t{random_.Below(2) == 0}}});
    open_.push_back(out);
  }

  // A concatenation along rows or columns.
  void AddJoinOfRows(const Picture& in) {
    const std::int64_t axis = random_.Between(1, 2);
    std::vector<TensorId> inputs = {in.id};
    std::int64_t along = axis == 1 ? in.height : in.width;
    for (const Picture& other : open_) {
      const bool fits = other.channels == in.channels &&
                        (axis == 1 ? other.width == in.width : other.height == in.height);
      if (!fits || inputs.size() > 2) continue;
      along += axis == 1 ? other.height : other.width;
      inputs.push_back(other.id);
    }
    if (along > 40) return AddConv(in);
    const Picture out =
        Like(in, axis == 1 ? along : in.height, axis == 2 ? along : in.width, in.channels);
    AddOp("CONCATENATION", inputs, out.id, {{"axis", axis}});
    open_.push_back(out);
  }

  // Channels in another order, some of them twice.
  void AddShuffle(const Picture& in) {
    std::vector<std::int32_t> order;
    for (std::int64_t c = random_.Between(1, 6); c > 0; --c) {
      order.push_back(Short(random_.Between(0, in.channels - 1)));
    }
    const Picture out = Like(in, in.height, in.width, static_cast<std::int64_t>(order.size()));
    AddOp("GATHER", {in.id, Whole(order)}, out.id, {{"axis", std::int64_t{3}}});
    open_.push_back(out);
  }

  Picture AddInput(std::int64_t height, std::int64_t width, std::int64_t channels) {
    const Picture input = NewPicture(height, width, channels);
    Main().inputs.push_back(input.id);
    return input;
  }

  Picture AddSmallDepthwise(const Picture& in) {
    const Picture out = NewPicture(in.height, in.width, in.channels);
    auto attributes = WindowAttributes({3, 3, 1, 1, kSame}, false);
    attributes["depth_multiplier"] = std::int64_t{1};
    AddOp("DEPTHWISE_CONV_2D", {in.id, Weights({1, 3, 3, in.channels}), Bias(in.channels)}, out.id,
          std::move(attributes));
    return out;
  }

  TensorId AddMean(const Picture& in) {
    const Picture mean = NewPicture(1, 1, in.channels);
    AddOp("MEAN", {in.id, Constant(ElementType::kInt32, {2}, std::vector<std::int32_t>{1, 2})},
          mean.id, {{"keep_dims", std::int64_t{1}}});
    return mean.id;
  }

  // A squeeze-and-excite block.
  void AddGate(const Picture& in) {
    const TensorId mean = AddMean(in);
    const Picture gate = NewPicture(1, 1, in.channels);
    AddOp("CONV_2D", {mean, Weights({in.channels, 1, 1, in.channels}), Bias(in.channels)}, gate.id,
          WindowAttributes({1, 1, 1, 1, kSame}, false));
    const Picture out = NewPicture(in.height, in.width, in.channels);
    AddOp("MUL", {in.id, gate.id}, out.id);
    open_.push_back(out);
  }

  Random& random_;
  bool moves_;
  graph::Graph graph_;
  std::vector<Picture> open_;
};

}  // namespace

graph::Graph RandomNetwork(Random* random, int operators) {
  return NetworkMaker(random).Make(operators);
}

graph::Graph RandomNetworkOfMoves(Random* random, int operators) {
  return NetworkMaker(random, true).Make(operators);
}

graph::Graph Depthwise(Random* random, std::int64_t height, std::int64_t width,
                       std::int64_t channels) {
  return NetworkMaker(random).MakeDepthwise(height, width, channels);
}

graph::Graph Nested(Random* random, std::int64_t side, std::int64_t channels, int depth) {
  return NetworkMaker(random).MakeNested(side, channels, depth);
}

graph::Graph Squeeze(Random* random, std::int64_t height, std::int64_t width,
                     std::int64_t channels) {
  return NetworkMaker(random).MakeSqueeze(height, width, channels);
}

plan::Plan PlanOf(plan::EntryPlan entry) {
  plan::Plan plan;
  plan.runtime = plan::Runtime::kNeap;
  plan.entries.push_back(std::move(entry));
  return plan;
}

plan::EntryPlan EntryWith(const graph::Graph& graph, std::vector<plan::StreamSegment> segments,
                          std::int64_t arena_bytes) {
  constexpr graph::SubgraphId main(0);
  const graph::Subgraph& subgraph = graph.subgraphs[main];
  plan::EntryPlan entry;
  entry.subgraph = main;
  entry.arena_bytes = entry.peak_bytes = arena_bytes;
  for (const graph::OpId op : subgraph.ops.Ids()) entry.steps.push_back({main, op, {}});
  plan::Stream& stream = entry.stream.emplace();
  stream.segments = std::move(segments);
  const plan::StreamImages images = plan::ImagesOf(subgraph);
  for (const graph::Op& op : subgraph.ops) {
    stream.layerwise_macs += plan::MacsOfAll(subgraph, images, op);
  }
  stream.macs = stream.layerwise_macs;
  return entry;
}

std::vector<graph::OpId> FileOrder(const graph::Graph& graph) {
  std::vector<graph::OpId> order;
  const auto& ops = graph.subgraphs[graph::SubgraphId(0)].ops;
  for (const graph::OpId op : ops.Ids()) {
    if (!ops[op].folded) order.push_back(op);
  }
  return order;
}

namespace {

constexpr std::int64_t kInputBytes = 1 << 24;

}  // namespace

std::string ErrorOfRun(const graph::Graph& graph, const plan::EntryPlan& entry) {
  constexpr graph::SubgraphId main(0);
  constexpr std::uint64_t kSeed = 5;
  const auto inputs = *execute::RandomInputs(graph.subgraphs[main], kSeed, kInputBytes);
  const auto run = execute::Run(graph, entry, inputs, {});
  if (!run) return run.error().ToString();
  if (!run->violations.empty()) return run->violations[0];
  const auto apart = execute::Evaluate(graph, main, inputs, {});
  for (std::size_t i = 0; i < apart->size(); ++i) {
    if (run->outputs[i].bytes != (*apart)[i].bytes) return "outputs differ";
  }
  return "";
}

void ExpectExact(const graph::Graph& graph, const plan::EntryPlan& entry, std::uint64_t seed) {
  constexpr graph::SubgraphId main(0);
  ASSERT_THAT(check::CheckPlan(graph, PlanOf(entry)), ::testing::IsEmpty());
  const auto inputs = *execute::RandomInputs(graph.subgraphs[main], seed, kInputBytes);
  const auto run = execute::Run(graph, entry, inputs, {});
  ASSERT_TRUE(run) << run.error().ToString();
  EXPECT_THAT(run->violations, ::testing::IsEmpty());
  EXPECT_EQ(run->high_water_bytes, entry.arena_bytes);
  EXPECT_EQ(run->macs, entry.stream->macs);
  const auto apart = execute::Evaluate(graph, main, inputs, {});
  ASSERT_TRUE(apart) << apart.error().ToString();
  ASSERT_EQ(run->outputs.size(), apart->size());
  for (std::size_t i = 0; i < apart->size(); ++i) {
    EXPECT_EQ(run->outputs[i].bytes, (*apart)[i].bytes) << "output " << i;
  }
}

}  // namespace neap::stream::test
