// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/rematerialise/chain.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "neap/base/index.h"
#include "neap/base/work.h"

namespace neap::rematerialise {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::int64_t kMaxUnits = 256;  // of memory
constexpr std::int64_t kMinUnits = 16;
constexpr std::int64_t kMaxProgram = 50'000'000;  // of the dynamic program

// Step i of the chain computes value i + 1 from value i. Values 1 to length - 1 can be dropped and
// computed again; all others, inputs and the last value of the chain among them, are as in the
// start. Turn k, from `length` down to 0, runs the later operators that need value k.
struct Chain {
  std::int64_t length = 0;
  std::vector<std::int64_t> costs;          // by step
  std::vector<std::int64_t> written;        // by value: bytes while it is computed
  std::vector<std::int64_t> kept;           // by value: bytes while it is kept
  std::vector<std::int64_t> scratch;        // by step
  std::vector<std::vector<OpIndex>> turns;  // by value
  std::vector<std::int64_t> needs;          // by turn: bytes besides kept values
  std::vector<std::int64_t> carried;        // by turn: other bytes that are live before it
};

class Reader {
 public:
  Reader(const Access& access, std::span<const OpIndex> start)
      : access_(access), problem_(access.problem()), start_(start) {}

  std::optional<Chain> Read() {
    FindLength();
    if (chain_.length < 3 || !IndexValues() || !FindTurns()) return std::nullopt;
    CountOthers();
    return std::move(chain_);
  }

 private:
  OpIndex OpAt(std::int64_t position) const { return start_[static_cast<std::size_t>(position)]; }
  std::int64_t size() const { return static_cast<std::int64_t>(start_.size()); }

  // The operators from the first on that may run again and read inputs and the one before alone.
  void FindLength() {
    for (std::int64_t at = 0; at < size(); ++at, ++chain_.length) {
      if (!problem_.ops[At(OpAt(at))].repeatable) return;
      bool follows = at == 0;
      for (const ValueIndex value : access_.ReadsOf(OpAt(at))) {
        const OpIndex writer = problem_.values[At(value)].writer;
        if (writer == kNoWriter) continue;
        if (at == 0 || writer != OpAt(at - 1)) return;
        follows = true;
      }
      if (!follows) return;
    }
  }

  // index_: of each value in the chain; -1: another one.
  bool IndexValues() {
    index_.assign(problem_.values.size(), -1);
    chain_.written.push_back(0);
    chain_.kept.push_back(0);
    for (std::int64_t step = 0; step < chain_.length; ++step) {
      const Op& op = problem_.ops[At(OpAt(step))];
      chain_.costs.push_back(op.cost);
      chain_.scratch.push_back(op.scratch_bytes);
      const bool last = step + 1 == chain_.length;
      std::int64_t bytes = 0;
      for (const ValueIndex value : access_.WritesOf(OpAt(step))) {
        bytes += problem_.values[At(value)].bytes;
        if (last) continue;
        if (problem_.values[At(value)].live_at_end) return false;
        index_[At(value)] = step + 1;
      }
      chain_.written.push_back(bytes);
      chain_.kept.push_back(last ? 0 : bytes);
    }
    return true;
  }

  // The later operators read at most one of the values each, in falling order.
  bool FindTurns() {
    chain_.turns.resize(static_cast<std::size_t>(chain_.length) + 1);
    std::int64_t turn = chain_.length;
    for (std::int64_t at = chain_.length; at < size(); ++at) {
      std::int64_t read = -1;
      for (const ValueIndex value : access_.ReadsOf(OpAt(at))) {
        const std::int64_t index = index_[At(value)];
        if (index < 0) continue;
        if (read >= 0 && read != index) return false;
        read = index;
      }
      if (read > turn) return false;
      if (read >= 0) turn = read;
      chain_.turns[static_cast<std::size_t>(turn)].push_back(OpAt(at));
      reads_.push_back(read);
    }
    return true;
  }

