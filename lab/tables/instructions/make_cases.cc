// SPDX-License-Identifier: Apache-2.0
//
// Random operators for lab/tables/instructions_table.py, as one network of emitted C:
//
//   instruction_cases --kernels dsp|mve --seed N --count N FOLDER
//
// FOLDER gets the code and cases.h, with the operators and blocks to run; standard output has a
// line for each case: kernel, shape, and the events that the model counts, separated by tabs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "neap/emit/emit.h"
#include "neap/ops/dependence.h"
#include "neap/ops/op_kind.h"
#include "neap/ops/op_table.h"
#include "neap/plan/plan.h"
#include "neap/plan/stream.h"
#include "neap/transform/stream/instructions.h"

namespace {

using namespace neap;  // NOLINT(google-build-using-namespace)
using graph::Attribute;
using graph::ElementType;
using graph::Shape;
using graph::TensorId;
using ops::OpKind;
using plan::StreamRange;
using stream::Kernel;

// A subgraph that is being written down.
class Sketch {
 public:
  Sketch() { graph_.subgraphs.push_back({}); }
  TensorId Tensor(ElementType type, Shape shape) {
    graph::Tensor tensor;
    tensor.name = "t" + std::to_string(Main().tensors.size());
    tensor.type = type;
    tensor.shape = std::move(shape);
    return Main().tensors.push_back(std::move(tensor));
  }
  TensorId Input(ElementType type, Shape shape) {
    Main().inputs.push_back(Tensor(type, std::move(shape)));
    return Main().inputs.back();
  }
  template <typename T>
  TensorId Constant(ElementType type, Shape shape, const std::vector<T>& values) {
    auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(T));
    std::memcpy(bytes->data(), values.data(), bytes->size());
    const TensorId id = Tensor(type, std::move(shape));
    Main().tensors[id].constant = true;
    Main().tensors[id].data = graph::ConstantData{bytes, *bytes};
    return id;
  }
  void Quantize(TensorId id, float scale, std::int64_t zero) {
    Main().tensors[id].quantization = graph::Quantization{{scale}, {zero}, 0};
  }
  void Op(OpKind kind, std::vector<TensorId> inputs, TensorId output,
          std::map<std::string, Attribute> attributes) {
    graph::Op op;
    op.type = std::string(ops::NameOf(kind));
    op.domain = "tflite";
    op.inputs = std::move(inputs);
    op.outputs = {output};
    op.attributes = std::move(attributes);
    op.source_index = static_cast<std::int32_t>(Main().ops.size());
    Main().ops.push_back(std::move(op));
  }
  void Output(TensorId id) { Main().outputs.push_back(id); }
  graph::Subgraph& Main() { return graph_.subgraphs[graph::SubgraphId(0)]; }
  graph::Graph& graph() { return graph_; }

 private:
  graph::Graph graph_;
};

struct Window {
  std::int64_t high = 1;
  std::int64_t wide = 1;
  std::int64_t stride = 1;
  bool same = true;
  bool relu = true;
};

// Operators beside each other, each with inputs of its own.
class Operators {
 public:
  explicit Operators(std::uint64_t seed) : random_(seed) {}

