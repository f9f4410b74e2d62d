// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/network.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "neap/ops/dependence.h"
#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"
#include "neap/ops/window.h"

namespace neap::stream {
namespace {

using graph::Op;
using graph::Subgraph;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

constexpr std::size_t kRank = 4;

bool IsOnnx(const Op& op) { return ops::IsDefaultOnnxDomain(op.domain); }

const graph::Shape* ImageShape(const Subgraph& subgraph, TensorId id) {
  if (!id.valid() || !subgraph.tensors[id].shape) return nullptr;
  const graph::Shape& shape = *subgraph.tensors[id].shape;
  const bool image =
      shape.size() == kRank && shape[0] == 1 && shape[1] > 0 && shape[2] > 0 && shape[3] > 0;
  return image ? &shape : nullptr;
}

// Whole numbers of a constant of 32 bits.
std::optional<std::vector<std::int64_t>> Integers(const Subgraph& subgraph, TensorId id) {
  if (!id.valid() || !subgraph.tensors[id].constant || !subgraph.tensors[id].data) {
    return std::nullopt;
  }
  const graph::Tensor& tensor = subgraph.tensors[id];
  if (tensor.type != graph::ElementType::kInt32) return std::nullopt;
  std::vector<std::int64_t> values;
  for (std::size_t at = 0; at + 4 <= tensor.data->bytes.size(); at += 4) {
    std::int32_t value = 0;
    std::memcpy(&value, tensor.data->bytes.data() + at, 4);
    values.push_back(value);
  }
  return values;
}

struct Maps {
  AxisMap rows;
  AxisMap columns;
};

// The same place, or the only one.
std::optional<AxisMap> SamePlace(std::int64_t in, std::int64_t out) {
  if (in == out) return AxisMap{};
  if (in == 1) return AxisMap{0, 0, 1};
  return std::nullopt;
}

std::optional<Maps> SameMaps(const graph::Shape& in, const graph::Shape& out) {
  const auto rows = SamePlace(in[1], out[1]);
  const auto columns = SamePlace(in[2], out[2]);
  if (!rows || !columns) return std::nullopt;
  return Maps{*rows, *columns};
}

std::optional<Maps> PadMaps(const Subgraph& subgraph, const Op& op) {
  const auto amounts = Integers(subgraph, op.inputs[1]);
  if (!amounts || amounts->size() != 2 * kRank) return std::nullopt;
  if ((*amounts)[0] != 0 || (*amounts)[1] != 0 || (*amounts)[6] != 0 || (*amounts)[7] != 0) {
    return std::nullopt;
  }
  return Maps{{1, (*amounts)[2], 1}, {1, (*amounts)[4], 1}};
}

std::optional<Maps> MeanMaps(const Subgraph& subgraph, const Op& op, const graph::Shape& in,
                             const graph::Shape& out) {
  const auto axes = op.inputs.size() == 2 ? Integers(subgraph, op.inputs[1]) : std::nullopt;
  if (!axes) return std::nullopt;
  Maps maps;
  for (std::int64_t axis : *axes) {
    axis = axis < 0 ? axis + static_cast<std::int64_t>(kRank) : axis;
    if (axis == 1 && out[1] == 1) {
      maps.rows = {in[1], 0, in[1]};
    } else if (axis == 2 && out[2] == 1) {
      maps.columns = {in[2], 0, in[2]};
    } else {
      return std::nullopt;
    }
  }
  return maps;
}

// A constant beside an image must be the same at every place.
bool VariesInSpace(const Subgraph& subgraph, const Op& op, std::size_t input) {
  const graph::Tensor& tensor = subgraph.tensors[op.inputs[input]];
  if (IsOnnx(op)) {
    const graph::Shape* out = ImageShape(subgraph, op.outputs[0]);
    if (out == nullptr || !tensor.shape) return true;
    ops::Box corner = ops::WholeBox(*out);
    corner[2].end = corner[3].end = 1;
    const auto need = ops::NeedOf(subgraph, op, input, corner);
    return !need || need->box != ops::WholeBox(*tensor.shape);
  }
  if (!tensor.shape) return true;
  const graph::Shape& shape = *tensor.shape;
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) {
    if (shape[d] != 1) return true;
  }
  return false;
}

// A map by a list; `in` is the size of the axis of the input.
AxisMap MapOfList(std::vector<plan::StreamRange> needs, std::int64_t in) {
  const auto out = static_cast<std::int64_t>(needs.size());
  // An index is kept for all later ones that need it.
  for (std::size_t y = 1; y < needs.size(); ++y) {
    needs[y].last = std::max(needs[y].last, needs[y - 1].last);
  }
  for (std::size_t y = needs.size() - 1; y-- > 0;) {
    needs[y].first = std::min(needs[y].first, needs[y + 1].first);
  }
  AxisMap map;
  map.scale = in;
  map.parts = out;
  map.extent = std::numeric_limits<std::int64_t>::min();
  for (std::int64_t y = 0; y < out; ++y) {
    const std::int64_t last = needs[static_cast<std::size_t>(y)].last;
    if (last > 0) map.extent = std::max(map.extent, last - y * in / out);
  }
  map.extent = std::max(map.extent, -in - out);
  map.listed = std::make_shared<const std::vector<plan::StreamRange>>(std::move(needs));
  return map;
}

// The map of one axis as the dependence map has it, index by index; nullopt: it has none, or every
// index needs all of an input where that is not permitted.
std::optional<AxisMap> ListedMap(const Subgraph& subgraph, const Op& op, std::size_t input,
                                 std::size_t axis, bool may_need_all) {
  const std::int64_t in = (*subgraph.tensors[op.inputs[input]].shape)[axis];
  const graph::Shape& out = *subgraph.tensors[op.outputs[0]].shape;
  std::vector<plan::StreamRange> needs;
  bool all = true;
  bool same = in == out[axis];
  for (std::int64_t y = 0; y < out[axis]; ++y) {
    ops::Box box = ops::WholeBox(out);
    box[axis] = {y, y + 1};
    const auto need = ops::NeedOf(subgraph, op, input, box);
    if (!need || need->box.size() != kRank) return std::nullopt;
    needs.push_back({need->box[axis].begin, need->box[axis].end});
    all = all && needs.back().size() == in;
    same = same && needs.back() == plan::StreamRange{y, y + 1};
  }
  if (same) return AxisMap{};
  if (all && in == 1) return AxisMap{0, 0, 1};
  if (all && out[axis] > 1 && !may_need_all) return std::nullopt;
  AxisMap map = MapOfList(std::move(needs), in);
  map.all = all && out[axis] > 1;
  return map;
}

// Operators that are cut along rows and columns as their dependence maps state.
bool IsListed(const Op& op) {
  if (IsOnnx(op)) {
    const bool window =
        Is(op, OpKind::kOnnxAveragePool, OpKind::kOnnxConv, OpKind::kOnnxConvInteger,
           OpKind::kOnnxMaxPool, OpKind::kOnnxQLinearConv);
    if (window) return ops::IntegerAttribute(op, "ceil_mode", 0) == 0;
    return ops::IsElementwise(op) || Is(op, OpKind::kOnnxConcat, OpKind::kOnnxLogSoftmax,
                                        OpKind::kOnnxMatMul, OpKind::kOnnxSoftmax);
  }
  return Is(op, OpKind::kConcatenation, OpKind::kDepthToSpace, OpKind::kFullyConnected,
            OpKind::kGather, OpKind::kL2Normalization, OpKind::kLocalResponseNormalization,
            OpKind::kLogSoftmax, OpKind::kMean, OpKind::kMirrorPad, OpKind::kReduceMax,
            OpKind::kReduceMin, OpKind::kResizeBilinear, OpKind::kResizeNearestNeighbor,
            OpKind::kSlice, OpKind::kSoftmax, OpKind::kSpaceToDepth, OpKind::kStridedSlice,
            OpKind::kSum, OpKind::kTile, OpKind::kTransposeConv);
}

// The second matrix of a product, of which every row needs all rows.
bool IsSecondMatrix(const Op& op, std::size_t input) {
  return input == 1 && Is(op, OpKind::kOnnxMatMul);
}

// Those of them that the kernels of emitted C run in boxes.
bool IsEmittedInBoxes(const Op& op) {
  return Is(op, OpKind::kResizeNearestNeighbor, OpKind::kSlice, OpKind::kStridedSlice);
}

std::optional<Maps> ListedMaps(const Subgraph& subgraph, const Op& op, std::size_t input) {
  const std::size_t axis = IsOnnx(op) ? 2 : 1;
  const auto rows = ListedMap(subgraph, op, input, axis, IsSecondMatrix(op, input));
  const auto columns = rows ? ListedMap(subgraph, op, input, axis + 1, true) : std::nullopt;
  if (!columns) return std::nullopt;
  if (rows->all) {
    // Complete before the first row.
    const graph::Shape& in = *subgraph.tensors[op.inputs[input]].shape;
    return Maps{{0, 0, in[axis]}, {0, 0, in[axis + 1]}};
  }
  // Arithmetic that depends on all of an axis is not cut along it.
  const bool mixes = ops::Has(op, ops::trait::kNormalises) || Is(op, OpKind::kFullyConnected);
  if (mixes && rows->listed) return std::nullopt;
  return Maps{*rows, *columns};
}

// The maps of input `input` of an operator that streams; nullopt: it does not.
std::optional<Maps> MapsOf(const Subgraph& subgraph, const Op& op, std::size_t input, bool emits) {
  const graph::Shape* out = ImageShape(subgraph, op.outputs[0]);
  const graph::Shape* in = ImageShape(subgraph, op.inputs[input]);
  if (out == nullptr || in == nullptr) return std::nullopt;
  // Every plan is checked and executed by dependence maps; shapes that contradict an operator have
  // none.
  if (!ops::NeedOf(subgraph, op, input, ops::WholeBox(*out))) return std::nullopt;
  if (IsOnnx(op)) return IsListed(op) ? ListedMaps(subgraph, op, input) : std::nullopt;
  if (Is(op, OpKind::kConv2d, OpKind::kDepthwiseConv2d, OpKind::kMaxPool2d,
         OpKind::kAveragePool2d)) {
    const auto window = ops::WindowOf(subgraph, op);
    if (!window || input != 0) return std::nullopt;
    return Maps{{window->stride_height, window->pad_top,
                 (window->kernel_height - 1) * window->dilation_height + 1},
                {window->stride_width, window->pad_left,
                 (window->kernel_width - 1) * window->dilation_width + 1}};
  }
  if (ops::IsElementwise(op)) return SameMaps(*in, *out);
  if (Is(op, OpKind::kConcatenation)) {
    const std::int64_t axis = ops::IntegerAttribute(op, "axis", 0);
    const bool plain = (axis == 3 || axis == -1) && (*in)[1] == (*out)[1] && (*in)[2] == (*out)[2];
    if (plain) return Maps{};
  }
  if (Is(op, OpKind::kSplit) && input == 1 && *in == *out) return Maps{};
  if ((Is(op, OpKind::kPad, OpKind::kPadv2)) && input == 0) return PadMaps(subgraph, op);
  if (Is(op, OpKind::kMean) && input == 0) {
    auto maps = MeanMaps(subgraph, op, *in, *out);
    if (maps) return maps;
  }
  if (emits ? IsEmittedInBoxes(op) : IsListed(op)) return ListedMaps(subgraph, op, input);
  return std::nullopt;
}

Work WorkOf(const Subgraph& subgraph, const Op& op) {
  if (Is(op, OpKind::kOnnxConv, OpKind::kOnnxConvInteger, OpKind::kOnnxQLinearConv)) {
    return ops::IntegerAttribute(op, "group", 1) > 1 ? Work::kDepthwise : Work::kWindow;
  }
  if (Is(op, OpKind::kDepthwiseConv2d)) return Work::kDepthwise;
  if (Is(op, OpKind::kFullyConnected)) return Work::kProduct;
  if (!Is(op, OpKind::kConv2d)) return Work::kElements;
  const auto window = ops::WindowOf(subgraph, op);
  return window && window->kernel_height == 1 && window->kernel_width == 1 ? Work::kPointwise
                                                                           : Work::kWindow;
}

// The least map that covers both; nullopt: they do not move alike. `in` and `out` are the sizes of
// the axis.
std::optional<AxisMap> Join(const AxisMap& a, const AxisMap& b, std::int64_t in, std::int64_t out) {
  if ((a.scale == 0) != (b.scale == 0)) return std::nullopt;
  if (a.listed || b.listed) {
    std::vector<plan::StreamRange> needs;
    for (std::int64_t y = 0; y < out; ++y) {
      const plan::StreamRange one = a.Need(y, y + 1, in);
      const plan::StreamRange other = b.Need(y, y + 1, in);
      needs.push_back({std::min(one.first, other.first), std::max(one.last, other.last)});
    }
    AxisMap map = MapOfList(std::move(needs), in);
    map.all = a.all || b.all;
    return map;
  }
  if (a.scale != b.scale) return std::nullopt;
  const std::int64_t pad = std::max(a.pad, b.pad);
  return AxisMap{a.scale, pad, std::max(a.extent - a.pad, b.extent - b.pad) + pad};
}

class Maker {
 public:
  Maker(const graph::Graph& graph, graph::SubgraphId subgraph, bool emits)
      : subgraph_(graph.subgraphs[subgraph]),
        channels_first_(plan::HasChannelsFirst(subgraph_)),
        emits_(emits),
        index_(subgraph_.tensors.size(), -1) {}

