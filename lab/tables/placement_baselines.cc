// SPDX-License-Identifier: Apache-2.0
#include "lab/tables/placement_baselines.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <utility>

#include "neap/solve/arena/arena.h"

namespace neap::tables {
namespace {

using arena::Buffer;
using arena::Placement;
using arena::Problem;

constexpr std::int64_t kUnplaced = -1;

using Indices = std::vector<std::size_t>;

// For every buffer those that are live together with it.
std::vector<Indices> ConflictsOf(const Problem& problem) {
  const auto& buffers = problem.buffers;
  Indices by_start(buffers.size());
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  std::stable_sort(by_start.begin(), by_start.end(), [&](std::size_t a, std::size_t b) {
    return buffers[a].first < buffers[b].first;
  });
  std::vector<Indices> conflicts(buffers.size());
  Indices live;
  for (const std::size_t b : by_start) {
    std::erase_if(live, [&](std::size_t a) { return buffers[a].last <= buffers[b].first; });
    if (buffers[b].first == buffers[b].last || buffers[b].bytes == 0) continue;
    for (const std::size_t a : live) {
      conflicts[a].push_back(b);
      conflicts[b].push_back(a);
    }
    live.push_back(b);
  }
  return conflicts;
}

template <typename Key>  // of an index; smallest first, ties by index
Indices OrderBy(std::size_t count, Key key) {
  Indices order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

std::int64_t Length(const Buffer& buffer) { return std::int64_t{buffer.last} - buffer.first; }

// Places buffers one after the other around those that are placed already.
class Placer {
 public:
  explicit Placer(const Problem& problem) : problem_(problem), conflicts_(ConflictsOf(problem)) {
    offsets_.assign(problem.buffers.size(), kUnplaced);
  }
  const Indices& ConflictsOfBuffer(std::size_t buffer) const { return conflicts_[buffer]; }

  Placement LowestFit(const Indices& order) {
    std::fill(offsets_.begin(), offsets_.end(), kUnplaced);
    for (const std::size_t b : order) {
      Collect(b);
      std::int64_t lowest = 0;
      for (const auto& [offset, end] : extents_) {
        if (offset - lowest >= problem_.buffers[b].bytes) break;
        lowest = std::max(lowest, end);
      }
      offsets_[b] = lowest;
    }
    return Result();
  }

  Placement BestFit(const Indices& order) {
    std::fill(offsets_.begin(), offsets_.end(), kUnplaced);
    for (const std::size_t b : order) {
      Collect(b);
      std::int64_t top = 0;
      std::int64_t best = kUnplaced;
      std::int64_t best_gap = 0;
      for (const auto& [offset, end] : extents_) {
        const std::int64_t gap = offset - top;
        if (gap >= problem_.buffers[b].bytes && (best == kUnplaced || gap < best_gap)) {
          best = top;
          best_gap = gap;
        }
        top = std::max(top, end);
      }
      offsets_[b] = best == kUnplaced ? top : best;
    }
    return Result();
  }

 private:
  void Collect(std::size_t buffer) {
    extents_.clear();
    for (const std::size_t other : conflicts_[buffer]) {
      if (offsets_[other] == kUnplaced) continue;
      extents_.emplace_back(offsets_[other], offsets_[other] + problem_.buffers[other].bytes);
    }
    std::sort(extents_.begin(), extents_.end());
  }
  Placement Result() const {
    Placement placement{offsets_, 0};
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      placement.height_bytes =
          std::max(placement.height_bytes, offsets_[i] + problem_.buffers[i].bytes);
    }
    return placement;
  }

  const Problem& problem_;
  std::vector<Indices> conflicts_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::pair<std::int64_t, std::int64_t>> extents_;
};

// The most bytes that are live at once while each buffer is.
std::vector<std::int64_t> UrgencyOf(const Problem& problem) {
  const auto& buffers = problem.buffers;
  std::vector<std::pair<arena::Step, std::int64_t>> changes;
  for (const Buffer& buffer : buffers) {
    changes.emplace_back(buffer.first, buffer.bytes);
    changes.emplace_back(buffer.last, -buffer.bytes);
  }
  std::sort(changes.begin(), changes.end());
  std::vector<std::pair<arena::Step, std::int64_t>> load;  // from this step on
  std::int64_t bytes = 0;
  for (const auto& [step, change] : changes) {
    bytes += change;
    if (load.empty() || load.back().first != step) load.emplace_back(step, 0);
    load.back().second = bytes;
  }
  std::vector<std::int64_t> urgency;
  for (const Buffer& buffer : buffers) {
    std::int64_t most = 0;
    auto at = std::lower_bound(load.begin(), load.end(), std::pair(buffer.first, INT64_MIN));
    for (; at != load.end() && at->first < buffer.last; ++at) most = std::max(most, at->second);
    urgency.push_back(most);
  }
  return urgency;
}

std::size_t PickTopmost(const Problem& problem, const Placement& placement, Random& random) {
  Indices topmost;
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    if (placement.offsets[i] + problem.buffers[i].bytes == placement.height_bytes) {
      topmost.push_back(i);
    }
  }
  return topmost[random.Below(topmost.size())];
}

std::size_t PickOne(const Indices& among, std::size_t otherwise, Random& random) {
  return among.empty() ? otherwise : among[random.Below(among.size())];
}

void SwapInOrder(Indices& order, std::size_t a, std::size_t b) {
  std::iter_swap(std::find(order.begin(), order.end(), a),
                 std::find(order.begin(), order.end(), b));
}

}  // namespace

