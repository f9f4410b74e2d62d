// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/network.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "neap/ops/dependence.h"
#include "neap/ops/op_table.h"
#include "neap/ops/recurrence.h"
#include "neap/ops/traits.h"
#include "neap/ops/window.h"
#include "neap/transform/stream/maps.h"

namespace neap::stream {
namespace {

using graph::Op;
using graph::Subgraph;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

Work WorkOf(const Subgraph& subgraph, const Op& op) {
  if (Is(op, OpKind::kOnnxConv, OpKind::kOnnxConvInteger, OpKind::kOnnxConvTranspose,
         OpKind::kOnnxQLinearConv)) {
    return ops::IntegerAttribute(op, "group", 1) > 1 ? Work::kDepthwise : Work::kWindow;
  }
  if (Is(op, OpKind::kDepthwiseConv2d)) return Work::kDepthwise;
  if (Is(op, OpKind::kFullyConnected)) return Work::kProduct;
  if (!Is(op, OpKind::kConv2d)) return Work::kElements;
  const auto window = ops::WindowOf(subgraph, op);
  return window && window->kernel_height == 1 && window->kernel_width == 1 ? Work::kPointwise
                                                                           : Work::kWindow;
}

class Maker {
 public:
  Maker(const graph::Graph& graph, graph::SubgraphId subgraph, bool emits, bool apart,
        Processor processor, bool in_steps)
      : subgraph_(graph.subgraphs[subgraph]),
        channels_first_(plan::HasChannelsFirst(subgraph_)),
        images_(plan::ImagesOf(subgraph_)),
        emits_(emits),
        apart_(apart),
        in_steps_(in_steps),
        index_(subgraph_.tensors.size(), -1) {
    network_.rates = RatesOf();
    network_.processor = processor;
    // Kernels of emitted C read runs of pixels. Two memories are planned without them.
    network_.column_rings = in_steps_ && !emits && processor == Processor::kCortexM7;
  }

