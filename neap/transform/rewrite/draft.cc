// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/rewrite/draft.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "neap/base/check.h"
#include "neap/ops/op_table.h"
#include "neap/ops/stock_kernels.h"
#include "neap/ops/traits.h"
#include "neap/transform/rewrite/slice.h"

namespace neap::rewrite {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

namespace {

void FindPlain(const Subgraph& subgraph, IdVector<OpId, char>* plain) {
  *plain = IdVector<OpId, char>(subgraph.ops.size(), 1);
  IdVector<TensorId, char> captured(subgraph.tensors.size(), 0);
  for (const Op& op : subgraph.ops) {
    for (const TensorId id : op.captures) {
      if (id.valid()) captured[id] = 1;
    }
  }
  for (const graph::ControlEdge& edge : subgraph.control_edges) {
    (*plain)[edge.before] = (*plain)[edge.after] = 0;
  }
  for (const OpId id : subgraph.ops.Ids()) {
    const Op& op = subgraph.ops[id];
    char& is_plain = (*plain)[id];
    if (op.stateful || op.folded || !op.bodies.empty() || op.scratch_bytes > 0) is_plain = 0;
    for (const TensorId output : op.outputs) {
      if (!output.valid() || captured[output] != 0 || subgraph.tensors[output].variable ||
          !subgraph.tensors[output].shape) {
        is_plain = 0;
      }
    }
    for (const TensorId input : op.inputs) {
      if (input.valid() && subgraph.tensors[input].variable) is_plain = 0;
    }
  }
}

// The source without the operators of its main subgraph.
graph::Graph WithoutOps(const graph::Graph& source) {
  graph::Graph out;
  out.signatures = source.signatures;
  for (const SubgraphId id : source.subgraphs.Ids()) {
    if (id.value() > 0) {
      out.subgraphs.push_back(source.subgraphs[id]);
      continue;
    }
    const Subgraph& main = source.subgraphs[id];
    Subgraph& copy = out.subgraphs[out.subgraphs.push_back({})];
    copy.name = main.name;
    copy.tensors = main.tensors;
    copy.inputs = main.inputs;
    copy.outputs = main.outputs;
    copy.control_edges = main.control_edges;
  }
  return out;
}

}  // namespace

Facts::Facts(const graph::Graph& graph) : source(graph) {
  const Subgraph& subgraph = graph.subgraphs[SubgraphId(0)];
  readers.resize(subgraph.tensors.size());
  output = IdVector<TensorId, char>(subgraph.tensors.size(), 0);
  input = IdVector<TensorId, char>(subgraph.tensors.size(), 0);
  producer = graph::Producers(subgraph);
  opset = ops::DefaultOpset(subgraph);
  for (const TensorId id : subgraph.outputs) output[id] = 1;
  for (const TensorId id : subgraph.inputs) input[id] = 1;
  for (const OpId id : subgraph.ops.Ids()) {
    for (const auto* list : {&subgraph.ops[id].inputs, &subgraph.ops[id].captures}) {
      for (const TensorId tensor : *list) {
        if (!tensor.valid()) continue;
        if (readers[tensor].empty() || readers[tensor].back() != id) readers[tensor].push_back(id);
      }
    }
  }
  FindPlain(subgraph, &plain);
}

Draft::Draft(const Facts& facts, const Settings& settings, Purpose purpose)
    : facts_(facts), settings_(settings), purpose_(purpose), out_(WithoutOps(facts.source)) {
  values_.resize(from().tensors.size());
  ops_.reserve(from().ops.size());
  for (const TensorId id : from().tensors.Ids()) values_[id].tensor = id;
  if (purpose == Purpose::kOrder) return;
  // A body sees the names around it: a new one must be new everywhere.
  for (const Subgraph& other : facts_.source.subgraphs) {
    for (const Tensor& tensor : other.tensors) names_.insert(tensor.name);
  }
}

TensorId Draft::RootOf(TensorId source) const {
  while (values_[source].same_as.valid()) source = values_[source].same_as;
  return source;
}

const Pieces* Draft::PiecesOf(TensorId source) const {
  const Value& value = values_[RootOf(source)];
  return value.pieces ? &*value.pieces : nullptr;
}

TensorId Draft::TensorFor(TensorId source) const {
  const Value& value = values_[RootOf(source)];
  if (!value.materialised && value.pieces && value.pieces->pieces.size() == 1) {
    return value.pieces->pieces.front().tensor;
  }
  return !value.pieces || value.materialised ? value.tensor : TensorId();
}

std::size_t Draft::Rank(TensorId id) const {
  return TensorOf(id).shape ? TensorOf(id).shape->size() : 0;
}

TensorId Draft::Whole(TensorId source) {
  source = RootOf(source);
  Value& value = values_[source];
  if (const TensorId tensor = TensorFor(source); tensor.valid()) return tensor;
  needed_.insert(source);
  value.materialised = true;
  value.tensor = source;
  EmitConcat(source, *value.pieces);
  return source;
}

bool Draft::IsFree(TensorId source) const {
  const Value& value = values_[RootOf(source)];
  return value.free && value.pieces && !value.materialised;
}

std::vector<TensorId> Draft::Readable(TensorId source) {
  if (!IsFree(source)) return {Whole(source)};
  std::vector<TensorId> tensors;
  for (const Piece& piece : values_[RootOf(source)].pieces->pieces) tensors.push_back(piece.tensor);
  return tensors;
}

void Draft::SetPieces(TensorId source, Pieces value, bool free) {
  NEAP_CHECK(!value.pieces.empty(), "a value has no pieces");
  values_[source].pieces = std::move(value);
  values_[source].free = free || free_.contains(source);
}

void Draft::SetSame(TensorId source, TensorId of) { values_[source].same_as = of; }

// The inputs of a concatenation for one of its parts: the part, if it exists in one piece, else its
// pieces.
void Draft::Expand(TensorId source, std::size_t axis, std::vector<TensorId>* tensors) const {
  source = RootOf(source);
  if (const TensorId tensor = TensorFor(source); tensor.valid()) {
    tensors->push_back(tensor);
    return;
  }
  const Op& made_by = SourceOp(facts_.producer[source]);
  const Pieces& pieces = *values_[source].pieces;
  if (pieces.axis == axis && Is(made_by, OpKind::kConcatenation, OpKind::kOnnxConcat)) {
    for (const TensorId input : made_by.inputs) Expand(input, axis, tensors);
    return;
  }
  for (const Piece& piece : pieces.pieces) tensors->push_back(piece.tensor);
}

void Draft::EmitConcat(TensorId source, const Pieces& pieces) {
  const bool tflite = SourceOp(facts_.producer[source]).domain == "tflite";
  const OpId made_by = facts_.producer[source];
  const Op& producer = SourceOp(made_by);
  const bool concat = Is(producer, OpKind::kConcatenation, OpKind::kOnnxConcat);
  Op op = concat ? producer : Op();
  std::vector<TensorId> inputs;
  if (concat) {
    for (const TensorId input : producer.inputs) Expand(input, pieces.axis, &inputs);
  } else {
    for (const Piece& piece : pieces.pieces) inputs.push_back(piece.tensor);
  }
  if (concat && producer.inputs == inputs) {
    Emit(std::move(op));
    return;
  }
  if (!concat) {
    ops::SetKind(&op, tflite ? OpKind::kConcatenation : OpKind::kOnnxConcat);
    op.version = tflite ? producer.version : opset();
    if (!producer.name.empty()) op.name = producer.name + "/concat";
    op.attributes["axis"] = static_cast<std::int64_t>(pieces.axis);
    if (tflite) op.attributes["fused_activation_function"] = std::int64_t{0};
  }
  op.source_index = -1;
  op.inputs = std::move(inputs);
  op.outputs = {source};
  Emit(std::move(op));
}

// In one piece the input may be overwritten, in pieces it could not be: an operator without cost
// bounds both.
bool Draft::IsFreeInPlace(OpId id) const {
  const Op& op = SourceOp(id);
  if (!relaxed_ || !settings_.in_place || !IsPlain(id) || op.inputs.empty() ||
      op.outputs.size() != 1) {
    return false;
  }
  const TensorId input = op.inputs.front();
  return input.valid() && IsFree(input) && ops::WritesOverFirstInput(from(), op) &&
         graph::TensorBytes(from().tensors[input]).value_or(-1) ==
             graph::TensorBytes(from().tensors[op.outputs.front()]).value_or(-2);
}

void Draft::Keep(OpId id) {
  if (IsFreeInPlace(id)) return SetSame(SourceOp(id).outputs.front(), SourceOp(id).inputs.front());
  Op op = SourceOp(id);
  std::vector<TensorId> inputs;
  for (const TensorId input : op.inputs) {
    if (!input.valid()) {
      inputs.push_back(input);
      continue;
    }
    for (const TensorId tensor : Readable(input)) inputs.push_back(tensor);
  }
  for (TensorId& input : op.captures) {
    if (input.valid()) input = Whole(input);
  }
  op.inputs = std::move(inputs);
  Emit(std::move(op));
}

std::string Draft::UniqueName(const std::string& name) {
  if (purpose_ == Purpose::kOrder) return name;
  std::string unique = name;
  for (int i = 2; !names_.insert(unique).second; ++i) unique = name + "_" + std::to_string(i);
  return unique;
}

TensorId Draft::NewTensor(TensorId like, const std::string& suffix) {
  Tensor tensor = TensorOf(like);
  tensor.name = UniqueName(tensor.name + suffix);
  tensor.constant = false;
  tensor.data.reset();
  tensor.symbols.clear();
  return to().tensors.push_back(std::move(tensor));
}

TensorId Draft::Slice(TensorId constant, std::size_t axis, std::int64_t begin, std::int64_t size) {
  const auto key = std::tuple(constant, axis, begin, size);
  const auto known = slices_.find(key);
  if (known != slices_.end()) return known->second;
  const Tensor& whole = TensorOf(constant);
  if (begin == 0 && size == (*whole.shape)[axis]) return constant;
  Tensor tensor = SliceOf(whole, axis, begin, size, purpose_ == Purpose::kGraph);
  tensor.name =
      UniqueName(whole.name + "/" + std::to_string(begin) + "-" + std::to_string(begin + size - 1));
  return slices_[key] = to().tensors.push_back(std::move(tensor));
}

TensorId Draft::Integers(const std::vector<std::int64_t>& values, bool wide) {
  const auto [known, added] = integers_.emplace(std::pair(values, wide), TensorId());
  if (!added) return known->second;
  const std::size_t each = wide ? sizeof(std::int64_t) : sizeof(std::int32_t);
  auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * each);
  std::string name = "integers";
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto narrow = static_cast<std::int32_t>(values[i]);
    const void* const from = wide ? static_cast<const void*>(&values[i]) : &narrow;
    std::memcpy(bytes->data() + i * each, from, each);
    name += "/" + std::to_string(values[i]);
  }
  Tensor tensor;
  tensor.name = UniqueName(name);
  tensor.type = wide ? graph::ElementType::kInt64 : graph::ElementType::kInt32;
  tensor.shape = graph::Shape{static_cast<std::int64_t>(values.size())};
  tensor.constant = true;
  const std::span<const std::byte> view(*bytes);
  tensor.data = graph::ConstantData{std::move(bytes), view};
  return known->second = to().tensors.push_back(std::move(tensor));
}