  graph::Graph Take(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      AddPointwise();
      if (i % 2 == 0) AddWindow();
      if (i % 2 == 0) AddDepthwise();
      if (i % 4 == 0) AddMatrix();
      if (i % 4 == 0) AddTwo(OpKind::kAdd);
      if (i % 8 == 0) AddTwo(OpKind::kMul);
      if (i % 4 == 1) AddPool(OpKind::kAveragePool2d);
      if (i % 4 == 2) AddPool(OpKind::kMaxPool2d);
      if (i % 4 == 3) AddMean();
      if (i % 8 == 1) AddSoftmax();
      if (i % 8 == 2) AddPad();
      if (i % 8 == 3) AddTable();
    }
    return std::move(sketch_.graph());
  }

 private:
  // A size that networks have, or any.
  std::int64_t Channels(std::int64_t most) {
    constexpr std::int64_t kUsual[] = {8, 16, 24, 32, 48, 64, 96, 128};
    const bool usual = random_.Chance(3, 4);
    const std::int64_t size = usual ? kUsual[random_.Below(8)] : random_.Between(1, most);
    return std::min(size, most);
  }
  TensorId Quantized(Shape shape, float scale, std::int64_t zero) {
    const TensorId id = sketch_.Tensor(ElementType::kInt8, std::move(shape));
    sketch_.Quantize(id, scale, zero);
    return id;
  }
  TensorId Input(Shape shape) {
    const TensorId id = sketch_.Input(ElementType::kInt8, std::move(shape));
    sketch_.Quantize(id, 0.0235F, random_.Between(-128, 0));
    return id;
  }
  TensorId Weights(Shape shape, std::int64_t count, std::int64_t scales, std::int32_t axis) {
    std::vector<std::int8_t> values(static_cast<std::size_t>(count));
    for (std::int8_t& value : values) value = static_cast<std::int8_t>(random_.Between(-60, 60));
    const TensorId id = sketch_.Constant(ElementType::kInt8, std::move(shape), values);
    graph::Quantization q;
    q.axis = axis;
    for (std::int64_t i = 0; i < scales; ++i) {
      q.scales.push_back(0.001F * static_cast<float>(random_.Between(5, 20)));
      q.zero_points.push_back(0);
    }
    sketch_.Main().tensors[id].quantization = std::move(q);
    return id;
  }
  TensorId Bias(std::int64_t count) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(count));
    for (std::int32_t& value : values) {
      value = static_cast<std::int32_t>(random_.Between(-2000, 2000));
    }
    return sketch_.Constant(ElementType::kInt32, {count}, values);
  }
  void Add(OpKind kind, std::vector<TensorId> inputs, TensorId output,
           std::map<std::string, Attribute> attributes) {
    sketch_.Op(kind, std::move(inputs), output, std::move(attributes));
    sketch_.Output(output);
  }

  std::map<std::string, Attribute> Of(const Window& w) {
    return {{"padding", w.same ? std::int64_t{0} : std::int64_t{1}},
            {"stride_h", w.stride},
            {"stride_w", w.stride},
            {"dilation_h_factor", std::int64_t{1}},
            {"dilation_w_factor", std::int64_t{1}},
            {"fused_activation_function", w.relu ? std::int64_t{1} : std::int64_t{0}}};
  }
  static std::int64_t OutOf(std::int64_t size, std::int64_t kernel, const Window& w) {
    return w.same ? (size + w.stride - 1) / w.stride : (size - kernel) / w.stride + 1;
  }
  Window DrawWindow(bool square) {
    constexpr std::int64_t kSizes[] = {3, 3, 3, 3, 5, 2, 1, 4};
    Window w;
    w.high = square ? 3 : kSizes[random_.Below(8)];
    w.wide = random_.Chance(3, 4) ? w.high : kSizes[random_.Below(8)];
    w.stride = random_.Chance(1, 3) ? 2 : 1;
    w.same = random_.Chance(2, 3);
    w.relu = random_.Chance(2, 3);
    return w;
  }
  // The size of an image that has a place for the window.
  std::int64_t Size(std::int64_t least) { return random_.Between(least, least + 11); }

  void AddConvolution(const Window& w, std::int64_t height, std::int64_t width, std::int64_t in,
                      std::int64_t out) {
    const TensorId from = Input({1, height, width, in});
    const TensorId to = Quantized({1, OutOf(height, w.high, w), OutOf(width, w.wide, w), out},
                                  0.0235F * 4, w.relu ? -128 : random_.Between(-40, 40));
    const TensorId filter = Weights({out, w.high, w.wide, in}, out * w.high * w.wide * in, out, 0);
    const TensorId bias = Bias(out);
    Add(OpKind::kConv2d, {from, filter, bias}, to, Of(w));
  }
  void AddPointwise() {
    Window w;
    w.relu = random_.Chance(2, 3);
    if (random_.Chance(1, 8)) w.stride = 2;
    const std::int64_t height = Size(1);
    const std::int64_t width = Size(1);
    const std::int64_t in = Channels(128);
    AddConvolution(w, height, width, in, Channels(64));
  }
  void AddWindow() {
    const Window w = DrawWindow(false);
    constexpr std::int64_t kInputs[] = {1, 3, 3, 4, 8, 16, 16, 32};
    const std::int64_t height = Size(w.high);
    const std::int64_t width = Size(w.wide);
    const std::int64_t in =
        random_.Chance(5, 6) ? kInputs[random_.Below(8)] : random_.Between(1, 24);
    AddConvolution(w, height, width, in, Channels(32));
  }
  void AddDepthwise() {
    const Window w = DrawWindow(random_.Chance(3, 4));
    const std::int64_t height = Size(w.high);
    const std::int64_t width = Size(w.wide);
    const std::int64_t channels = std::max<std::int64_t>(Channels(128), 2);
    const TensorId from = Input({1, height, width, channels});
    const TensorId to = Quantized({1, OutOf(height, w.high, w), OutOf(width, w.wide, w), channels},
                                  0.0235F * 2, w.relu ? -128 : random_.Between(-40, 40));
    const TensorId filter =
        Weights({1, w.high, w.wide, channels}, w.high * w.wide * channels, channels, 3);
    const TensorId bias = Bias(channels);
    auto attributes = Of(w);
    attributes["depth_multiplier"] = std::int64_t{1};
    Add(OpKind::kDepthwiseConv2d, {from, filter, bias}, to, std::move(attributes));
  }
  void AddMatrix() {
    const std::int64_t in = random_.Between(4, 200) * (random_.Chance(1, 4) ? 1 : 4);
    const std::int64_t out = Channels(128);
    const bool relu = random_.Chance(1, 2);
    const TensorId from = Input({1, in});
    const TensorId to = Quantized({1, out}, 0.0235F * 4, relu ? -128 : random_.Between(-40, 40));
    const TensorId filter = Weights({out, in}, out * in, 1, 0);
    const TensorId bias = Bias(out);
    Add(OpKind::kFullyConnected, {from, filter, bias}, to,
        {{"fused_activation_function", relu ? std::int64_t{1} : std::int64_t{0}},
         {"weights_format", std::int64_t{0}},
         {"keep_num_dims", std::int64_t{0}}});
  }
  void AddTwo(OpKind kind) {
    const Shape shape = {1, Size(1), Size(1), Channels(64)};
    const TensorId a = Input(shape);
    const TensorId b = Input(shape);
    const TensorId to = Quantized(shape, 0.047F, -128);
    Add(kind, {a, b}, to, {{"fused_activation_function", std::int64_t{1}}});
  }
  void AddPool(OpKind kind) {
    Window w = DrawWindow(false);
    w.same = false;
    w.relu = false;
    // Not all of the image, which would be a mean.
    const TensorId from = Input({1, Size(w.high + 1), Size(w.wide + 1), Channels(64)});
    const Shape shape = *sketch_.Main().tensors[from].shape;
    const TensorId to = sketch_.Tensor(
        ElementType::kInt8, {1, OutOf(shape[1], w.high, w), OutOf(shape[2], w.wide, w), shape[3]});
    sketch_.Main().tensors[to].quantization = sketch_.Main().tensors[from].quantization;
    auto attributes = Of(w);
    attributes["filter_height"] = w.high;
    attributes["filter_width"] = w.wide;
    Add(kind, {from}, to, std::move(attributes));
  }
  void AddMean() {
    const TensorId from = Input({1, Size(2), Size(2), Channels(128)});
    const Shape shape = *sketch_.Main().tensors[from].shape;
    const TensorId to = sketch_.Tensor(ElementType::kInt8, {1, 1, 1, shape[3]});
    sketch_.Main().tensors[to].quantization = sketch_.Main().tensors[from].quantization;
    Window w;
    w.same = false;
    w.relu = false;
    auto attributes = Of(w);
    attributes["filter_height"] = shape[1];
    attributes["filter_width"] = shape[2];
    Add(OpKind::kAveragePool2d, {from}, to, std::move(attributes));
  }
  void AddSoftmax() {
    const TensorId from = Input({1, random_.Between(2, 40)});
    const TensorId to = Quantized(*sketch_.Main().tensors[from].shape, 1.0F / 256, -128);
    Add(OpKind::kSoftmax, {from}, to, {{"beta", 1.0}});
  }
  void AddPad() {
    const TensorId from = Input({1, Size(1), Size(1), Channels(64)});
    Shape shape = *sketch_.Main().tensors[from].shape;
    shape[1] += 1;
    shape[2] += 1;
    const TensorId to = sketch_.Tensor(ElementType::kInt8, shape);
    sketch_.Main().tensors[to].quantization = sketch_.Main().tensors[from].quantization;
    const TensorId sizes = sketch_.Constant(ElementType::kInt32, {4, 2},
                                            std::vector<std::int32_t>{0, 0, 0, 1, 0, 1, 0, 0});
    Add(OpKind::kPad, {from, sizes}, to, {});
  }
  void AddTable() {
    const TensorId from = Input({1, Size(1), Size(1), Channels(64)});
    const TensorId to = Quantized(*sketch_.Main().tensors[from].shape, 1.0F / 256, -128);
    Add(OpKind::kLogistic, {from}, to, {});
  }

  Random random_;
  Sketch sketch_;
};

