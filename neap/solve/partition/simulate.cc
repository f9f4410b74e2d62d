// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/partition/simulate.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <queue>
#include <tuple>

#include "neap/solve/partition/check.h"

namespace neap::partition {
namespace {

// The phases of an item in a stage; the first two and the last use the link.
enum class Phase : std::uint8_t { kIn, kStream, kCompute, kOut, kHandOver };
constexpr std::size_t kPhases = 4;

bool UsesLink(Phase phase) { return phase != Phase::kCompute && phase != Phase::kHandOver; }
Phase Next(Phase phase) { return static_cast<Phase>(static_cast<std::uint8_t>(phase) + 1); }

class Simulator {
 public:
  Simulator(const Problem& problem, std::span<const Stage> stage_of,
            const SimulationOptions& options)
      : options_(options) {
    result_.items = options.items;
    const Machine& machine = problem.machine;
    for (const StageCost& cost : Evaluate(problem, stage_of).stages) {
      if (cost.operators == 0) continue;
      const std::int64_t beyond =
          std::max<std::int64_t>(cost.parameter_bytes - machine.cache_bytes, 0);
      Worker worker;
      worker.durations = {machine.link_cost_per_byte * cost.in_bytes,
                          machine.stream_cost_per_byte * beyond, machine.fixed_cost + cost.compute,
                          machine.link_cost_per_byte * cost.out_bytes};
      workers_.push_back(worker);
    }
  }

  Simulation Run() {
    result_.busy.assign(workers_.size(), 0);
    if (workers_.empty()) return result_;
    workers_[0].waiting = options_.items;
    TakeItem(0, 0);
    while (!events_.empty()) {
      const auto [time, number, worker] = events_.top();
      events_.pop();
      EndPhase(worker, time);
    }
    return result_;
  }

 private:
  struct Worker {
    std::array<std::int64_t, kPhases> durations{};
    std::int64_t waiting = 0;  // items in its queue
    bool working = false;
    Phase phase = Phase::kIn;
  };

  void TakeItem(std::size_t w, std::int64_t time) {
    Worker& worker = workers_[w];
    if (worker.working || worker.waiting == 0) return;
    --worker.waiting;
    worker.working = true;
    worker.phase = Phase::kIn;
    StartPhase(w, time);
    // Its queue has space again.
    if (w > 0 && workers_[w - 1].working && workers_[w - 1].phase == Phase::kHandOver) {
      HandOver(w - 1, time);
    }
  }

  void StartPhase(std::size_t w, std::int64_t time) {
    Worker& worker = workers_[w];
    // Computing takes an event even when it takes no time: calls do not nest deeper than stages.
    while (worker.phase != Phase::kHandOver && worker.phase != Phase::kCompute &&
           Duration(worker) == 0) {
      worker.phase = Next(worker.phase);
    }
    if (worker.phase == Phase::kHandOver) {
      HandOver(w, time);
    } else if (options_.shared_link && UsesLink(worker.phase)) {
      link_queue_.push_back(w);
      ServeLink(time);
    } else {
      Begin(w, time);
    }
  }

  static std::int64_t Duration(const Worker& worker) {
    return worker.durations[static_cast<std::size_t>(worker.phase)];
  }

  void Begin(std::size_t w, std::int64_t time) {
    result_.busy[w] += Duration(workers_[w]);
    events_.emplace(time + Duration(workers_[w]), number_++, w);
  }

  void ServeLink(std::int64_t time) {
    if (link_busy_ || link_queue_.empty()) return;
    link_busy_ = true;
    const std::size_t w = link_queue_.front();
    link_queue_.pop_front();
    Begin(w, time);
  }

  void EndPhase(std::size_t w, std::int64_t time) {
    Worker& worker = workers_[w];
    if (options_.shared_link && UsesLink(worker.phase)) {
      link_busy_ = false;
      ServeLink(time);
    }
    worker.phase = Next(worker.phase);
    StartPhase(w, time);
  }

  void HandOver(std::size_t w, std::int64_t time) {
    if (w + 1 == workers_.size()) {
      if (done_++ == 0) {
        result_.first_done = time;
      } else {
        result_.last_interval = time - result_.all_done;
      }
      result_.all_done = time;
    } else {
      Worker& next = workers_[w + 1];
      if (next.working && next.waiting >= options_.queue_items) return;  // blocked
      ++next.waiting;
    }
    workers_[w].working = false;
    if (w + 1 < workers_.size()) TakeItem(w + 1, time);
    TakeItem(w, time);
  }

  const SimulationOptions& options_;
  Simulation result_;
  std::vector<Worker> workers_;
  std::deque<std::size_t> link_queue_;
  bool link_busy_ = false;
  std::int64_t number_ = 0;  // of events
  std::int64_t done_ = 0;    // items
  // Time, order of creation, worker.
  using Event = std::tuple<std::int64_t, std::int64_t, std::size_t>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace

Simulation Simulate(const Problem& problem, std::span<const Stage> stage_of,
                    const SimulationOptions& options) {
  return Simulator(problem, stage_of, options).Run();
}

}  // namespace neap::partition
