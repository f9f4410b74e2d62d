// SPDX-License-Identifier: Apache-2.0
//
// The runtime's own allocation: for a plan, for an order alone, for the file order. Private to
// neap/compile. Tests: tflm_test.cc and litert_test.cc, by whole compilations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/compile/measured.h"
#include "neap/solve/arena/problem.h"

namespace neap::compile {

// The fields of Compiled with these names.
struct Delivered {
  std::int64_t arena_bytes = -1;
  graph::TensorOffsets offsets;
  std::optional<graph::Graph> edited;
  std::vector<std::int64_t> buffer_offsets;
  std::vector<TflmTotal> totals;
  std::vector<UnknownKernel> unknown_kernels;
};

// Given these orders alone; -1 where the runtime's planner is not modelled.
Result<std::int64_t> DeliveredBytes(const Measured& measured, const Orders& orders);

// DeliveredBytes() of the file order, computed once: for tens of thousands of tensors that are live
// together, a runtime's planner takes seconds.
class FileAllocation {
 public:
  // Keeps the reference.
  explicit FileAllocation(const Measured& measured) : measured_(measured) {}
  Result<std::int64_t> Bytes();
  // Of `--runtime tflm` alone.
  Result<arena::Placement> InTflm();
  // Zero before Bytes().
  Limits::Clock::duration time_taken() const { return time_taken_; }

 private:
  const Measured& measured_;
  std::optional<std::int64_t> bytes_;
  arena::Placement in_tflm_;
  Limits::Clock::duration time_taken_{};
};

// `orders` are those of the plan.
Result<Delivered> DeliveredOf(const Measured& measured, const plan::Plan& plan,
                              const Orders& orders, FileAllocation* file, const Options& options);

// The file order: the peak of `entry`, and the arena as the runtime places it, or as Neap does
// where the runtime has no planner.
Result<FileOrder> CostOfFileOrder(const Measured& measured, graph::SubgraphId entry,
                                  FileAllocation* file, const Options& options);

}  // namespace neap::compile
