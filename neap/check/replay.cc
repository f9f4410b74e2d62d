// SPDX-License-Identifier: Apache-2.0
#include "neap/check/replay.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "neap/base/bytes.h"
#include "neap/base/check.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

std::string At(std::size_t slot) { return "slot " + std::to_string(slot) + ": "; }

std::string Name(const plan::Step& step) {
  const std::string subgraph = "subgraph " + std::to_string(step.subgraph.value());
  if (step.moved.valid()) {
    return "a move of tensor " + std::to_string(step.moved.value()) + " of " + subgraph;
  }
  if (!step.op.valid()) return "no operator of " + subgraph;
  return "operator " + std::to_string(step.op.value()) + " of " + subgraph;
}

// The ids of tensors that some operator with a slot reads, and the end of the slots of the last one
// of them; -1: none.
IdVector<TensorId, std::int32_t> LastUses(const Subgraph& subgraph, const SubgraphReplay& replay) {
  IdVector<TensorId, std::int32_t> last(subgraph.tensors.size(), -1);
  for (const OpId id : subgraph.ops.Ids()) {
    const Op& op = subgraph.ops[id];
    if (op.folded) continue;
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (const TensorId tensor : *list) {
        if (tensor.valid()) last[tensor] = std::max(last[tensor], replay.ops[id].last);
      }
    }
  }
  return last;
}

}  // namespace

void Findings::Add(const graph::Graph& graph, SubgraphId subgraph, OpId op, TensorId tensor,
                   std::string message) {
  if (Full()) return;
  Diagnostic line = BadInput(std::move(message));
  line.file = "subgraph " + std::to_string(subgraph.value());
  if (graph.subgraphs.Has(subgraph)) {
    const Subgraph& where = graph.subgraphs[subgraph];
    if (where.ops.Has(op)) line.op = graph::Describe(op, where.ops[op]);
    if (where.tensors.Has(tensor)) line.tensor = graph::Describe(tensor, where.tensors[tensor]);
  }
  if (line.op.empty() && op.valid()) line.op = "#" + std::to_string(op.value());
  if (line.tensor.empty() && tensor.valid()) line.tensor = "#" + std::to_string(tensor.value());
  lines_.push_back(line.ToString());
}

void Findings::Add(SubgraphId subgraph, std::string message) {
  Add(graph::Graph(), subgraph, OpId(), TensorId(), std::move(message));
}

const Lifetime* SubgraphReplay::Find(TensorId tensor) const {
  const auto at = std::lower_bound(
      lifetimes.begin(), lifetimes.end(), tensor,
      [](const Lifetime& lifetime, TensorId wanted) { return lifetime.tensor < wanted; });
  return at != lifetimes.end() && at->tensor == tensor ? &*at : nullptr;
}

// A call that is being read.
struct Replayer::Frame {
  SubgraphId subgraph;
  std::size_t begin = 0;
  std::size_t ops_left = 0;
  OpId current;  // its bodies are being read
  std::size_t next_body = 0;
  SubgraphReplay replay;

  std::int32_t Relative(std::size_t slot) const { return static_cast<std::int32_t>(slot - begin); }
};

Replayer::Replayer(const graph::Graph& graph, const plan::Profile& profile, Findings* findings)
    : graph_(graph),
      profile_(profile),
      findings_(*findings),
      due_ops_(graph.subgraphs.size()),
      replays_(graph.subgraphs.size()) {
  for (const SubgraphId id : graph.subgraphs.Ids()) {
    const auto& ops = graph.subgraphs[id].ops;
    due_ops_[id] = static_cast<std::size_t>(
        std::count_if(ops.begin(), ops.end(), [](const Op& op) { return !op.folded; }));
  }
}

const SubgraphReplay& Replayer::ReplayOf(SubgraphId subgraph) const {
  NEAP_CHECK(replays_[subgraph].has_value(), "the subgraph has been replayed");
  return *replays_[subgraph];
}

std::optional<EntryReplay> Replayer::Replay(const plan::EntryPlan& entry) {
  if (entry.steps.size() >= std::numeric_limits<std::int32_t>::max()) {
    findings_.Add(entry.subgraph, "has more steps than there are slot numbers");
    return std::nullopt;
  }
  if (!ReadSteps(entry)) return std::nullopt;
  return ExpandCalls(entry);
}

