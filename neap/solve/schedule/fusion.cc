// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/fusion.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "neap/base/index.h"

namespace neap::schedule {
namespace {

using Stage = Instance::Stage;

class Fuser {
 public:
  Fuser(const Problem& problem, const Instance& forward, std::int64_t unit,
        const FusionSlack& slack)
      : slack_(slack),
        problem_(problem),
        forward_(forward),
        unit_(unit),
        words_(forward.words()),
        groups_(At(forward.num_ops())),
        before_(At(forward.num_ops()), words_),
        behind_(At(forward.num_ops()), words_),
        group_of_(At(forward.num_ops())),
        touched_(problem.buffers.size(), -1),
        last_stage_(problem.buffers.size(), -1) {
    std::iota(group_of_.begin(), group_of_.end(), OpIndex{0});
    for (OpIndex op = 0; op < forward.num_ops(); ++op) {
      Group& group = groups_[At(op)];
      group.ops = {op};
      group.stages = StagesInBytes(op);
      std::copy(forward.Ancestors(op), forward.Ancestors(op) + words_, before_.Row(op));
      std::copy(forward.Descendants(op), forward.Descendants(op) + words_, behind_.Row(op));
    }
  }

  Fusion Run() {
    for (bool changed = true; changed;) {
      changed = Pass(false);
      changed = Pass(true) || changed;
    }
    return Build();
  }

 private:
  struct Group {
    std::vector<OpIndex> ops;  // in the order in which they run; empty: merged into another
    std::vector<Stage> stages;
    bool is_odd = false;  // its in-place pair fits into no stages
  };

  std::vector<Stage> StagesInBytes(OpIndex op) {
    std::vector<Stage> stages = forward_.StagesOf(op);
    for (Stage& stage : stages) stage.peak *= unit_;
    groups_[At(op)].is_odd = !forward_.IsStaged(op);
    return stages;
  }

  const std::vector<OpIndex>& Before(OpIndex op, bool reversed) const {
    return reversed ? forward_.Successors(op) : forward_.Predecessors(op);
  }
  std::int32_t Rank(OpIndex op, bool reversed) const {
    return reversed ? -forward_.Rank(op) : forward_.Rank(op);
  }

  bool Pass(bool reversed) {
    bool changed = false;
    const auto& topological = forward_.topological();
    for (std::size_t i = 0; i < topological.size(); ++i) {
      const OpIndex op = topological[reversed ? topological.size() - 1 - i : i];
      const OpIndex group = group_of_[At(op)];
      const auto& ops = groups_[At(group)].ops;
      // Once per group, at the operator that runs first.
      if (op != (reversed ? ops.back() : ops.front())) continue;
      const OpIndex host = HostOf(group, reversed);
      if (host < 0 || !CanFollow(host, group, reversed)) continue;
      Merge(host, group, reversed);
      changed = true;
    }
    return changed;
  }

  // The group P that contains or is behind all that the group Q waits for; -1: there is none.
  OpIndex HostOf(OpIndex q, bool reversed) const {
    OpIndex latest = -1;
    for (const OpIndex op : groups_[At(q)].ops) {
      for (const OpIndex before : Before(op, reversed)) {
        if (group_of_[At(before)] == q) continue;
        if (latest < 0 || Rank(before, reversed) > Rank(latest, reversed)) latest = before;
      }
    }
    if (latest < 0) return -1;
    const OpIndex p = group_of_[At(latest)];
    const Word* row = reversed ? behind_.Row(p) : before_.Row(p);
    for (const OpIndex op : groups_[At(q)].ops) {
      for (const OpIndex before : Before(op, reversed)) {
        const OpIndex group = group_of_[At(before)];
        if (group != q && group != p && !TestBit(row, before)) return -1;
      }
    }
    return p;
  }

