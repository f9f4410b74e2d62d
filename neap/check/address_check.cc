// SPDX-License-Identifier: Apache-2.0
#include "neap/check/address_check.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/check/kernel_simulation.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

using TensorKey = std::pair<SubgraphId, TensorId>;

std::string Text(SlotRange range) {
  return "[" + std::to_string(range.first) + ", " + std::to_string(range.last) + ")";
}

// Bytes that stay at one address for a while.
struct Block {
  SubgraphId subgraph;
  OpId op;          // of scratch
  TensorId tensor;  // of a tensor
  SlotRange range;
  SlotRange in_call = {};  // of a tensor that does not move: when it lives in each call
  std::size_t memory = 0;
  std::int64_t offset = 0;
  std::int64_t end = 0;
};

class AddressChecker {
 public:
  AddressChecker(const EntryContext& context, const std::vector<plan::Overlap>& allowed)
      : c_(context), allowed_(allowed), tops_(std::max<std::size_t>(c_.memories.size(), 1), 0) {}

  void Run() {
    FindMoves();
    for (const plan::TensorPlacement& placement : c_.entry.tensors) {
      if (moves_.contains({placement.subgraph, placement.tensor})) {
        stretches_[{placement.subgraph, placement.tensor}].push_back(&placement);
      } else {
        AddTensor(placement);
      }
    }
    for (const auto& [key, slots] : moves_) AddMoved(key, slots);
    CheckNoneMissing();
    CheckScratch();
    CheckInPlace();
    CheckKernelOverlaps();
    for (std::size_t memory = 0; memory < tops_.size(); ++memory) CheckApart(memory);
    CheckHeights();
  }

 private:
  void FindMoves();
  void AddTensor(const plan::TensorPlacement& placement);
  void AddMoved(const TensorKey& key, const std::vector<std::int32_t>& slots);
  void CheckNoneMissing();
  void CheckScratch();
  void CheckInPlace();
  void CheckKernelOverlaps();
  void MayShare(const Block& a, const Block& b) {
    may_share_.insert({&a, &b});
    may_share_.insert({&b, &a});
  }
  bool TakeTurns(const Block& a, const Block& b) const;
  bool AnyRunsAgain() const;
  bool KernelOverlapHolds(const plan::Overlap& overlap, const Block& input, const Block& output);
  bool DeadPartHolds(const plan::Overlap& overlap, const Block& input, const Block& output);
  void CheckApart(std::size_t memory);
  void CheckHeights();
  void CheckApartBut(const std::vector<const Block*>& blocks);
  void AddShared(std::int32_t slot, const Block& block, const Block& hit);
  bool CheckOffset(std::int64_t offset, std::int64_t bytes, std::int32_t memory, Block& block);

  const EntryContext& c_;
  const std::vector<plan::Overlap>& allowed_;
  std::map<TensorKey, Block> tensors_;                    // those with bytes and a usable place
  std::map<TensorKey, std::vector<std::int32_t>> moves_;  // slots of the moves of a tensor
  std::map<TensorKey, std::vector<const plan::TensorPlacement*>>
      stretches_;  // of a tensor that moves
  std::deque<Block> moved_;
  std::set<TensorKey> placed_;
  std::vector<Block> scratch_;
  // Pairs that may share bytes while both are live, both ways round: no other pair may. A buffer
  // that may overlap a tensor may not for that reason overlap others that share bytes with it.
  std::set<std::pair<const Block*, const Block*>> may_share_;
  std::map<const Block*, const Block*> written_over_;  // output in place -> input
  bool pairs_may_share_ = false;                       // others than those in place may
  std::vector<std::int64_t> tops_;                     // of each memory
};

