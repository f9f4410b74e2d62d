// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/ejection.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <tuple>

#include "neap/base/bytes.h"

namespace neap::arena {
namespace {

// Sums over all neighbours fit: there are at most a few millions (kMaxNeighbours).
constexpr std::int64_t kGreatestWeight = std::int64_t{1} << 38;
constexpr std::int64_t kGreatestBytes = std::int64_t{1} << 31;  // times steps: within 63 bits
constexpr std::size_t kMostShifts = 8;                          // of an entry of a row, on average
constexpr std::int64_t kInsertionsPerState = 2;
constexpr std::int64_t kSettledPerVisit = 8;  // cost about as much as one neighbour of an insertion
constexpr std::int64_t kWorkPerNeighbour = 40;  // in about nanoseconds, beyond that of the states

// Rounded down.
std::int64_t SquareRoot(std::int64_t value) {
  std::int64_t root = 0;
  for (std::int64_t bit = std::int64_t{1} << 31; bit > 0; bit /= 2) {
    if ((root + bit) <= value / (root + bit)) root += bit;
  }
  return root;
}

// Multiples of an alignment, without dividing where that is a power of two.
class Multiples {
 public:
  explicit Multiples(std::int64_t alignment)
      : alignment_(alignment), mask_((alignment & (alignment - 1)) == 0 ? -alignment : 0) {}
  // Of an offset that is not negative.
  std::int64_t Down(std::int64_t offset) const {
    return mask_ != 0 ? offset & mask_ : offset / alignment_ * alignment_;
  }
  std::int64_t Up(std::int64_t offset) const { return Down(offset + alignment_ - 1); }

 private:
  std::int64_t alignment_;
  std::int64_t mask_;
};

// random->Below(bound) with one division, but for numbers that are next to never drawn.
std::uint64_t Draw(std::uint64_t bound, Random* random) {
  const std::uint64_t draw = random->Next();
  if (draw < ~std::uint64_t{0} - bound) return draw % bound;
  const std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % bound;
  return draw < limit ? draw % bound : random->Below(bound);
}

}  // namespace

Ejection::Ejection(const Problem& problem, const Neighbours& neighbours, std::uint64_t seed,
                   std::int64_t max_visits, const EjectionRules& rules)
    : problem_(problem),
      neighbours_(neighbours),
      rules_(rules),
      random_(seed),
      max_visits_(max_visits) {
  base_weights_.reserve(problem.buffers.size());
  for (const Buffer& buffer : problem.buffers) {
    const std::int64_t bytes = std::min(buffer.bytes, kGreatestBytes);
    const std::int64_t steps = std::int64_t{buffer.last} - buffer.first;
    base_weights_.push_back(std::clamp<std::int64_t>(
        SquareRoot(bytes * std::max<std::int64_t>(steps, 1)), 1, kGreatestWeight));
  }
  by_begin_.reserve(static_cast<std::size_t>(neighbours.num_entries()));
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const auto row = neighbours.Of(static_cast<BufferIndex>(i));
    by_begin_.insert(by_begin_.end(), row.begin(), row.end());
  }
  by_end_ = by_begin_;
}

void Ejection::MakeHeavier(BufferIndex buffer, std::int64_t times) {
  std::int64_t& weight = base_weights_[static_cast<std::size_t>(buffer)];
  weight = weight > kGreatestWeight / times ? kGreatestWeight : weight * times;
}

void Ejection::PutAt(std::size_t i, std::int64_t offset) {
  begin_of_[i] = offset;
  end_of_[i] = offset + problem_.buffers[i].bytes;
}

void Ejection::TakeOut(std::size_t i) {
  begin_of_[i] = kNowhere;
  end_of_[i] = kNowhere;
  waiting_.push_back(static_cast<BufferIndex>(i));
}

