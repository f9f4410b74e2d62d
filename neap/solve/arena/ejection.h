// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: lowering a placement by ejections (guided ejection search, Nagata and
// Braysy, for buffers instead of routes), for problems of any size without rules and without fixed
// buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/arena/budget.h"
#include "neap/solve/arena/neighbours.h"
#include "neap/solve/arena/problem.h"

namespace neap::arena {

struct EjectionRules {
  // Every so many insertions are of a random buffer, the others of the last one that was ejected.
  std::uint64_t random_every = 4;
  std::int64_t settle_every = 32;  // insertions
  // Sums of ejected weights count up to (64 + blur) / 64 times, at random.
  std::uint64_t blur = 0;
};

class Ejection {
 public:
  // Of a buffer that is not placed.
  static constexpr std::int64_t kWaits = -1;

  // Keeps references; `neighbours` are those of the buffers that occupy something. The problem has
  // no pair rules and no fixed buffers. All runs together look at no more than `max_visits`
  // neighbours.
  Ejection(const Problem& problem, const Neighbours& neighbours, std::uint64_t seed,
           std::int64_t max_visits, const EjectionRules& rules = {});

  // Multiplies the weight of a buffer: others are ejected rather than this one.
  void MakeHeavier(BufferIndex buffer, std::int64_t times);

  // Takes the buffers that end above `capacity_bytes` out of a valid placement and inserts them and
  // those that wait below it. An insertion ejects the buffers that are in its way, those that were
  // hard to insert last. False, with `offsets` unchanged, if some are left after `max_insertions`,
  // or when all runs have looked at very many neighbours. An insertion costs O(k log k) for k
  // neighbours, O(k) where few of them have moved.
  bool Run(std::int64_t capacity_bytes, std::int64_t max_insertions,
           std::vector<std::int64_t>& offsets, Budget& budget);
  std::int64_t visits() const { return visits_; }

 private:
  // A start or an end of a placed neighbour.
  struct Side {
    std::int64_t at = 0;
    std::int64_t weight = 0;
  };

  std::int64_t Blurred(std::int64_t weight);
  bool Waits(std::size_t i) const { return begin_of_[i] == kNowhere; }
  void PutAt(std::size_t i, std::int64_t offset);
  void TakeOut(std::size_t i);

  // By starts or by ends. A row is nearly sorted when it is sorted again.
  enum class By : std::uint8_t { kBegin, kEnd };
  void CollectSides(BufferIndex around, By by, std::vector<BufferIndex>& rows,
                    std::vector<Side>& sides);
  void Settle(BufferIndex around, Budget& budget);
  void Insert(BufferIndex buffer);
  std::int64_t CheapestOffset(const Buffer& buffer, std::int64_t* ejected_weight);
  void Eject(BufferIndex around, std::int64_t begin, std::int64_t end);

  const Problem& problem_;
  const Neighbours& neighbours_;
  EjectionRules rules_;
  Random random_;
  std::int64_t max_visits_;
  std::int64_t capacity_bytes_ = 0;
  std::vector<std::int64_t> base_weights_;
  std::vector<std::int64_t> weights_;
  // Per buffer; kNowhere: it waits, and is behind all others.
  static constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> begin_of_;
  std::vector<std::int64_t> end_of_;
  std::vector<BufferIndex> waiting_;
  // The rows of neighbours_, each in the order in which it was needed last.
  std::vector<BufferIndex> by_begin_;
  std::vector<BufferIndex> by_end_;
  std::vector<std::int64_t> keys_;
  std::vector<std::pair<std::int64_t, BufferIndex>> sorted_;
  std::int64_t visits_ = 0;
  bool settled_up_ = false;
  std::vector<Side> begins_;
  std::vector<Side> ends_;
};

}  // namespace neap::arena
