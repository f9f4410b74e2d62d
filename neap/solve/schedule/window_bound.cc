// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/window_bound.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "neap/base/ahead.h"
#include "neap/base/work.h"
#include "neap/solve/schedule/bits.h"
#include "neap/solve/schedule/question.h"

namespace neap::schedule {
namespace {

class FreeWindowMaker {
 public:
  FreeWindowMaker(const FlatProblem& flat, const std::vector<OpIndex>& order, std::int32_t begin,
                  std::int32_t end)
      : flat_(flat),
        words_((At(end - begin) + 63) / 64),
        index_of_(order.size(), -1),
        all_(words_, 0),
        until_(order.size() * words_, 0),
        since_(order.size() * words_, 0) {
    window_.ops.assign(order.begin() + begin, order.begin() + end);
    window_.problem.num_ops = end - begin;
    for (std::int32_t i = 0; i < end - begin; ++i) {
      index_of_[At(window_.ops[At(i)])] = i;
      SetBit(all_.data(), i);
    }
    constexpr std::int64_t kWorkOfWord = 3;
    ChargeWork(flat.Size() * static_cast<std::int64_t>(words_) * kWorkOfWord);
    // An operator is before those of the window that it is before, and each of itself.
    for (std::int32_t step = end - 1; step >= 0; --step) {
      Gather(order[At(step)], flat_.Successors(order[At(step)]), &until_);
    }
    for (std::size_t step = At(begin); step < order.size(); ++step) {
      Gather(order[step], flat_.Predecessors(order[step]), &since_);
    }
  }

  FreeWindow Make() {
    AddOps();
    std::vector<BufferIndex> index(flat_.problem().buffers.size(), -1);
    std::vector<Word> touched(words_);
    std::vector<Word> waiting(words_);
    std::int64_t across = 0;
    FindShares();
    for (std::size_t b = 0; b < index.size(); ++b) {
      const auto number = static_cast<BufferIndex>(b);
      const Buffer& buffer = flat_.BufferAt(number);
      if (buffer.users.empty() && !(buffer.live_at_start && buffer.live_at_end)) continue;
      Collect(buffer.users, until_, buffer.live_at_start, &touched);
      Collect(buffer.users, since_, buffer.live_at_end, &waiting);
      Buffer inner;
      inner.bytes = buffer.bytes;
      inner.live_at_start = buffer.live_at_start || IsBeforeAll(buffer.users);
      inner.live_at_end = buffer.live_at_end || IsAfterAll(buffer.users);
      if (inner.live_at_start && inner.live_at_end && shared_[b] == 0) {
        across += buffer.bytes;
        continue;
      }
      if (shared_[b] != 0) {
        for (const OpIndex user : buffer.users) {
          if (index_of_[At(user)] >= 0) inner.users.push_back(index_of_[At(user)]);
        }
        std::sort(inner.users.begin(), inner.users.end());
      } else {
        for (std::size_t w = 0; w < words_; ++w) touched[w] &= waiting[w] & all_[w];
        ForEachBit(touched.data(), words_, [&](std::int32_t i) { inner.users.push_back(i); });
      }
      if (inner.users.empty() && !(inner.live_at_start && inner.live_at_end)) continue;
      index[b] = static_cast<BufferIndex>(window_.buffers.size());
      window_.buffers.push_back(number);
      window_.problem.buffers.push_back(std::move(inner));
    }
    AddShares(index);
    if (across > 0) {
      window_.problem.buffers.push_back({across, {}, true, true});
      window_.buffers.push_back(-1);
    }
    return std::move(window_);
  }

 private:
  Word* Row(std::vector<Word>* rows, OpIndex op) const { return rows->data() + At(op) * words_; }
  const Word* Row(const std::vector<Word>& rows, OpIndex op) const {
    return rows.data() + At(op) * words_;
  }

  void Gather(OpIndex op, std::span<const OpIndex> others, std::vector<Word>* rows) {
    Word* row = Row(rows, op);
    for (const OpIndex other : others) {
      const Word* from = Row(*rows, other);
      for (std::size_t w = 0; w < words_; ++w) row[w] |= from[w];
    }
    if (index_of_[At(op)] >= 0) SetBit(row, index_of_[At(op)]);
  }

