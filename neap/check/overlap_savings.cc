// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/check/bound_model.h"
#include "neap/check/kernel_simulation.h"
#include "neap/ops/op_table.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

class Granter {
 public:
  Granter(const Subgraph& subgraph, const plan::Profile& profile, ops::KernelLibrary kernels,
          BoundModel* model)
      : subgraph_(subgraph), profile_(profile), kernels_(kernels), model_(*model) {}

  void Run() {
    model_.savings.resize(model_.runs.size());
    std::vector<std::pair<std::int32_t, std::int32_t>> held;  // operator, tensor
    for (const OpId id : subgraph_.ops.Ids()) {
      const Op& op = subgraph_.ops[id];
      if (op.folded || op.outputs.empty() || !op.outputs.front().valid()) continue;
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        if (!op.inputs[i].valid() || IsRepeated(op, i)) continue;
        const std::int32_t input = op.inputs[i].value();
        if (BytesOf(op.inputs[i]) == 0) continue;
        if (IsHeld(op, i)) {
          held.emplace_back(id.value(), input);
          Add(id, op.inputs[i], BytesOf(op.outputs.front()));
        } else if (model_.in_place[id.index()].first == input) {
          Add(id, op.inputs[i], BytesOf(op.outputs.front()));
        } else {
          Add(id, op.inputs[i], MostCovered(op, i));
        }
      }
      model_.in_place[id.index()] = {-1, -1};
    }
    for (const auto& [op, tensor] : held) EndAt(op, tensor);
    for (const OpId id : subgraph_.ops.Ids()) {
      const Op& op = subgraph_.ops[id];
      for (std::size_t i = 0; i < op.outputs.size() && !op.folded; ++i) {
        if (MayBePiece(subgraph_, op, i, kernels_)) BeginAfter(op, op.outputs[i].value());
      }
    }
  }

 private:
  std::int64_t BytesOf(TensorId id) const { return model_.values[id.index()].bytes; }
  static bool IsRepeated(const Op& op, std::size_t input) {
    return std::count(op.inputs.begin(), op.inputs.begin() + static_cast<std::ptrdiff_t>(input),
                      op.inputs[input]) > 0;
  }

  void Add(OpId op, TensorId input, std::int64_t covered) {
    if (covered <= 0) return;
    BoundModel::Savings& savings = model_.savings[op.index()];
    savings.most = std::max(savings.most, covered);
    savings.inputs.emplace_back(input.value(), std::min(covered, BytesOf(input)));
  }

  bool IsHeld(const Op& op, std::size_t input) const {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < input; ++i) {
      if (!op.inputs[i].valid()) return false;
      at += graph::TensorBytes(subgraph_.tensors[op.inputs[i]]).value_or(0);
    }
    return HoldsInput(subgraph_, op, input, kernels_, at);
  }

  // Bytes of the output above the least distance that the kernel survives, a multiple of the
  // alignment.
  std::int64_t MostCovered(const Op& op, std::size_t input) const {
    const TensorId id = op.inputs[input];
    const auto is_in = [&](const std::vector<TensorId>& list) {
      return std::find(list.begin(), list.end(), id) != list.end();
    };
    if (is_in(subgraph_.outputs) || is_in(op.captures)) return 0;
    if (HandsOver(op, input, kernels_)) {
      std::int64_t outputs = 0;
      for (const TensorId out : op.outputs) outputs += out.valid() ? BytesOf(out) : 0;
      return outputs;
    }
    const std::int64_t output = BytesOf(op.outputs.front());
    const auto least = LeastDistance(subgraph_, op, input, kernels_, output);
    const std::int64_t unit = profile_.alignment;
    return output - (least ? AlignUp(*least, unit) : output / unit * unit);
  }

  // A piece counts for those alone who come after all users of the whole, for certain.
  void BeginAfter(const Op& op, std::int32_t piece) {
    const TensorId whole = op.inputs[Is(op, OpKind::kSplit) ? 1 : 0];
    const BoundModel::Value& of = model_.values[whole.index()];
    const bool kept = std::find(subgraph_.outputs.begin(), subgraph_.outputs.end(), whole) !=
                      subgraph_.outputs.end();
    BoundModel::Value& value = model_.values[static_cast<std::size_t>(piece)];
    std::vector<std::int32_t> users;
    for (const std::int32_t user : value.users) {
      const std::vector<char> earlier = Before(user);
      const bool after = !kept && !of.users.empty() &&
                         std::all_of(of.users.begin(), of.users.end(), [&](std::int32_t other) {
                           return other != user && earlier[static_cast<std::size_t>(other)] != 0;
                         });
      if (after) {
        users.push_back(user);
      } else {
        std::erase(model_.values_of[static_cast<std::size_t>(user)], piece);
      }
    }
    value.users = std::move(users);
    if (value.users.empty()) value.at_end = false;
  }

  // Of the tensors that an operator contains in its output, only those that certainly come before
  // it count.
  void EndAt(std::int32_t op, std::int32_t tensor) {
    const std::vector<char> earlier = Before(op);
    BoundModel::Value& value = model_.values[static_cast<std::size_t>(tensor)];
    value.at_end = false;
    std::erase_if(value.users, [&](std::int32_t user) {
      if (earlier[static_cast<std::size_t>(user)] != 0) return false;
      std::erase(model_.values_of[static_cast<std::size_t>(user)], tensor);
      return true;
    });
  }

  // The operators before an operator in every order, and itself.
  std::vector<char> Before(std::int32_t op) const {
    std::vector<char> earlier(model_.runs.size(), 0);
    std::vector<std::int32_t> open = {op};
    earlier[static_cast<std::size_t>(op)] = 1;
    while (!open.empty()) {
      const auto at = static_cast<std::size_t>(open.back());
      open.pop_back();
      for (const std::int32_t before : model_.predecessors[at]) {
        char& seen = earlier[static_cast<std::size_t>(before)];
        if (seen == 0) open.push_back(before);
        seen = 1;
      }
    }
    return earlier;
  }

  const Subgraph& subgraph_;
  const plan::Profile& profile_;
  ops::KernelLibrary kernels_;
  BoundModel& model_;
};

}  // namespace

void GrantOverlaps(const Subgraph& subgraph, const plan::Profile& profile,
                   ops::KernelLibrary kernels, BoundModel* model) {
  Granter(subgraph, profile, kernels, model).Run();
}

}  // namespace neap::check