  // Bytes of the other values, which are live as in the start. Inputs of the chain are live
  // everywhere: any step may run again.
  void CountOthers() {
    const auto ops = static_cast<std::size_t>(size());
    std::vector<std::int64_t> position(ops, 0);
    for (std::size_t at = 0; at < ops; ++at) {
      position[At(start_[at])] = static_cast<std::int64_t>(at);
    }
    std::vector<std::int64_t> change(ops + 2, 0);  // of bytes live before a position
    std::vector<std::int64_t> during(ops, 0);      // written there
    for (std::size_t value = 0; value < index_.size(); ++value) {
      const Value& is = problem_.values[value];
      if (index_[value] >= 0) continue;
      std::int64_t last = is.writer == kNoWriter ? -1 : position[At(is.writer)];
      const std::int64_t first = last + 1;
      for (const OpIndex reader : is.readers) last = std::max(last, position[At(reader)]);
      const bool of_chain = is.writer == kNoWriter && !is.readers.empty() &&
                            std::any_of(is.readers.begin(), is.readers.end(), [&](OpIndex op) {
                              return position[At(op)] < chain_.length;
                            });
      if (is.live_at_end || of_chain) last = size();
      if (is.writer != kNoWriter) during[At(position[At(is.writer)])] += is.bytes;
      if (last < first) continue;
      change[static_cast<std::size_t>(first)] += is.bytes;
      change[static_cast<std::size_t>(last) + 1] -= is.bytes;
    }
    std::partial_sum(change.begin(), change.end(), change.begin());
    SetNeeds(change, during);
  }

  void SetNeeds(const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& during) {
    const auto turns = static_cast<std::size_t>(chain_.length) + 1;
    chain_.needs.assign(turns, 0);
    chain_.carried.assign(turns, before[0]);
    chain_.needs.back() = before[turns - 1];
    std::size_t at = turns - 1;  // the position of the first operator of the turn
    for (std::size_t turn = turns; turn-- > 0;) {
      if (turn + 1 < turns) chain_.carried[turn] = before[at];
      const std::size_t end = at + chain_.turns[turn].size();
      std::size_t last_read = end;
      while (last_read > at && reads_[last_read - turns] < 0) --last_read;
      for (; at < end; ++at) {
        const std::int64_t bytes =
            before[at] + during[at] + problem_.ops[At(start_[at])].scratch_bytes;
        const std::int64_t dropped = at < last_read ? 0 : chain_.kept[turn];
        chain_.needs[turn] = std::max(chain_.needs[turn], bytes - dropped);
      }
    }
  }

  static std::size_t At(std::int64_t index) { return static_cast<std::size_t>(index); }

  const Access& access_;
  const Problem& problem_;
  std::span<const OpIndex> start_;
  Chain chain_;
  std::vector<std::int64_t> index_;
  std::vector<std::int64_t> reads_;  // by later operator: the value of the chain, or -1
};

// The minimum cost of turns [begin, end), last one first, with value `begin` kept and `memory`
// units for everything else.
class Program {
 public:
  Program(const Chain& chain, std::int64_t unit, std::int64_t units)
      : chain_(chain), unit_(unit), turns_(chain.length + 1) {
    cost_.assign(static_cast<std::size_t>((units + 1) * turns_ * (turns_ + 1)), kNone);
    for (std::int64_t memory = 0; memory <= units; ++memory) {
      for (std::int64_t length = 1; length <= turns_; ++length) {
        for (std::int64_t begin = 0; begin + length <= turns_; ++begin) {
          Cost(memory, begin, begin + length) = Best(memory, begin, begin + length).first;
        }
      }
    }
  }

  // All turns; empty: too little memory.
  std::vector<OpIndex> Sequence(std::int64_t memory, std::span<const OpIndex> start) {
    std::vector<OpIndex> sequence;
    if (Cost(memory, 0, turns_) < kNone) Append(memory, 0, turns_, start, &sequence);
    return sequence;
  }
  std::int64_t Cost(std::int64_t memory) { return Cost(memory, 0, turns_); }

