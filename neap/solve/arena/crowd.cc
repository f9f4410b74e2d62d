// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/crowd.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "neap/solve/arena/ejection.h"
#include "neap/solve/arena/first_fit.h"

namespace neap::arena {
namespace {

constexpr EjectionRules kRules = {.random_every = 2, .settle_every = 8, .blur = 16};
constexpr int kRuns = 8;
constexpr std::int64_t kInsertionsPerBuffer = 120;
constexpr std::int64_t kMaxVisitsOfCrowd = 12'000'000;  // of one run
constexpr std::int64_t kMaxVisitsOfRest = 16'000'000;
constexpr std::int64_t kWeightOfCrowd = 4;  // times as large as that of others
constexpr std::int64_t kLifetimesApart = 4;
constexpr std::int64_t kHighTenths = 9;

__extension__ using Area = unsigned __int128;

// Of a byte, at least 1.
std::int64_t AverageLifetime(const Problem& problem) {
  Area bytes = 0;
  Area area = 0;
  for (const Buffer& buffer : problem.buffers) {
    if (!buffer.occupies()) continue;
    const auto size = static_cast<Area>(buffer.bytes);
    bytes += size;
    area += size * static_cast<Area>(std::int64_t{buffer.last} - buffer.first);
  }
  return bytes == 0 ? 1 : std::max<std::int64_t>(static_cast<std::int64_t>(area / bytes), 1);
}

struct Group {
  std::int64_t first = 0;
  std::int64_t last = 0;
  int changes = 0;
};

Group LargestGroup(const Problem& problem, std::int64_t high_bytes, std::int64_t apart) {
  std::vector<std::pair<Step, std::int64_t>> events;
  for (const Buffer& buffer : problem.buffers) {
    if (!buffer.occupies()) continue;
    events.emplace_back(buffer.first, buffer.bytes);
    events.emplace_back(buffer.last, -buffer.bytes);
  }
  std::sort(events.begin(), events.end());
  Group largest;
  Group group;
  std::int64_t live = 0;
  for (std::size_t i = 0; i < events.size();) {
    const Step step = events[i].first;
    for (; i < events.size() && events[i].first == step; ++i) live += events[i].second;
    if (live <= high_bytes) continue;
    if (group.changes == 0 || step - group.last > apart) group = {step, step, 0};
    group.last = events[i].first;  // some buffer ends later
    ++group.changes;
    if (group.changes > largest.changes) largest = group;
  }
  return largest;
}

// The same pairs: three ranges of steps that meet in pairs have a common step.
Problem Excerpt(const Problem& problem, const Crowd& crowd) {
  Problem excerpt;
  for (const BufferIndex index : crowd.buffers) {
    Buffer buffer = problem.buffers[static_cast<std::size_t>(index)];
    buffer.first = std::max(buffer.first, crowd.first);
    buffer.last = std::min(buffer.last, crowd.last);
    excerpt.buffers.push_back(buffer);
  }
  return excerpt;
}

}  // namespace

std::optional<Crowd> FindCrowd(const Problem& problem, std::int64_t bound_bytes) {
  const std::int64_t apart = AverageLifetime(problem) * kLifetimesApart;
  const Group group = LargestGroup(problem, bound_bytes / 10 * kHighTenths, apart);
  if (group.changes == 0) return std::nullopt;
  constexpr std::int64_t kLastStep = std::numeric_limits<Step>::max();
  Crowd crowd;
  crowd.first = static_cast<Step>(std::max<std::int64_t>(group.first - apart / 2, 0));
  crowd.last = static_cast<Step>(std::min(group.last + apart / 2, kLastStep));
  std::size_t others = 0;
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    if (!buffer.occupies()) continue;
    if (buffer.first < crowd.last && crowd.first < buffer.last) {
      crowd.buffers.push_back(static_cast<BufferIndex>(i));
    } else {
      ++others;
    }
  }
  if (crowd.buffers.size() > others) return std::nullopt;
  return crowd;
}

bool PlaceCrowdFirst(const Problem& problem, const Neighbours& neighbours, const Crowd& crowd,
                     std::int64_t capacity_bytes, std::uint64_t seed,
                     std::vector<std::int64_t>& offsets, Budget& budget) {
  const Problem excerpt = Excerpt(problem, crowd);
  const FirstFit near(excerpt);
  if (near.neighbours() == nullptr) return false;
  const std::int64_t insertions =
      kInsertionsPerBuffer * static_cast<std::int64_t>(crowd.buffers.size());
  for (int run = 0; run < kRuns && !budget.Ended(); ++run) {
    const std::uint64_t run_seed = seed + static_cast<std::uint64_t>(run);
    std::vector<std::int64_t> placed(crowd.buffers.size(), Ejection::kWaits);
    Ejection inner(excerpt, *near.neighbours(), run_seed, kMaxVisitsOfCrowd, kRules);
    if (!inner.Run(capacity_bytes, insertions, placed, budget)) continue;
    std::vector<std::int64_t> all(problem.buffers.size(), Ejection::kWaits);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!problem.buffers[i].occupies()) all[i] = offsets[i];
    }
    Ejection outer(problem, neighbours, run_seed, kMaxVisitsOfRest, kRules);
    for (std::size_t i = 0; i < placed.size(); ++i) {
      all[static_cast<std::size_t>(crowd.buffers[i])] = placed[i];
      outer.MakeHeavier(crowd.buffers[i], kWeightOfCrowd);
    }
    constexpr auto kAnyNumber = std::numeric_limits<std::int64_t>::max();
    if (!outer.Run(capacity_bytes, kAnyNumber, all, budget)) continue;
    offsets.swap(all);
    return true;
  }
  return false;
}

}  // namespace neap::arena