// Every operator as a whole, each with memory of its own while it runs.
plan::Plan PlanOf(const graph::Graph& graph) {
  const graph::Subgraph& main = graph.subgraphs[graph::SubgraphId(0)];
  constexpr std::int64_t kAlign = 16;
  plan::EntryPlan entry;
  entry.subgraph = graph::SubgraphId(0);
  for (const graph::OpId op : main.ops.Ids()) {
    const auto slot = static_cast<std::int32_t>(entry.steps.size());
    std::int64_t at = 0;
    const auto place = [&](TensorId tensor, std::int64_t factor) {
      if (main.tensors[tensor].constant) return;
      const std::int64_t bytes = *graph::TensorBytes(main.tensors[tensor]);
      entry.tensors.push_back({entry.subgraph, tensor, at, bytes, slot, slot + 1});
      at += (bytes * factor + kAlign - 1) / kAlign * kAlign + kAlign;
    };
    for (const TensorId input : main.ops[op].inputs) place(input, 1);
    // Sums are of up to 4 bytes.
    for (const TensorId output : main.ops[op].outputs) place(output, 4);
    entry.steps.push_back({entry.subgraph, op});
    entry.arena_bytes = std::max(entry.arena_bytes, at);
  }
  plan::Plan plan;
  plan.model = "cases.tflite";
  plan.entries = {entry};
  return plan;
}