// Fills in the addresses of the block; false when they are invalid.
bool AddressChecker::CheckOffset(std::int64_t offset, std::int64_t bytes, std::int32_t memory,
                                 Block& block) {
  const auto refuse = [&](const std::string& why) {
    c_.findings.Add(c_.graph, block.subgraph, block.op, block.tensor, why);
    return false;
  };
  const auto end = CheckedAdd(offset, AlignUp(bytes, c_.profile.alignment));
  if (offset < 0 || !end || *end > kMaxBytes) {
    return refuse("offset is " + std::to_string(offset) + ", which is out of range");
  }
  if (memory < 0 || static_cast<std::size_t>(memory) >= tops_.size()) {
    return refuse("memory is " + std::to_string(memory) + ", expected one of " +
                  std::to_string(tops_.size()));
  }
  block.memory = static_cast<std::size_t>(memory);
  block.offset = offset;
  block.end = *end;
  tops_[block.memory] = std::max(tops_[block.memory], *end);
  if (offset % c_.profile.alignment != 0) {
    refuse("offset is " + std::to_string(offset) + ", expected a multiple of " +
           std::to_string(c_.profile.alignment));
  }
  return true;
}

void AddressChecker::AddTensor(const plan::TensorPlacement& placement) {
  const auto refuse = [&](const std::string& why) {
    c_.findings.Add(c_.graph, placement.subgraph, OpId(), placement.tensor, why);
  };
  const auto call = c_.replay.calls.find(placement.subgraph);
  if (call == c_.replay.calls.end()) {
    return refuse("has an address, but no step runs its subgraph");
  }
  const Lifetime* lifetime = c_.replayer.ReplayOf(placement.subgraph).Find(placement.tensor);
  if (lifetime == nullptr) {
    return refuse(
        "has an address, expected none: there is no such tensor, or it is never in the arena");
  }
  const TensorKey key = {placement.subgraph, placement.tensor};
  if (!placed_.insert(key).second) return refuse("has a second address, expected one");
  if (placement.bytes != lifetime->bytes) {
    return refuse(Differs("bytes", placement.bytes, lifetime->bytes));
  }
  const SlotRange range = {call->second.first_begin + lifetime->range.first,
                           call->second.last_begin + lifetime->range.last};
  const SlotRange claimed = {placement.first, placement.last};
  if (!(claimed == range))
    refuse("is live in slots " + Text(claimed) + ", expected " + Text(range));
  Block block;
  block.subgraph = placement.subgraph;
  block.tensor = placement.tensor;
  block.range = range;
  block.in_call = lifetime->range;
  if (CheckOffset(placement.offset, placement.bytes, placement.memory, block) &&
      block.end > block.offset) {
    tensors_.emplace(key, block);
  }
}

void AddressChecker::FindMoves() {
  for (std::size_t slot = 0; slot < c_.entry.steps.size(); ++slot) {
    const plan::Step& step = c_.entry.steps[slot];
    if (!step.moved.valid()) continue;
    moves_[{step.subgraph, step.moved}].push_back(static_cast<std::int32_t>(slot));
  }
}

// One place for every stretch between two moves; in the slot of a move the tensor has both.
void AddressChecker::AddMoved(const TensorKey& key, const std::vector<std::int32_t>& slots) {
  const auto refuse = [&](const std::string& why) {
    c_.findings.Add(c_.graph, key.first, OpId(), key.second, why);
  };
  const Lifetime* lifetime = c_.replayer.ReplayOf(key.first).Find(key.second);
  if (lifetime == nullptr) return refuse("is moved, but no such tensor is in the arena");
  const std::vector<const plan::TensorPlacement*>& stretches = stretches_[key];
  if (stretches.size() != slots.size() + 1) {
    return refuse("has " + std::to_string(stretches.size()) + " addresses and " +
                  std::to_string(slots.size()) + " moves, expected one address more than moves");
  }
  if (c_.replay.calls.at(key.first).count != 1) return refuse("is moved in several calls");
  placed_.insert(key);
  std::vector<const Block*> blocks;
  for (std::size_t k = 0; k < stretches.size(); ++k) {
    const plan::TensorPlacement& placement = *stretches[k];
    const SlotRange range = {k == 0 ? lifetime->range.first : slots[k - 1],
                             k == slots.size() ? lifetime->range.last : slots[k] + 1};
    const SlotRange claimed = {placement.first, placement.last};
    if (!(claimed == range)) {
      return refuse("is live in slots " + Text(claimed) + ", expected " + Text(range));
    }
    if (k < slots.size() &&
        (slots[k] <= lifetime->range.first || slots[k] >= lifetime->range.last)) {
      return refuse("is moved in slot " + std::to_string(slots[k]) + ", where it has no value");
    }
    if (placement.bytes != lifetime->bytes) {
      return refuse(Differs("bytes", placement.bytes, lifetime->bytes));
    }
    Block block;
    block.subgraph = key.first;
    block.tensor = key.second;
    block.range = range;
    if (!CheckOffset(placement.offset, placement.bytes, placement.memory, block)) return;
    if (block.end == block.offset) return;
    moved_.push_back(block);
    // A copy over itself is a memmove; TensorFlow Lite Micro has memcpy only.
    if (k > 0 && c_.profile.runtime != plan::Runtime::kTflm) {
      MayShare(*blocks.back(), moved_.back());
      pairs_may_share_ = true;
    }
    blocks.push_back(&moved_.back());
  }
}

