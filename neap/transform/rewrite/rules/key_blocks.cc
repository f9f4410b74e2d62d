// SPDX-License-Identifier: Apache-2.0
//
// key-blocks: attention reads its keys and values in blocks.
//
// Pattern: scores S, softmax over their last axis, product with the values V: O = softmax(S) V.
//   The index of a key is the last axis of S and an axis of V. Both are followed upwards through
//   products, element-wise operators, transposes and changes of shape (key_axis.h), so that a block
//   of keys and values is computed from a slice of their common source.
// Conditions: float32; softmax(S) has one consumer; constants of element-wise operators are finite
//   (a block in which every score is -inf has no maximum). Parameters: the number of blocks, and
//   how far upwards (Reach).
// Memory: keys, values and scores exist for one block at a time, with the running maximum m, sum l
//   and weighted sum O. The source of the keys is live until the last block.
// Exactness: Reassociates. With blocks b of keys, from the first one on,
//   m' = max(m, max S_b), a = exp(m - m'), P = exp(S_b - m'), l' = l a + sum P, O' = O a + P V_b;
//   at the end O / l, which is softmax(S) V in real numbers: every factor a cancels. For the bound
//   of the rounding see docs/algorithms/rewrite.md.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "neap/ops/op_table.h"
#include "neap/ops/stock_kernels.h"
#include "neap/transform/rewrite/rules/common.h"
#include "neap/transform/rewrite/rules/key_axis.h"
#include "neap/transform/rewrite/rules/rules.h"
#include "neap/transform/rewrite/slice.h"

