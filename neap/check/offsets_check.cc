// SPDX-License-Identifier: Apache-2.0
#include "neap/check/offsets_check.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/ops/traits.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

constexpr std::int64_t kAlignment = 16;
constexpr std::size_t kMaxLines = 20;
constexpr std::int32_t kMaxSlots = 2'000'000;
constexpr std::int64_t kMaxComparisons = 2'000'000'000;
constexpr std::int32_t kNever = -1;

// Slots in which a tensor is needed, both ends included.
struct Span {
  std::int32_t first = kNever;
  std::int32_t last = kNever;

  void Touch(std::int32_t slot) {
    if (first == kNever) first = slot;
    first = std::min(first, slot);
    last = std::max(last, slot);
  }
};

struct Running {
  SubgraphId subgraph;
  OpId op;
};

// Runs subgraph 0 with all that it calls, an operator in each slot, and notes when each tensor is
// needed.
class Run {
 public:
  explicit Run(const graph::Graph& graph) : graph_(graph) {
    for (const Subgraph& subgraph : graph.subgraphs) {
      spans_.push_back(IdVector<TensorId, Span>(subgraph.tensors.size()));
    }
    producers_.resize(graph.subgraphs.size());
  }

  // False: the calls unfold into too many slots.
  bool Walk() {
    Enter(SubgraphId(0));
    while (!stack_.empty()) {
      if (slots_.size() >= static_cast<std::size_t>(kMaxSlots)) return false;
      const std::size_t at = stack_.size() - 1;
      const Subgraph& subgraph = graph_.subgraphs[stack_[at].subgraph];
      if (stack_[at].op.valid()) {
        const Op& op = subgraph.ops[stack_[at].op];
        if (stack_[at].body < op.bodies.size()) {
          Enter(op.bodies[stack_[at].body++]);
          continue;
        }
        Touch(stack_[at].subgraph, op.inputs, Now() - 1);
        Touch(stack_[at].subgraph, op.outputs, Now() - 1);
        stack_[at].op = OpId();
      }
      if (stack_[at].next == subgraph.ops.size()) {
        Leave(stack_[at]);
        stack_.pop_back();
      } else {
        Start(&stack_[at], OpId(stack_[at].next));
      }
    }
    return true;
  }

  const Span& SpanOf(SubgraphId subgraph, TensorId tensor) const {
    return spans_[subgraph][tensor];
  }
  // The operator that runs in a slot; none at the start of a body.
  const Running& At(std::int32_t slot) const { return slots_[static_cast<std::size_t>(slot)]; }
  std::int32_t Now() const { return static_cast<std::int32_t>(slots_.size()); }

 private:
  struct Frame {
    SubgraphId subgraph;
    std::int32_t begin = 0;
    std::size_t next = 0;  // operator
    OpId op;               // the current one, whose bodies are being run
    std::size_t body = 0;
  };

  void Touch(SubgraphId subgraph, const std::vector<TensorId>& tensors, std::int32_t slot) {
    for (const TensorId tensor : tensors) {
      if (tensor.valid()) spans_[subgraph][tensor].Touch(slot);
    }
  }

  // A call takes a slot of its own, in which its inputs arrive.
  void Enter(SubgraphId subgraph) {
    stack_.push_back({subgraph, Now(), 0, OpId(), 0});
    slots_.push_back({subgraph, OpId()});
    if (producers_[subgraph].empty())
      producers_[subgraph] = graph::Producers(graph_.subgraphs[subgraph]);
  }

  void Start(Frame* frame, OpId id) {
    const Op& op = graph_.subgraphs[frame->subgraph].ops[id];
    Touch(frame->subgraph, op.inputs, Now());
    Touch(frame->subgraph, op.outputs, Now());
    // A tensor without a producer must be live from the start.
    for (const TensorId tensor : op.inputs) {
      if (!tensor.valid() || producers_[frame->subgraph][tensor].valid()) continue;
      spans_[frame->subgraph][tensor].Touch(frame->begin);
    }
    frame->op = id;
    frame->body = 0;
    ++frame->next;
    slots_.push_back({frame->subgraph, id});
  }

  void Leave(const Frame& frame) {
    const std::vector<TensorId>& outputs = graph_.subgraphs[frame.subgraph].outputs;
    for (const TensorId tensor : outputs) {
      if (!producers_[frame.subgraph][tensor].valid()) {
        spans_[frame.subgraph][tensor].Touch(frame.begin);
      }
    }
    Touch(frame.subgraph, outputs, Now() - 1);
  }

  const graph::Graph& graph_;
  IdVector<SubgraphId, IdVector<TensorId, Span>> spans_;
  IdVector<SubgraphId, IdVector<TensorId, OpId>> producers_;
  std::vector<Running> slots_;
  std::vector<Frame> stack_;
};

struct OffsetBlock {
  SubgraphId subgraph;
  TensorId tensor;
  Span span;
  std::int64_t offset = 0;
  std::int64_t end = 0;
};

class OffsetsChecker {
 public:
  OffsetsChecker(const graph::Graph& graph, const graph::TensorOffsets& offsets)
      : graph_(graph), offsets_(offsets), run_(graph) {}

  OffsetsVerdict Check() {
    const bool walked = run_.Walk();
    for (const SubgraphId s : graph_.subgraphs.Ids()) {
      for (const TensorId t : graph_.subgraphs[s].tensors.Ids()) AddTensor(s, t);
    }
    if (walked) {
      CheckVariables();
      CheckApart();
    } else {
      Problem("the control flow unfolds into too many steps to be checked");
    }
    return std::move(verdict_);
  }