bool Ejection::Run(std::int64_t capacity_bytes, std::int64_t max_insertions,
                   std::vector<std::int64_t>& offsets, Budget& budget) {
  capacity_bytes_ = capacity_bytes;
  begin_of_.resize(offsets.size());
  end_of_.resize(offsets.size());
  weights_ = base_weights_;
  waiting_.clear();
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const Buffer& buffer = problem_.buffers[i];
    if (buffer.bytes > capacity_bytes) return false;
    if (!buffer.occupies() ||
        (offsets[i] != kWaits && offsets[i] + buffer.bytes <= capacity_bytes)) {
      PutAt(i, offsets[i]);
    } else {
      TakeOut(i);
    }
  }
  for (std::int64_t inserted = 0; !waiting_.empty(); ++inserted) {
    if (inserted >= max_insertions || visits_ >= max_visits_ || budget.Ended()) return false;
    if (random_.Below(rules_.random_every) == 0) {
      std::swap(waiting_[random_.Below(waiting_.size())], waiting_.back());
    }
    const BufferIndex buffer = waiting_.back();
    waiting_.pop_back();
    if (inserted % rules_.settle_every == rules_.settle_every - 1) {
      settled_up_ = !settled_up_;
      Settle(buffer, budget);
    }
    const auto neighbours = static_cast<std::int64_t>(neighbours_.Of(buffer).size());
    visits_ += neighbours;
    budget.Work(neighbours * kWorkPerNeighbour);
    if (inserted % kInsertionsPerState == 0) budget.Spend(1);
    Insert(buffer);
  }
  offsets.swap(begin_of_);
  return true;
}

// Insertion sort, unless the row is too far from sorted. Buffers that wait are last.
void Ejection::CollectSides(BufferIndex around, By by, std::vector<BufferIndex>& rows,
                            std::vector<Side>& sides) {
  const auto neighbours = neighbours_.Of(around);
  if (neighbours.empty()) return sides.clear();
  const auto first = neighbours.data() - neighbours_.Of(0).data();
  const std::span<BufferIndex> row(rows.data() + first, neighbours.size());
  const std::vector<std::int64_t>& key_of = by == By::kBegin ? begin_of_ : end_of_;
  keys_.resize(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    keys_[i] = key_of[static_cast<std::size_t>(row[i])];
  }
  std::size_t shifts_left = row.size() * kMostShifts;
  for (std::size_t i = 1; i < row.size(); ++i) {
    const std::int64_t key = keys_[i];
    if (keys_[i - 1] <= key) continue;
    const BufferIndex other = row[i];
    std::size_t at = i;
    for (; at > 0 && keys_[at - 1] > key && shifts_left > 0; --at, --shifts_left) {
      keys_[at] = keys_[at - 1];
      row[at] = row[at - 1];
    }
    keys_[at] = key;
    row[at] = other;
    if (shifts_left > 0) continue;
    sorted_.clear();
    for (std::size_t k = 0; k < row.size(); ++k) sorted_.emplace_back(keys_[k], row[k]);
    std::sort(sorted_.begin(), sorted_.end());
    for (std::size_t k = 0; k < row.size(); ++k) std::tie(keys_[k], row[k]) = sorted_[k];
    break;
  }
  sides.clear();
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (keys_[i] == kNowhere) break;
    sides.push_back({keys_[i], weights_[static_cast<std::size_t>(row[i])]});
  }
}

// Moves the neighbours of a buffer down, or up, one after the other, as far as nothing is in the
// way: this joins the holes between them.
void Ejection::Settle(BufferIndex around, Budget& budget) {
  sorted_.clear();
  for (const BufferIndex other : neighbours_.Of(around)) {
    if (Waits(static_cast<std::size_t>(other))) continue;
    const std::int64_t offset = begin_of_[static_cast<std::size_t>(other)];
    sorted_.emplace_back(settled_up_ ? -offset : offset, other);
  }
  std::sort(sorted_.begin(), sorted_.end());
  for (const auto& [key, index] : sorted_) {
    const auto i = static_cast<std::size_t>(index);
    const Buffer& buffer = problem_.buffers[i];
    const std::int64_t from = begin_of_[i];
    std::int64_t end = settled_up_ ? capacity_bytes_ : 0;
    for (const BufferIndex other : neighbours_.Of(index)) {
      const auto o = static_cast<std::size_t>(other);
      if (settled_up_) {
        if (begin_of_[o] > from) end = std::min(end, begin_of_[o]);
      } else if (begin_of_[o] < from) {
        end = std::max(end, end_of_[o]);
      }
    }
    PutAt(i, settled_up_ ? (end - buffer.bytes) / buffer.alignment * buffer.alignment
                         : AlignUp(end, buffer.alignment));
    const auto looked = static_cast<std::int64_t>(neighbours_.Of(index).size());
    visits_ += looked / kSettledPerVisit;
    budget.Work(looked * kWorkPerNeighbour / kSettledPerVisit);
  }
}