// Walks the calls with a stack of its own: how deep bodies nest is up to the file. Every call takes
// at least one slot, so that the steps bound the work.
bool Replayer::ReadSteps(const plan::EntryPlan& entry) {
  const auto open = [&](SubgraphId subgraph, std::size_t begin) {
    Frame frame{subgraph, begin, due_ops_[subgraph], OpId(), 0, SubgraphReplay()};
    frame.replay.ops = IdVector<OpId, SlotRange>(graph_.subgraphs[subgraph].ops.size(), {-1, -1});
    return frame;
  };
  std::size_t slot = 0;
  std::vector<Frame> stack;
  if (replays_[entry.subgraph]) {
    if (!RepeatSteps(entry, entry.subgraph, slot)) return false;
    slot += static_cast<std::size_t>(replays_[entry.subgraph]->length);
  } else if (due_ops_[entry.subgraph] == 0) {
    if (!ReadEmpty(entry, entry.subgraph, slot)) return false;
    ++slot;
  } else {
    stack.push_back(open(entry.subgraph, 0));
  }
  while (!stack.empty()) {
    Frame& top = stack.back();
    const Op* current =
        top.current.valid() ? &graph_.subgraphs[top.subgraph].ops[top.current] : nullptr;
    if (current != nullptr && top.next_body < current->bodies.size()) {
      const SubgraphId body = current->bodies[top.next_body];
      if (due_ops_[body] > 0 && !replays_[body]) {
        ++top.next_body;
        top.replay.calls.push_back({body, top.Relative(slot)});
        stack.push_back(open(body, slot));  // `top` is gone from here on
      } else if (!OpenBody(entry, stack, slot)) {
        return false;
      }
    } else if (current != nullptr) {
      top.replay.ops[top.current].last = top.Relative(slot);
      top.current = OpId();
    } else if (top.ops_left == 0) {
      top.replay.length = top.Relative(slot);
      top.replay.steps = std::span(entry.steps).subspan(top.begin, slot - top.begin);
      Frame done = std::move(top);
      stack.pop_back();
      Finish(done.subgraph, std::move(done.replay));
    } else if (RunStep(entry, top, slot)) {
      ++slot;
    } else {
      return false;
    }
  }
  if (slot == entry.steps.size()) return true;
  findings_.Add(entry.subgraph, At(slot) + "found " + Name(entry.steps[slot]) +
                                    ", expected the end: every operator has run");
  return false;
}

// The slot of a subgraph without operators.
bool Replayer::ReadEmpty(const plan::EntryPlan& entry, SubgraphId subgraph, std::size_t slot) {
  const plan::Step expected{subgraph, OpId()};
  if (slot >= entry.steps.size() || entry.steps[slot].subgraph != subgraph ||
      entry.steps[slot].op.valid() || entry.steps[slot].moved.valid()) {
    findings_.Add(entry.subgraph, At(slot) + "found " +
                                      (slot < entry.steps.size() ? Name(entry.steps[slot])
                                                                 : std::string("the end")) +
                                      ", expected " + Name(expected) + ", which is empty");
    return false;
  }
  SubgraphReplay replay;
  replay.ops = IdVector<OpId, SlotRange>(graph_.subgraphs[subgraph].ops.size(), {-1, -1});
  replay.length = 1;
  replay.steps = std::span(entry.steps).subspan(slot, 1);
  Finish(subgraph, std::move(replay));
  return true;
}

// The next body of the current operator, one that is empty or whose order is known already.
bool Replayer::OpenBody(const plan::EntryPlan& entry, std::vector<Frame>& stack,
                        std::size_t& slot) {
  Frame& top = stack.back();
  const SubgraphId body = graph_.subgraphs[top.subgraph].ops[top.current].bodies[top.next_body++];
  top.replay.calls.push_back({body, top.Relative(slot)});
  if (replays_[body]) {
    if (!RepeatSteps(entry, body, slot)) return false;
    slot += static_cast<std::size_t>(replays_[body]->length);
    return true;
  }
  if (!ReadEmpty(entry, body, slot)) return false;
  ++slot;
  return true;
}

