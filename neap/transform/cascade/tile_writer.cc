// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/tile_writer.h"

#include <algorithm>
#include <utility>

#include "neap/ops/op_table.h"
#include "neap/transform/cascade/constants.h"
#include "neap/transform/cascade/cut_axes.h"

namespace neap::cascade {
namespace {

using graph::Op;
using graph::Shape;
using graph::Tensor;
using graph::TensorId;
using ops::Box;
using ops::OpKind;

Shape ShapeOf(const Box& box) {
  Shape shape;
  for (const ops::Interval& interval : box) shape.push_back(interval.size());
  return shape;
}

}  // namespace

TensorId TileWriter::AddPart(TensorId whole, const Box& box, const std::string& name) {
  Tensor tensor = from_.tensors[whole];
  tensor.name = name;
  tensor.shape = ShapeOf(box);
  tensor.symbols.clear();
  return to_.tensors.push_back(std::move(tensor));
}

TensorId TileWriter::WriteTile(const Tile& tile, const std::string& name) {
  name_ = name;
  std::vector<TensorId> ids;
  Write(tile, Steps::kAll, &ids);
  return ids[static_cast<std::size_t>(tile.output)];
}

std::vector<TensorId> TileWriter::WriteArguments(const Tile& tile, const std::string& name) {
  name_ = name;
  std::vector<TensorId> ids;
  Write(tile, Steps::kArguments, &ids);
  std::vector<TensorId> arguments;
  for (const TileStep& step : tile.steps) {
    if (IsArgument(step)) arguments.push_back(ids[static_cast<std::size_t>(step.output)]);
  }
  return arguments;
}

void TileWriter::WriteBody(const Tile& tile, const std::string& name) {
  name_ = name;
  std::vector<TensorId> ids;
  Write(tile, Steps::kBody, &ids);
  to_.outputs = {ids[static_cast<std::size_t>(tile.output)]};
}

void TileWriter::Write(const Tile& tile, Steps which, std::vector<TensorId>* ids) {
  ids->assign(tile.tensors.size(), TensorId());
  for (const TileStep& step : tile.steps) {
    const bool argument = IsArgument(step);
    if (which == Steps::kArguments && !argument) continue;
    const auto out = static_cast<std::size_t>(step.output);
    const TileTensor& part = tile.tensors[out];
    const std::string suffix = step.op.valid() ? "" : "/slice" + std::to_string(step.output);
    (*ids)[out] =
        AddPart(part.whole, part.box, name_ + "/" + from_.tensors[part.whole].name + suffix);
    if (which == Steps::kBody && argument) {
      to_.inputs.push_back((*ids)[out]);
    } else if (step.op.valid()) {
      const bool copies = ops::Has(from_.ops[step.op], ops::trait::kSplits);
      copies ? AddCopy(tile, step, *ids) : AddClone(step, *ids);
    } else {
      AddSlice(tile, step, *ids);
    }
  }
}

void TileWriter::AddSlice(const Tile& tile, const TileStep& step,
                          const std::vector<TensorId>& ids) {
  const TileTensor& out = tile.tensors[static_cast<std::size_t>(step.output)];
  const TensorId output = ids[static_cast<std::size_t>(step.output)];
  if (step.inputs[0] == kWhole) {
    AddSliceOf(out.whole, ops::WholeBox(*from_.tensors[out.whole].shape), out.box, output);
    return;
  }
  const auto source = static_cast<std::size_t>(step.inputs[0]);
  AddSliceOf(ids[source], tile.tensors[source].box, out.box, output);
}

void TileWriter::AddSliceOf(TensorId from, const Box& source, const Box& box, TensorId output) {
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> ends;
  for (std::size_t d = 0; d < box.size(); ++d) {
    begins.push_back(box[d].begin - source[d].begin);
    sizes.push_back(box[d].size());
    ends.push_back(box[d].end - source[d].begin);
  }
  // A copy: constants are added behind it.
  const std::string name = to_.tensors[output].name;
  Op op;
  op.outputs = {output};
  op.inputs = {from};
  if (onnx_) {
    ops::SetKind(&op, OpKind::kOnnxSlice);
    op.name = name + "/slice";
    op.version = opset_;
  } else {
    ops::SetKind(&op, OpKind::kSlice);
  }
  if (onnx_ && opset_ < ops::kSliceWithInputs) {
    op.attributes["starts"] = begins;
    op.attributes["ends"] = ends;
  } else {
    op.inputs.push_back(AddConstant(name + "/begin", begins));
    op.inputs.push_back(onnx_ ? AddConstant(name + "/end", ends)
                              : AddConstant(name + "/size", sizes));
  }
  to_.ops.push_back(std::move(op));
}

// Equal ones are shared: TensorFlow Lite Micro keeps a record of each.
TensorId TileWriter::AddConstant(std::string name, const std::vector<std::int64_t>& values) {
  const auto found = constants_.find(values);
  if (found != constants_.end()) return found->second;
  const TensorId id = to_.tensors.push_back(IntegerConstant(std::move(name), values, onnx_, false));
  constants_.emplace(values, id);
  return id;
}

TensorId TileWriter::ConstantOf(TensorId from) {
  if (!is_body_ || !from.valid()) return from;
  const auto [at, added] = taken_.emplace(from, TensorId());
  if (added) at->second = to_.tensors.push_back(from_.tensors[from]);
  return at->second;
}

// Equal parts are shared by tiles.
TensorId TileWriter::WeightsOf(TensorId from, const Box& box, const std::string& name) {
  const auto equal = [&](const WeightsPart& part) { return part.whole == from && part.box == box; };
  const auto found = std::find_if(weights_.begin(), weights_.end(), equal);
  if (found != weights_.end()) return found->part;
  const Op* const source = DequantizerOf(from_, from);
  TensorId part;
  if (source == nullptr) {
    part = to_.tensors.push_back(PartOfConstant(from_.tensors[from], box, name));
  } else {
    part = AddPart(from, box, name);
    to_.tensors[part].data.reset();
    Op op = *source;
    op.source_index = -1;
    op.name = name + "/dequantize";
    op.outputs = {part};
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId input = op.inputs[i];
      if (!input.valid()) continue;
      const Box need = ops::NeedOf(from_, *source, i, box).value().box;
      if (need == ops::WholeBox(*from_.tensors[input].shape)) continue;
      op.inputs[i] = WeightsOf(input, need, name + "/dequantize" + std::to_string(i));
    }
    to_.ops.push_back(std::move(op));
  }
  weights_.push_back({from, box, part});
  return part;
}