namespace neap::rewrite {
namespace {

using graph::ElementType;
using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::TensorId;
using ops::OpKind;

// How far upwards keys and values are followed.
enum Reach : std::int64_t {
  kScores = 0,   // not beyond the product of queries and keys
  kPrivate = 1,  // to tensors that another operator reads as well
  kSource = 2,   // as far as the operators allow
};
constexpr std::array<std::int64_t, 4> kCounts = {2, 4, 8, 16};
// Operators between the scores and the source of the keys.
constexpr int kMaxSteps = 32;

using Along = std::pair<TensorId, std::size_t>;  // a tensor and the axis of its keys

// O = softmax(S) V.
struct Attention {
  Along scores;
  Along values;
  std::int64_t keys = 0;
};

bool HasUnitBeta(const Op& softmax) {
  const auto found = softmax.attributes.find("beta");
  const double* const beta =
      found == softmax.attributes.end() ? nullptr : std::get_if<double>(&found->second);
  return found == softmax.attributes.end() || (beta != nullptr && *beta == 1);
}

// Before version 13 of ONNX all dimensions from the axis on are one row.
bool IsOverLastAxis(const Op& softmax, std::size_t rank) {
  if (IsTflite(softmax)) return HasUnitBeta(softmax);
  const auto axis = AxisOf(IntOr(softmax, "axis", softmax.version < 13 ? 1 : -1), rank);
  return axis && *axis + 1 == rank;
}

bool HasKernels(const Draft& draft, const Op& op, std::size_t rank) {
  if (!IsTflite(op)) return draft.opset() >= ops::kSliceWithInputs;
  // Broadcasting kernels of TensorFlow Lite.
  constexpr std::size_t kMaxRank = 4;
  if (rank > kMaxRank) return false;
  // LiteRT has all of them for float32 (tests/conformance/test_rewrite_rules.py).
  if (draft.settings().runtime == ops::StockRuntime::kLitert) return true;
  constexpr OpKind kKinds[] = {OpKind::kSlice, OpKind::kReduceMax, OpKind::kMaximum,
                               OpKind::kSub,   OpKind::kExp,       OpKind::kSum,
                               OpKind::kMul,   OpKind::kAdd,       OpKind::kDiv};
  return std::all_of(std::begin(kKinds), std::end(kKinds), [&](OpKind kind) {
    return ops::MayInsert(kind, ElementType::kFloat32, rank, draft.settings().runtime);
  });
}

std::optional<Attention> AttentionAt(const Draft& draft, OpId id) {
  const Op& op = draft.SourceOp(id);
  if (!IsType(op, OpKind::kBatchMatmul, OpKind::kOnnxMatMul) || op.inputs.size() != 2 ||
      op.outputs.size() != 1 || IntOr(op, "adj_x", 0) != 0) {
    return std::nullopt;
  }
  const TensorId weights = op.inputs[0];
  const TensorId values = op.inputs[1];
  const OpId softmax = draft.ProducerOf(weights);
  if (!softmax.valid() || !draft.IsPlain(softmax) || draft.IsOutput(weights) ||
      draft.ReadersOf(weights).size() != 1 || weights == values) {
    return std::nullopt;
  }
  const Op& before = draft.SourceOp(softmax);
  if (!IsType(before, OpKind::kSoftmax, OpKind::kOnnxSoftmax) || before.inputs.empty() ||
      !before.inputs[0].valid()) {
    return std::nullopt;
  }
  const TensorId scores = before.inputs[0];
  const Shape* const s = ShapeOf(draft, scores);
  const Shape* const v = ShapeOf(draft, values);
  const Shape* const o = ShapeOf(draft, op.outputs[0]);
  for (const TensorId tensor : {scores, values, op.outputs[0]}) {
    if (draft.TensorOf(tensor).type != ElementType::kFloat32) return std::nullopt;
  }
  if (s == nullptr || v == nullptr || o == nullptr || s->size() < 2 || v->size() != s->size() ||
      o->size() != s->size() || !IsOverLastAxis(before, s->size()) ||
      !HasKernels(draft, op, s->size())) {
    return std::nullopt;
  }
  const bool turned = IntOr(op, "adj_y", 0) != 0;
  const std::size_t axis = turned ? v->size() - 1 : v->size() - 2;
  const std::int64_t keys = s->back();
  if ((*v)[axis] != keys || draft.TensorOf(scores).constant) return std::nullopt;
  if (draft.TensorOf(values).constant && !CanSlice(draft.TensorOf(values), axis)) {
    return std::nullopt;
  }
  return Attention{{scores, s->size() - 1}, {values, axis}, keys};
}

// The operators that are computed block by block, and the tensors that they read slices of.
struct Tree {
  std::map<Along, AxisStep> steps;  // by the operator's output
  std::set<Along> leaves;
  std::set<TensorId> wholes;  // what steps read whole: queries
  bool has_product = false;   // the scores are followed to the product of queries and keys
};

class TreeMaker {
 public:
  TreeMaker(const Draft& draft, OpId final, Reach reach)
      : draft_(draft), final_(final), reach_(reach) {}

  Tree Make(const Attention& attention) {
    if (reach_ == kPrivate) {
      for (const auto& [along, step] : TreeMaker(draft_, final_, kSource).Make(attention).steps) {
        inside_.insert(draft_.ProducerOf(along.first));
      }
    }
    Grow(attention.scores, false);
    Grow(attention.values, true);
    return std::move(tree_);
  }

