// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/tflm_scratch.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/ops/flex_map.h"
#include "neap/ops/library_scratch.h"
#include "neap/ops/op_rules.h"
#include "neap/ops/op_table.h"

namespace neap::ops {
namespace {

using graph::ElementType;
using graph::Op;
using graph::Operand;
using graph::Subgraph;
using graph::Tensor;
using Requests = std::optional<std::vector<std::int64_t>>;

Requests Nothing() { return std::vector<std::int64_t>(); }

constexpr std::int64_t kWord = 4;  // sizeof of float and int
constexpr std::int64_t kArenaAlignment = 16;

std::optional<std::int64_t> ElementsOf(const Tensor* tensor) {
  if (tensor == nullptr || !tensor->shape) return std::nullopt;
  std::int64_t elements = 1;
  for (const std::int64_t size : *tensor->shape) {
    const auto product = CheckedMultiply(elements, size);
    if (size < 0 || !product || *product > kMaxBytes / 16) return std::nullopt;
    elements = *product;
  }
  return elements;
}

std::optional<std::int64_t> RankOf(const Tensor* tensor) {
  if (tensor == nullptr || !tensor->shape) return std::nullopt;
  return static_cast<std::int64_t>(tensor->shape->size());
}

std::optional<std::int64_t> KnownSize(const Tensor* tensor, std::size_t axis) {
  if (tensor == nullptr || !tensor->shape || axis >= tensor->shape->size()) return std::nullopt;
  const std::int64_t size = (*tensor->shape)[axis];
  if (size < 0) return std::nullopt;
  return size;
}

// nullopt where a factor is not known or the product is no size.
std::optional<std::int64_t> Product(std::initializer_list<std::optional<std::int64_t>> factors) {
  std::int64_t product = 1;
  for (const auto& factor : factors) {
    if (!factor || *factor < 0) return std::nullopt;
    const auto next = CheckedMultiply(product, *factor);
    if (!next || *next > kMaxBytes / 16) return std::nullopt;
    product = *next;
  }
  return product;
}

Requests All(std::initializer_list<std::optional<std::int64_t>> requests) {
  std::vector<std::int64_t> out;
  for (const auto& bytes : requests) {
    if (!bytes) return std::nullopt;
    out.push_back(*bytes);
  }
  return out;
}

graph::TensorId CompressedInput(const Subgraph& subgraph, const Op& op) {
  for (const graph::TensorId id : op.inputs) {
    if (id.valid() && subgraph.tensors[id].compressed) return id;
  }
  return {};
}

}  // namespace

std::optional<std::vector<std::int64_t>> scratch::None(const Subgraph&, const Op&) {
  return Nothing();
}

// Weights of four bits are unpacked into a byte each.
std::optional<std::vector<std::int64_t>> scratch::UnpackedWeights(const Subgraph& subgraph,
                                                                  const Op& op) {
  const Tensor* weights = Operand(subgraph, op.inputs, 1);
  if (weights == nullptr || weights->type != ElementType::kInt4) return Nothing();
  return All({ElementsOf(weights)});
}

// Index of an element and list of axes; sums of integers are of 32 bits.
std::optional<std::vector<std::int64_t>> scratch::Reduction(const Subgraph& subgraph,
                                                            const Op& op) {
  const Tensor* input = Operand(subgraph, op.inputs, 0);
  if (input == nullptr) return std::nullopt;
  const auto index = Product({kWord, RankOf(input)});
  const auto axes = Product({kWord, ElementsOf(Operand(subgraph, op.inputs, 1))});
  const bool sums = Is(op, OpKind::kMean, OpKind::kSum);
  const bool narrow = input->type == ElementType::kInt8 || input->type == ElementType::kUint8 ||
                      input->type == ElementType::kInt16;
  if (!sums || !narrow) return All({index, axes});
  return All({Product({kWord, ElementsOf(Operand(subgraph, op.outputs, 0))}), index, axes});
}

// Sums of products before they are scaled; a bias of 16 bits is widened.
std::optional<std::vector<std::int64_t>> scratch::TransposeConv(const Subgraph& subgraph,
                                                                const Op& op) {
  const Tensor* input = Operand(subgraph, op.inputs, 2);
  if (input == nullptr) return std::nullopt;
  const auto elements = ElementsOf(Operand(subgraph, op.outputs, 0));
  if (input->type == ElementType::kFloat32) return Nothing();
  if (input->type == ElementType::kInt8) return All({Product({4, elements})});
  if (input->type != ElementType::kInt16) return std::nullopt;
  const Tensor* bias = Operand(subgraph, op.inputs, 3);
  if (bias == nullptr || bias->type != ElementType::kInt16) return All({Product({8, elements})});
  return All({Product({8, elements}), Product({8, ElementsOf(bias)})});
}

// Of every filter, then of every unit: of integers alone.
std::optional<std::vector<std::int64_t>> scratch::Svdf(const Subgraph& subgraph, const Op& op) {
  const Tensor* input = Operand(subgraph, op.inputs, 0);
  if (input == nullptr) return std::nullopt;
  const auto filters =
      Product({kWord, KnownSize(input, 0), KnownSize(Operand(subgraph, op.inputs, 1), 0)});
  if (input->type == ElementType::kFloat32) return All({filters});
  if (input->type != ElementType::kInt8) return std::nullopt;
  return All({filters, Product({kWord, ElementsOf(Operand(subgraph, op.outputs, 0))})});
}

// The four gates of a step: floats, or integers of 16 bits.
std::optional<std::vector<std::int64_t>> scratch::Lstm(const Subgraph& subgraph, const Op& op) {
  constexpr std::size_t kCellState = 19;
  const Tensor* input = Operand(subgraph, op.inputs, 0);
  if (input == nullptr) return std::nullopt;
  const bool integer = input->type == ElementType::kInt8 || input->type == ElementType::kInt16;
  if (!integer && input->type != ElementType::kFloat32) return std::nullopt;
  const auto gate =
      Product({integer ? 2 : 4, ElementsOf(Operand(subgraph, op.inputs, kCellState))});
  return All({gate, gate, gate, gate});
}

std::optional<std::vector<std::int64_t>> scratch::DetectionPostprocess(const Subgraph& subgraph,
                                                                       const Op& op) {
  const auto boxes = KnownSize(Operand(subgraph, op.inputs, 0), 1);
  const Tensor* scores = Operand(subgraph, op.inputs, 1);
  const auto most = CustomOption(op, "max_detections");
  const auto classes = CustomOption(op, "num_classes");
  if (!boxes || !most || !classes || *most < 0 || *classes < 0) return std::nullopt;
  const auto each = Product({kWord, boxes});
  const auto candidates = Product({kWord, boxes, most});
  return All({boxes, Product({4 * kWord, boxes}),
              Product({kWord, KnownSize(scores, 1), KnownSize(scores, 2)}), each, each, candidates,
              candidates, each, candidates, Product({kWord, boxes, std::max(*classes, *most)}),
              Product({kWord, boxes, std::min(*boxes, *most)})});
}

// The window, padded to the length of the transform: its output has a complex number for each of
// length / 2 + 1 frequencies.
std::optional<std::vector<std::int64_t>> scratch::Rfft(const Subgraph& subgraph, const Op& op) {
  const Tensor* output = Operand(subgraph, op.outputs, 0);
  const auto rank = RankOf(output);
  if (!rank || *rank == 0) return std::nullopt;
  const auto last = KnownSize(output, static_cast<std::size_t>(*rank - 1));
  if (!last || *last < 2) return std::nullopt;
  const std::int64_t bytes = output->type == ElementType::kInt16 ? 2 : 4;
  return All({Product({bytes, *last - 2})});
}

std::optional<std::vector<std::int64_t>> scratch::MirrorPad(const Subgraph& subgraph,
                                                            const Op& op) {
  const auto index = Product({kWord, RankOf(Operand(subgraph, op.inputs, 0))});
  return All({index, index});
}

// A pointer for each input, whose size is the target's.
std::optional<std::vector<std::int64_t>> scratch::AddN(const Subgraph&, const Op& op) {
  return All({8 * static_cast<std::int64_t>(op.inputs.size())});
}

std::optional<std::int64_t> CustomOption(const Op& op, const char* name) {
  const auto found = op.attributes.find("custom_options");
  if (op.domain != "custom" || found == op.attributes.end()) return std::nullopt;
  const auto* data = std::get_if<graph::ConstantData>(&found->second);
  return data == nullptr ? std::nullopt : FlexMapInteger(data->bytes, name);
}

std::optional<std::vector<std::int64_t>> TflmScratchRequests(const Subgraph& subgraph, const Op& op,
                                                             const target::Target& target) {
  if (CompressedInput(subgraph, op).valid()) return std::nullopt;
  if (op.domain == "json") return Nothing();
  LibraryScratch library = LibraryScratchOf(subgraph, op, target);
  if (library.replaced) return std::move(library.requests);
  const auto requests = RowOf(KindOf(op)).scratch;
  if (requests == nullptr) return std::nullopt;
  auto sizes = requests(subgraph, op);
  // A list of pointers.
  if (sizes && Is(op, OpKind::kAddN)) {
    sizes->assign(1, target.structs.word * static_cast<std::int64_t>(op.inputs.size()));
  }
  return sizes;
}

std::string WhyScratchUnknown(const Subgraph& subgraph, const Op& op,
                              const target::Target& target) {
  if (TflmScratchBytes(subgraph, op, target)) return "";
  const graph::TensorId compressed = CompressedInput(subgraph, op);
  if (compressed.valid()) {
    return "its input " + graph::Describe(compressed, subgraph.tensors[compressed]) +
           " is compressed";
  }
  if (Is(op, OpKind::kEthosU)) return "its driver decides on it";
  const LibraryScratch library = LibraryScratchOf(subgraph, op, target);
  if (!library.unknown.empty()) return std::string(library.unknown);
  return RowOf(KindOf(op)).scratch == nullptr
             ? ""
             : "its shapes, types or options are not supported by the kernel";
}

std::optional<std::int64_t> TflmScratchBytes(const Subgraph& subgraph, const Op& op,
                                             const target::Target& target) {
  const auto requests = TflmScratchRequests(subgraph, op, target);
  if (!requests) return std::nullopt;
  std::int64_t sum = 0;
  for (const std::int64_t bytes : *requests) sum += AlignUp(bytes, kArenaAlignment);
  return sum > kMaxBytes ? std::nullopt : std::optional(sum);
}

std::int64_t TflmScratchOrStated(const Subgraph& subgraph, const Op& op,
                                 const target::Target& target) {
  return op.scratch_bytes > 0 ? op.scratch_bytes
                              : TflmScratchBytes(subgraph, op, target).value_or(0);
}

}  // namespace neap::ops