  Result<Network> Make(const std::vector<graph::OpId>& order) {
    if (!subgraph_.control_edges.empty()) return Fail(Refuse("it has control edges").error());
    for (const TensorId tensor : subgraph_.inputs) {
      NEAP_TRY(const int image, ImageOf(tensor));
      if (image >= 0) network_.images[static_cast<std::size_t>(image)].is_input = true;
    }
    for (const graph::OpId id : order) NEAP_CHECK_OK(AddNode(id));
    if (network_.nodes.empty()) return Fail(Refuse("it has no operators").error());
    for (const TensorId tensor : subgraph_.outputs) {
      NEAP_TRY(const int image, ReadImageOf(tensor));
      if (image < 0) continue;
      Image& output = network_.images[static_cast<std::size_t>(image)];
      output.is_output = true;
      output.last_use = static_cast<int>(network_.nodes.size());
    }
    return std::move(network_);
  }

 private:
  static Status Refuse(const std::string& what) {
    return Fail(BadInput("cannot be streamed: " + what));
  }

  // -1: a constant, which is nowhere.
  Result<int> ImageOf(TensorId tensor) {
    const graph::Tensor& value = subgraph_.tensors[tensor];
    if (value.constant) return -1;
    if (index_[tensor] >= 0) return index_[tensor];
    if (value.variable) return Fail(BadInput("cannot be streamed: it has variables"));
    NEAP_TRY(const std::int64_t bytes, graph::TensorBytes(value));
    total_bytes_ += bytes;
    if (bytes > plan::kMaxStreamBytes || total_bytes_ > (std::int64_t{1} << 40)) {
      return Fail(BadInput("cannot be streamed: a tensor is too large"));
    }
    index_[tensor] = static_cast<int>(network_.images.size());
    Image image;
    image.tensor = tensor;
    image.type = value.type;
    image.shape = plan::ImageOf(value, bytes, channels_first_);
    network_.images.push_back(std::move(image));
    return index_[tensor];
  }

