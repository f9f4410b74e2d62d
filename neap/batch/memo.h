// SPDX-License-Identifier: Apache-2.0
//
// Answers by structure, so that equal graphs are computed once. Private to neap/batch.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "neap/base/result.h"
#include "neap/batch/numbers.h"

namespace neap::batch {

// A cache of the `max_entries` numbers that were requested last. Thread-safe.
class Memo {
 public:
  explicit Memo(std::size_t max_entries) : max_entries_(max_entries) {}

  // The numbers of `key`: cached, or computed here. Another thread that requests the same key
  // meanwhile waits. Failures are not cached (their text has names), nor exceptions. Sets *repeated
  // when the numbers were cached.
  Result<Numbers> Get(const std::string& key, const std::function<Result<Numbers>()>& compute,
                      bool* repeated) {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto found = entries_.find(key);
      if (found == entries_.end()) break;
      if (found->second.numbers) {
        recent_.splice(recent_.begin(), recent_, found->second.place);
        *repeated = true;
        return *found->second.numbers;
      }
      settled_.wait(lock);
    }
    Settlement settlement(*this, key);
    entries_.emplace(key, Entry{});
    lock.unlock();
    Result<Numbers> numbers = compute();
    if (numbers) settlement.numbers = *numbers;
    return numbers;
  }

 private:
  struct Entry {
    std::optional<Numbers> numbers;  // nullopt: being computed
    std::list<std::string>::iterator place;
  };

  // Ends the time in which a key is being computed, however it ends. Allocates nothing then.
  struct Settlement {
    Settlement(Memo& memo_in, const std::string& key) : memo(memo_in), node{key} {}
    Settlement(const Settlement&) = delete;
    Settlement& operator=(const Settlement&) = delete;
    ~Settlement() { memo.Settle(node, numbers); }
    Memo& memo;
    std::list<std::string> node;  // the key, ready to be moved into recent_
    std::optional<Numbers> numbers;
  };

  void Settle(std::list<std::string>& node, const std::optional<Numbers>& numbers) {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(node.front());
    if (!numbers) {
      entries_.erase(entry);
    } else {
      recent_.splice(recent_.begin(), node);
      entry->second = Entry{numbers, recent_.begin()};
      if (recent_.size() > max_entries_) {
        entries_.erase(recent_.back());
        recent_.pop_back();
      }
    }
    settled_.notify_all();
  }

  const std::size_t max_entries_;
  std::mutex mutex_;
  std::condition_variable settled_;
  std::unordered_map<std::string, Entry> entries_;  // looked up only, never walked through
  std::list<std::string> recent_;                   // keys with numbers, latest first
};

}  // namespace neap::batch
