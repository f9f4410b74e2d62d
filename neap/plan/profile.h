// SPDX-License-Identifier: Apache-2.0
//
// Runtime profiles: what a runtime counts, how it rounds, who places
// (docs/reference/memory-model.md). Data only; the planner and the checker apply it with separate
// code.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "neap/ops/overlap.h"
#include "neap/target/target.h"

namespace neap::plan {

enum class Runtime : std::uint8_t { kIdeal, kIdealInPlace, kTflm, kLitert, kOnnxRuntime, kNeap };

struct Profile {
  Runtime runtime = Runtime::kIdeal;
  std::string_view name;
  std::string_view summary;    // one line for --help
  std::int64_t alignment = 1;  // of offsets; sizes are rounded up to it
  bool in_place = false;       // element-wise and reshape-like operators may write over their input
  bool runtime_places = false;  // given an order alone, the runtime's own planner decides addresses
  // Of a runtime that gives some tensors their bytes for the whole run
  // (docs/reference/memory-model.md).
  bool keeps_inputs = false;      // inputs of a subgraph live to the end of its call
  bool keeps_unread = false;      // so do outputs of operators without consumers
  bool counts_variables = false;  // variables of subgraphs that no operator calls live all the time
  bool shares_as_litert =
      false;  // LiteRT's in-place operators, and its kept outputs (ops/litert.h)
  // Outputs may overlap inputs as far as these kernels allow, by default.
  ops::KernelLibrary kernels = ops::KernelLibrary::kNone;
  // Of kTflm: whose kernels request scratch; nullptr: target::DefaultTarget().
  const target::Target* target = nullptr;
};

// All profiles, in the order in which --help lists them.
std::span<const Profile> Profiles();
const Profile& ProfileOf(Runtime runtime);
// The same for a target. `target` is a row of target::Targets().
Profile ProfileOf(Runtime runtime, const target::Target& target);
const target::Target& TargetOf(const Profile& profile);
// nullopt: no such profile.
std::optional<Runtime> RuntimeNamed(std::string_view name);

}  // namespace neap::plan