 private:
  // `above`: a tensor of keys or values, beyond the scores.
  void Grow(const Along& along, bool above) {
    const auto [tensor, axis] = along;
    if (draft_.TensorOf(tensor).constant || tree_.steps.contains(along) ||
        tree_.leaves.contains(along)) {
      return;
    }
    const OpId producer = draft_.ProducerOf(tensor);
    const bool may = producer.valid() && draft_.IsPlain(producer) && !draft_.IsOutput(tensor) &&
                     !draft_.IsInput(tensor) && tree_.steps.size() < kMaxSteps &&
                     (!above || MayPass(tensor));
    auto step = may ? StepThrough(draft_, producer, axis) : std::nullopt;
    const bool is_product = step && IsProductOfActivations(draft_, producer);
    if (!step || (!above && !is_product && !KeepsFinite(producer))) {
      tree_.leaves.insert(along);
      return;
    }
    const Op& op = draft_.SourceOp(producer);
    const AxisStep& kept = tree_.steps[along] = std::move(*step);
    const bool beyond = above || is_product;
    tree_.has_product = tree_.has_product || (!above && is_product);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i].valid()) continue;
      if (kept.inputs[i]) {
        Grow({op.inputs[i], *kept.inputs[i]}, beyond);
      } else if (!draft_.TensorOf(op.inputs[i]).constant) {
        tree_.wholes.insert(op.inputs[i]);
      }
    }
  }

  // A mask that is computed may be infinite.
  bool KeepsFinite(OpId id) const {
    int activations = 0;
    for (const TensorId input : draft_.SourceOp(id).inputs) {
      if (!input.valid()) continue;
      const graph::Tensor& tensor = draft_.TensorOf(input);
      if (!tensor.constant) ++activations;
      if (tensor.constant && tensor.type == ElementType::kFloat32 && !IsFinite(tensor))
        return false;
    }
    return activations == 1;
  }

  bool MayPass(TensorId tensor) const {
    if (reach_ != kPrivate) return reach_ == kSource;
    const auto& readers = draft_.ReadersOf(tensor);
    return std::all_of(readers.begin(), readers.end(),
                       [&](OpId reader) { return inside_.contains(reader) || reader == final_; });
  }

  const Draft& draft_;
  const OpId final_;
  const Reach reach_;
  std::set<OpId> inside_;  // operators of the largest tree
  Tree tree_;
};

Tree TreeOf(const Draft& draft, OpId id, const Attention& attention, Reach reach) {
  return TreeMaker(draft, id, reach).Make(attention);
}

// Emits the operators of the blocks.
class Writer {
 public:
  Writer(Draft* draft, OpId id, const Attention& attention, Tree tree)
      : draft_(*draft),
        id_(id),
        attention_(attention),
        tree_(std::move(tree)),
        tflite_(IsTflite(draft->SourceOp(id))) {}

  void Write(std::int64_t count) {
    const std::int64_t size = (attention_.keys + count - 1) / count;
    for (std::int64_t begin = 0; begin < attention_.keys; begin += size) {
      begin_ = begin;
      size_ = std::min(size, attention_.keys - begin);
      suffix_ = "/keys" + std::to_string(block_++);
      parts_.clear();
      AddBlock();
    }
    Emit(OpKind::kDiv, OpKind::kOnnxDiv, {mixed_, sum_}, draft_.SourceOp(id_).outputs[0]);
  }

 private:
  void AddBlock() {
    const TensorId scores = PartOf(attention_.scores);
    TensorId max = Reduce(OpKind::kReduceMax, OpKind::kOnnxReduceMax, scores, "/max");
    TensorId factor;
    if (max_.valid()) {
      max = Emit(OpKind::kMaximum, OpKind::kOnnxMax, {max_, max}, Like(max, "/running"));
      factor = Exp(Emit(OpKind::kSub, OpKind::kOnnxSub, {max_, max}, Like(max, "/fall")));
    }
    max_ = max;
    const TensorId weights =
        Exp(Emit(OpKind::kSub, OpKind::kOnnxSub, {scores, max_}, Like(scores, "/lowered")));
    const TensorId sum = Reduce(OpKind::kSum, OpKind::kOnnxReduceSum, weights, "/sum");
    Op product = draft_.Like(id_, suffix_);
    product.inputs = {weights, PartOf(attention_.values)};
    product.outputs = {draft_.NewTensor(draft_.SourceOp(id_).outputs[0], suffix_)};
    const TensorId mixed = product.outputs[0];
    draft_.Emit(std::move(product));
    sum_ = factor.valid() ? AddTo(sum_, factor, sum) : sum;
    mixed_ = factor.valid() ? AddTo(mixed_, factor, mixed) : mixed;
  }

  // running * factor + term
  TensorId AddTo(TensorId running, TensorId factor, TensorId term) {
    const TensorId scaled =
        Emit(OpKind::kMul, OpKind::kOnnxMul, {running, factor}, Like(running, "/scaled"));
    return Emit(OpKind::kAdd, OpKind::kOnnxAdd, {scaled, term}, Like(term, "/running"));
  }