std::vector<StreamRange> RangesOf(std::int64_t size, std::int64_t block) {
  std::vector<StreamRange> ranges;
  for (std::int64_t at = 0; at < size; at += block)
    ranges.push_back({at, std::min(size, at + block)});
  return ranges;
}

int Fail(const std::string& message) {
  fmt::print(stderr, "instruction_cases: {}\n", message);
  return 1;
}

int Run(const std::string& folder, const std::string& kernels, std::uint64_t seed,
        std::int64_t count) {
  const graph::Graph graph = Operators(seed).Take(count);
  const graph::Subgraph& main = graph.subgraphs[graph::SubgraphId(0)];
  emit::Options options;
  options.prefix = "net";
  options.kernels = emit::KernelSetNamed(kernels).value_or(emit::KernelSet::kPortable);
  const auto emitted = emit::Emit(graph, PlanOf(graph), options);
  if (!emitted) return Fail(emitted.error().ToString());
  std::filesystem::create_directories(std::filesystem::path(folder) / "neap_rt");
  for (const emit::File& file : emitted->files) {
    std::ofstream(std::filesystem::path(folder) / file.name, std::ios::binary) << file.bytes;
  }
  const auto processor = options.kernels == emit::KernelSet::kMve ? stream::Processor::kCortexM55Mve
                                                                  : stream::Processor::kCortexM4Dsp;
  Random random(seed + 1);
  std::string cases;
  for (const graph::OpId id : main.ops.Ids()) {
    const graph::Op& op = main.ops[id];
    const bool sums = ops::IsMeanOfPlaces(main, op);
    const plan::StreamImage boxes =
        plan::ImageOf(main.tensors[sums ? op.inputs[0] : op.outputs[0]]);
    const stream::KernelShape shape = stream::KernelShapeOf(main, op, sums, boxes);
    const bool is_cut = !ops::Is(op, OpKind::kFullyConnected) && !ops::Is(op, OpKind::kSoftmax);
    constexpr std::int64_t kForms = 4;
    for (std::int64_t form = 0; form < (is_cut ? kForms : 1); ++form) {
      std::int64_t high = boxes.height;
      std::int64_t wide = boxes.width;
      if (form > 0) {
        high = std::min(high, random.Between(1, 4));
        wide = form % 2 == 1 ? std::min(wide, random.Between(1, 6)) : wide;
      }
      std::vector<plan::StreamRing> from;
      std::vector<plan::StreamRing> to;
      const bool is_product =
          shape.kernel == Kernel::kConvolution || shape.kernel == Kernel::kDepthwise;
      if (form == kForms - 1 && is_cut && is_product) {
        // Rings that end anywhere, with all taps of a row.
        const std::int64_t least = shape.taps_wide + 1;
        const std::int64_t most = std::min(shape.in_height, std::int64_t{2}) * shape.in_width;
        const auto from_count = static_cast<std::size_t>(random.Between(1, 3));
        if (least <= most) from.assign(from_count, {0, random.Between(least, most)});
        const std::int64_t widest = std::min(boxes.height, std::int64_t{2}) * boxes.width;
        to.assign(1, {0, random.Between(wide, widest)});
      }
      const auto events = stream::EventsOf(processor, shape, RangesOf(boxes.height, high),
                                           RangesOf(boxes.width, wide), {to, from});
      const bool pairs =
          shape.kernel == Kernel::kConvolution && (wide == 1 || boxes.width % wide == 1);
      const bool is_whole = high == boxes.height && wide == boxes.width;
      if (sums && is_whole) {  // its driver has the place of the mean
        cases += fmt::format("    {{{}, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0}},\n", id.value());
      } else {
        cases += fmt::format("    {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}},\n", id.value(),
                             boxes.height, boxes.width, high, wide, pairs ? 1 : 0, sums ? 1 : 0,
                             from.size(), to.size(), from.empty() ? 0 : from[0].pixels,
                             to.empty() ? 0 : to[0].pixels);
      }
      fmt::print("{}\t{}x{}x{} of {}x{} taps of {} by {}x{}\t", NameOf(shape.kernel), boxes.height,
                 boxes.width, shape.channels, shape.taps_high, shape.taps_wide, shape.inputs, high,
                 wide);
      for (std::size_t i = 0; i < stream::kEvents; ++i)
        fmt::print("{}{}", i == 0 ? "" : " ", events[i]);
      fmt::print("\n");
    }
  }
  std::ofstream(std::filesystem::path(folder) / "cases.h") << cases;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Random operators as emitted C, with the events that the model counts.");
  std::string folder;
  std::string kernels = "dsp";
  std::uint64_t seed = 1;
  std::int64_t count = 64;
  app.add_option("folder", folder)->required();
  app.add_option("--kernels", kernels);
  app.add_option("--seed", seed);
  app.add_option("--count", count);
  CLI11_PARSE(app, argc, argv);
  return Run(folder, kernels, seed, count);
}
