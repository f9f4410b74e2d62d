// SPDX-License-Identifier: Apache-2.0
//
// The lines about flash and decompression memory in a plan's report. Private to neap/report.
#pragma once

#include <optional>
#include <string>

#include "neap/compile/decompression.h"
#include "neap/show/report/report.h"

namespace neap::report {

// One line; "" where there is no model file.
std::string FlashText(const PlanReport& report);
// nullopt: no TFLM_DECODE runs, or nothing is known of TFLM's arena.
std::optional<compile::DecompressionMemory> DecompressionOf(const PlanReport& report);
// One line about the memory beside the arena; "" where no TFLM_DECODE runs.
std::string DecompressionText(const PlanReport& report);

}  // namespace neap::report