  Result<Network> Make(const std::vector<graph::OpId>& order) {
    // Control edges are between operators with state, which are refused, or stand for folded
    // operators, whose values exist before the first step.
    for (const TensorId tensor : subgraph_.inputs) {
      NEAP_TRY(const int image, AddImage(tensor));
      if (image >= 0) network_.images[static_cast<std::size_t>(image)].is_input = true;
    }
    for (const graph::OpId id : order) {
      const Op& op = subgraph_.ops[id];
      const auto outputs = static_cast<std::int32_t>(op.outputs.size());
      const bool apart = apart_ && ops::Has(op, ops::trait::kSplits) && outputs > 1;
      const auto recurrence = RecurrenceOf(op);
      std::optional<std::int32_t> only;
      if (recurrence && outputs > 1) only = static_cast<std::int32_t>(recurrence->output);
      if (!apart) NEAP_CHECK_OK(AddNode(id, only));
      for (std::int32_t at = 0; apart && at < outputs; ++at) {
        if (op.outputs[static_cast<std::size_t>(at)].valid()) NEAP_CHECK_OK(AddNode(id, at));
      }
    }
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

  // -1: a constant, which has no address.
  Result<int> AddImage(TensorId tensor) {
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
    image.shape = images_[tensor];
    network_.images.push_back(std::move(image));
    return index_[tensor];
  }

  // The same for inputs. A streamed plan stores no value that neither an operator nor the caller
  // writes.
  Result<int> ReadImageOf(TensorId tensor) {
    const std::size_t before = network_.images.size();
    NEAP_TRY(const int image, AddImage(tensor));
    if (network_.images.size() == before) return image;
    const std::string name = graph::Describe(tensor, subgraph_.tensors[tensor]);
    return Fail(Refuse("tensor " + name + " is read, but has no producer").error());
  }

  Status AddNode(graph::OpId id, std::optional<std::int32_t> only) {
    const Op& op = subgraph_.ops[id];
    const auto output = static_cast<std::size_t>(only.value_or(0));
    const bool has_variables = ops::OwnsVariables(subgraph_, op);
    const bool owns = in_steps_ && has_variables;
    if (has_variables && !owns) {
      return Refuse("two memories have no place for a state in variables");
    }
    if (Is(op, OpKind::kSvdf)) {
      return Refuse(op.type + " keeps its state in a variable, and has one step in each run");
    }
    if ((op.stateful && !owns) || !op.bodies.empty() || !op.captures.empty() ||
        op.scratch_bytes != 0) {
      return Refuse("it has control flow, state or scratch");
    }
    // Converters leave these sizes to the runtime.
    if (Is(op, OpKind::kDetectionPostprocess) && op.outputs[0].valid() &&
        subgraph_.tensors[op.outputs[0]].shape == graph::Shape()) {
      return Refuse("the model lacks the sizes of its detections");
    }
    const int at = static_cast<int>(network_.nodes.size());
    Node node;
    node.op = id;
    node.output = only;
    node.work = WorkOf(subgraph_, op);
    node.macs_per_pixel = plan::MacsOfPixel(subgraph_, images_, op);
    node.sums = IsMeanOfPixels(op) && (!emits_ || IsSummedInC(op));
    if (node.sums) node.sum_bytes = ops::SumBytesOf(subgraph_, op);
    const auto recurrence = RecurrenceOf(op);
    node.in_order = recurrence.has_value();
    if (node.in_order) NEAP_CHECK_OK(AddState(*recurrence, op, &node));
    node.by_channel = Is(op, OpKind::kDepthwiseConv2d) && ops::IsByChannel(subgraph_, op);
    node.streams =
        (channels_first_ ? ops::IsDefaultOnnxDomain(op.domain) : op.domain == "tflite") &&
        (only || op.outputs.size() == 1) &&
        (node.sums || IsCut(op.outputs[output], node.in_order)) && !ops::IsHybrid(subgraph_, op);
    // Floats are added from left to right, row by row.
    node.whole_columns = node.sums && (node.in_order || ops::SumsInOrder(subgraph_, op));
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i].valid()) continue;
      const bool state = owns && subgraph_.tensors[op.inputs[i]].variable;
      NEAP_CHECK_OK(state ? AddVariable(op.inputs[i]) : AddRead(op, i, at, &node));
    }
    bool again = false;
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const TensorId tensor = op.outputs[i];
      if (!tensor.valid() || (only && i != output)) continue;
      // A recomputed tensor is another image from here on.
      const int before = index_[tensor];
      if (before >= 0 && network_.images[static_cast<std::size_t>(before)].producer >= 0) {
        again = true;
        index_[tensor] = -1;
      }
      NEAP_TRY(const int image, AddImage(tensor));
      if (image < 0) return Refuse("an output is a constant");
      network_.images[static_cast<std::size_t>(image)].producer = at;
      node.outputs.push_back(image);
    }
    if (again && (node.in_order || owns)) return Refuse("an operator with a state runs again");
    if (network_.processor != Processor::kCortexM7 && !node.outputs.empty()) {
      node.kernel = KernelShapeOf(subgraph_, op, node.sums, BoxesOf(network_, node));
    }
    node.streams = node.streams && !node.reads.empty();
    const bool reshapes = ops::IsReshapeLike(op) && KeepOrder(node);
    node.whole_in_place = (ops::IsElementwise(op) && KeepPlaces(node)) || reshapes;
    if (node.streams && (ops::IsElementwise(op) || (reshapes && !emits_))) {
      node.in_place = InPlaceInput(node);
    }
    if (!again) {
      const std::int64_t pixels = PixelsOf(network_, node);
      network_.macs += pixels * node.macs_per_pixel;
      if (!node.outputs.empty()) network_.cycles += WholeCycles(network_, node);
    }
    network_.nodes.push_back(std::move(node));
    return {};
  }

  std::optional<ops::Recurrence> RecurrenceOf(const Op& op) const {
    // Emitted C has places for states in variables alone.
    const bool runs_in_c = !emits_ || ops::OwnsVariables(subgraph_, op);
    return in_steps_ && runs_in_c ? ops::RecurrenceOf(subgraph_, op) : std::nullopt;
  }

  Status AddState(const ops::Recurrence& recurrence, const Op& op, Node* node) {
    NEAP_TRY(const std::int64_t bytes,
             graph::TensorBytes(subgraph_.tensors[op.outputs[recurrence.output]]));
    node->sums = recurrence.last_only;
    if (!recurrence.variables.empty()) return {};
    if (node->sums) {
      node->sum_bytes = recurrence.state_bytes / bytes;
      return {};
    }
    node->state = static_cast<int>(network_.images.size());
    Image image;
    image.shape = {1, 1, recurrence.state_bytes};
    network_.images.push_back(std::move(image));
    return {};
  }

  Status AddVariable(TensorId tensor) {
    NEAP_TRY(const std::int64_t bytes, graph::TensorBytes(subgraph_.tensors[tensor]));
    network_.variables.push_back(tensor);
    network_.variable_bytes += bytes;
    return network_.variable_bytes <= plan::kMaxStreamBytes ? Status()
                                                            : Refuse("a tensor is too large");
  }

  // Input 0 step by step; the state before the first step is complete.
  std::optional<Maps> MapsOfSteps(int image, std::size_t input, bool sums) const {
    const plan::StreamImage& shape = network_.image(image).shape;
    if (input != 0) return Maps{{0, 0, shape.height}, {0, 0, shape.width}};
    if (sums) return Maps{{shape.height, 0, shape.height}, {shape.width, 0, shape.width}};
    return Maps{};
  }

  Status AddRead(const Op& op, std::size_t input, int at, Node* node) {
    const TensorId tensor = op.inputs[input];
    NEAP_TRY(const int image, ReadImageOf(tensor));
    if (image < 0) {
      // No kernel takes a part of a constant.
      if (IsSecondMatrix(op, input) && ops::IsDefaultOnnxDomain(op.domain))
        node->whole_columns = true;
      if (node->streams && !node->sums && !node->in_order && TakesConstantsWhole(subgraph_, op)) {
        node->streams = !VariesInSpace({subgraph_, images_}, op, input);
      }
      return {};
    }
    const auto output = static_cast<std::size_t>(node->output.value_or(0));
    auto maps = node->streams && !node->sums && !node->in_order
                    ? MapsOf({subgraph_, images_}, op, input, output, emits_)
                    : std::nullopt;
    if (node->in_order) {
      maps = MapsOfSteps(image, input, node->sums);
    } else if (node->sums) {
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
      const plan::StreamImage& to = images_[op.outputs[output]];
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

  // Emitted C runs images in boxes, and operators with a state.
  bool IsCut(TensorId tensor, bool in_order) const {
    if (!tensor.valid()) return false;
    return emits_ && !in_order ? ImageShape(subgraph_, tensor) != nullptr
                               : images_[tensor].row_axis.has_value();
  }

  // A mean whose places are the pixels of its input.
  bool IsMeanOfPixels(const Op& op) const {
    if (op.inputs.empty() || !op.inputs[0].valid()) return false;
    return ops::IsMeanOfPlaces(subgraph_, op, images_[op.inputs[0]].channels_first);
  }

  bool IsSummedInC(const Op& op) const {
    return ImageShape(subgraph_, op.inputs[0]) != nullptr && !ops::SumsInOrder(subgraph_, op);
  }

  // Bytes of the same number are the same values in the first input and the output.
  bool KeepOrder(const Node& node) const {
    return !node.reads.empty() && !node.outputs.empty() &&
           network_.image(node.reads[0].image).shape.KeepsOrder() &&
           network_.image(node.outputs[0]).shape.KeepsOrder();
  }

  // Whether pixels of the first input and the output have the same elements.
  bool KeepPlaces(const Node& node) const {
    return !node.reads.empty() && !node.outputs.empty() &&
           HaveSamePlaces(network_.image(node.reads[0].image), network_.image(node.outputs[0]));
  }
  static bool HaveSamePlaces(const Image& in, const Image& out) {
    return in.shape.height == out.shape.height && in.shape.width == out.shape.width &&
           in.shape.pixel_bytes == out.shape.pixel_bytes &&
           in.shape.KeepsOrder() == out.shape.KeepsOrder();
  }

  // The first input that is as large as the output in every way.
  int InPlaceInput(const Node& node) const {
    const Image& out = network_.image(node.outputs[0]);
    for (const Read& read : node.reads) {
      const Image& in = network_.image(read.image);
      if (HaveSamePlaces(in, out) && in.type == out.type) return read.image;
    }
    return -1;
  }

  const Subgraph& subgraph_;
  bool channels_first_;
  plan::StreamImages images_;
  bool emits_;
  bool apart_;
  bool in_steps_;
  IdVector<TensorId, int> index_;
  Network network_;
  std::int64_t total_bytes_ = 0;
};

}  // namespace