  void Collect(const std::vector<OpIndex>& users, const std::vector<Word>& rows, bool all,
               std::vector<Word>* out) const {
    std::fill(out->begin(), out->end(), all ? ~Word{0} : 0);
    if (all) return;
    for (const OpIndex user : users) {
      for (std::size_t w = 0; w < words_; ++w) (*out)[w] |= Row(rows, user)[w];
    }
  }

  bool IsAll(const Word* row) const { return IsSubset(all_.data(), row, words_); }
  // A user outside runs before the first operator of the window.
  bool IsBeforeAll(const std::vector<OpIndex>& users) const {
    return std::any_of(users.begin(), users.end(), [&](OpIndex user) {
      return index_of_[At(user)] < 0 && IsAll(Row(until_, user));
    });
  }
  bool IsAfterAll(const std::vector<OpIndex>& users) const {
    return std::any_of(users.begin(), users.end(), [&](OpIndex user) {
      return index_of_[At(user)] < 0 && IsAll(Row(since_, user));
    });
  }

  void AddOps() {
    for (std::int32_t i = 0; i < window_.problem.num_ops; ++i) {
      const OpIndex op = window_.ops[At(i)];
      if (!flat_.problem().scratch_bytes.empty()) {
        window_.problem.scratch_bytes.push_back(flat_.Scratch(op));
      }
      for (const OpIndex before : flat_.Predecessors(op)) {
        if (index_of_[At(before)] >= 0) {
          window_.problem.precedences.emplace_back(index_of_[At(before)], i);
        }
      }
    }
  }

  // Buffers that an operator of the window may have in common: their own users only.
  void FindShares() {
    shared_.assign(flat_.problem().buffers.size(), 0);
    for (const OpIndex op : window_.ops) {
      if (const InPlace* pair = flat_.InPlaceOf(op)) {
        shared_[At(pair->input)] = 1;
        shared_[At(pair->output)] = 1;
      }
      if (const TakeOver* part = flat_.TakeOverOf(op)) {
        for (const BufferIndex buffer : part->inputs) shared_[At(buffer)] = 1;
        for (const BufferIndex buffer : part->outputs) shared_[At(buffer)] = 1;
      }
    }
  }

  // A buffer that is freed at an operator in some order is freed there in the window, too. In the
  // window that may happen in more orders, which only lowers the bound.
  void AddShares(const std::vector<BufferIndex>& index) {
    const auto dies = [&](BufferIndex buffer) {
      return !window_.problem.buffers[At(index[At(buffer)])].live_at_end;
    };
    const auto begins = [&](BufferIndex buffer) {
      return !window_.problem.buffers[At(index[At(buffer)])].live_at_start;
    };
    for (const OpIndex op : window_.ops) {
      const std::int32_t inner = index_of_[At(op)];
      if (const InPlace* pair = flat_.InPlaceOf(op)) {
        if (!dies(pair->input) || !begins(pair->output)) continue;
        window_.problem.in_place.push_back(
            {inner, index[At(pair->input)], index[At(pair->output)]});
      }
      if (const TakeOver* part = flat_.TakeOverOf(op)) {
        TakeOver out;
        out.op = inner;
        for (const BufferIndex input : part->inputs) {
          if (dies(input)) out.inputs.push_back(index[At(input)]);
        }
        for (const BufferIndex output : part->outputs) {
          if (begins(output)) out.outputs.push_back(index[At(output)]);
        }
        if (out.inputs.empty() || out.outputs.empty()) continue;
        window_.problem.take_over.push_back(std::move(out));
      }
    }
  }

  const FlatProblem& flat_;
  std::size_t words_;
  std::vector<std::int32_t> index_of_;  // per operator: in the window, or -1
  std::vector<Word> all_;               // the operators of the window
  std::vector<Word> until_;             // rows per operator: those of the window it is not after
  std::vector<Word> since_;             // those of the window it is not before
  std::vector<char> shared_;            // per buffer
  FreeWindow window_;
};

class BoundSearch {
 public:
  BoundSearch(const OrderState& state, FlatCut* cut, const Limits& limits, Bound* bound)
      : state_(state), cut_(*cut), limits_(limits), bound_(*bound) {}

  void Run() {
    {
      const WorkScope half(1, 2);
      Cuts();
    }
    if (!Met()) Windows();
  }

 private:
  static constexpr std::int32_t kSizes[] = {64, 128, 256, 512, 768};
  static constexpr std::int64_t kStates = 4'000;
  static constexpr std::size_t kMaxCuts = 200;
  static constexpr std::int32_t kStepsWorthAThread = 1'000;