OpId Draft::Emit(Op op) {
  const OpId id(ops_.size());
  for (const TensorId input : op.inputs) {
    const auto waits = waits_.find(input);
    if (waits == waits_.end()) continue;
    for (const OpId before : waits->second) {
      if (before != id) edges_.push_back({before, id});
    }
  }
  return ops_.push_back(std::move(op));
}

Op Draft::Like(OpId id, const std::string& suffix) const {
  Op op = SourceOp(id);
  op.source_index = -1;
  if (!op.name.empty()) op.name += suffix;
  op.inputs.clear();
  op.outputs.clear();
  return op;
}

void Draft::Settle(OpId id) {
  for (const TensorId output : SourceOp(id).outputs) {
    if (!output.valid() || expected_.count(output) == 0 || IsFree(output)) continue;
    if (values_[output].pieces) Whole(output);
  }
}

// A graph output whose operator was removed is written by the producer of its value.
void Draft::WriteOutputs() {
  std::vector<TensorId>& outputs = to().outputs;
  for (const TensorId output : from().outputs) {
    if (IsFree(output)) {
      // Of a bound: an output is live to the end, in pieces.
      std::erase(outputs, output);
      for (const TensorId tensor : Readable(output)) outputs.push_back(tensor);
      continue;
    }
    const TensorId made = Whole(output);
    if (made == output) continue;
    for (Op& op : ops_) {
      std::replace(op.inputs.begin(), op.inputs.end(), made, output);
      std::replace(op.outputs.begin(), op.outputs.end(), made, output);
      std::replace(op.captures.begin(), op.captures.end(), made, output);
    }
  }
}

