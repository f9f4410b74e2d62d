// SPDX-License-Identifier: Apache-2.0
//
// Prints Neap's overlap distances for test_library_overlap.py. With models as arguments: of every
// operator of theirs that a kernel library has; after --outputs, each line begins with the index of
// the operator's output. Otherwise a line of input is an operator:
//   KERNEL n h w c  kh kw  oh ow oc  sh sw  dh dw  SAME
// KERNEL is 0 (convolution), 1 (depthwise), 2 (fully connected), 3 and 4 (average and maximum
// pooling), 5 (ADD), 6 (MUL); SAME is 1 or 0. A line of output has the same numbers with the
// padding above and to the left in place of SAME, then the distance for each library in the order
// of kLibraries; -1: no overlap.
#include <array>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "neap/formats/formats.h"
#include "neap/ops/op_table.h"
#include "neap/ops/overlap.h"
#include "neap/ops/window.h"

namespace {

using namespace neap;
using graph::ElementType;
using graph::Op;
using graph::Shape;
using graph::Subgraph;
using graph::TensorId;
using ops::KernelLibrary;
using ops::OpKind;

constexpr std::array kLibraries = {KernelLibrary::kCmsisNnScalar, KernelLibrary::kCmsisNnDsp,
                                   KernelLibrary::kCmsisNnMve, KernelLibrary::kEspNn};
constexpr std::array kKinds = {OpKind::kConv2d,
                               OpKind::kDepthwiseConv2d,
                               OpKind::kFullyConnected,
                               OpKind::kAveragePool2d,
                               OpKind::kMaxPool2d,
                               OpKind::kAdd,
                               OpKind::kMul};
constexpr std::array kNames = {
    "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "AVERAGE_POOL_2D", "MAX_POOL_2D", "ADD",
    "MUL"};

TensorId Add(Subgraph* subgraph, Shape shape, bool constant) {
  graph::Tensor tensor;
  tensor.name = "t" + std::to_string(subgraph->tensors.size());
  tensor.type = ElementType::kInt8;
  tensor.shape = std::move(shape);
  tensor.constant = constant;
  subgraph->tensors.push_back(std::move(tensor));
  return TensorId(static_cast<std::int32_t>(subgraph->tensors.size()) - 1);
}

// The distance, or -1.
std::int64_t DistanceOf(const Subgraph& subgraph, const Op& op, KernelLibrary library) {
  const auto rule = ops::OverlapRuleOf(subgraph, op, 0, library);
  return rule ? rule->bytes : -1;
}

void Print(const std::vector<std::int64_t>& numbers, const Subgraph& subgraph, const Op& op) {
  for (const std::int64_t number : numbers) std::cout << number << ' ';
  for (const KernelLibrary library : kLibraries) {
    std::cout << DistanceOf(subgraph, op, library) << ' ';
  }
  std::cout << '\n';
}

void Describe(const Subgraph& subgraph, const Op& op, bool with_output) {
  for (std::size_t kernel = 0; kernel < kKinds.size(); ++kernel) {
    if (ops::KindOf(op) != kKinds[kernel] || op.inputs.empty() || op.outputs.size() != 1) continue;
    const graph::Tensor& in = subgraph.tensors[op.inputs[0]];
    const graph::Tensor& out = subgraph.tensors[op.outputs[0]];
    if (in.type != ElementType::kInt8 || out.type != ElementType::kInt8 || !in.shape ||
        !out.shape || out.shape->empty()) {
      continue;
    }
    std::vector<std::int64_t> numbers = {static_cast<std::int64_t>(kernel)};
    if (const auto w = ops::WindowOf(subgraph, op)) {
      for (const std::int64_t number :
           {w->batches, w->in_height, w->in_width, w->in_channels, w->kernel_height,
            w->kernel_width, w->out_height, w->out_width, w->out_channels, w->stride_height,
            w->stride_width, w->dilation_height, w->dilation_width, w->pad_top, w->pad_left}) {
        numbers.push_back(number);
      }
    } else {
      const bool add = ops::IsAnyOf(kKinds[kernel], OpKind::kAdd, OpKind::kMul);
      const std::int64_t columns = add ? 1 : out.shape->back();
      const std::int64_t elements = graph::TensorBytes(in).value();
      const std::int64_t rows = add ? 1 : graph::TensorBytes(out).value() / columns;
      // The runtime of CMSIS-NN runs the kernel of a 1x1 convolution in its place.
      const bool pointwise = out.shape->size() > 2 && rows > 0 && elements / rows % 4 == 0;
      if (rows == 0 || pointwise || (add && in.shape != out.shape)) continue;
      for (const std::int64_t number :
           {rows, std::int64_t{1}, std::int64_t{1}, elements / rows, std::int64_t{1},
            std::int64_t{1}, std::int64_t{1}, std::int64_t{1}, add ? elements : columns,
            std::int64_t{1}, std::int64_t{1}, std::int64_t{1}, std::int64_t{1}, std::int64_t{0},
            std::int64_t{0}}) {
        numbers.push_back(number);
      }
    }
    if (with_output) std::cout << op.outputs[0].value() << ' ';
    Print(numbers, subgraph, op);
  }
}

int DescribeModels(int count, char** paths) {
  const bool with_outputs = std::string(paths[0]) == "--outputs";
  for (int i = with_outputs ? 1 : 0; i < count; ++i) {
    const auto model = formats::Load(paths[i], {});
    if (!model) {
      std::cerr << model.error().ToString() << '\n';
      return 1;
    }
    for (const Subgraph& subgraph : model->graph.subgraphs) {
      for (const Op& op : subgraph.ops) Describe(subgraph, op, with_outputs);
    }
  }
  return 0;
}

struct Line {
  std::int64_t kernel, n, h, w, c, kh, kw, oh, ow, oc, sh, sw, dh, dw, same;
};

void DescribeLine(const Line& line) {
  Subgraph subgraph;
  Op op;
  op.domain = "tflite";
  op.type = kNames[static_cast<std::size_t>(line.kernel)];
  const bool flat = line.kernel == 2;
  op.inputs = {
      Add(&subgraph,
          flat ? Shape{line.n, line.h * line.w * line.c} : Shape{line.n, line.h, line.w, line.c},
          false)};
  if (line.kernel == 0) {
    op.inputs.push_back(Add(&subgraph, {line.oc, line.kh, line.kw, line.c}, true));
  } else if (line.kernel == 1) {
    op.inputs.push_back(Add(&subgraph, {1, line.kh, line.kw, line.oc}, true));
  } else if (line.kernel == 2) {
    op.inputs.push_back(Add(&subgraph, {line.oc, line.h * line.w * line.c}, true));
  } else if (line.kernel == 5 || line.kernel == 6) {
    op.inputs.push_back(Add(&subgraph, {line.n, line.h, line.w, line.c}, false));
  }
  op.outputs = {Add(
      &subgraph, flat ? Shape{line.n, line.oc} : Shape{line.n, line.oh, line.ow, line.oc}, false)};
  op.attributes = {{"padding", line.same == 1 ? std::int64_t{0} : std::int64_t{1}},
                   {"stride_h", line.sh},
                   {"stride_w", line.sw},
                   {"dilation_h_factor", line.dh},
                   {"dilation_w_factor", line.dw},
                   {"filter_height", line.kh},
                   {"filter_width", line.kw}};
  if (line.c > 0) op.attributes["depth_multiplier"] = line.oc / line.c;
  const auto window = ops::WindowOf(subgraph, op);
  Print({line.kernel, line.n, line.h, line.w, line.c, line.kh, line.kw, line.oh, line.ow, line.oc,
         line.sh, line.sw, line.dh, line.dw, window ? window->pad_top : 0,
         window ? window->pad_left : 0},
        subgraph, op);
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) return DescribeModels(count - 1, arguments + 1);
  Line l{};
  while (std::cin >> l.kernel >> l.n >> l.h >> l.w >> l.c >> l.kh >> l.kw >> l.oh >> l.ow >> l.oc >>
         l.sh >> l.sw >> l.dh >> l.dw >> l.same) {
    DescribeLine(l);
  }
}
