// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/annealing.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "neap/base/work.h"
#include "neap/solve/schedule/passage.h"

namespace neap::schedule {
namespace {

// Of the share of the peak from which a hill counts.
constexpr std::int64_t kShares[] = {60, 65};
constexpr int kHeightBits = 10;  // a hill as high as the peak is about 2^10 above that share
constexpr int kTemperatures = 64;
constexpr std::int32_t kMostSteps = 4'000;  // between the old place of an operator and the new one
// Work in about nanoseconds.
constexpr std::int64_t kWorkOfMove = 450;
constexpr std::int64_t kWorkOfStep = 5;
constexpr std::int64_t kWorkOfShift = 10;
constexpr std::int64_t kWorkOfEntry = 20;
constexpr std::uint64_t kReaches = 6;  // the farthest place halves up to so many times less one
// Of the run that lowers the other hills.
constexpr std::int64_t kSettleShare = 60;
constexpr std::int64_t kSettleHottest = std::int64_t{1} << 18;

// About -log2(u) * 2^16 of a random u in (0, 1], linear between powers of two.
std::int64_t NegativeLog(std::uint64_t bits) {
  const int zeros = std::countl_zero(bits | 1U);
  const std::uint64_t mantissa = (bits << static_cast<unsigned>(zeros)) >> 47U;  // 17 bits, top set
  return (static_cast<std::int64_t>(zeros) << 16) +
         ((std::int64_t{1} << 17) - static_cast<std::int64_t>(mantissa));
}

// Whether one number divides another, without dividing: a number is a multiple of 2^k * odd where
// its product with the inverse of `odd`, turned right by k bits, is among the smallest.
class Divisors {
 public:
  explicit Divisors(std::size_t most) : divisors_(most + 1) {
    for (std::uint64_t number = 1; number <= most; ++number) {
      const std::uint64_t odd = number >> static_cast<unsigned>(std::countr_zero(number));
      // Newton's iteration doubles the bits that are right: 3 of them here.
      std::uint64_t inverse = odd;
      for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - odd * inverse;
      divisors_[number] = {inverse, ~std::uint64_t{0} / number};
    }
  }

  // `number`: from 1 to the most.
  bool Divides(std::uint64_t number, std::uint64_t multiple) const {
    const Divisor& divisor = divisors_[number];
    const auto bits = static_cast<unsigned>(std::countr_zero(number));
    const std::uint64_t product = multiple * divisor.inverse;
    return ((product >> bits) | (product << ((64U - bits) % 64U))) <= divisor.multiples;
  }

 private:
  struct Divisor {
    std::uint64_t inverse = 0;
    std::uint64_t multiples = 0;  // that a word has, without 0
  };
  std::vector<Divisor> divisors_;
};

class Annealer {
 public:
  Annealer(OrderState* state, std::int64_t floor_bytes, Random* random, const Limits& limits)
      : state_(*state),
        flat_(state->flat()),
        floor_(floor_bytes),
        random_(*random),
        limits_(limits),
        divisors_(At(std::min(kMostSteps, state->size()))),
        passage_(state) {
    FindPlain();
  }

  bool Run(std::int64_t work) {
    const std::int64_t before = state_.Peak();
    best_peak_ = before;
    best_ = state_.order();
    share_ = kShares[random_.Below(std::size(kShares))];
    Rebase();
    const std::int64_t begin = WorkDone();
    while (state_.Peak() > floor_ && best_peak_ > floor_) {
      const std::int64_t done = WorkDone() - begin;
      if (done >= work || IsOver(limits_)) break;
      temperature_ = TemperatureAt(done, work);
      for (int i = 0; i < kMovesPerLook && state_.Peak() > base_; ++i) Move();
      if (state_.Peak() <= base_) Rebase();
    }
    if (state_.Peak() > best_peak_) state_.Replace(0, best_);
    return state_.Peak() < before;
  }

