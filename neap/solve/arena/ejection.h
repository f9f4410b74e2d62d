// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: lowering a placement by ejections (guided ejection search, Nagata and
// Braysy, for buffers instead of routes), for problems of any size without rules and without fixed
// buffers.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/arena/budget.h"
#include "neap/solve/arena/neighbours.h"
#include "neap/solve/arena/problem.h"

namespace neap::arena {

class Ejection {
 public:
  // Keeps references; `neighbours` are those of the buffers that occupy something. The problem has
  // no pair rules and no fixed buffers.
  Ejection(const Problem& problem, const Neighbours& neighbours, std::uint64_t seed);

  // Takes the buffers that end above `capacity_bytes` out of a valid placement and inserts them
  // below it. An insertion ejects the buffers that are in its way, those that were hard to insert
  // last. False, with `offsets` unchanged, if some are left after `max_insertions`. An insertion
  // costs O(k log k) for k neighbours.
  bool Run(std::int64_t capacity_bytes, std::int64_t max_insertions,
           std::vector<std::int64_t>& offsets, Budget& budget);

 private:
  // A start or an end of a placed neighbour.
  struct Side {
    std::int64_t at = 0;
    std::int64_t weight = 0;
  };

  void Insert(BufferIndex buffer);
  std::int64_t CheapestOffset(const Buffer& buffer, std::int64_t* ejected_weight);
  void Eject(BufferIndex around, std::int64_t begin, std::int64_t end);

  const Problem& problem_;
  const Neighbours& neighbours_;
  Random random_;
  std::int64_t capacity_bytes_ = 0;
  std::vector<std::int64_t> base_weights_;
  std::vector<std::int64_t> weights_;
  std::vector<std::int64_t> offsets_;
  std::vector<BufferIndex> waiting_;
  std::vector<Side> begins_;
  std::vector<Side> ends_;
};

}  // namespace neap::arena
