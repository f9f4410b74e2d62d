// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/expander.h"

#include <algorithm>

namespace neap::schedule {

Expander::Expander(const Instance& instance, bool next_freed, const Clusters::Rules& rules)
    : instance_(instance), clusters_(instance, next_freed, rules) {}

State Expander::Start() const {
  State state{std::vector<Word>(instance_.words(), 0), std::vector<Word>(instance_.words(), 0),
              instance_.start_live()};
  FindReady(&state);
  return state;
}

void Expander::FindReady(State* state) const {
  for (std::size_t w = 0; w < instance_.words(); ++w) {
    Word waiting = ~state->executed[w];
    if (w + 1 == instance_.words() && (instance_.num_ops() & 63) != 0) {
      waiting &= (Word{1} << (static_cast<unsigned>(instance_.num_ops()) & 63U)) - 1;
    }
    state->ready[w] = 0;
    for (; waiting != 0; waiting &= waiting - 1) {
      const auto op =
          static_cast<OpIndex>(w * 64 + static_cast<std::size_t>(std::countr_zero(waiting)));
      if (instance_.IsReady(state->executed.data(), op)) SetBit(state->ready.data(), op);
    }
  }
}

void Expander::MarkExecuted(OpIndex op, State* state) const {
  SetBit(state->executed.data(), op);
  ClearBit(state->ready.data(), op);
  for (const OpIndex next : instance_.Successors(op)) {
    if (instance_.IsReady(state->executed.data(), next)) SetBit(state->ready.data(), next);
  }
}

void Expander::Close(State* state, std::int64_t budget, std::vector<OpIndex>* path) {
  ready_.clear();
  ForEachBit(state->ready.data(), instance_.words(), [&](OpIndex op) {
    if (instance_.CanBeForced(op)) ready_.push_back(op);
  });
  bool changed = true;
  while (changed) {
    changed = false;
    for (std::size_t at = 0; at < ready_.size();) {
      const OpIndex op = ready_[at];
      const Effect effect = instance_.EffectOf(state->executed.data(), state->live, op);
      if (effect.hill > budget || effect.live > state->live) {
        ++at;
        continue;
      }
      changed = true;
      MarkExecuted(op, state);
      state->live = effect.live;
      path->push_back(op);
      ready_[at] = ready_.back();
      ready_.pop_back();
      for (const OpIndex next : instance_.Successors(op)) {
        if (instance_.CanBeForced(next) && TestBit(state->ready.data(), next)) {
          ready_.push_back(next);
        }
      }
    }
  }
}

void Expander::Apply(const Moves& moves, const Move& move, State* state,
                     std::vector<OpIndex>* path) {
  state->live = move.live;
  if (move.row < 0) {
    MarkExecuted(move.op, state);
    path->push_back(move.op);
    return;
  }
  clusters_.Order(&moves.rows[static_cast<std::size_t>(move.row)], move.op, &order_);
  for (const OpIndex op : order_) {
    MarkExecuted(op, state);
    path->push_back(op);
  }
}

void Expander::FindMoves(const State& state, std::int64_t budget, Moves* moves) {
  moves->list.clear();
  moves->rows.clear();
  if (!clusters_.usable()) {
    SingleMoves(state, budget, moves);
  } else {
    clusters_.Find(state.executed.data(), state.live, budget);
    for (const Clusters::Found& found : clusters_.found()) {
      const auto row = static_cast<std::int32_t>(moves->rows.size());
      const Word* from = &clusters_.rows()[found.row];
      moves->rows.insert(moves->rows.end(), from, from + instance_.words());
      moves->list.push_back({found.hill, found.live, found.last, row});
    }
  }
  const auto rows_less = [&](const Move& a, const Move& b) {
    const Word* left = &moves->rows[static_cast<std::size_t>(a.row)];
    const Word* right = &moves->rows[static_cast<std::size_t>(b.row)];
    return std::lexicographical_compare(left, left + instance_.words(), right,
                                        right + instance_.words());
  };
  std::sort(moves->list.begin(), moves->list.end(), [&](const Move& a, const Move& b) {
    if (a.live != b.live) return a.live < b.live;
    if (a.hill != b.hill) return a.hill < b.hill;
    return a.row >= 0 && b.row >= 0 ? rows_less(a, b) : a.op < b.op;
  });
}

void Expander::SingleMoves(const State& state, std::int64_t budget, Moves* moves) const {
  ForEachBit(state.ready.data(), instance_.words(), [&](OpIndex op) {
    const Effect effect = instance_.EffectOf(state.executed.data(), state.live, op);
    if (effect.hill <= budget) moves->list.push_back({effect.hill, effect.live, op, -1});
  });
}

}  // namespace neap::schedule