void AddressChecker::CheckNoneMissing() {
  for (const auto& [subgraph, calls] : c_.replay.calls) {
    for (const Lifetime& lifetime : c_.replayer.ReplayOf(subgraph).lifetimes) {
      if (c_.findings.Full()) return;
      if (lifetime.bytes == 0 || placed_.contains({subgraph, lifetime.tensor})) continue;
      const SlotRange range = {calls.first_begin + lifetime.range.first,
                               calls.last_begin + lifetime.range.last};
      c_.findings.Add(c_.graph, subgraph, OpId(), lifetime.tensor,
                      "has no address, expected one of " + std::to_string(lifetime.bytes) +
                          " bytes for slots " + Text(range));
    }
  }
}

void AddressChecker::CheckScratch() {
  std::set<std::int32_t> seen;
  for (const plan::ScratchPlacement& placement : c_.entry.scratch) {
    const std::string at = "scratch of slot " + std::to_string(placement.slot) + ": ";
    if (placement.slot < 0 || static_cast<std::size_t>(placement.slot) >= c_.entry.steps.size()) {
      c_.findings.Add(c_.entry.subgraph, at + "there is no such slot");
      continue;
    }
    const plan::Step& step = c_.entry.steps[static_cast<std::size_t>(placement.slot)];
    const Op* op = step.op.valid() ? &c_.graph.subgraphs[step.subgraph].ops[step.op] : nullptr;
    const std::int64_t bytes = op != nullptr ? op->scratch_bytes : 0;
    if (!seen.insert(placement.slot).second || bytes == 0) {
      c_.findings.Add(c_.graph, step.subgraph, step.op, TensorId(),
                      at + (bytes == 0 ? "expected none" : "found a second one, expected one"));
      continue;
    }
    if (placement.bytes != bytes) {
      c_.findings.Add(c_.graph, step.subgraph, step.op, TensorId(),
                      at + Differs("bytes", placement.bytes, bytes));
      continue;
    }
    const SlotRange in_call = c_.replayer.ReplayOf(step.subgraph).ops[step.op];
    Block block;
    block.subgraph = step.subgraph;
    block.op = step.op;
    block.range = {placement.slot, placement.slot + in_call.last - in_call.first};
    if (CheckOffset(placement.offset, placement.bytes, placement.memory, block)) {
      scratch_.push_back(block);
    }
  }
  for (std::size_t slot = 0; slot < c_.entry.steps.size(); ++slot) {
    const plan::Step& step = c_.entry.steps[slot];
    if (!step.op.valid()) continue;
    const std::int64_t bytes = c_.graph.subgraphs[step.subgraph].ops[step.op].scratch_bytes;
    if (bytes == 0 || seen.contains(static_cast<std::int32_t>(slot))) continue;
    c_.findings.Add(c_.graph, step.subgraph, step.op, TensorId(),
                    "slot " + std::to_string(slot) + ": scratch has no address, expected one of " +
                        std::to_string(bytes) + " bytes");
  }
}