Result<Network> MakeNetwork(const graph::Graph& graph, graph::SubgraphId subgraph,
                            const std::vector<graph::OpId>& order, bool emits, bool apart,
                            Processor processor, bool in_steps) {
  return Maker(graph, subgraph, emits, apart, processor, in_steps).Make(order);
}

namespace {

// Initial states beside the input of a sum are read as they are.
bool IsSummed(const Node& node, const Read& read) {
  return node.sums && read.image == node.reads[0].image;
}

}  // namespace

const AxisMap& RowsOf(const Node& node, const Read& read) {
  static const AxisMap kSame;
  return IsSummed(node, read) ? kSame : read.rows;
}

const AxisMap& ColumnsOf(const Node& node, const Read& read) {
  static const AxisMap kSame;
  return IsSummed(node, read) ? kSame : read.columns;
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

BoxCounts CountBoxes(const std::vector<plan::StreamRange>& rows,
                     const std::vector<plan::StreamRange>& columns) {
  std::int64_t row_ranges = 0;
  std::int64_t height = 0;
  for (const plan::StreamRange& range : rows) {
    row_ranges += range.empty() ? 0 : 1;
    height += range.size();
  }
  std::int64_t column_ranges = 0;
  std::int64_t width = 0;
  for (const plan::StreamRange& range : columns) {
    column_ranges += range.empty() ? 0 : 1;
    width += range.size();
  }
  return {row_ranges * column_ranges, height * width};
}

std::int64_t CyclesOf(const Network& network, const Node& node,
                      const std::vector<plan::StreamRange>& rows,
                      const std::vector<plan::StreamRange>& columns) {
  if (network.processor != Processor::kCortexM7) {
    if (node.outputs.empty()) return 0;
    return InstructionsOf(network.processor, node.kernel.kernel,
                          EventsOf(network.processor, node.kernel, rows, columns));
  }
  const BoxCounts counts = CountBoxes(rows, columns);
  const Rates& rates = network.rates;
  const std::int64_t cycles = counts.boxes * rates.box;
  if (node.outputs.empty()) return cycles;
  const std::int64_t amount = node.work == Work::kElements
                                  ? network.image(node.outputs[0]).shape.pixel_bytes
                                  : node.macs_per_pixel;
  return cycles + rates.each[static_cast<std::size_t>(node.work)].Of(counts.pixels * amount);
}

std::int64_t WholeCycles(const Network& network, const Node& node) {
  if (node.outputs.empty()) return network.rates.box;
  const plan::StreamImage& image =
      node.sums ? BoxesOf(network, node) : network.image(node.outputs[0]).shape;
  return CyclesOf(network, node, {{0, image.height}}, {{0, image.width}});
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
  if (network.processor != Processor::kCortexM7) {
    // Of the portable kernel in place of others; estimates.
    return out.shape.bytes() * 60 + (channels - 1) * 300;
  }
  return out.shape.bytes() * network.rates.plane_byte + (channels - 1) * network.rates.plane;
}

std::int64_t CopyCycles(const Network& network, std::int64_t bytes) {
  return network.processor == Processor::kCortexM7 ? bytes / kCopyBytesPerCycle
                                                   : MoveInstructions(bytes);
}

}  // namespace neap::stream