  // The same for inputs. A streamed plan stores no value that neither an operator nor the caller
  // writes.
  Result<int> ReadImageOf(TensorId tensor) {
    const std::size_t before = network_.images.size();
    NEAP_TRY(const int image, ImageOf(tensor));
    if (network_.images.size() == before) return image;
    const std::string name = graph::Describe(tensor, subgraph_.tensors[tensor]);
    return Fail(Refuse("tensor " + name + " is read, but has no producer").error());
  }

  Status AddNode(graph::OpId id) {
    const Op& op = subgraph_.ops[id];
    if (op.stateful || !op.bodies.empty() || !op.captures.empty() || op.scratch_bytes != 0) {
      return Refuse("it has control flow, state or scratch");
    }
    const int at = static_cast<int>(network_.nodes.size());
    Node node;
    node.op = id;
    node.work = WorkOf(subgraph_, op);
    node.macs_per_pixel = plan::MacsOfPixel(subgraph_, op);
    node.whole_in_place = ops::IsElementwise(op) || (ops::IsReshapeLike(op) && !channels_first_);
    node.sums = ops::IsMeanOfPlaces(subgraph_, op);
    if (node.sums) node.sum_bytes = ops::SumBytesOf(subgraph_, op);
    node.by_channel = Is(op, OpKind::kDepthwiseConv2d) && ops::IsByChannel(subgraph_, op);
    node.streams = (channels_first_ ? IsOnnx(op) : op.domain == "tflite") &&
                   op.outputs.size() == 1 &&
                   (node.sums || ImageShape(subgraph_, op.outputs[0]) != nullptr) &&
                   !ops::IsHybrid(subgraph_, op);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i].valid()) NEAP_CHECK_OK(AddRead(op, i, at, &node));
    }
    bool again = false;
    for (const TensorId tensor : op.outputs) {
      if (!tensor.valid()) continue;
      // A recomputed tensor is another image from here on.
      const int before = index_[tensor];
      if (before >= 0 && network_.images[static_cast<std::size_t>(before)].producer >= 0) {
        again = true;
        index_[tensor] = -1;
      }
      NEAP_TRY(const int image, ImageOf(tensor));
      if (image < 0) return Refuse("an output is a constant");
      network_.images[static_cast<std::size_t>(image)].producer = at;
      node.outputs.push_back(image);
    }
    node.streams = node.streams && !node.reads.empty();
    if (node.streams && ops::IsElementwise(op)) node.in_place = InPlaceInput(node);
    if (!again) {
      const std::int64_t pixels = PixelsOf(network_, node);
      network_.macs += pixels * node.macs_per_pixel;
      if (!node.outputs.empty())
        network_.cycles += CyclesOf(network_, node, pixels) + kCyclesPerCall;
    }
    network_.nodes.push_back(std::move(node));
    return {};
  }

  Status AddRead(const Op& op, std::size_t input, int at, Node* node) {
    const TensorId tensor = op.inputs[input];
    NEAP_TRY(const int image, ReadImageOf(tensor));
    if (image < 0) {
      const bool varies = ops::IsElementwise(op) && VariesInSpace(subgraph_, op, input);
      // No kernel takes a part of a constant.
      if (IsSecondMatrix(op, input)) node->whole_columns = true;
      node->streams = node->streams && !varies;
      return {};
    }
    auto maps = node->streams && !node->sums ? MapsOf(subgraph_, op, input, emits_) : std::nullopt;
    if (node->sums) {
      const plan::StreamImage& shape = network_.image(image).shape;
      maps = Maps{{shape.height, 0, shape.height}, {shape.width, 0, shape.width}};
    }
    node->streams = maps.has_value();
    Read read{image, {}, {}};
    if (maps) {
      read.rows = maps->rows;
      read.columns = maps->columns;
      node->whole_columns =
          node->whole_columns || (maps->columns.listed && ops::Has(op, ops::trait::kNormalises));
    }
    for (Read& other : node->reads) {
      if (other.image != image) continue;
      const plan::StreamImage& from = network_.image(image).shape;
      const plan::StreamImage to = plan::ImageOf(subgraph_.tensors[op.outputs[0]], channels_first_);
      const auto rows = Join(other.rows, read.rows, from.height, to.height);
      const auto columns = Join(other.columns, read.columns, from.width, to.width);
      if (!rows || !columns) {
        node->streams = false;
        return {};
      }
      other.rows = *rows;
      other.columns = *columns;
      return {};
    }
    node->reads.push_back(read);
    Image& value = network_.images[static_cast<std::size_t>(image)];
    value.last_use = at;
    value.readers.push_back(at);
    return {};
  }

  // The first input that is as large as the output in every way.
  int InPlaceInput(const Node& node) const {
    const Image& out = network_.image(node.outputs[0]);
    for (const Read& read : node.reads) {
      const Image& in = network_.image(read.image);
      const bool same = in.shape.height == out.shape.height && in.shape.width == out.shape.width &&
                        in.shape.pixel_bytes == out.shape.pixel_bytes && in.type == out.type;
      if (same) return read.image;
    }
    return -1;
  }

  const Subgraph& subgraph_;
  bool channels_first_;
  bool emits_;
  IdVector<TensorId, int> index_;
  Network network_;
  std::int64_t total_bytes_ = 0;
};

}  // namespace