  TensorId Exp(TensorId of) { return Emit(OpKind::kExp, OpKind::kOnnxExp, {of}, Like(of, "/exp")); }

  TensorId Like(TensorId tensor, const std::string& suffix) {
    return draft_.NewTensor(tensor, suffix);
  }

  Op New(OpKind tflite, OpKind onnx, TensorId output) const {
    Op op;
    ops::SetKind(&op, tflite_ ? tflite : onnx);
    op.domain = draft_.SourceOp(id_).domain;
    op.version = tflite_ ? 0 : draft_.opset();
    op.name = draft_.TensorOf(output).name;
    op.outputs = {output};
    return op;
  }

  TensorId Emit(OpKind tflite, OpKind onnx, std::vector<TensorId> inputs, TensorId output) {
    Op op = New(tflite, onnx, output);
    op.inputs = std::move(inputs);
    if (tflite_ && tflite != OpKind::kMaximum && tflite != OpKind::kExp) {
      op.attributes["fused_activation_function"] = std::int64_t{0};
    }
    draft_.Emit(std::move(op));
    return output;
  }

  // Over the last axis, which stays with the size 1.
  TensorId Reduce(OpKind tflite, OpKind onnx, TensorId from, const char* suffix) {
    const TensorId output = draft_.NewTensor(from, suffix);
    const std::size_t axis = draft_.Rank(from) - 1;
    Resize(&draft_.Edit(output), axis, 1);
    Op op = New(tflite, onnx, output);
    op.inputs = {from};
    op.attributes[tflite_ ? "keep_dims" : "keepdims"] = std::int64_t{1};
    const std::int32_t axes_are_input = onnx == OpKind::kOnnxReduceSum ? 13 : 18;
    const std::vector<std::int64_t> axes = {static_cast<std::int64_t>(axis)};
    if (tflite_ || draft_.opset() >= axes_are_input) {
      op.inputs.push_back(draft_.Integers(axes, !tflite_));
    } else {
      op.attributes["axes"] = axes;
    }
    draft_.Emit(std::move(op));
    return output;
  }

  TensorId PartOf(const Along& along) {
    const auto known = parts_.find(along);
    if (known != parts_.end()) return known->second;
    const auto [tensor, axis] = along;
    if (draft_.TensorOf(tensor).constant) return draft_.Slice(tensor, axis, begin_, size_);
    const auto step = tree_.steps.find(along);
    const TensorId part = step == tree_.steps.end() ? SliceOf(along) : Clone(along, step->second);
    return parts_[along] = part;
  }

  TensorId NewPart(const Along& along) {
    const TensorId part = draft_.NewTensor(along.first, suffix_);
    Resize(&draft_.Edit(part), along.second, size_);
    return part;
  }

  TensorId SliceOf(const Along& along) {
    const TensorId part = NewPart(along);
    Op op = New(OpKind::kSlice, OpKind::kOnnxSlice, part);
    op.inputs = draft_.Readable(along.first);
    if (tflite_) {
      std::vector<std::int64_t> begins(draft_.Rank(part), 0);
      begins[along.second] = begin_;
      op.inputs.push_back(draft_.Integers(begins, false));
      op.inputs.push_back(draft_.Integers(*draft_.TensorOf(part).shape, false));
    } else {
      op.inputs.push_back(draft_.Integers({begin_}, true));
      op.inputs.push_back(draft_.Integers({begin_ + size_}, true));
      op.inputs.push_back(draft_.Integers({static_cast<std::int64_t>(along.second)}, true));
    }
    draft_.Emit(std::move(op));
    return part;
  }