// Backwards from the abandoned values: operators none of whose outputs is read.
void Draft::RemoveAbandoned() {
  if (abandoned_.empty()) return;
  IdVector<TensorId, int> reads(to().tensors.size(), 0);
  IdVector<TensorId, OpId> producer(to().tensors.size());
  for (const OpId id : ops_.Ids()) {
    for (const auto* list : {&ops_[id].inputs, &ops_[id].captures}) {
      for (const TensorId tensor : *list) {
        if (tensor.valid()) ++reads[tensor];
      }
    }
    for (const TensorId tensor : ops_[id].outputs) {
      if (tensor.valid()) producer[tensor] = id;
    }
  }
  for (const TensorId tensor : to().outputs) ++reads[tensor];
  std::vector<TensorId> left;
  for (const TensorId source : abandoned_) {
    const Value& value = values_[RootOf(source)];
    left.push_back(value.tensor);
    if (!value.pieces) continue;
    for (const Piece& piece : value.pieces->pieces) left.push_back(piece.tensor);
  }
  IdVector<OpId, char> removed(ops_.size(), 0);
  while (!left.empty()) {
    const TensorId tensor = left.back();
    left.pop_back();
    const OpId id = tensor.valid() ? producer[tensor] : OpId();
    if (!id.valid() || removed[id] != 0) continue;
    const Op& op = ops_[id];
    const bool stays = op.source_index >= 0 && !IsPlain(OpId(op.source_index));
    const bool read = std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId output) {
      return output.valid() && reads[output] > 0;
    });
    if (stays || read) continue;
    removed[id] = 1;
    for (const TensorId input : op.inputs) {
      if (!input.valid()) continue;
      --reads[input];
      left.push_back(input);
    }
  }
  IdVector<OpId, OpId> renamed(ops_.size());
  IdVector<OpId, Op> kept;
  for (const OpId id : ops_.Ids()) {
    if (removed[id] == 0) renamed[id] = kept.push_back(std::move(ops_[id]));
  }
  ops_ = std::move(kept);
  std::erase_if(edges_, [&](graph::ControlEdge& edge) {
    edge = {renamed[edge.before], renamed[edge.after]};
    return !edge.before.valid() || !edge.after.valid();
  });
}

graph::Graph Draft::Finish() {
  WriteOutputs();
  RemoveAbandoned();
  std::vector<graph::ControlEdge>& edges = to().control_edges;
  std::vector<OpId> new_id(from().ops.size());
  for (const OpId id : ops_.Ids()) {
    if (ops_[id].source_index >= 0) new_id[static_cast<std::size_t>(ops_[id].source_index)] = id;
  }
  for (graph::ControlEdge& edge : edges) {
    edge = {new_id[edge.before.index()], new_id[edge.after.index()]};
    NEAP_CHECK(edge.before.valid() && edge.after.valid(), "a controlled operator was taken out");
  }
  edges.insert(edges.end(), edges_.begin(), edges_.end());
  to().ops = std::move(ops_);
  return std::move(out_);
}

}  // namespace neap::rewrite