// An output in place has the address of its input, in every call of its subgraph.
void AddressChecker::CheckInPlace() {
  std::map<TensorKey, std::pair<TensorId, std::int32_t>>
      outputs;  // by input: its output, in how many calls
  for (const plan::Overlap& overlap : allowed_) {
    if (overlap.kind != plan::OverlapKind::kInPlace) continue;
    auto& entry = outputs[{overlap.subgraph, overlap.input}];
    entry.first = overlap.output;
    ++entry.second;
  }
  for (const auto& [key, output] : outputs) {
    const auto input_at = tensors_.find(key);
    const auto output_at = tensors_.find({key.first, output.first});
    if (input_at == tensors_.end() || output_at == tensors_.end()) continue;
    if (output.second != c_.replay.calls.at(key.first).count) {
      c_.findings.Add(c_.graph, key.first, OpId(), key.second,
                      "overwrites an input in " + std::to_string(output.second) +
                          " calls of its subgraph, expected all " +
                          std::to_string(c_.replay.calls.at(key.first).count) + " or none");
    } else if (input_at->second.memory != output_at->second.memory) {
      c_.findings.Add(c_.graph, key.first, OpId(), output_at->second.tensor,
                      "is listed as overwriting tensor " + std::to_string(key.second.value()) +
                          ", which is in another memory");
    } else if (input_at->second.offset != output_at->second.offset) {
      c_.findings.Add(c_.graph, key.first, OpId(), output_at->second.tensor,
                      "is listed as overwriting tensor " + std::to_string(key.second.value()) +
                          ": " +
                          Differs("offset", output_at->second.offset, input_at->second.offset));
    } else {
      MayShare(input_at->second, output_at->second);
      written_over_.emplace(&output_at->second, &input_at->second);
    }
  }
}

// Every step from the slot on that reads the input is a slice of bytes beyond the output.
bool AddressChecker::DeadPartHolds(const plan::Overlap& overlap, const Block& input,
                                   const Block& output) {
  const std::int64_t covered = output.end - input.offset;
  if (output.offset >= input.end || covered <= 0) return true;
  if (covered > overlap.bytes) return false;
  for (auto slot = static_cast<std::size_t>(overlap.slot); slot < c_.entry.steps.size(); ++slot) {
    const plan::Step& step = c_.entry.steps[slot];
    if (step.moved.valid() || step.subgraph != c_.entry.subgraph || !step.op.valid()) continue;
    const Subgraph& subgraph = c_.graph.subgraphs[step.subgraph];
    const Op& op = subgraph.ops[step.op];
    if (std::find(op.captures.begin(), op.captures.end(), overlap.input) != op.captures.end()) {
      return false;
    }
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == overlap.input && LowestRead(subgraph, op, i) < covered) return false;
    }
  }
  return true;
}

// Walks the kernel with the two tensors where the plan puts them.
bool AddressChecker::KernelOverlapHolds(const plan::Overlap& overlap, const Block& input,
                                        const Block& output) {
  const plan::Step& step = c_.entry.steps[static_cast<std::size_t>(overlap.slot)];
  const Subgraph& subgraph = c_.graph.subgraphs[step.subgraph];
  const Op& op = subgraph.ops[step.op];
  const auto at = static_cast<std::size_t>(
      std::find(op.inputs.begin(), op.inputs.end(), overlap.input) - op.inputs.begin());
  const std::int64_t distance = input.offset - output.offset;
  if (overlap.kind == plan::OverlapKind::kCopiedIn) return HandsOver(op, at, c_.kernels);
  if (overlap.kind == plan::OverlapKind::kDeadPart) return DeadPartHolds(overlap, input, output);
  if (overlap.kind == plan::OverlapKind::kHoldsOutput) {
    const auto which = static_cast<std::size_t>(
        std::find(op.outputs.begin(), op.outputs.end(), overlap.output) - op.outputs.begin());
    return -distance == overlap.bytes &&
           HoldsOutput(subgraph, op, at, which, c_.kernels, overlap.bytes);
  }
  if (overlap.kind == plan::OverlapKind::kHoldsInput) {
    return distance == overlap.bytes && HoldsInput(subgraph, op, at, c_.kernels, distance);
  }
  return distance >= overlap.bytes && ReadsSurvive(subgraph, op, at, c_.kernels, distance);
}