bool Replayer::RunStep(const plan::EntryPlan& entry, Frame& frame, std::size_t slot) {
  const Subgraph& subgraph = graph_.subgraphs[frame.subgraph];
  if (slot == entry.steps.size()) {
    for (const OpId id : subgraph.ops.Ids()) {
      if (subgraph.ops[id].folded || frame.replay.ops[id].first >= 0) continue;
      findings_.Add(graph_, frame.subgraph, id, TensorId(),
                    At(slot) + "found the end of the steps, expected this operator and " +
                        std::to_string(frame.ops_left - 1) + " more");
      break;
    }
    return false;
  }
  const plan::Step& step = entry.steps[slot];
  const auto refuse = [&](const std::string& why) {
    findings_.Add(entry.subgraph, At(slot) + "found " + Name(step) + ", " + why);
    return false;
  };
  if (step.moved.valid()) {
    if (step.op.valid() || step.subgraph != entry.subgraph || frame.subgraph != entry.subgraph) {
      return refuse("expected moves between operators of the entry subgraph only");
    }
    // Which tensor it is, and whether it lives, is seen with the addresses.
    return true;
  }
  if (step.subgraph != frame.subgraph) {
    return refuse("expected an operator of subgraph " + std::to_string(frame.subgraph.value()));
  }
  if (!subgraph.ops.Has(step.op)) {
    return refuse("expected one of its " + std::to_string(subgraph.ops.size()) + " operators");
  }
  if (subgraph.ops[step.op].folded) {
    return refuse("which is folded into constants: expected no step of it");
  }
  SlotRange& range = frame.replay.ops[step.op];
  if (range.first >= 0) {
    return refuse("which has run in slot " +
                  std::to_string(frame.begin + static_cast<std::size_t>(range.first)) +
                  ": expected one that has not");
  }
  range.first = frame.Relative(slot);
  range.last = range.first + 1;
  --frame.ops_left;
  frame.current = step.op;
  frame.next_body = 0;
  return true;
}

bool Replayer::RepeatSteps(const plan::EntryPlan& entry, SubgraphId body, std::size_t slot) {
  for (const plan::Step& expected : replays_[body]->steps) {
    if (slot >= entry.steps.size()) {
      findings_.Add(entry.subgraph,
                    At(slot) + "found the end of the steps, expected " + Name(expected));
      return false;
    }
    const plan::Step& found = entry.steps[slot];
    if (found.subgraph != expected.subgraph || found.op != expected.op ||
        found.moved != expected.moved) {
      findings_.Add(entry.subgraph, At(slot) + "found " + Name(found) + ", expected " +
                                        Name(expected) + " as in the first call of subgraph " +
                                        std::to_string(body.value()));
      return false;
    }
    ++slot;
  }
  return true;
}

void Replayer::Finish(SubgraphId subgraph, SubgraphReplay replay) {
  CheckOrder(subgraph, replay);
  ComputeLifetimes(subgraph, replay);
  CountBytes(subgraph, replay);
  replays_[subgraph] = std::move(replay);
}

std::vector<std::pair<OpId, OpId>> Dependencies(const Subgraph& subgraph) {
  const auto producer = graph::Producers(subgraph);
  std::vector<std::pair<OpId, OpId>> pairs;
  for (const OpId id : subgraph.ops.Ids()) {
    for (const auto* list : {&subgraph.ops[id].inputs, &subgraph.ops[id].captures}) {
      for (const TensorId tensor : *list) {
        if (tensor.valid() && producer[tensor].valid()) pairs.emplace_back(producer[tensor], id);
      }
    }
  }
  for (const graph::ControlEdge& edge : subgraph.control_edges) {
    pairs.emplace_back(edge.before, edge.after);
  }
  return pairs;
}

void Replayer::CheckOrder(SubgraphId id, SubgraphReplay& replay) {
  const Subgraph& subgraph = graph_.subgraphs[id];
  const auto refuse = [&](OpId late, OpId early) {
    const bool state = subgraph.ops[late].stateful && subgraph.ops[early].stateful;
    replay.sound = false;
    findings_.Add(graph_, id, late, TensorId(),
                  "runs in slot " + std::to_string(replay.ops[late].first) +
                      " of its subgraph, expected after " +
                      graph::Describe(early, subgraph.ops[early]) + ", which " +
                      (state ? "it needs or which shares a state with it" : "it needs") +
                      " and ends in slot " + std::to_string(replay.ops[early].last - 1));
  };
  IdVector<OpId, std::vector<OpId>> successors(subgraph.ops.size());
  IdVector<OpId, std::int32_t> missing(subgraph.ops.size());
  for (const auto& [before, after] : Dependencies(subgraph)) {
    successors[before].push_back(after);
    ++missing[after];
  }
  // latest[v]: of the operators with a slot that v waits for, directly or through folded ones, the
  // one that ends last.
  IdVector<OpId, OpId> latest(subgraph.ops.size());
  std::vector<OpId> ready;
  for (const OpId op : subgraph.ops.Ids()) {
    if (missing[op] == 0) ready.push_back(op);
  }
  while (!ready.empty()) {
    const OpId op = ready.back();
    ready.pop_back();
    const bool folded = subgraph.ops[op].folded;
    if (!folded && latest[op].valid() && replay.ops[latest[op]].last > replay.ops[op].first) {
      refuse(op, latest[op]);
    }
    const OpId ends = folded ? latest[op] : op;
    for (const OpId next : successors[op]) {
      if (ends.valid() &&
          (!latest[next].valid() || replay.ops[latest[next]].last < replay.ops[ends].last)) {
        latest[next] = ends;
      }
      if (--missing[next] == 0) ready.push_back(next);
    }
  }
}

