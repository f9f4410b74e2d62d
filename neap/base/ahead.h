// SPDX-License-Identifier: Apache-2.0
//
// Parts of a search on two threads, with the results and the counted work of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "neap/base/work.h"

namespace neap {

// The same as
//   for (std::size_t i = 0; i < count && wants(i); ++i) adopt(i, compute(i, 0));
// With more than one thread, compute(i + 1, 1) runs at the same time as compute(i, 0), before it is
// known whether it is wanted. Where the first leaves it less work than it took, it is computed once
// more with what is left. So the number of threads changes neither what is adopted nor the work
// that is charged, if compute(i, .) depends on nothing that adopt() changes but the work that is
// left, and on that only where it comes to an end. Its second argument is the number of the thread:
// each may change data of its own. wants() and adopt() run on the calling thread, in order. A
// second thread costs about as much as 50 microseconds of work.
template <typename Wants, typename Compute, typename Adopt>
void ForEachAhead(int threads, std::size_t count, const Wants& wants, const Compute& compute,
                  const Adopt& adopt) {
#ifdef __EMSCRIPTEN__
  threads = 1;
#endif
  for (std::size_t i = 0; i < count && wants(i); ++i) {
    if (threads < 2 || i + 1 == count) {
      adopt(i, compute(i, 0));
      continue;
    }
    std::optional<decltype(compute(i, 0))> second;
    std::exception_ptr failure;
    std::int64_t work = 0;
    const auto run = [&, left = WorkLeft()] {
      const WorkScope scope(left);
      try {
        second.emplace(compute(i + 1, 1));
      } catch (...) {
        failure = std::current_exception();
      }
      work = WorkDone();
    };
    std::thread other;
    try {
      other = std::thread(run);
    } catch (const std::system_error&) {
      threads = 1;  // the system has no more threads; one does the same
    }
    std::optional<decltype(compute(i, 0))> first;
    std::exception_ptr own_failure;
    try {
      first.emplace(compute(i, 0));
    } catch (...) {
      own_failure = std::current_exception();
    }
    if (other.joinable()) other.join();
    if (own_failure) std::rethrow_exception(own_failure);
    adopt(i, *std::move(first));
    ++i;
    if (!wants(i)) return;
    if (failure) std::rethrow_exception(failure);
    if (second && work < WorkLeft()) {
      ChargeWork(work);
      adopt(i, *std::move(second));
    } else {
      adopt(i, compute(i, 0));
    }
  }
}

}  // namespace neap