 private:
  void Problem(std::string line) {
    if (verdict_.problems.size() < kMaxLines) verdict_.problems.push_back(std::move(line));
  }
  std::string NameOf(SubgraphId s, TensorId t) const {
    const std::string name = "tensor " + graph::Describe(t, graph_.subgraphs[s].tensors[t]);
    return s.value() == 0 ? name : name + " of subgraph " + std::to_string(s.value());
  }
  std::string NameOf(const OffsetBlock& block) const {
    return NameOf(block.subgraph, block.tensor) + " [" + std::to_string(block.offset) + ", " +
           std::to_string(block.end) + ")";
  }

  void AddTensor(SubgraphId s, TensorId t) {
    const graph::Tensor& tensor = graph_.subgraphs[s].tensors[t];
    const std::int32_t offset = offsets_[s][t];
    if (tensor.constant) return;
    const auto bytes = graph::TensorBytes(tensor);
    if (!bytes || *bytes == 0) return;
    if (offset == graph::kNoOffset) {
      if (!tensor.variable) ++verdict_.online;
      return;
    }
    if (offset < 0 || offset % kAlignment != 0) {
      Problem(NameOf(s, t) + " has offset " + std::to_string(offset) +
              ", expected a multiple of 16 or -1");
      if (offset < 0) return;
    }
    ++verdict_.placed;
    OffsetBlock block{s, t, run_.SpanOf(s, t), offset, offset + AlignUp(*bytes, kAlignment)};
    verdict_.arena_bytes = std::max(verdict_.arena_bytes, block.end);
    block.end = offset + *bytes;
    if (tensor.variable) block.span = {0, run_.Now()};
    if (block.span.first != kNever) blocks_.push_back(block);
  }

  // TFLM looks up a variable by its index in its own subgraph as if it were one among all tensors,
  // and gives it no memory when it finds an offset there.
  void CheckVariables() {
    std::vector<std::int32_t> flat;
    for (const auto& of_subgraph : offsets_) {
      flat.insert(flat.end(), of_subgraph.begin(), of_subgraph.end());
    }
    for (const SubgraphId s : graph_.subgraphs.Ids()) {
      for (const TensorId t : graph_.subgraphs[s].tensors.Ids()) {
        const bool variable = graph_.subgraphs[s].tensors[t].variable;
        if (!variable || offsets_[s][t] != graph::kNoOffset) continue;
        if (flat[t.index()] == graph::kNoOffset) continue;
        Problem(NameOf(s, t) + " is a variable without memory: TFLM reads entry " +
                std::to_string(t.value()) + " of the plan for it");
      }
    }
  }

  void CheckApart() {
    std::sort(blocks_.begin(), blocks_.end(), [](const OffsetBlock& a, const OffsetBlock& b) {
      return std::pair(a.span.first, a.offset) < std::pair(b.span.first, b.offset);
    });
    std::set<std::pair<std::int64_t, std::size_t>> live;       // (offset, block)
    std::set<std::pair<std::int32_t, std::size_t>> by_ending;  // (last slot, block)
    std::int64_t comparisons = 0;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const OffsetBlock& block = blocks_[i];
      while (!by_ending.empty() && by_ending.begin()->first < block.span.first) {
        const std::size_t gone = by_ending.begin()->second;
        live.erase({blocks_[gone].offset, gone});
        by_ending.erase(by_ending.begin());
      }
      for (const auto& [offset, other] : live) {
        if (offset >= block.end) break;
        if (++comparisons > kMaxComparisons) {
          return Problem("too many tensors are live at once to compare them all");
        }
        if (blocks_[other].end > block.offset) Meet(blocks_[other], block);
      }
      live.emplace(block.offset, i);
      by_ending.emplace(block.span.last, i);
    }
  }

  // Two tensors that share bytes while both are needed.
  void Meet(const OffsetBlock& a, const OffsetBlock& b) {
    const std::int32_t slot = std::max(a.span.first, b.span.first);
    const Running& running = run_.At(std::min(slot, run_.Now() - 1));
    const bool one_slot = slot == std::min(a.span.last, b.span.last);
    if (one_slot && running.op.valid() && a.subgraph == running.subgraph &&
        b.subgraph == running.subgraph) {
      const Op& op = graph_.subgraphs[running.subgraph].ops[running.op];
      const bool forth = Handles(op, a, b);
      if (forth || Handles(op, b, a)) {
        const bool renames = ops::IsReshapeLike(op) && a.offset == b.offset && a.end == b.end;
        if (renames || verdict_.inside_operators.size() >= kMaxLines) return;
        verdict_.inside_operators.push_back("operator " + graph::Describe(running.op, op) +
                                            " overwrites its input " + NameOf(forth ? a : b) +
                                            " with " + NameOf(forth ? b : a));
        return;
      }
    }
    Problem(NameOf(a) + " and " + NameOf(b) + " share bytes and are both needed in step " +
            std::to_string(slot));
  }

  static bool Handles(const Op& op, const OffsetBlock& input, const OffsetBlock& output) {
    return std::find(op.inputs.begin(), op.inputs.end(), input.tensor) != op.inputs.end() &&
           std::find(op.outputs.begin(), op.outputs.end(), output.tensor) != op.outputs.end();
  }

  const graph::Graph& graph_;
  const graph::TensorOffsets& offsets_;
  Run run_;
  std::vector<OffsetBlock> blocks_;
  OffsetsVerdict verdict_;
};

}  // namespace

OffsetsVerdict CheckOffsets(const graph::Graph& graph, const graph::TensorOffsets& offsets) {
  return OffsetsChecker(graph, offsets).Check();
}

}  // namespace neap::check