void Replayer::ComputeLifetimes(SubgraphId id, SubgraphReplay& replay) {
  const Subgraph& subgraph = graph_.subgraphs[id];
  const auto producer = graph::Producers(subgraph);
  const auto last_use = LastUses(subgraph, replay);
  IdVector<TensorId, char> is_input(subgraph.tensors.size(), 0);
  IdVector<TensorId, char> is_output(subgraph.tensors.size(), 0);
  for (const TensorId tensor : subgraph.inputs) is_input[tensor] = 1;
  for (const TensorId tensor : subgraph.outputs) is_output[tensor] = 1;
  for (const TensorId tensor : subgraph.tensors.Ids()) {
    const graph::Tensor& what = subgraph.tensors[tensor];
    const OpId from = producer[tensor];
    if (what.constant || what.variable || (from.valid() && subgraph.ops[from].folded)) continue;
    const bool needed = last_use[tensor] >= 0 || is_output[tensor] != 0;
    if (!from.valid() && !needed && is_input[tensor] == 0) continue;
    const auto bytes = graph::TensorBytes(what);
    if (!bytes) {
      replay.sound = false;
      findings_.Add(graph_, id, from, tensor, bytes.error().message);
      continue;
    }
    Lifetime lifetime;
    lifetime.tensor = tensor;
    lifetime.bytes = *bytes;
    lifetime.range.last = std::max(last_use[tensor], 0);
    if (from.valid()) {
      lifetime.range.first = replay.ops[from].first;
      lifetime.range.last = std::max(lifetime.range.last, replay.ops[from].last);
    } else if (!needed) {
      lifetime.range.last = std::min(replay.length, 1);
    }
    lifetime.kept = is_output[tensor] != 0;
    if (lifetime.kept) lifetime.range.last = replay.length;
    if (from.valid() || needed) lifetime.live_bytes = AlignUp(*bytes, profile_.alignment);
    replay.lifetimes.push_back(lifetime);
  }
}

void Replayer::CountBytes(SubgraphId id, SubgraphReplay& replay) {
  const auto count = [&](SlotRange range, std::int64_t bytes) {
    const auto total = CheckedAdd(replay.total_bytes, bytes);
    if (!total || *total > kMaxBytes) {
      if (replay.sound) findings_.Add(id, "the sum of its sizes does not fit in 62 bits");
      replay.sound = false;
      return;
    }
    replay.total_bytes = *total;
    replay.changes[range.first] += bytes;
    replay.changes[range.last] -= bytes;
  };
  for (const Lifetime& lifetime : replay.lifetimes) count(lifetime.range, lifetime.live_bytes);
  const auto& ops = graph_.subgraphs[id].ops;
  for (const OpId op : ops.Ids()) {
    if (ops[op].folded || ops[op].scratch_bytes == 0) continue;
    count(replay.ops[op], AlignUp(ops[op].scratch_bytes, profile_.alignment));
  }
}

std::optional<EntryReplay> Replayer::ExpandCalls(const plan::EntryPlan& entry) {
  EntryReplay result;
  std::vector<std::int64_t> change(entry.steps.size() + 1, 0);
  std::int64_t total = 0;
  std::vector<SubgraphReplay::Call> open = {{entry.subgraph, 0}};
  while (!open.empty()) {
    const SubgraphReplay::Call call = open.back();
    open.pop_back();
    const SubgraphReplay& replay = ReplayOf(call.body);
    if (!replay.sound) return std::nullopt;  // already reported
    total = CheckedAdd(total, replay.total_bytes).value_or(kMaxBytes + 1);
    if (total > kMaxBytes) {
      findings_.Add(entry.subgraph, "the sum of the sizes of all calls does not fit in 62 bits");
      return std::nullopt;
    }
    for (const auto& [slot, bytes] : replay.changes) {
      change[static_cast<std::size_t>(call.begin) + static_cast<std::size_t>(slot)] += bytes;
    }
    for (const SubgraphReplay::Call& inner : replay.calls) {
      open.push_back({inner.body, call.begin + inner.begin});
    }
    CallSpan& span = result.calls[call.body];
    span.first_begin = span.count == 0 ? call.begin : std::min(span.first_begin, call.begin);
    span.last_begin = std::max(span.last_begin, call.begin);
    ++span.count;
  }
  std::int64_t live = 0;
  for (std::size_t slot = 0; slot < entry.steps.size(); ++slot) {
    live += change[slot];
    result.live_bytes.push_back(live);
  }
  return result;
}

}  // namespace neap::check
