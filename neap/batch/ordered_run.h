// SPDX-License-Identifier: Apache-2.0
//
// Items in, results out in the same order, with several threads in between. Private to neap/batch.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace neap::batch {

template <typename Outcome>
class OrderedRun {
 public:
  struct Limits {
    int threads = 1;
    std::size_t max_items = 1;  // taken and not yet delivered
    std::size_t max_bytes = 1;  // of the texts that wait; one is always let in
    const std::atomic<bool>* stop = nullptr;
  };
  // The next item; nullopt: no more. Called from the thread that runs.
  using Source = std::function<std::optional<std::string>()>;
  // Called from several threads; must not throw.
  using Work = std::function<Outcome(const std::string&)>;
  // Takes the outcomes in order, one call at a time; false: nothing more is wanted.
  using Sink = std::function<bool(const Outcome&)>;

  OrderedRun(const Limits& limits, Work work, Sink sink)
      : limits_(limits), work_(std::move(work)), sink_(std::move(sink)) {}

  // Returns when every item that was begun has been delivered. After `stop` is set no further item
  // is begun. Exceptions of `source`, and a failure to start even one thread, propagate.
  void Run(const Source& source);

 private:
  struct Slot {
    std::string item;
    std::optional<Outcome> outcome;
  };

  bool Stopped() const {
    return refused_ || (limits_.stop != nullptr && limits_.stop->load(std::memory_order_relaxed));
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    work_there_.notify_all();
  }
  bool Put(std::string item);
  void Labour();
  void Deliver(std::unique_lock<std::mutex>* lock);

  const Limits limits_;
  const Work work_;
  const Sink sink_;
  std::mutex mutex_;
  std::condition_variable work_there_;
  std::condition_variable room_there_;
  std::deque<Slot> slots_;  // taken and not delivered, oldest first
  std::size_t begun_ = 0;   // of these: the first `begun_` are being worked on, or done
  std::size_t waiting_bytes_ = 0;
  bool closed_ = false;
  bool delivering_ = false;
  bool refused_ = false;
};

template <typename Outcome>
void OrderedRun<Outcome>::Run(const Source& source) {
  struct Closer {
    explicit Closer(OrderedRun* run_in) : run(run_in) {}
    Closer(const Closer&) = delete;
    Closer& operator=(const Closer&) = delete;
    ~Closer() { run->Close(); }
    OrderedRun* run;
  };
  std::vector<std::jthread> threads;
  const Closer closer(this);  // goes first, so that the threads end
  for (int i = 0; i < limits_.threads; ++i) {
    try {
      threads.emplace_back([this] { Labour(); });
    } catch (const std::system_error&) {
      if (threads.empty()) throw;
      break;  // fewer threads give the same answers
    }
  }
  for (;;) {
    std::optional<std::string> item = source();
    if (!item || !Put(std::move(*item))) return;
  }
}

// Waits for space in the queue. False: no further item is wanted.
template <typename Outcome>
bool OrderedRun<Outcome>::Put(std::string item) {
  constexpr std::chrono::milliseconds kLookAtStop{100};
  std::unique_lock lock(mutex_);
  const auto has_room = [&] {
    const bool none_waits = slots_.size() == begun_;
    return slots_.size() < limits_.max_items &&
           (none_waits || waiting_bytes_ + item.size() <= limits_.max_bytes);
  };
  while (!Stopped() && !has_room()) room_there_.wait_for(lock, kLookAtStop);
  if (Stopped()) return false;
  waiting_bytes_ += item.size();
  slots_.push_back({std::move(item), std::nullopt});
  work_there_.notify_one();
  return true;
}

template <typename Outcome>
void OrderedRun<Outcome>::Labour() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_there_.wait(lock, [&] { return closed_ || begun_ < slots_.size(); });
    if (begun_ == slots_.size() || Stopped()) return;
    Slot& slot = slots_[begun_++];  // stays where it is while others come and go
    waiting_bytes_ -= slot.item.size();
    room_there_.notify_one();
    lock.unlock();
    Outcome outcome = work_(slot.item);
    slot.item = std::string();
    lock.lock();
    slot.outcome = std::move(outcome);
    Deliver(&lock);
  }
}

template <typename Outcome>
void OrderedRun<Outcome>::Deliver(std::unique_lock<std::mutex>* lock) {
  if (delivering_) return;  // the delivering thread will see this one too
  delivering_ = true;
  while (!refused_ && !slots_.empty() && slots_.front().outcome) {
    const Outcome outcome = std::move(*slots_.front().outcome);
    slots_.pop_front();
    --begun_;
    room_there_.notify_one();
    lock->unlock();
    const bool wanted = sink_(outcome);
    lock->lock();
    refused_ = refused_ || !wanted;
  }
  delivering_ = false;
}

}  // namespace neap::batch