 private:
  static std::size_t At(std::int64_t index) { return static_cast<std::size_t>(index); }
  std::int64_t& Cost(std::int64_t memory, std::int64_t begin, std::int64_t end) {
    return cost_[At((memory * turns_ + begin) * (turns_ + 1) + end)];
  }
  std::int64_t Units(std::int64_t bytes) const { return (bytes + unit_ - 1) / unit_; }
  bool IsIdle(std::int64_t turn) const {
    return turn < chain_.length && chain_.turns[At(turn)].empty();
  }

  // The cost, and the value that is kept next; 0: none, the last turn is idle or the only one.
  std::pair<std::int64_t, std::int64_t> Best(std::int64_t memory, std::int64_t begin,
                                             std::int64_t end) {
    std::pair<std::int64_t, std::int64_t> best = {kNone, 0};
    if (end == begin + 1) {
      const bool fits = IsIdle(begin) || Units(chain_.needs[At(begin)]) <= memory;
      return {fits ? 0 : kNone, 0};
    }
    if (IsIdle(end - 1)) best.first = Cost(memory, begin, end - 1);
    std::int64_t steps = 0;
    for (std::int64_t value = begin + 1; value < end; ++value) {
      const std::int64_t read = value - 1 > begin ? chain_.written[At(value - 1)] : 0;
      const std::int64_t bytes = chain_.carried[At(end - 1)] + read + chain_.written[At(value)] +
                                 chain_.scratch[At(value - 1)];
      if (Units(bytes) > memory) break;
      steps += chain_.costs[At(value - 1)];
      const std::int64_t left = memory - Units(chain_.kept[At(value)]);
      if (left < 0) continue;
      const std::int64_t cost = steps + Cost(left, value, end) + Cost(memory, begin, value);
      if (cost < best.first) best = {cost, value};
    }
    return best;
  }

  void Append(std::int64_t memory, std::int64_t begin, std::int64_t end,
              std::span<const OpIndex> start, std::vector<OpIndex>* sequence) {
    while (end > begin + 1) {
      const std::int64_t value = Best(memory, begin, end).second;
      if (value == 0) {
        --end;
        continue;
      }
      for (std::int64_t step = begin; step < value; ++step) sequence->push_back(start[At(step)]);
      Append(memory - Units(chain_.kept[At(value)]), value, end, start, sequence);
      end = value;
    }
    const std::vector<OpIndex>& turn = chain_.turns[At(begin)];
    sequence->insert(sequence->end(), turn.begin(), turn.end());
  }

  const Chain& chain_;
  std::int64_t unit_;
  std::int64_t turns_;
  std::vector<std::int64_t> cost_;  // by memory, begin, end
};

}  // namespace

std::vector<std::vector<OpIndex>> ChainSequences(const Access& access,
                                                 std::span<const OpIndex> start) {
  std::vector<std::vector<OpIndex>> sequences;
  const auto chain = Reader(access, start).Read();
  if (!chain) return sequences;
  const std::int64_t peak = TraceOf(access, start).peak_bytes;
  const std::int64_t splits = chain->length * chain->length * chain->length / 6 + 1;
  const std::int64_t most = std::min(kMaxUnits, kMaxProgram / splits);
  if (most < kMinUnits || peak == 0) return sequences;
  std::int64_t unit = 0;
  for (const auto* sizes : {&chain->written, &chain->scratch, &chain->needs, &chain->carried}) {
    for (const std::int64_t bytes : *sizes) unit = std::gcd(unit, bytes);
  }
  if (unit == 0 || peak / unit > most) unit = (peak + most - 1) / most;
  const std::int64_t units = peak / unit;
  ChargeWork(splits * units);
  Program program(*chain, unit, units);
  std::int64_t last = -1;
  for (std::int64_t memory = units; memory >= 0; --memory) {
    if (program.Cost(memory) >= kNone) break;
    // Of memories with one cost, the smallest.
    if (program.Cost(memory) == last) sequences.pop_back();
    last = program.Cost(memory);
    sequences.push_back(program.Sequence(memory, start));
  }
  return sequences;
}

}  // namespace neap::rematerialise