void AddressChecker::CheckKernelOverlaps() {
  std::map<std::tuple<SubgraphId, TensorId, TensorId, plan::OverlapKind>, std::int32_t> calls;
  for (const plan::Overlap& overlap : allowed_) {
    ++calls[{overlap.subgraph, overlap.input, overlap.output, overlap.kind}];
  }
  for (const plan::Overlap& overlap : allowed_) {
    if (overlap.kind == plan::OverlapKind::kInPlace || c_.findings.Full()) continue;
    const auto input = tensors_.find({overlap.subgraph, overlap.input});
    const auto output = tensors_.find({overlap.subgraph, overlap.output});
    if (input == tensors_.end() || output == tensors_.end()) continue;
    if (input->second.memory != output->second.memory) continue;  // nothing is shared
    const std::int32_t in_calls =
        calls.at({overlap.subgraph, overlap.input, overlap.output, overlap.kind});
    if (in_calls != c_.replay.calls.at(overlap.subgraph).count) {
      c_.findings.Add(c_.graph, overlap.subgraph, OpId(), overlap.output,
                      "overlaps tensor " + std::to_string(overlap.input.value()) + " in " +
                          std::to_string(in_calls) + " calls of its subgraph, expected all " +
                          std::to_string(c_.replay.calls.at(overlap.subgraph).count));
      continue;
    }
    if (!KernelOverlapHolds(overlap, input->second, output->second)) {
      c_.findings.Add(c_.graph, overlap.subgraph, OpId(), overlap.output,
                      "slot " + std::to_string(overlap.slot) + ": overlaps tensor " +
                          std::to_string(overlap.input.value()) + ", " +
                          std::to_string(input->second.offset - output->second.offset) +
                          " bytes below it, where it overwrites bytes that are still to be read");
      continue;
    }
    MayShare(input->second, output->second);
    pairs_may_share_ = true;
  }
}

// Tensors of a body that is called several times have values during each call, and none between.
bool AddressChecker::TakeTurns(const Block& a, const Block& b) const {
  if (!a.tensor.valid() || !b.tensor.valid() || a.subgraph != b.subgraph) return false;
  if (moves_.contains({a.subgraph, a.tensor}) || moves_.contains({b.subgraph, b.tensor})) {
    return false;
  }
  return a.in_call.last <= b.in_call.first || b.in_call.last <= a.in_call.first;
}

bool AddressChecker::AnyRunsAgain() const {
  return std::any_of(c_.replay.calls.begin(), c_.replay.calls.end(),
                     [](const auto& call) { return call.second.count > 1; });
}

void AddressChecker::AddShared(std::int32_t slot, const Block& block, const Block& hit) {
  const auto name = [&](const Block& other) {
    const Subgraph& subgraph = c_.graph.subgraphs[other.subgraph];
    return other.tensor.valid()
               ? "tensor " + graph::Describe(other.tensor, subgraph.tensors[other.tensor])
               : "the scratch of operator " + graph::Describe(other.op, subgraph.ops[other.op]);
  };
  c_.findings.Add(c_.graph, block.subgraph, block.op, block.tensor,
                  "slot " + std::to_string(slot) + ": bytes [" + std::to_string(block.offset) +
                      ", " + std::to_string(block.end) + ") are shared with " + name(hit) +
                      " at [" + std::to_string(hit.offset) + ", " + std::to_string(hit.end) +
                      "), expected no sharing");
}

// Where some may share bytes, every block is compared with all that are live when it begins.
void AddressChecker::CheckApartBut(const std::vector<const Block*>& blocks) {
  constexpr std::int64_t kMaxPairs = 1'000'000'000;
  std::vector<const Block*> by_start = blocks;
  std::stable_sort(by_start.begin(), by_start.end(),
                   [](const Block* a, const Block* b) { return a->range.first < b->range.first; });
  std::vector<const Block*> live;
  std::int64_t pairs = 0;
  for (const Block* block : by_start) {
    if (block->range.first >= block->range.last) continue;
    std::erase_if(live,
                  [&](const Block* other) { return other->range.last <= block->range.first; });
    pairs += static_cast<std::int64_t>(live.size());
    if (pairs > kMaxPairs) {
      c_.findings.Add(c_.entry.subgraph,
                      "has too many live tensors at once to verify its overlaps");
      return;
    }
    for (const Block* other : live) {
      const bool apart = other->end <= block->offset || block->end <= other->offset;
      if (apart || may_share_.contains({block, other}) || TakeTurns(*block, *other)) continue;
      AddShared(block->range.first, *block, *other);
      if (c_.findings.Full()) return;
    }
    live.push_back(block);
  }
}

