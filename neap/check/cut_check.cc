// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "neap/check/bound_check.h"
#include "neap/check/bound_model.h"

namespace neap::check {
namespace {

std::vector<char> Reach(const std::vector<std::vector<std::int32_t>>& links, std::int32_t from) {
  std::vector<char> met(links.size(), 0);
  std::vector<std::int32_t> open = {from};
  while (!open.empty()) {
    const std::int32_t op = open.back();
    open.pop_back();
    for (const std::int32_t next : links[static_cast<std::size_t>(op)]) {
      if (met[static_cast<std::size_t>(next)] != 0) continue;
      met[static_cast<std::size_t>(next)] = 1;
      open.push_back(next);
    }
  }
  return met;
}

// The certain state of every tensor while `op` runs, in every order.
class Moment {
 public:
  Moment(const BoundModel& model, std::int32_t op)
      : model_(model),
        op_(op),
        before_(Reach(model.predecessors, op)),
        after_(Reach(model.successors, op)),
        certain_(model.values.size(), 0),
        stuck_(model.values.size(), 0),
        room_(model.values.size(), 0) {
    live_ = model.scratch[static_cast<std::size_t>(op)];
    for (std::size_t t = 0; t < model.values.size(); ++t) Judge(t);
    const auto [input, output] = model.in_place[static_cast<std::size_t>(op)];
    if (input < 0) return;
    // In place: the output is free of charge unless another reader of the input is still waiting.
    const auto x = static_cast<std::size_t>(input);
    const std::int64_t bytes = model.values[static_cast<std::size_t>(output)].bytes;
    if (stuck_[x] != 0) return;
    live_ -= bytes;
    certain_[x] = 1;
    room_[x] = bytes;
  }

  std::int64_t live() const { return live_; }

  // Takes a path of the flow; nullopt when it is right.
  std::optional<std::string> Take(const plan::CertificatePath& path) {
    if (path.bytes <= 0) return "a path carries no bytes";
    if (path.tensors.empty() || path.through.size() + 1 != path.tensors.size()) {
      return "a path has " + std::to_string(path.tensors.size()) + " tensors and " +
             std::to_string(path.through.size()) + " links";
    }
    for (const graph::TensorId tensor : path.tensors) {
      if (!tensor.valid() || tensor.index() >= room_.size()) return "a path names no tensor";
      room_[tensor.index()] -= path.bytes;
      if (room_[tensor.index()] < 0) {
        return "more than its bytes flow through tensor #" + std::to_string(tensor.value());
      }
    }
    if (certain_[path.tensors.front().index()] == 0) {
      return "tensor #" + std::to_string(path.tensors.front().value()) +
             " need not have been written by then";
    }
    if (stuck_[path.tensors.back().index()] == 0) {
      return "tensor #" + std::to_string(path.tensors.back().value()) + " may be freed by then";
    }
    for (std::size_t k = 0; k < path.through.size(); ++k) {
      if (!Links(path.tensors[k], path.through[k], path.tensors[k + 1])) {
        return "tensors #" + std::to_string(path.tensors[k].value()) + " and #" +
               std::to_string(path.tensors[k + 1].value()) + " are not linked";
      }
    }
    live_ += path.bytes;
    return std::nullopt;
  }

 private:
  bool UsedBy(std::size_t t, const std::vector<char>& set) const {
    return std::any_of(model_.values[t].users.begin(), model_.values[t].users.end(),
                       [&](std::int32_t user) { return set[static_cast<std::size_t>(user)] != 0; });
  }
  bool Uses(std::int32_t op, std::size_t t) const {
    const auto& users = model_.values[t].users;
    return std::binary_search(users.begin(), users.end(), op);
  }

  void Judge(std::size_t t) {
    const BoundModel::Value& value = model_.values[t];
    if (value.users.empty() && !(value.at_start && value.at_end)) return;
    certain_[t] = value.at_start || UsedBy(t, before_) ? 1 : 0;
    stuck_[t] = value.at_end || UsedBy(t, after_) ? 1 : 0;
    if (Uses(op_, t) || (certain_[t] != 0 && stuck_[t] != 0)) {
      live_ += value.bytes;
    } else {
      room_[t] = value.bytes;
    }
  }

  // If `from` were finished, `to` would have been touched.
  bool Links(graph::TensorId from, const std::vector<graph::OpId>& ops, graph::TensorId to) const {
    if (ops.empty()) return false;
    for (const graph::OpId op : ops) {
      if (!op.valid() || op.value() >= model_.num_ops || !model_.Runs(op.value())) return false;
    }
    for (std::size_t i = 0; i + 1 < ops.size(); ++i) {
      if (!model_.IsDirect(ops[i + 1].value(), ops[i].value())) return false;
    }
    return ops.front().value() != op_ && Uses(ops.front().value(), from.index()) &&
           Uses(ops.back().value(), to.index());
  }

  const BoundModel& model_;
  std::int32_t op_;
  std::vector<char> before_;
  std::vector<char> after_;
  std::vector<char> certain_;       // touched before `op` in every order
  std::vector<char> stuck_;         // never finished before `op`
  std::vector<std::int64_t> room_;  // bytes that may still flow through a tensor
  std::int64_t live_ = 0;
};

}  // namespace

std::optional<std::string> RefuteCut(const graph::Subgraph& subgraph, const plan::Profile& profile,
                                     const plan::Certificate& certificate,
                                     std::int64_t bound_bytes) {
  const BoundModel model(subgraph, profile);
  const graph::OpId op = certificate.op;
  if (!op.valid() || op.value() >= model.num_ops || !model.Runs(op.value())) {
    return "the certificate names no operator that runs in this subgraph";
  }
  Moment moment(model, op.value());
  for (const plan::CertificatePath& path : certificate.flow) {
    if (auto wrong = moment.Take(path)) return wrong;
  }
  if (moment.live() >= bound_bytes) return std::nullopt;
  return "the cut proves " + std::to_string(moment.live()) + " bytes, expected " +
         std::to_string(bound_bytes);
}

}  // namespace neap::check