plan::StreamRange AxisMap::Need(std::int64_t first, std::int64_t last, std::int64_t size) const {
  if (listed) {
    return {(*listed)[static_cast<std::size_t>(first)].first,
            (*listed)[static_cast<std::size_t>(last - 1)].last};
  }
  plan::StreamRange need{first * scale - pad, (last - 1) * scale - pad + extent};
  need.first = std::clamp<std::int64_t>(need.first, 0, size);
  need.last = std::clamp<std::int64_t>(need.last, need.first, size);
  return need;
}

Result<Network> MakeNetwork(const graph::Graph& graph, graph::SubgraphId subgraph,
                            const std::vector<graph::OpId>& order, bool emits) {
  return Maker(graph, subgraph, emits).Make(order);
}

const AxisMap& RowsOf(const Node& node, const Read& read) {
  static const AxisMap kSame;
  return node.sums ? kSame : read.rows;
}

const AxisMap& ColumnsOf(const Node& node, const Read& read) {
  static const AxisMap kSame;
  return node.sums ? kSame : read.columns;
}

const plan::StreamImage& BoxesOf(const Network& network, const Node& node) {
  return network.image(node.sums ? node.reads[0].image : node.outputs[0]).shape;
}

std::int64_t PixelsOf(const Network& network, const Node& node) {
  if (node.outputs.empty()) return 0;
  const plan::StreamImage& boxes =
      node.sums ? BoxesOf(network, node) : network.image(node.outputs[0]).shape;
  return boxes.height * boxes.width;
}