  bool CanFollow(OpIndex p, OpIndex q, bool reversed) {
    const Group& first = groups_[At(p)];
    const Group& second = groups_[At(q)];
    if (first.is_odd || second.is_odd) return false;
    if (first.ops.size() + second.ops.size() > kMaxFused) return false;
    sequence_.clear();
    for (const Group* group : {&first, &second}) {
      for (const Stage& stage : group->stages) sequence_.push_back(&stage);
      if (reversed) {
        std::reverse(sequence_.end() - static_cast<std::ptrdiff_t>(group->stages.size()),
                     sequence_.end());
      }
    }
    for (std::size_t s = 0; s < sequence_.size(); ++s) {
      for (const BufferIndex b : Touched(s, reversed)) last_stage_[At(b)] = static_cast<int>(s);
      for (const BufferIndex b : Freed(s, reversed)) last_stage_[At(b)] = static_cast<int>(s);
    }
    ++walk_;
    std::int64_t level = 0;
    std::int64_t between = 0;
    std::int64_t max_first = 0;
    std::int64_t max_second = 0;
    for (std::size_t s = 0; s < sequence_.size(); ++s) {
      if (s == first.stages.size()) between = level;
      for (const BufferIndex b : Touched(s, reversed)) {
        if (touched_[At(b)] == walk_) continue;
        touched_[At(b)] = walk_;
        if (!IsTouchedBefore(b, p, reversed)) level += problem_.buffers[At(b)].bytes;
      }
      auto& most = s < first.stages.size() ? max_first : max_second;
      most = std::max(most, level + sequence_[s]->peak);
      for (const BufferIndex b : Freed(s, reversed)) {
        if (last_stage_[At(b)] != static_cast<int>(s) || !Dies(b, p, q, reversed)) continue;
        level -= problem_.buffers[At(b)].bytes;
      }
    }
    return level <= between + slack_.live_bytes && max_second <= max_first + slack_.hill_bytes;
  }
  const std::vector<BufferIndex>& Touched(std::size_t stage, bool reversed) const {
    return reversed ? sequence_[stage]->freed : sequence_[stage]->touched;
  }
  const std::vector<BufferIndex>& Freed(std::size_t stage, bool reversed) const {
    return reversed ? sequence_[stage]->touched : sequence_[stage]->freed;
  }

  // For certain, when the group `p` begins.
  bool IsTouchedBefore(BufferIndex b, OpIndex p, bool reversed) const {
    const Buffer& buffer = problem_.buffers[At(b)];
    if (reversed ? buffer.live_at_end : buffer.live_at_start) return true;
    const Word* row = reversed ? behind_.Row(p) : before_.Row(p);
    return std::any_of(buffer.users.begin(), buffer.users.end(),
                       [&](OpIndex user) { return TestBit(row, user); });
  }
  // For certain, when the groups `p` and `q` have run.
  bool Dies(BufferIndex b, OpIndex p, OpIndex q, bool reversed) const {
    const Buffer& buffer = problem_.buffers[At(b)];
    if (reversed ? buffer.live_at_start : buffer.live_at_end) return false;
    const Word* row = reversed ? behind_.Row(p) : before_.Row(p);
    return std::all_of(buffer.users.begin(), buffer.users.end(), [&](OpIndex user) {
      const OpIndex group = group_of_[At(user)];
      return group == p || group == q || TestBit(row, user);
    });
  }

  void Merge(OpIndex p, OpIndex q, bool reversed) {
    const OpIndex first = reversed ? q : p;
    const OpIndex second = reversed ? p : q;
    Group& to = groups_[At(first)];
    Group& from = groups_[At(second)];
    for (const OpIndex op : from.ops) group_of_[At(op)] = first;
    to.ops.insert(to.ops.end(), from.ops.begin(), from.ops.end());
    std::move(from.stages.begin(), from.stages.end(), std::back_inserter(to.stages));
    from = Group{};
    for (BitRows* rows : {&before_, &behind_}) {
      Word* row = rows->Row(first);
      const Word* other = rows->Row(second);
      for (std::size_t w = 0; w < words_; ++w) row[w] |= other[w];
      for (const OpIndex op : to.ops) ClearBit(row, op);
    }
  }

  Fusion Build() {
    std::vector<OpIndex> order;  // groups by the rank of their last operator
    for (const OpIndex op : forward_.topological()) {
      const OpIndex group = group_of_[At(op)];
      if (groups_[At(group)].ops.back() == op) order.push_back(group);
    }
    std::vector<OpIndex> index_of(groups_.size(), -1);
    for (std::size_t at = 0; at < order.size(); ++at) {
      index_of[At(order[at])] = static_cast<OpIndex>(at);
    }
    for (OpIndex& group : group_of_) group = index_of[At(group)];

    Fusion fusion;
    Problem& fused = fusion.problem;
    fused.num_ops = static_cast<OpIndex>(order.size());
    for (const auto& [before, after] : problem_.precedences) {
      const OpIndex a = group_of_[At(before)];
      const OpIndex b = group_of_[At(after)];
      if (a != b) fused.precedences.emplace_back(a, b);
    }
    std::sort(fused.precedences.begin(), fused.precedences.end());
    fused.precedences.erase(std::unique(fused.precedences.begin(), fused.precedences.end()),
                            fused.precedences.end());
    BuildBuffers(order, &fused);
    for (const OpIndex group : order) {
      Group& from = groups_[At(group)];
      fusion.ops.push_back(from.ops);
      fusion.stages.push_back(from.is_odd ? std::vector<Stage>{} : ExternalStages(from));
      if (!from.is_odd) continue;
      const OpIndex op = from.ops.front();
      const OpIndex index = group_of_[At(op)];
      if (!problem_.scratch_bytes.empty()) {
        fused.scratch_bytes.resize(order.size(), 0);
        fused.scratch_bytes[At(index)] = problem_.scratch_bytes[At(op)];
      }
      const InPlace& pair = forward_.InPlaceOf(op);
      fused.in_place.push_back({index, kept_[At(pair.input)], kept_[At(pair.output)]});
    }
    return fusion;
  }

