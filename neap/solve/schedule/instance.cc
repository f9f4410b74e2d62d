// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/instance.h"

#include <algorithm>
#include <utility>

namespace neap::schedule {

Instance::Instance(const Problem& problem, std::int64_t unit, bool reversed)
    : Instance(problem, {}, unit, reversed) {}

Instance::Instance(const Problem& problem, const Stages& stages, std::int64_t unit, bool reversed)
    : num_ops_(problem.num_ops),
      words_((static_cast<std::size_t>(problem.num_ops) + 63) / 64),
      reversed_(reversed) {
  CompilePrecedences(problem, reversed);
  CompileBuffers(problem, unit, reversed);
  CompileStages(stages, unit, reversed);
}

void Instance::CompilePrecedences(const Problem& problem, bool reversed) {
  const auto ops = At(num_ops_);
  predecessors_.resize(ops);
  successors_.resize(ops);
  for (auto [before, after] : problem.precedences) {
    if (reversed) std::swap(before, after);
    predecessors_[At(after)].push_back(before);
  }
  for (std::size_t op = 0; op < ops; ++op) {
    auto& list = predecessors_[op];
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    for (const OpIndex before : list) successors_[At(before)].push_back(static_cast<OpIndex>(op));
  }
  std::vector<std::size_t> missing(ops);
  topological_.reserve(ops);
  for (std::size_t op = 0; op < ops; ++op) {
    missing[op] = predecessors_[op].size();
    if (missing[op] == 0) topological_.push_back(static_cast<OpIndex>(op));
  }
  for (std::size_t at = 0; at < topological_.size(); ++at) {
    for (const OpIndex next : successors_[At(topological_[at])]) {
      if (--missing[At(next)] == 0) topological_.push_back(next);
    }
  }
  rank_.resize(ops);
  for (std::size_t at = 0; at < topological_.size(); ++at) {
    rank_[At(topological_[at])] = static_cast<std::int32_t>(at);
  }
  ancestors_ = BitRows(ops, words_);
  descendants_ = BitRows(ops, words_);
  for (const OpIndex op : topological_) {
    Word* row = ancestors_.Row(op);
    for (const OpIndex before : predecessors_[At(op)]) {
      const Word* other = ancestors_.Row(before);
      for (std::size_t w = 0; w < words_; ++w) row[w] |= other[w];
      SetBit(row, before);
    }
  }
  for (auto op = topological_.rbegin(); op != topological_.rend(); ++op) {
    Word* row = descendants_.Row(*op);
    for (const OpIndex after : successors_[At(*op)]) {
      const Word* other = descendants_.Row(after);
      for (std::size_t w = 0; w < words_; ++w) row[w] |= other[w];
      SetBit(row, after);
    }
  }
}

// Only the user that comes first in a topological order can precede all others; likewise the last.
void Instance::FindEnds(CompiledBuffer* buffer, BufferIndex index) {
  if (buffer->users.empty()) return;
  OpIndex first = buffer->users.front();
  OpIndex last = first;
  for (const OpIndex user : buffer->users) {
    if (rank_[At(user)] < rank_[At(first)]) first = user;
    if (rank_[At(user)] > rank_[At(last)]) last = user;
  }
  const auto covers = [&](OpIndex op, const Word* related) {
    const Word* users = users_.Row(index);
    for (std::size_t w = 0; w < words_; ++w) {
      Word rest = users[w] & ~related[w];
      if (static_cast<std::size_t>(op) / 64 == w) rest &= ~(Word{1} << (At(op) % 64));
      if (rest != 0) return false;
    }
    return true;
  };
  if (!buffer->at_start && covers(first, Descendants(first))) buffer->first = first;
  if (!buffer->at_end && covers(last, Ancestors(last))) buffer->last = last;
}

void Instance::CompileBuffers(const Problem& problem, std::int64_t unit, bool reversed) {
  const auto ops = At(num_ops_);
  buffers_of_.resize(ops);
  scratch_.assign(ops, 0);
  first_touched_.assign(ops, 0);
  in_place_.assign(ops, InPlace{-1, -1, -1});
  users_ = BitRows(problem.buffers.size(), words_);
  for (std::size_t op = 0; op < problem.scratch_bytes.size(); ++op) {
    scratch_[op] = problem.scratch_bytes[op] / unit;
  }
  buffers_.reserve(problem.buffers.size());
  for (const Buffer& source : problem.buffers) {
    const auto index = static_cast<BufferIndex>(buffers_.size());
    CompiledBuffer buffer{source.bytes / unit, source.live_at_start, source.live_at_end, -1, -1,
                          source.users};
    if (reversed) std::swap(buffer.at_start, buffer.at_end);
    for (const OpIndex user : buffer.users) {
      SetBit(users_.Row(index), user);
      buffers_of_[At(user)].push_back(index);
    }
    if (buffer.at_start && (!buffer.users.empty() || buffer.at_end)) start_live_ += buffer.bytes;
    if (buffer.at_end && (!buffer.users.empty() || buffer.at_start)) end_live_ += buffer.bytes;
    FindEnds(&buffer, index);
    if (buffer.first >= 0) {
      first_touched_[At(buffer.first)] += buffer.bytes;
    } else if (!buffer.at_start && !buffer.users.empty() && buffer.bytes > 0) {
      one_first_user_ = false;
    }
    buffers_.push_back(std::move(buffer));
  }
  for (InPlace pair : problem.in_place) {
    if (reversed) std::swap(pair.input, pair.output);
    in_place_[At(pair.op)] = pair;
  }
  take_over_ = problem.take_over;
  take_over_index_.assign(ops, -1);
  for (std::size_t at = 0; at < take_over_.size(); ++at) {
    take_over_index_[At(take_over_[at].op)] = static_cast<std::int32_t>(at);
  }
}

// First all but the outputs that take over, then all but the freed inputs.
std::vector<Instance::Stage> Instance::TakeOverStages(OpIndex op, const TakeOver& part) const {
  const auto has = [](const std::vector<BufferIndex>& list, BufferIndex index) {
    return std::binary_search(list.begin(), list.end(), index);
  };
  Stage early{scratch_[At(op)], {}, part.inputs};
  Stage late{scratch_[At(op)], part.outputs, {}};
  for (const BufferIndex index : buffers_of_[At(op)]) {
    if (!has(part.outputs, index)) early.touched.push_back(index);
    if (!has(part.inputs, index)) late.freed.push_back(index);
  }
  if (!reversed_) return {early, late};
  std::swap(early.touched, early.freed);
  std::swap(late.touched, late.freed);
  return {late, early};
}

// An in-place operator whose output certainly starts with it frees its input, if that is its last
// use, before its output starts; reversed, its "output" (the input) starts after its "input" has
// gone.
std::vector<Instance::Stage> Instance::OrdinaryStages(OpIndex op, bool reversed) const {
  std::vector<Stage> stages(1);
  stages[0].peak = scratch_[At(op)];
  const InPlace& pair = in_place_[At(op)];
  const bool in_two = pair.op >= 0 && (reversed ? buffers_[At(pair.input)].last == op
                                                : buffers_[At(pair.output)].first == op);
  for (const BufferIndex index : buffers_of_[At(op)]) {
    const bool is_late = in_two && reversed && index == pair.output;
    const bool is_early = in_two && !reversed && index == pair.input;
    if (is_late || is_early) continue;
    stages[0].touched.push_back(index);
    stages[0].freed.push_back(index);
  }
  if (!in_two) return stages;
  const BufferIndex moved = reversed ? pair.output : pair.input;
  stages.insert(reversed ? stages.end() : stages.begin(), Stage{0, {moved}, {moved}});
  return stages;
}

void Instance::CompileStage(OpIndex op, const Stage& stage) {
  CompiledStage out;
  out.peak = stage.peak;
  out.touched_begin = static_cast<std::uint32_t>(stage_buffers_.size());
  for (const BufferIndex index : stage.touched) {
    const CompiledBuffer& buffer = buffers_[At(index)];
    if (buffer.first == op) {
      out.adds += buffer.bytes;
    } else if (buffer.first < 0 && !buffer.at_start && buffer.bytes > 0) {
      stage_buffers_.push_back(index);
    }
  }
  out.touched_end = static_cast<std::uint32_t>(stage_buffers_.size());
  out.freed_begin = out.touched_end;
  for (const BufferIndex index : stage.freed) {
    const CompiledBuffer& buffer = buffers_[At(index)];
    if (buffer.last == op) {
      out.frees += buffer.bytes;
    } else if (buffer.last < 0 && !buffer.at_end && buffer.bytes > 0) {
      stage_buffers_.push_back(index);
    }
  }
  out.freed_end = static_cast<std::uint32_t>(stage_buffers_.size());
  stages_.push_back(out);
}

void Instance::CompileStages(const Stages& stages, std::int64_t unit, bool reversed) {
  staged_.assign(At(num_ops_), 0);
  given_.resize(stages.size());
  for (OpIndex op = 0; op < num_ops_; ++op) {
    stage_begin_.push_back(static_cast<std::uint32_t>(stages_.size()));
    const bool is_given = At(op) < stages.size() && !stages[At(op)].empty();
    if (is_given) {
      given_[At(op)] = stages[At(op)];
      auto& given = given_[At(op)];
      for (Stage& stage : given) {
        stage.peak /= unit;
        if (reversed) std::swap(stage.touched, stage.freed);
      }
      if (reversed) std::reverse(given.begin(), given.end());
    }
    const std::vector<Stage> list = StagesOf(op);
    staged_[At(op)] = is_given || list.size() > 1 ? 1 : 0;
    for (const Stage& stage : list) CompileStage(op, stage);
    std::int64_t least = 0;
    for (std::size_t s = stage_begin_.back(); s < stages_.size(); ++s) {
      const CompiledStage& stage = stages_[s];
      least += stage.adds - stage.frees;
      for (std::uint32_t at = stage.freed_begin; at < stage.freed_end; ++at) {
        least -= buffers_[At(stage_buffers_[at])].bytes;
      }
    }
    can_be_forced_.push_back(least <= 0 ? 1 : 0);
  }
  stage_begin_.push_back(static_cast<std::uint32_t>(stages_.size()));
}

std::vector<Instance::Stage> Instance::StagesOf(OpIndex op) const {
  if (At(op) < given_.size() && !given_[At(op)].empty()) return given_[At(op)];
  if (const TakeOver* part = TakeOverOf(op)) return TakeOverStages(op, *part);
  return OrdinaryStages(op, reversed_);
}

Effect Instance::EffectOf(const Word* executed, std::int64_t live, OpIndex op) const {
  Effect effect{0, live};
  for (std::uint32_t s = stage_begin_[At(op)]; s < stage_begin_[At(op) + 1]; ++s) {
    const CompiledStage& stage = stages_[s];
    effect.live += stage.adds;
    for (std::uint32_t at = stage.touched_begin; at < stage.touched_end; ++at) {
      const BufferIndex index = stage_buffers_[at];
      if (!Intersects(users_.Row(index), executed, words_))
        effect.live += buffers_[At(index)].bytes;
    }
    effect.hill = std::max(effect.hill, effect.live + stage.peak);
    effect.live -= stage.frees;
    for (std::uint32_t at = stage.freed_begin; at < stage.freed_end; ++at) {
      const CompiledBuffer& buffer = buffers_[At(stage_buffers_[at])];
      const bool dies = std::all_of(buffer.users.begin(), buffer.users.end(), [&](OpIndex user) {
        return user == op || TestBit(executed, user);
      });
      if (dies) effect.live -= buffer.bytes;
    }
  }
  if (in_place_[At(op)].op >= 0 && staged_[At(op)] == 0) {
    effect.hill -= SharedBytes(executed, op);
  }
  return effect;
}

// Of an in-place pair that no stages describe: bytes that its output takes over from its input.
std::int64_t Instance::SharedBytes(const Word* executed, OpIndex op) const {
  const CompiledBuffer& input = buffers_[At(in_place_[At(op)].input)];
  const CompiledBuffer& output = buffers_[At(in_place_[At(op)].output)];
  const auto untouched = [&](OpIndex user) { return !TestBit(executed, user); };
  const auto done = [&](OpIndex user) { return user == op || TestBit(executed, user); };
  const bool dies = !input.at_end && std::all_of(input.users.begin(), input.users.end(), done);
  const bool starts =
      !output.at_start && std::all_of(output.users.begin(), output.users.end(), untouched);
  return dies && starts ? output.bytes : 0;
}

std::int64_t Instance::PeakOf(const std::vector<OpIndex>& order) const {
  std::vector<Word> executed(words_, 0);
  std::int64_t live = start_live_;
  std::int64_t peak = 0;
  for (const OpIndex op : order) {
    const Effect effect = EffectOf(executed.data(), live, op);
    peak = std::max(peak, effect.hill);
    live = effect.live;
    SetBit(executed.data(), op);
  }
  return peak;
}

std::int64_t InstanceWork(const Problem& problem) {
  constexpr std::int64_t kWord = 8;  // of a row, whose memory is mostly new
  const std::int64_t ops = problem.num_ops;
  const auto rows = 2 * ops + static_cast<std::int64_t>(problem.buffers.size());
  return rows * ((ops + 63) / 64) * kWord;
}

}  // namespace neap::schedule