Placement PlaceByAreaBestFit(const Problem& problem) {
  const auto area = [&](std::size_t i) {
    return -static_cast<long double>(problem.buffers[i].bytes) *
           static_cast<long double>(Length(problem.buffers[i]));
  };
  return Placer(problem).BestFit(OrderBy(problem.buffers.size(), area));
}

Placement PlaceLikeMemoryPattern(const Problem& problem) {
  const auto start = [&](std::size_t i) { return problem.buffers[i].first; };
  // In the order of the run, placed buffers that overlap in time are all live at the current step.
  return Placer(problem).BestFit(OrderBy(problem.buffers.size(), start));
}

Placement PlaceLikeExecutorch(const Problem& problem) {
  struct Object {
    std::int64_t bytes = 0;
    Indices members;
  };
  const auto& buffers = problem.buffers;
  std::vector<std::int64_t> in_object(buffers.size(), 0);
  std::vector<std::size_t> object_of(buffers.size(), 0);
  std::vector<Object> objects;
  for (const std::size_t b :
       OrderBy(buffers.size(), [&](std::size_t i) { return -buffers[i].bytes; })) {
    bool placed = false;
    for (std::size_t o = 0; o < objects.size() && !placed; ++o) {
      std::int64_t end = 0;
      for (const std::size_t other : objects[o].members) {
        if (buffers[other].last <= buffers[b].first || buffers[b].last <= buffers[other].first) {
          continue;
        }
        end = std::max(end, in_object[other] + buffers[other].bytes);
      }
      if (end + buffers[b].bytes > objects[o].bytes) continue;
      in_object[b] = end;
      object_of[b] = o;
      objects[o].members.push_back(b);
      placed = true;
    }
    if (placed) continue;
    object_of[b] = objects.size();
    objects.push_back({buffers[b].bytes, {b}});
  }
  std::vector<std::int64_t> starts;
  Placement placement{in_object, 0};
  for (const Object& object : objects) {
    starts.push_back(placement.height_bytes);
    placement.height_bytes += object.bytes;
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) placement.offsets[i] += starts[object_of[i]];
  return placement;
}

Placement PlaceByConflicts(const Problem& problem) {
  Placer placer(problem);
  const auto key = [&](std::size_t i) {
    const auto conflicts = static_cast<std::int64_t>(placer.ConflictsOfBuffer(i).size());
    return std::pair(-conflicts, -problem.buffers[i].bytes);
  };
  return placer.LowestFit(OrderBy(problem.buffers.size(), key));
}

Placement PlaceLikeTvmHillClimb(const Problem& problem, int attempts, Random& random) {
  Placer placer(problem);
  Indices order =
      OrderBy(problem.buffers.size(), [&](std::size_t i) { return -problem.buffers[i].bytes; });
  Placement current = placer.LowestFit(order);
  Placement best = current;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const std::size_t top = PickTopmost(problem, current, random);
    const std::size_t first = PickOne(placer.ConflictsOfBuffer(top), top, random);
    const std::size_t second = PickOne(placer.ConflictsOfBuffer(first), top, random);
    SwapInOrder(order, first, second);
    Placement next = placer.LowestFit(order);
    const double worse = static_cast<double>(next.height_bytes - current.height_bytes) /
                         static_cast<double>(current.height_bytes);
    const double heat = 0.01 * (1.0 - static_cast<double>(attempt) / attempts);
    if (worse > 0 && random.Unit() >= std::exp(-worse / std::max(heat, 1e-9))) {
      SwapInOrder(order, first, second);
      continue;
    }
    current = std::move(next);
    if (current.height_bytes < best.height_bytes) best = current;
  }
  return best;
}

Placement PlaceLikeVelaHillClimb(const Problem& problem, int attempts, Random& random) {
  Placer placer(problem);
  const auto urgency = UrgencyOf(problem);
  const std::int64_t bound = arena::LoadLowerBound(problem);
  Indices order = OrderBy(problem.buffers.size(), [&](std::size_t i) {
    const Buffer& buffer = problem.buffers[i];
    return std::tuple(-urgency[i], -Length(buffer), buffer.first, -buffer.bytes);
  });
  Placement best = placer.LowestFit(order);
  for (int attempt = 0; attempt < attempts && best.height_bytes > bound; ++attempt) {
    const std::size_t top = PickTopmost(problem, best, random);
    // The buffers below the topmost one determine its offset.
    Indices causes = {top};
    for (const std::size_t other : placer.ConflictsOfBuffer(top)) causes.push_back(other);
    const std::size_t cause = PickOne(causes, top, random);
    const std::size_t other = PickOne(placer.ConflictsOfBuffer(cause), top, random);
    SwapInOrder(order, cause, other);
    Placement next = placer.LowestFit(order);
    if (next.height_bytes > best.height_bytes) {
      SwapInOrder(order, cause, other);
    } else {
      best = std::move(next);
    }
  }
  return best;
}

}  // namespace neap::tables