  void BuildBuffers(const std::vector<OpIndex>& order, Problem* fused) {
    kept_.assign(problem_.buffers.size(), -1);
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b) {
      const Buffer& buffer = problem_.buffers[b];
      Buffer out{buffer.bytes, {}, buffer.live_at_start, buffer.live_at_end};
      for (const OpIndex user : buffer.users) out.users.push_back(group_of_[At(user)]);
      std::sort(out.users.begin(), out.users.end());
      out.users.erase(std::unique(out.users.begin(), out.users.end()), out.users.end());
      const bool is_inside = out.users.size() == 1 && !buffer.live_at_start &&
                             !buffer.live_at_end &&
                             !groups_[At(order[At(out.users.front())])].is_odd;
      if (is_inside) continue;
      kept_[b] = static_cast<BufferIndex>(fused->buffers.size());
      fused->buffers.push_back(std::move(out));
    }
  }

  // The stages of a group over the buffers that are kept, each touched once and freed once.
  std::vector<Stage> ExternalStages(const Group& group) {
    for (std::size_t s = 0; s < group.stages.size(); ++s) {
      for (const BufferIndex b : group.stages[s].freed) last_stage_[At(b)] = static_cast<int>(s);
    }
    ++walk_;
    std::vector<Stage> stages;
    std::int64_t inside = 0;
    for (std::size_t s = 0; s < group.stages.size(); ++s) {
      Stage stage;
      for (const BufferIndex b : group.stages[s].touched) {
        if (touched_[At(b)] == walk_) continue;
        touched_[At(b)] = walk_;
        if (kept_[At(b)] >= 0) {
          stage.touched.push_back(kept_[At(b)]);
        } else {
          inside += problem_.buffers[At(b)].bytes;
        }
      }
      stage.peak = inside + group.stages[s].peak;
      for (const BufferIndex b : group.stages[s].freed) {
        if (last_stage_[At(b)] != static_cast<int>(s)) continue;
        if (kept_[At(b)] >= 0) {
          stage.freed.push_back(kept_[At(b)]);
        } else {
          inside -= problem_.buffers[At(b)].bytes;
        }
      }
      Append(std::move(stage), &stages);
    }
    return stages;
  }

  // Two stages are one where nothing is freed or nothing is touched between them and the other one
  // is no higher.
  static void Append(Stage stage, std::vector<Stage>* stages) {
    if (!stages->empty()) {
      Stage& last = stages->back();
      const bool nothing_freed =
          last.freed.empty() && (stage.touched.empty() || last.peak <= stage.peak);
      const bool nothing_touched = stage.touched.empty() && stage.peak <= last.peak;
      if (nothing_freed || nothing_touched) {
        last.touched.insert(last.touched.end(), stage.touched.begin(), stage.touched.end());
        last.freed.insert(last.freed.end(), stage.freed.begin(), stage.freed.end());
        last.peak = std::max(last.peak, stage.peak);
        return;
      }
    }
    stages->push_back(std::move(stage));
  }

  FusionSlack slack_;
  const Problem& problem_;
  const Instance& forward_;
  std::int64_t unit_;
  std::size_t words_;
  std::vector<Group> groups_;
  BitRows before_;  // per group: operators that certainly run before it; behind it
  BitRows behind_;
  std::vector<OpIndex> group_of_;
  std::vector<int> touched_;     // per buffer: the walk that touched it
  std::vector<int> last_stage_;  // per buffer: of the sequence at hand
  int walk_ = 0;
  std::vector<const Stage*> sequence_;
  std::vector<BufferIndex> kept_;  // per buffer: index in the fused problem
};

}  // namespace

Fusion Fuse(const Problem& problem, const Instance& forward, std::int64_t unit,
            const FusionSlack& slack) {
  return Fuser(problem, forward, unit, slack).Run();
}

}  // namespace neap::schedule
