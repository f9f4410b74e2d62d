// SPDX-License-Identifier: Apache-2.0
#include "neap/schedule/instance.h"

#include <algorithm>
#include <utility>

namespace neap::schedule {

Instance::Instance(const Problem& problem, std::int64_t unit, bool reversed)
    : num_ops_(problem.num_ops), words_((static_cast<std::size_t>(problem.num_ops) + 63) / 64) {
  CompilePrecedences(problem, reversed);
  CompileBuffers(problem, unit, reversed);
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

void Instance::CompileBuffers(const Problem& problem, std::int64_t unit, bool reversed) {
  const auto ops = At(num_ops_);
  buffers_of_.resize(ops);
  scratch_.assign(ops, 0);
  first_touched_.assign(ops, 0);
  in_place_.assign(ops, InPlace{-1, -1, -1});
  users_ = BitRows(problem.buffers.size(), words_);
  for (std::size_t op = 0; op < problem.scratch_bytes.size(); ++op) {
    scratch_[op] = problem.scratch_bytes[op] / unit;
    if (scratch_[op] > 0) pure_ = false;
  }
  for (const Buffer& source : problem.buffers) {
    const auto index = static_cast<BufferIndex>(buffers_.size());
    CompiledBuffer buffer{source.bytes / unit, source.live_at_start, source.live_at_end, -1,
                          source.users};
    if (reversed) std::swap(buffer.at_start, buffer.at_end);
    for (const OpIndex user : buffer.users) {
      SetBit(users_.Row(index), user);
      buffers_of_[At(user)].push_back(index);
    }
    if (buffer.at_start && (!buffer.users.empty() || buffer.at_end)) start_live_ += buffer.bytes;
    if (buffer.at_end && (!buffer.users.empty() || buffer.at_start)) end_live_ += buffer.bytes;
    if (!buffer.at_start && !buffer.users.empty()) {
      for (const OpIndex user : buffer.users) {
        const int others = static_cast<int>(buffer.users.size()) - 1;
        int behind = 0;
        for (const OpIndex other : buffer.users)
          behind += TestBit(Descendants(user), other) ? 1 : 0;
        if (behind == others) buffer.first = user;
      }
      if (buffer.first >= 0) {
        first_touched_[At(buffer.first)] += buffer.bytes;
      } else if (buffer.bytes > 0) {
        pure_ = false;
      }
    }
    buffers_.push_back(std::move(buffer));
  }
  for (InPlace pair : problem.in_place) {
    if (reversed) std::swap(pair.input, pair.output);
    if (buffers_[At(pair.input)].bytes > 0) pure_ = false;
    in_place_[At(pair.op)] = pair;
  }
}

Effect Instance::EffectOf(const Word* executed, std::int64_t live, OpIndex op) const {
  std::int64_t newly = first_touched_[At(op)];
  std::int64_t freed = 0;
  const InPlace& pair = in_place_[At(op)];
  bool input_dies = false;
  bool output_starts = false;
  for (const BufferIndex index : buffers_of_[At(op)]) {
    const CompiledBuffer& buffer = buffers_[At(index)];
    bool untouched = buffer.first == op;
    if (buffer.first < 0 && !buffer.at_start) {
      untouched = !Intersects(users_.Row(index), executed, words_);
      if (untouched) newly += buffer.bytes;
    }
    bool dies = !buffer.at_end;
    for (std::size_t at = 0; dies && at < buffer.users.size(); ++at) {
      dies = buffer.users[at] == op || TestBit(executed, buffer.users[at]);
    }
    if (dies) freed += buffer.bytes;
    if (index == pair.input) input_dies = dies;
    if (index == pair.output) output_starts = untouched;
  }
  Effect effect;
  effect.hill = live + newly + scratch_[At(op)];
  if (input_dies && output_starts) effect.hill -= buffers_[At(pair.output)].bytes;
  effect.live = live + newly - freed;
  return effect;
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

}  // namespace neap::schedule