  TensorId Clone(const Along& along, const AxisStep& step) {
    const OpId producer = draft_.ProducerOf(along.first);
    const Op& source = draft_.SourceOp(producer);
    Op op = draft_.Like(producer, suffix_);
    for (std::size_t i = 0; i < source.inputs.size(); ++i) {
      const TensorId input = source.inputs[i];
      if (!input.valid()) {
        op.inputs.push_back(input);
      } else if (step.inputs[i]) {
        op.inputs.push_back(PartOf({input, *step.inputs[i]}));
      } else {
        for (const TensorId whole : draft_.Readable(input)) op.inputs.push_back(whole);
      }
    }
    const TensorId part = NewPart(along);
    op.outputs = {part};
    if (step.new_shape) {
      const Shape shape = *draft_.TensorOf(part).shape;
      op.inputs.back() =
          draft_.Integers(shape, draft_.TensorOf(op.inputs.back()).type == ElementType::kInt64);
      if (op.attributes.contains("new_shape")) op.attributes["new_shape"] = shape;
    }
    draft_.Emit(std::move(op));
    return part;
  }

  Draft& draft_;
  const OpId id_;
  const Attention attention_;
  const Tree tree_;
  const bool tflite_;
  std::int64_t block_ = 0;
  std::int64_t begin_ = 0;
  std::int64_t size_ = 0;
  std::string suffix_;
  std::map<Along, TensorId> parts_;  // of the block
  TensorId max_;
  TensorId sum_;
  TensorId mixed_;
};

std::optional<plan::Exactness> Match(const Draft& draft, OpId id) {
  const auto attention = AttentionAt(draft, id);
  if (!attention || attention->keys < 2 * kCounts.front()) return std::nullopt;
  // A mask that is not known to be finite ends the tree at the scores themselves.
  if (!TreeOf(draft, id, *attention, kScores).has_product) return std::nullopt;
  return plan::Exactness::kReassociates;
}

std::vector<Parameters> Variants(const Draft& draft, OpId id) {
  const auto attention = AttentionAt(draft, id);
  std::vector<Parameters> variants;
  std::set<std::set<Along>> seen;
  for (const Reach reach : {kScores, kPrivate, kSource}) {
    if (!attention || !seen.insert(TreeOf(draft, id, *attention, reach).leaves).second) continue;
    for (const std::int64_t count : kCounts) {
      if (2 * count <= attention->keys) variants.push_back({count, reach});
    }
  }
  return variants;
}

bool Apply(Draft* draft, OpId id, const Parameters& parameters) {
  const auto attention = AttentionAt(*draft, id);
  if (!attention) return false;
  const Parameters chosen = parameters.empty() ? Variants(*draft, id).back() : parameters;
  if (chosen.size() != 2 || chosen[0] < 2 || chosen[0] > attention->keys || chosen[1] < kScores ||
      chosen[1] > kSource) {
    return false;
  }
  const Op op = draft->SourceOp(id);
  Writer(draft, id, *attention, TreeOf(*draft, id, *attention, static_cast<Reach>(chosen[1])))
      .Write(chosen[0]);
  for (const TensorId input : op.inputs) draft->Abandon(input);
  return true;
}

// Whole or in blocks: queries and sources are read before the result exists. Nothing else is
// counted.
void Relax(Draft* draft, OpId id) {
  const Op op = draft->SourceOp(id);
  const Tree tree = TreeOf(*draft, id, *AttentionAt(*draft, id), kSource);
  std::set<TensorId> read = tree.wholes;
  for (const Along& leaf : tree.leaves) read.insert(leaf.first);
  std::vector<TensorId> counted;
  for (const TensorId tensor : read) {
    // Some choices read its pieces.
    if (draft->PiecesOf(tensor) == nullptr || draft->IsFree(tensor)) counted.push_back(tensor);
  }
  RelaxReads(draft, counted, op.outputs[0]);
  for (const TensorId input : op.inputs) draft->Abandon(input);
}

}  // namespace

Rule KeyBlocksRule() {
  return {{kKeyBlocks, "compute attention over blocks of keys and values", false},
          Match,
          Apply,
          Relax,
          Variants};
}

}  // namespace neap::rewrite