// Sweeps over the slots with the live blocks in a map by offset: O(n log n).
void AddressChecker::CheckApart(std::size_t memory) {
  std::vector<const Block*> blocks;
  const auto add = [&](const Block& block) {
    if (block.memory == memory) blocks.push_back(&block);
  };
  for (const auto& [key, block] : tensors_) add(block);
  for (const Block& block : scratch_) add(block);
  for (const Block& block : moved_) add(block);
  if (pairs_may_share_ || AnyRunsAgain()) return CheckApartBut(blocks);
  // An output in place takes over from its input, which may begin in the same slot.
  std::map<const Block*, std::size_t> index;
  for (std::size_t i = 0; i < blocks.size(); ++i) index.emplace(blocks[i], i);
  const auto input_of = [&](std::size_t block) {
    const auto input = written_over_.find(blocks[block]);
    return input == written_over_.end() ? blocks.size() : index.at(input->second);
  };
  struct Event {
    std::int32_t slot;
    int order;  // of the events in one slot: ends, begins, takes over
    std::size_t block;
  };
  std::vector<Event> events;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i]->range.first >= blocks[i]->range.last) continue;
    events.push_back({blocks[i]->range.first, input_of(i) < blocks.size() ? 2 : 1, i});
    events.push_back({blocks[i]->range.last, 0, i});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.slot, a.order, a.block) < std::tie(b.slot, b.order, b.block);
  });
  std::map<std::int64_t, std::size_t> live;  // by offset
  for (const Event& event : events) {
    if (c_.findings.Full()) return;
    const Block& block = *blocks[event.block];
    const auto at = live.lower_bound(block.offset);
    if (event.order == 0) {
      if (at != live.end() && at->second == event.block) live.erase(at);
      continue;
    }
    if (at != live.end() && at->second == input_of(event.block)) {
      at->second = event.block;
      continue;
    }
    const Block* hit = nullptr;
    if (at != live.end() && blocks[at->second]->offset < block.end) hit = blocks[at->second];
    if (at != live.begin() && blocks[std::prev(at)->second]->end > block.offset) {
      hit = blocks[std::prev(at)->second];
    }
    if (hit == nullptr) {
      live.emplace(block.offset, event.block);
      continue;
    }
    AddShared(event.slot, block, *hit);
  }
}

void AddressChecker::CheckHeights() {
  std::int64_t sum = 0;
  for (const std::int64_t top : tops_) sum = CheckedAdd(sum, top).value_or(kMaxBytes);
  if (c_.entry.arena_bytes != sum) {
    c_.findings.Add(c_.entry.subgraph, Differs("arena_bytes", c_.entry.arena_bytes, sum));
  }
  if (c_.memories.empty()) {
    if (c_.entry.memory_bytes.empty()) return;
    c_.findings.Add(c_.entry.subgraph, "has memory_bytes, but the plan has no memories");
  } else if (c_.entry.memory_bytes != tops_) {
    c_.findings.Add(c_.entry.subgraph, "memory_bytes are not the heights of its memories");
  }
  for (std::size_t memory = 0; memory < c_.memories.size(); ++memory) {
    if (tops_[memory] <= c_.memories[memory].capacity_bytes) continue;
    c_.findings.Add(c_.entry.subgraph,
                    "memory '" + c_.memories[memory].name + "': " +
                        Differs("height", tops_[memory], c_.memories[memory].capacity_bytes) +
                        " at most");
  }
}

}  // namespace

void CheckAddresses(const EntryContext& context, const std::vector<plan::Overlap>& allowed) {
  AddressChecker(context, allowed).Run();
}

}  // namespace neap::check