  int Threads() const { return state_.size() >= kStepsWorthAThread ? limits_.threads : 1; }

  bool Met() const { return bound_.bytes >= state_.Peak() || IsOver(limits_); }

  // The hill of an operator here is at least its least one: lower hills prove nothing.
  void Cuts() {
    std::vector<std::pair<std::int64_t, std::int32_t>> hills;
    for (std::int32_t step = 0; step < state_.size(); ++step) {
      if (state_.Hill(step) > bound_.bytes) hills.emplace_back(-state_.Hill(step), step);
    }
    std::sort(hills.begin(), hills.end());
    OpIndex best = -1;
    std::optional<FlatCut> other;
    if (Threads() > 1) other.emplace(cut_);
    ForEachAhead(
        Threads(), std::min<std::size_t>(hills.size(), kMaxCuts),
        [&](std::size_t i) { return -hills[i].first > bound_.bytes && !Met(); },
        [&](std::size_t i, int thread) {
          FlatCut& cut = thread == 0 ? cut_ : *other;
          return cut.LeastHill(state_.OpAt(hills[i].second), state_.Peak());
        },
        [&](std::size_t i, std::int64_t hill) {
          const std::int64_t least = std::min(hill, state_.Peak());
          if (least <= bound_.bytes) return;
          bound_ = {};
          bound_.bytes = least;
          bound_.proof = Proof::kMinCut;
          bound_.op = best = state_.OpAt(hills[i].second);
        });
    if (best < 0) return;
    if (!state_.flat().problem().take_over.empty()) return;
    std::int64_t hill = 0;
    bound_.witness = cut_.Witness(best, &hill);
  }

  struct Searched {
    FreeWindow window;
    Outcome found;
  };

  void Windows() {
    std::vector<std::pair<std::int32_t, std::int32_t>> ranges;
    for (const std::int32_t size : kSizes) {
      for (const std::int32_t part : {2, 4, 1}) {
        const std::int32_t before = part == 1 ? size - size / 4 : size / part;
        const std::int32_t begin = std::max(state_.PeakStep() - before, 0);
        const std::int32_t end = std::min(begin + size, state_.size());
        ranges.emplace_back(begin, end);
        if (end - begin == state_.size()) break;
      }
      if (ranges.back().second - ranges.back().first == state_.size()) break;
    }
    ForEachAhead(
        Threads(), ranges.size(), [&](std::size_t) { return !Met(); },
        [&](std::size_t i, int) { return SearchWindow(ranges[i].first, ranges[i].second); },
        [&](std::size_t, const Searched& searched) { Adopt(searched); });
  }

  Searched SearchWindow(std::int32_t begin, std::int32_t end) const {
    Searched searched;
    searched.window = MakeFreeWindow(state_.flat(), state_.order(), begin, end);
    Limits limits;
    limits.max_states = kStates;
    limits.deadline = limits_.deadline;
    limits.stop = limits_.stop;
    const std::int64_t before = WorkDone();
    searched.found = SolveBelow(searched.window.problem, limits, state_.Peak());
    // States of several hundred operators cost about three times as much as counted.
    ChargeWork(2 * (WorkDone() - before));
    return searched;
  }

  void Adopt(const Searched& searched) {
    const Outcome& found = searched.found;
    bound_.states += found.states;
    if (found.lower_bound_bytes <= bound_.bytes) return;
    // Of the whole problem it is a search of some of its operators, for every kind of proof.
    Bound better;
    better.bytes = found.lower_bound_bytes;
    better.proof = Proof::kSearch;
    better.op = searched.window.ops[At(found.bound_op)];
    better.reversed = found.reversed;
    better.states = bound_.states;
    bound_ = std::move(better);
  }

  const OrderState& state_;
  FlatCut& cut_;
  const Limits& limits_;
  Bound& bound_;
};

}  // namespace

FreeWindow MakeFreeWindow(const FlatProblem& flat, const std::vector<OpIndex>& order,
                          std::int32_t begin, std::int32_t end) {
  return FreeWindowMaker(flat, order, begin, end).Make();
}

void RaiseBounds(const OrderState& state, FlatCut* cut, const Limits& limits, Bound* bound) {
  BoundSearch(state, cut, limits, bound).Run();
}

}  // namespace neap::schedule