std::int64_t CyclesOf(const Network& network, const Node& node, std::int64_t pixels) {
  if (node.outputs.empty()) return 0;
  const std::int64_t macs = pixels * node.macs_per_pixel;
  switch (node.work) {
    case Work::kPointwise:
      return macs * 10 / 7;
    case Work::kWindow:
      return macs * 10 / 6;
    case Work::kDepthwise:
      return macs * 4;
    case Work::kProduct:
      return macs * 2;
    case Work::kElements:
      break;
  }
  return pixels * network.image(node.outputs[0]).shape.pixel_bytes * 4;
}

std::int64_t ConversionCycles(const Network& network) {
  constexpr std::int64_t kCyclesPerElement = 4;
  std::int64_t cycles = 0;
  for (const Image& image : network.images) {
    const std::int64_t element = std::max(graph::BitsOf(image.type) / 8, 1);
    if (!image.shape.IsRearranged(element)) continue;
    const std::int64_t each = image.shape.bytes() / element * kCyclesPerElement;
    if (image.is_input) cycles += each;
    if (image.is_output) cycles += each;
  }
  return cycles;
}

std::int64_t ChannelCycles(const Network& network, const Node& node) {
  const Image& out = network.image(node.outputs[0]);
  const std::int64_t channels = out.shape.pixel_bytes / (graph::BitsOf(out.type) / 8);
  return out.shape.bytes() + (channels - 1) * kCyclesPerCall;
}

}  // namespace neap::stream