void TileWriter::AddCopy(const Tile& tile, const TileStep& step, const std::vector<TensorId>& ids) {
  const Op& whole = from_.ops[step.op];
  const std::size_t data = DataInputOf(whole);
  const TensorId input = whole.inputs[data];
  const TensorId output = ids[static_cast<std::size_t>(step.output)];
  const Box& box = tile.tensors[static_cast<std::size_t>(step.output)].box;
  const int part = step.inputs[data];
  const TensorId from = part == kWhole ? input : ids[static_cast<std::size_t>(part)];
  if (!ops::Is(whole, OpKind::kUnpack)) {
    const Box source = part == kWhole ? ops::WholeBox(*from_.tensors[input].shape)
                                      : tile.tensors[static_cast<std::size_t>(part)].box;
    AddSliceOf(from, source, SourceOf(from_, whole, step.op_output, box).value(), output);
    return;
  }
  Op op;
  ops::SetKind(&op, OpKind::kReshape);
  op.outputs = {output};
  const Shape shape = ShapeOf(box);
  op.attributes["new_shape"] = shape;
  op.inputs = {from, AddConstant(to_.tensors[output].name + "/shape", shape)};
  to_.ops.push_back(std::move(op));
}

void TileWriter::PassState(const TileStep& step, Op* op) {
  constexpr std::size_t kInitialHidden = 5;
  const std::size_t count = ops::Is(*op, OpKind::kOnnxLSTM) ? 2 : 1;
  if (step.goes_on) {
    const std::vector<TensorId>& before = states_.at(step.op);
    if (op->inputs.size() < kInitialHidden + count) op->inputs.resize(kInitialHidden + count);
    std::copy(before.begin(), before.end(), op->inputs.begin() + kInitialHidden);
  }
  states_.erase(step.op);
  if (!step.leaves_state) return;
  for (std::size_t i = 0; i < count; ++i) {
    Tensor state = to_.tensors[op->outputs[0]];
    // The output has the steps in front of it.
    state.shape->erase(state.shape->begin());
    state.name += i == 0 ? "/hidden" : "/cell";
    states_[step.op].push_back(to_.tensors.push_back(std::move(state)));
    op->outputs.push_back(states_[step.op].back());
  }
}

void TileWriter::AddClone(const TileStep& step, const std::vector<TensorId>& ids) {
  Op op = from_.ops[step.op];
  op.source_index = -1;
  op.name = op.name.empty() ? "" : name_ + "/" + op.name;
  // A copy: constants are added behind it.
  const std::string name = to_.tensors[ids[static_cast<std::size_t>(step.output)]].name;
  for (const auto& [i, values] : step.constants) {
    if (op.inputs.size() <= i) op.inputs.resize(i + 1);
  }
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (const auto found = step.constants.find(i); found != step.constants.end()) {
      op.inputs[i] = AddConstant(name + "/input" + std::to_string(i), found->second);
    } else if (const auto part = step.weights.find(i); part != step.weights.end()) {
      op.inputs[i] = WeightsOf(op.inputs[i], part->second, name + "/input" + std::to_string(i));
    } else if (step.inputs[i] != kWhole) {
      op.inputs[i] = ids[static_cast<std::size_t>(step.inputs[i])];
    } else if (i != 1 || (step.paddings.empty() && step.sizes.empty())) {
      op.inputs[i] = ConstantOf(op.inputs[i]);
    }
  }
  op.outputs = {ids[static_cast<std::size_t>(step.output)]};
  if (step.goes_on || step.leaves_state) PassState(step, &op);
  for (const std::string& gone : step.removed) op.attributes.erase(gone);
  for (const auto& [key, value] : step.attributes) op.attributes[key] = value;
  if (!step.paddings.empty()) {
    op.inputs[1] = to_.tensors.push_back(
        IntegerConstant(to_.tensors[op.outputs[0]].name + "/paddings", step.paddings, false, true));
  }
  if (ops::Is(op, OpKind::kReshape) && !step.sizes.empty()) {
    op.attributes["new_shape"] = step.sizes;
  }
  if (!step.sizes.empty() && op.inputs.size() > 1) {
    op.inputs[1] = AddConstant(to_.tensors[op.outputs[0]].name + "/size", step.sizes);
  }
  to_.ops.push_back(std::move(op));
}

}  // namespace neap::cascade