  // No hill above the peak; the temperature falls to zero.
  bool Settle(std::int64_t work) {
    best_peak_ = 0;
    best_ = state_.order();
    ceiling_ = state_.Peak();
    share_ = kSettleShare;
    Rebase();
    const std::int64_t before = CostOf(0, state_.size());
    const std::int64_t begin = WorkDone();
    while (state_.Peak() > base_) {
      const std::int64_t left = work - (WorkDone() - begin);
      if (left <= 0 || IsOver(limits_)) break;
      temperature_ = kSettleHottest / kTemperatures * (kTemperatures * left / work);
      for (int i = 0; i < kMovesPerLook && state_.Peak() > base_; ++i) Move();
    }
    if (CostOf(0, state_.size()) < before) return true;
    state_.Replace(0, best_);
    return false;
  }

 private:
  static constexpr int kMovesPerLook = 256;

  // A geometric fall, linear between powers of two, from half the square of a hill as high as
  // the peak.
  std::int64_t TemperatureAt(std::int64_t done, std::int64_t work) const {
    constexpr int kHalvings = 6;
    const auto at =
        static_cast<std::int64_t>(kTemperatures) * done / std::max<std::int64_t>(work, 1);
    constexpr std::int64_t kHottest = std::int64_t{1} << (2 * kHeightBits - 1);
    const auto whole = at * kHalvings / kTemperatures;
    const auto part = at * kHalvings % kTemperatures;
    const std::int64_t high = kHottest >> whole;
    return high - high / 2 * part / kTemperatures;
  }

  void Rebase() {
    base_ = state_.Peak() / 100 * share_;
    shift_ = 0;
    while (((state_.Peak() - base_) >> shift_) >= (1 << kHeightBits)) ++shift_;
  }

  std::int64_t Cost(std::int64_t hill) const {
    if (hill <= base_) return 0;
    const std::int64_t height = (hill - base_) >> shift_;
    return height * height;
  }

  // Operators that share no memory, and whose buffers have no user that shares memory: a move of
  // one changes other hills by the bytes of its buffers only.
  void FindPlain() {
    plain_.assign(static_cast<std::size_t>(flat_.num_ops()), 1);
    if (flat_.problem().in_place.empty() && flat_.problem().take_over.empty()) return;
    for (const Buffer& buffer : flat_.problem().buffers) {
      const bool shared = std::any_of(buffer.users.begin(), buffer.users.end(),
                                      [&](OpIndex user) { return flat_.Shares(user); });
      if (!shared) continue;
      for (const OpIndex user : buffer.users) plain_[At(user)] = 0;
    }
  }

  void Move() {
    const std::int32_t high = state_.RandomStepAbove(base_, &random_);
    const auto reach = std::int64_t{1} << random_.Below(8);
    const std::int64_t near = high + random_.Between(-reach, reach);
    const auto from =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(near, 0, state_.size() - 1));
    const OpIndex op = state_.OpAt(from);
    std::int32_t low = std::max(from - kMostSteps, 0);
    std::int32_t last = std::min(from + kMostSteps, state_.size() - 1);
    const auto before = flat_.Predecessors(op);
    const auto after = flat_.Successors(op);
    for (const OpIndex other : before) low = std::max(low, state_.Place(other) + 1);
    for (const OpIndex other : after) last = std::min(last, state_.Place(other) - 1);
    ChargeWork(kWorkOfMove +
               static_cast<std::int64_t>(before.size() + after.size()) * kWorkOfEntry);
    const bool later = random_.Chance(1, 2);
    const std::int32_t room = later ? last - from : from - low;
    if (room <= 0) return;
    // Near places more often than far ones.
    const std::int32_t most = std::max(room >> random_.Below(kReaches), 1);
    const std::int64_t bound = (temperature_ * NegativeLog(random_.Next())) >> 16;
    if (plain_[At(op)] != 0) {
      MovePlain(from, later, most, bound);
    } else {
      const auto steps =
          static_cast<std::int32_t>(1 + random_.Below(static_cast<std::uint64_t>(most)));
      MoveAny(from, later ? from + steps : from - steps, bound);
    }
    if (state_.Peak() < best_peak_) Keep();
  }

