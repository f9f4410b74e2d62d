// SPDX-License-Identifier: Apache-2.0
#include "neap/schedule/expander.h"

#include <algorithm>
#include <cstring>

namespace neap::schedule {

Expander::Expander(const Instance& instance)
    : instance_(instance), rank_(static_cast<std::size_t>(instance.num_ops()), 0) {
  for (std::size_t at = 0; at < instance.topological().size(); ++at) {
    rank_[static_cast<std::size_t>(instance.topological()[at])] = static_cast<std::int32_t>(at);
  }
  // An operator that allocates more than it could ever free is never forced.
  for (OpIndex op = 0; op < instance.num_ops(); ++op) {
    std::int64_t frees = 0;
    for (const BufferIndex index : instance.BuffersOf(op)) {
      const auto& buffer = instance.buffers()[static_cast<std::size_t>(index)];
      if (!buffer.at_end) frees += buffer.bytes;
    }
    can_be_forced_.push_back(instance.FirstTouched(op) <= frees ? 1 : 0);
  }
  if (!instance.pure()) return;
  needed_ = BitRows(instance.buffers().size(), instance.words());
  for (std::size_t index = 0; index < instance.buffers().size(); ++index) {
    const auto& buffer = instance.buffers()[index];
    if (buffer.at_end || buffer.users.empty() || buffer.bytes == 0) continue;
    Word* row = needed_.Row(static_cast<BufferIndex>(index));
    for (const OpIndex user : buffer.users) {
      SetBit(row, user);
      const Word* ancestors = instance.Ancestors(user);
      for (std::size_t w = 0; w < instance.words(); ++w) row[w] |= ancestors[w];
    }
    std::size_t end_word = instance.words();
    while (end_word > 0 && row[end_word - 1] == 0) --end_word;
    freeable_.push_back({static_cast<BufferIndex>(index), end_word});
  }
  row_.resize(instance.words());
}

void Expander::Close(Word* executed, std::int64_t* live, std::int64_t budget,
                     std::vector<OpIndex>* path) {
  ready_.clear();
  for (std::size_t w = 0; w < instance_.words(); ++w) {
    Word waiting = ~executed[w];
    if (w + 1 == instance_.words() && (instance_.num_ops() & 63) != 0) {
      waiting &= (Word{1} << (static_cast<unsigned>(instance_.num_ops()) & 63U)) - 1;
    }
    for (; waiting != 0; waiting &= waiting - 1) {
      const auto op =
          static_cast<OpIndex>(w * 64 + static_cast<std::size_t>(std::countr_zero(waiting)));
      if (can_be_forced_[static_cast<std::size_t>(op)] != 0 && instance_.IsReady(executed, op)) {
        ready_.push_back(op);
      }
    }
  }
  bool changed = true;
  while (changed) {
    changed = false;
    for (std::size_t at = 0; at < ready_.size();) {
      const OpIndex op = ready_[at];
      const Effect effect = instance_.EffectOf(executed, *live, op);
      if (effect.hill > budget || effect.live > *live) {
        ++at;
        continue;
      }
      changed = true;
      SetBit(executed, op);
      *live = effect.live;
      path->push_back(op);
      ready_[at] = ready_.back();
      ready_.pop_back();
      for (const OpIndex next : instance_.Successors(op)) {
        if (can_be_forced_[static_cast<std::size_t>(next)] != 0 &&
            instance_.IsReady(executed, next)) {
          ready_.push_back(next);
        }
      }
    }
  }
}

void Expander::AppendInOrder(const Word* ops, std::vector<OpIndex>* path) const {
  const std::size_t begin = path->size();
  ForEachBit(ops, instance_.words(), [&](OpIndex op) { path->push_back(op); });
  std::sort(path->begin() + static_cast<std::ptrdiff_t>(begin), path->end(),
            [&](OpIndex a, OpIndex b) {
              return rank_[static_cast<std::size_t>(a)] < rank_[static_cast<std::size_t>(b)];
            });
}

void Expander::Moves(const Word* executed, std::int64_t live, std::int64_t budget,
                     std::vector<Move>* moves) {
  moves->clear();
  if (instance_.pure()) {
    NextFreedMoves(executed, live, budget, moves);
  } else {
    SingleMoves(executed, live, budget, moves);
  }
  std::sort(moves->begin(), moves->end(), [&](const Move& a, const Move& b) {
    if (a.live != b.live) return a.live < b.live;
    if (a.hill != b.hill) return a.hill < b.hill;
    return a.ops < b.ops;
  });
}

void Expander::SingleMoves(const Word* executed, std::int64_t live, std::int64_t budget,
                           std::vector<Move>* moves) {
  for (OpIndex op = 0; op < instance_.num_ops(); ++op) {
    if (TestBit(executed, op) || !instance_.IsReady(executed, op)) continue;
    const Effect effect = instance_.EffectOf(executed, live, op);
    if (effect.hill > budget) continue;
    Move move{effect.hill, effect.live, std::vector<Word>(instance_.words(), 0)};
    SetBit(move.ops.data(), op);
    moves->push_back(std::move(move));
  }
}

// Every completion frees some buffer first. Running exactly what that takes, and nothing else, is
// enough: one move per buffer, of which only the inclusion-minimal ones are kept.
void Expander::NextFreedMoves(const Word* executed, std::int64_t live, std::int64_t budget,
                              std::vector<Move>* moves) {
  const std::size_t words = instance_.words();
  candidates_.clear();
  rows_.clear();
  bool any_left = false;
  // Operators are numbered about as they run: most of what has run fills the first words.
  std::size_t first_word = 0;
  while (first_word < words && ~executed[first_word] == 0) ++first_word;
  const std::int64_t room = budget - live;
  for (const Freeable& freeable : freeable_) {
    if (freeable.end_word <= first_word) continue;
    const Word* needed = needed_.Row(freeable.buffer);
    std::int64_t adds = 0;
    int count = 0;
    std::size_t pivot = 0;
    for (std::size_t w = first_word; w < freeable.end_word && adds <= room; ++w) {
      Word rest = needed[w] & ~executed[w];
      row_[w] = rest;
      if (rest != 0) pivot = w;
      for (; rest != 0; rest &= rest - 1) {
        ++count;
        adds += instance_.FirstTouched(
            static_cast<OpIndex>(w * 64 + static_cast<std::size_t>(std::countr_zero(rest))));
      }
    }
    if (count > 0) any_left = true;
    if (count == 0 || adds > room) continue;
    const std::size_t row = rows_.size();
    rows_.resize(row + words, 0);
    std::copy(row_.begin() + static_cast<std::ptrdiff_t>(first_word),
              row_.begin() + static_cast<std::ptrdiff_t>(freeable.end_word),
              rows_.begin() + static_cast<std::ptrdiff_t>(row + first_word));
    const std::int64_t bytes = instance_.buffers()[static_cast<std::size_t>(freeable.buffer)].bytes;
    candidates_.push_back({adds, bytes, count, row, pivot});
  }
  if (!any_left) {
    // Nothing can be freed any more: run the rest in any order.
    Move move{live, live, std::vector<Word>(words, 0)};
    for (OpIndex op = 0; op < instance_.num_ops(); ++op) {
      if (TestBit(executed, op)) continue;
      SetBit(move.ops.data(), op);
      move.live += instance_.FirstTouched(op);
    }
    move.hill = move.live;
    if (move.hill <= budget) moves->push_back(std::move(move));
    return;
  }
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.count < b.count; });
  std::size_t kept = 0;
  for (const Candidate& candidate : candidates_) {
    const Word* row = &rows_[candidate.row];
    bool minimal = true;
    for (std::size_t k = 0; minimal && k < kept; ++k) {
      const Candidate& other = candidates_[k];
      // Most comparisons end at one word that the smaller set certainly has bits in.
      if ((rows_[other.row + other.pivot] & ~row[other.pivot]) != 0) continue;
      if (!IsSubset(&rows_[other.row], row, words)) continue;
      minimal = false;
      // The same set frees several buffers at once.
      if (candidates_[k].count == candidate.count) candidates_[k].frees += candidate.frees;
    }
    if (minimal) candidates_[kept++] = candidate;
  }
  for (std::size_t k = 0; k < kept; ++k) {
    const Candidate& candidate = candidates_[k];
    Move move{live + candidate.adds, live + candidate.adds - candidate.frees,
              std::vector<Word>(&rows_[candidate.row], &rows_[candidate.row] + words)};
    moves->push_back(std::move(move));
  }
}

}  // namespace neap::schedule
