// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/known_cuts.h"

#include "neap/base/index.h"

namespace neap::schedule {
namespace {

constexpr std::size_t kMost = 8;

}  // namespace

KnownCuts::KnownCuts(const Instance& instance)
    : instance_(instance), changed_(instance.words()), seen_(instance.buffers().size(), 0) {}

// Most buffers have few users: faster than their bit rows.
bool KnownCuts::IsLive(BufferIndex index, const Word* executed) const {
  const Instance::CompiledBuffer& buffer = instance_.buffers()[At(index)];
  bool touched = buffer.at_start;
  bool waiting = buffer.at_end;
  for (const OpIndex user : buffer.users) {
    if (touched && waiting) return true;
    (TestBit(executed, user) ? touched : waiting) = true;
  }
  return touched && waiting;
}

void KnownCuts::Add(const std::vector<Word>& executed) {
  if (known_.size() < kMost) {
    last_ = known_.size();
    known_.emplace_back();
  } else {
    last_ = (last_ + 1) % kMost;
  }
  Known& known = known_[last_];
  known.executed = executed;
  known.live = 0;
  for (std::size_t index = 0; index < instance_.buffers().size(); ++index) {
    const Instance::CompiledBuffer& buffer = instance_.buffers()[index];
    if (IsLive(static_cast<BufferIndex>(index), executed.data())) known.live += buffer.bytes;
  }
}

// Only buffers of the operators that differ are live in one of the two downsets alone.
std::int64_t KnownCuts::HillBeside(const Known& known, OpIndex op) {
  const Word* ancestors = instance_.Ancestors(op);
  const Word* descendants = instance_.Descendants(op);
  changed_ = known.executed;
  for (std::size_t w = 0; w < changed_.size(); ++w) {
    changed_[w] = (changed_[w] | ancestors[w]) & ~descendants[w];
  }
  ClearBit(changed_.data(), op);
  std::int64_t live = known.live;
  ++pass_;
  for (std::size_t w = 0; w < changed_.size(); ++w) {
    const Word differs = changed_[w] ^ known.executed[w];
    ForEachBit(&differs, 1, [&](std::int32_t bit) {
      const auto other = static_cast<OpIndex>(w * 64) + bit;
      for (const BufferIndex index : instance_.BuffersOf(other)) {
        if (seen_[At(index)] == pass_) continue;
        seen_[At(index)] = pass_;
        const std::int64_t bytes = instance_.buffers()[At(index)].bytes;
        if (IsLive(index, known.executed.data())) live -= bytes;
        if (IsLive(index, changed_.data())) live += bytes;
      }
    });
  }
  return instance_.EffectOf(changed_.data(), live, op).hill;
}

bool KnownCuts::Exclude(OpIndex op, std::int64_t bytes) {
  for (std::size_t back = 0; back < known_.size(); ++back) {
    const std::size_t at = (last_ + known_.size() - back) % known_.size();
    if (HillBeside(known_[at], op) <= bytes) return true;
  }
  return false;
}

}  // namespace neap::schedule
