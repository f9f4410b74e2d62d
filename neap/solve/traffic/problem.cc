// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/traffic/problem.h"

#include <algorithm>
#include <cstddef>

#include "neap/base/bytes.h"

namespace neap::traffic {
namespace {

std::optional<std::string> WrongWith(const Problem& problem, const Tensor& tensor) {
  if (tensor.bytes < 0) return "a negative size";
  if (tensor.begin == Begin::kWritten && tensor.accesses.empty()) return "it is never written";
  for (std::size_t i = 0; i < tensor.accesses.size(); ++i) {
    const Step step = tensor.accesses[i];
    if (step < 0 || step >= problem.num_steps) return "an access out of range";
    if (i > 0 && step <= tensor.accesses[i - 1]) return "accesses that do not increase";
  }
  return std::nullopt;
}

struct Span {
  Step first = 0;
  Step last = 0;
};

// A tensor that always has a copy outside streams past where it is accessed once.
Span HeldWithoutTraffic(const Problem& problem, const Tensor& tensor) {
  const bool outside = tensor.begin == Begin::kOffChip || tensor.end == End::kOffChip;
  Span span;
  if (!tensor.accesses.empty()) {
    span.first = tensor.begin == Begin::kOnChip ? 0 : tensor.accesses.front();
    span.last = tensor.accesses.back() + 1;
  }
  if (!outside && tensor.end == End::kAnywhere) span.last = problem.num_steps;
  if (outside && tensor.begin != Begin::kOnChip && tensor.accesses.size() < 2) return {};
  return span;
}

}  // namespace

std::optional<std::string> Validate(const Problem& problem) {
  if (problem.num_steps < 0) return "a negative number of steps";
  if (!problem.scratch_bytes.empty() &&
      problem.scratch_bytes.size() != static_cast<std::size_t>(problem.num_steps)) {
    return "scratch sizes that are not one per step";
  }
  if (std::any_of(problem.scratch_bytes.begin(), problem.scratch_bytes.end(),
                  [](std::int64_t bytes) { return bytes < 0 || bytes > kMaxTraffic; })) {
    return "a scratch size out of range";
  }
  std::int64_t total = 0;
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    const Tensor& tensor = problem.tensors[i];
    if (auto wrong = WrongWith(problem, tensor)) {
      return "tensor " + std::to_string(i) + ": " + *wrong;
    }
    const auto times = static_cast<std::int64_t>(tensor.accesses.size()) + 2;
    const auto moved = CheckedMultiply(tensor.bytes, times);
    if (!moved || *moved > kMaxTraffic - total) return "sizes whose sum is out of range";
    total += *moved;
  }
  return std::nullopt;
}

std::int64_t CompulsoryBytes(const Problem& problem) {
  std::int64_t bytes = 0;
  for (const Tensor& tensor : problem.tensors) {
    if (tensor.begin == Begin::kOffChip && !tensor.accesses.empty()) bytes += tensor.bytes;
    if (tensor.begin != Begin::kOffChip && tensor.end == End::kOffChip) bytes += tensor.bytes;
  }
  return bytes;
}

std::int64_t LeastBytesWithoutTraffic(const Problem& problem) {
  std::vector<std::int64_t> change(static_cast<std::size_t>(problem.num_steps) + 1, 0);
  for (const Tensor& tensor : problem.tensors) {
    const Span span = HeldWithoutTraffic(problem, tensor);
    change[static_cast<std::size_t>(span.first)] += tensor.bytes;
    change[static_cast<std::size_t>(span.last)] -= tensor.bytes;
  }
  std::int64_t live = 0;
  std::int64_t most = 0;
  for (std::size_t step = 0; step + 1 < change.size(); ++step) {
    live += change[step];
    const std::int64_t scratch = problem.scratch_bytes.empty() ? 0 : problem.scratch_bytes[step];
    if (live > 0) most = std::max(most, live + scratch);
  }
  return most;
}

}  // namespace neap::traffic