void Ejection::Insert(BufferIndex index) {
  const auto i = static_cast<std::size_t>(index);
  const Buffer& buffer = problem_.buffers[i];
  CollectSides(index, By::kBegin, by_begin_, begins_);
  CollectSides(index, By::kEnd, by_end_, ends_);
  std::int64_t ejected_weight = 0;
  const std::int64_t offset = CheapestOffset(buffer, &ejected_weight);
  if (ejected_weight > 0) {
    weights_[i] = std::min(weights_[i] + base_weights_[i], kGreatestWeight);
    Eject(index, offset, offset + buffer.bytes);
  }
  PutAt(i, offset);
}

std::int64_t Ejection::Blurred(std::int64_t weight) {
  constexpr std::uint64_t kWhole = 64;
  if (weight == 0 || rules_.blur == 0) return weight;
  const auto times = static_cast<std::int64_t>(kWhole + Draw(rules_.blur + 1, &random_));
  return weight / static_cast<std::int64_t>(kWhole) * times +
         weight % static_cast<std::int64_t>(kWhole) * times / static_cast<std::int64_t>(kWhole);
}

// Next to the sides in begins_ and ends_, at 0 and at the capacity: the lowest offset that ejects
// nothing, otherwise a random one of those that eject the least weight.
std::int64_t Ejection::CheapestOffset(const Buffer& buffer, std::int64_t* ejected_weight) {
  const Multiples multiples(buffer.alignment);
  const std::int64_t most = multiples.Down(capacity_bytes_ - buffer.bytes);
  std::int64_t begun = 0;
  std::int64_t ended = 0;
  std::size_t next_begin = 0;
  std::size_t next_end = 0;
  std::size_t below = 0;  // the next of begins_ that may end a hole, of ends_ that may begin one
  std::size_t above = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t best = 0;
  std::uint64_t equal = 0;
  for (std::int64_t offset = 0;;) {
    while (next_begin < begins_.size() && begins_[next_begin].at < offset + buffer.bytes) {
      begun += begins_[next_begin++].weight;
    }
    while (next_end < ends_.size() && ends_[next_end].at <= offset) {
      ended += ends_[next_end++].weight;
    }
    const std::int64_t weight = Blurred(begun - ended);
    if (weight < least) {
      least = weight;
      best = offset;
      equal = 1;
      if (least == 0) break;
    } else if (weight == least && Draw(++equal, &random_) == 0) {
      best = offset;
    }
    if (offset == most) break;
    // Both lists are sorted, and so are the offsets beside them.
    std::int64_t next = most;
    for (; below < begins_.size(); ++below) {
      if (begins_[below].at < buffer.bytes) continue;
      const std::int64_t at = multiples.Down(begins_[below].at - buffer.bytes);
      if (at <= offset) continue;
      next = std::min(next, at);
      break;
    }
    for (; above < ends_.size(); ++above) {
      const std::int64_t at = multiples.Up(ends_[above].at);
      if (at <= offset) continue;
      next = std::min(next, at);
      break;
    }
    offset = next;
  }
  *ejected_weight = least;
  return best;
}

void Ejection::Eject(BufferIndex around, std::int64_t begin, std::int64_t end) {
  for (const BufferIndex other : neighbours_.Of(around)) {
    const auto o = static_cast<std::size_t>(other);
    if (begin_of_[o] < end && end_of_[o] > begin) TakeOut(o);
  }
}

}  // namespace neap::arena
