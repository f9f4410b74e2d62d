// SPDX-License-Identifier: Apache-2.0
//
// Features that would keep a missed budget, but need the user's consent: other kernels, another
// interface, outputs that round differently, another runtime.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "neap/deliver/explain.h"
#include "neap/deliver/options.h"
#include "neap/formats/formats.h"

namespace neap::deliver {

// Work of all advice together (base/work.h), where the words have no other limit.
inline constexpr std::int64_t kAdviceWork = 2'500'000'000;

struct AdviceRequest {
  Words words;  // whose budgets are missed
  formats::LoadOptions load;
  const std::atomic<bool>* stop = nullptr;  // not owned; set by a signal handler
  // Called before each feature. May be empty.
  std::function<void(std::string_view label)> feature_observer;
};

// Each feature of the table of Explain() that needs a consent, on which the words do not decide and
// which goes with them, planned with the words and their budgets. Those without a plan are left
// out. In the order of the table. Deterministic unless the words have a time limit.
std::vector<Feature> Advise(const formats::SourceModel& source, const AdviceRequest& request);

}  // namespace neap::deliver
