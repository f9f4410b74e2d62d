// SPDX-License-Identifier: Apache-2.0
//
// A pipeline of accelerators in time, event by event: every stage is a thread of the host that
// takes an item from its queue, sends it to its accelerator, waits, fetches what comes back and
// puts it into the next queue. Whole numbers of the unit of the problem's costs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neap/solve/partition/problem.h"

namespace neap::partition {

struct SimulationOptions {
  std::int64_t items = 1000;     // 1 to kMaxItems; all exist at the start
  std::int64_t queue_items = 2;  // that wait between two stages, at least 1; a full one blocks
  bool shared_link = false;      // all transfers and streams one after the other, first come first
};
inline constexpr std::int64_t kMaxItems = 1'000'000;

struct Simulation {
  std::int64_t items = 0;
  std::int64_t first_done = 0;     // when the first item has left the last stage
  std::int64_t all_done = 0;       // when the last one has
  std::int64_t last_interval = 0;  // between the last two items; 0 of one item
  std::vector<std::int64_t> busy;  // of every stage with operators: time not spent on waiting
};

// Of an assignment. Empty stages pass items on. O(items * stages * log stages).
Simulation Simulate(const Problem& problem, std::span<const Stage> stage_of,
                    const SimulationOptions& options);

// Improve() of cut.h by the simulated time of all items in place of the costs of the stages: at
// most `max_steps` simulations.
Assignment ImproveSimulated(const Problem& problem, const Assignment& start,
                            const SimulationOptions& options, std::int64_t max_steps);

}  // namespace neap::partition
