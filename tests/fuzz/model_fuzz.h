// SPDX-License-Identifier: Apache-2.0
//
// Invariants for the bytes of a model in any format: they are refused, or planned within limits; a
// model that can be written is read back with as many subgraphs and operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "neap/check/offsets_check.h"
#include "neap/compile/compile.h"
#include "neap/formats/formats.h"
#include "tests/fuzz/require.h"

namespace neap::fuzz {

inline void TryCarriedPlan(const formats::SourceModel& source) {
  if (!source.carried_plan || !source.carried_plan->problem.empty()) return;
  const auto& offsets = source.carried_plan->offsets;
  Require(offsets.size() == source.graph.subgraphs.size(), "a plan is about every subgraph");
  for (const graph::SubgraphId id : offsets.Ids()) {
    Require(offsets[id].size() == source.graph.subgraphs[id].tensors.size(),
            "a plan is about every tensor");
  }
  const check::OffsetsVerdict verdict = check::CheckOffsets(source.graph, offsets);
  Require(verdict.arena_bytes >= 0 && verdict.problems.size() <= 20, "a verdict is bounded");
}

// A model with its memory plan, where it can be written, is read back with that plan.
inline void TryWithPlan(const formats::SourceModel& source, const compile::Compiled& compiled,
                        const std::string& name) {
  if (source.format != formats::Format::kTflite || compiled.offsets.empty()) return;
  const auto written = formats::WritePlanned(source, compiled.order, compiled.offsets, "kernels");
  if (!written) {
    Require(written.error().code == ErrorCode::kBadInput, "a plan of this model is no misuse");
    return;
  }
  Require(written->size() >= source.bytes->size(), "nothing of the file is lost");
  const auto again = formats::LoadBytes(std::make_shared<const std::vector<std::byte>>(*written),
                                        name, formats::LoadOptions{});
  if (!again) return;
  Require(again->carried_plan && again->carried_plan->problem.empty(), "the plan is read back");
  for (const graph::SubgraphId id : compiled.offsets.Ids()) {
    Require(again->carried_plan->offsets[id].Items() == compiled.offsets[id].Items(),
            "the plan that is read back is the one that was written");
  }
}

inline void TryModel(const std::uint8_t* data, std::size_t size, const std::string& name) {
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  auto bytes = std::make_shared<const std::vector<std::byte>>(begin, begin + size);
  const auto source = formats::LoadBytes(bytes, name, formats::LoadOptions{});
  if (!source) {
    const std::string message = source.error().ToString();
    Require(!message.empty() && message.find('\n') == std::string::npos, "an error is one line");
    return;
  }
  Require(graph::Verify(source->graph).has_value(),
          "a reader returns graphs that Verify() accepts");
  TryCarriedPlan(*source);
  compile::Options options;
  options.runtime =
      source->format == formats::Format::kTflite ? plan::Runtime::kTflm : plan::Runtime::kIdeal;
  options.limits.max_states = 300;
  options.placement_states = 300;
  const auto compiled = compile::Compile(source->graph, options);
  if (!compiled || source->format == formats::Format::kGraphJson) return;
  TryWithPlan(*source, *compiled, name);
  const auto written = formats::WriteReordered(*source, compiled->order);
  if (!written) {
    Require(written.error().code == ErrorCode::kBadInput, "an order that was planned is no misuse");
    return;
  }
  const auto again = formats::LoadBytes(std::make_shared<const std::vector<std::byte>>(*written),
                                        name, formats::LoadOptions{});
  // Tables of a hostile file may share bytes, so that moving one breaks another. Reading back finds
  // it, and the program writes nothing then.
  if (!again) return;
  Require(again->graph.subgraphs.size() == source->graph.subgraphs.size(), "no subgraph is lost");
  for (const graph::SubgraphId id : source->graph.subgraphs.Ids()) {
    Require(source->format == formats::Format::kOnnx ||
                again->graph.subgraphs[id].ops.size() == source->graph.subgraphs[id].ops.size(),
            "no operator is lost");
  }
}

}  // namespace neap::fuzz
