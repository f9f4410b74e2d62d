// SPDX-License-Identifier: Apache-2.0
//
// Searches called from Python: they run on a thread of their own without the interpreter's lock,
// while the calling thread waits for signals and calls back. No code of a search touches Python.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "neap/base/limits.h"
#include "neap/session/session.h"
#include "neap/transform/cascade/plan.h"

namespace neap::python {

namespace nb = nanobind;

// Progress as Python gets it; 0 and "": not known.
struct Seen {
  std::int64_t best_bytes = 0;
  std::int64_t lower_bound_bytes = 0;
  std::int64_t states = 0;
  std::string phase;  // of the search for tiles
  std::int64_t done = 0;
  std::int64_t of = 0;
};

enum class OnInterrupt : std::uint8_t {
  kReturnBest,  // the first KeyboardInterrupt ends the search, and its best result is returned
  kRaise,
};

class Search {
 public:
  // `callback`: a Python callable of six arguments, those of Seen, or None.
  explicit Search(OnInterrupt on_interrupt, nb::object callback = nb::none())
      : on_interrupt_(on_interrupt), callback_(std::move(callback)) {}
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  const std::atomic<bool>* Stop() const { return &stop_; }

  session::Hooks Hooks() {
    session::Hooks hooks;
    hooks.stop = &stop_;
    if (callback_.is_none()) return hooks;
    hooks.observer = [this](const Progress& seen) {
      Show({seen.upper_bound_bytes, seen.lower_bound_bytes, seen.states, "", 0, 0});
    };
    hooks.tiles_observer = [this](const cascade::SearchProgress& seen) {
      Show({seen.best_bytes, 0, 0, seen.phase, seen.done, seen.of});
    };
    return hooks;
  }

  // The result of `work`, a function of no arguments that is called once, on another thread. Throws
  // what `work` throws; the exception of a signal handler (such as KeyboardInterrupt) or of the
  // callback after `work` has ended.
  template <typename Work>
  std::invoke_result_t<const Work&> Run(const Work& work) {
    std::optional<std::invoke_result_t<const Work&>> result;
    std::exception_ptr failure;
    bool done = false;
    std::thread thread([&] {
      try {
        result.emplace(work());
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      done = true;
      changed_.notify_one();
    });
    for (;;) {
      {
        constexpr std::chrono::milliseconds kLookAtSignals{20};
        const nb::gil_scoped_release release;
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, kLookAtSignals, [&] { return done; })) break;
      }
      LookAtSignals();
      CallBack();
    }
    thread.join();
    if (error_) std::rethrow_exception(error_);
    if (failure) std::rethrow_exception(failure);
    return *std::move(result);
  }

 private:
  void Show(Seen seen) {
    const std::lock_guard lock(mutex_);
    seen_ = std::move(seen);
  }

  // Does nothing on other threads than Python's main one.
  void LookAtSignals() {
    if (PyErr_CheckSignals() == 0) return;
    const bool interrupted = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0;
    if (interrupted && on_interrupt_ == OnInterrupt::kReturnBest && !stop_) {
      PyErr_Clear();
    } else if (!error_) {
      error_ = std::make_exception_ptr(nb::python_error());
    } else {
      PyErr_Clear();
    }
    stop_ = true;
  }

  void CallBack() {
    std::optional<Seen> seen;
    {
      const std::lock_guard lock(mutex_);
      seen.swap(seen_);
    }
    if (!seen || stop_) return;
    try {
      callback_(seen->best_bytes, seen->lower_bound_bytes, seen->states, seen->phase, seen->done,
                seen->of);
    } catch (const nb::python_error&) {
      error_ = std::current_exception();
      stop_ = true;
    }
  }

  const OnInterrupt on_interrupt_;
  const nb::object callback_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Seen> seen_;
  std::exception_ptr error_;  // of Python
};

}  // namespace neap::python