  // To one of the places, up to `most` steps away, at which the cost rises by no more than `bound`.
  void MovePlain(std::int32_t from, bool later, std::int32_t most, std::int64_t bound) {
    passage_.Begin(from, later, most);
    ChargeWork(most * kWorkOfStep);
    const std::int64_t base = base_;
    const int shift = shift_;
    const std::int64_t ceiling = ceiling_;
    const auto cost = [base, shift](std::int64_t hill) {
      const std::int64_t height = std::max<std::int64_t>(hill - base, 0) >> shift;
      return height * height;
    };
    const std::int64_t most_cost = bound + cost(state_.Hill(from));
    std::int64_t passed = 0;
    std::uint64_t fitting = 0;
    std::int32_t chosen = 0;
    passage_.ForEach([&](std::int32_t distance, const Passage::Place& place) {
      if (place.change != 0) passed += cost(place.hill + place.change) - cost(place.hill);
      if (place.hill + place.change > ceiling) return false;
      if (place.own > ceiling || passed + cost(place.own) > most_cost) return true;
      if (divisors_.Divides(++fitting, random_.Next())) chosen = distance;
      return true;
    });
    if (chosen == 0) return;
    ChargeWork(chosen * kWorkOfShift);
    passage_.Move(chosen);
  }

  void MoveAny(std::int32_t from, std::int32_t to, std::int64_t bound) {
    const OpIndex op = state_.OpAt(from);
    const std::int32_t first = std::min(from, to);
    const std::int32_t end = std::max(from, to) + 1;
    const std::int64_t cost = CostOf(first, end);
    Apply(op, from, to);
    if (state_.Peak() > ceiling_ || CostOf(first, end) - cost > bound) Apply(op, to, from);
  }

  std::int64_t CostOf(std::int32_t first, std::int32_t end) const {
    std::int64_t cost = 0;
    for (std::int32_t step = first; step < end; ++step) cost += Cost(state_.Hill(step));
    return cost;
  }

  void Apply(OpIndex op, std::int32_t from, std::int32_t to) {
    const auto& order = state_.order();
    const std::int32_t first = std::min(from, to);
    if (from < to) {
      moved_.assign(order.begin() + from + 1, order.begin() + to + 1);
      moved_.push_back(op);
    } else {
      moved_.assign(1, op);
      moved_.insert(moved_.end(), order.begin() + to, order.begin() + from);
    }
    ChargeWork(static_cast<std::int64_t>(moved_.size()) * kWorkOfEntry * 4);
    state_.Replace(first, moved_);
  }

  void Keep() {
    best_peak_ = state_.Peak();
    best_ = state_.order();
    ChargeWork(state_.size());
    Rebase();
  }

  OrderState& state_;
  const FlatProblem& flat_;
  std::int64_t floor_;
  Random& random_;
  const Limits& limits_;
  std::vector<char> plain_;  // per operator
  Divisors divisors_;        // as many as a move has places
  std::int64_t share_ = 0;
  std::int64_t base_ = 0;
  int shift_ = 0;
  std::int64_t temperature_ = 0;
  std::int64_t ceiling_ = std::numeric_limits<std::int64_t>::max();  // of all hills
  std::int64_t best_peak_ = 0;
  std::vector<OpIndex> best_;
  std::vector<OpIndex> moved_;
  Passage passage_;
};

}  // namespace

bool Anneal(OrderState* state, std::int64_t floor_bytes, std::int64_t work, Random* random,
            const Limits& limits) {
  return Annealer(state, floor_bytes, random, limits).Run(work);
}

bool LowerOtherHills(OrderState* state, std::int64_t work, Random* random, const Limits& limits) {
  return Annealer(state, 0, random, limits).Settle(work);
}

}  // namespace neap::schedule
