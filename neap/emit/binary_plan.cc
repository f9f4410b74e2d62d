// SPDX-License-Identifier: Apache-2.0
//
// Plans for devices: docs/reference/binary-plan.md has the format.
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "neap/emit/emit.h"
#include "neap/emit/network.h"
#include "neap/emit/scratch.h"

namespace neap::emit {
namespace {

using graph::Subgraph;
using graph::TensorId;

constexpr std::uint8_t kBinaryVersion = 1;
constexpr std::int64_t kMaxSteps = 65'535;

class PlanBytes {
 public:
  void Fixed(std::int64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> 8 * i);
  }
  void Varying(std::int64_t value) {
    constexpr std::int64_t kLast = 128;
    for (; value >= kLast; value /= kLast) text_ += static_cast<char>(value % kLast + kLast);
    text_ += static_cast<char>(value);
  }
  void Text(const std::string& text) { text_ += text; }
  std::int64_t size() const { return std::ssize(text_); }
  void Set(std::size_t at, std::int64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      text_[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> 8 * i);
    }
  }
  void AddChecksum() {
    std::uint32_t crc = 0xffffffffU;
    for (const char c : text_) {
      crc ^= static_cast<unsigned char>(c);
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1U ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
    }
    Fixed(static_cast<std::int64_t>(crc ^ 0xffffffffU), 4);
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

class BinaryWriter {
 public:
  BinaryWriter(const Subgraph& subgraph, const plan::Plan& plan, const Network& network)
      : subgraph_(subgraph), plan_(plan), entry_(plan.entries[0]), network_(network) {}

  Result<BinaryPlan> Write() {
    for (const TensorId input : subgraph_.inputs) {
      const plan::TensorPlacement* const first = FirstOf(input);
      NEAP_CHECK_OK(Require(first != nullptr && first->first <= FirstUse(input),
                            "has no binary plan: an input without an address"));
      records_.Varying(first->offset);
    }
    for (std::size_t slot = 0; slot < entry_.steps.size(); ++slot) {
      NEAP_CHECK_OK(AddStep(entry_.steps[slot], static_cast<std::int32_t>(slot)));
    }
    NEAP_CHECK_OK(Require(steps_ <= kMaxSteps, "has no binary plan: too many steps"));
    return Whole();
  }

 private:
  static bool IsLive(const plan::TensorPlacement& placed, std::int32_t slot) {
    return placed.first <= slot && slot < placed.last;
  }
  const plan::TensorPlacement* FirstOf(TensorId tensor) const {
    const plan::TensorPlacement* found = nullptr;
    for (const plan::TensorPlacement& placed : entry_.tensors) {
      if (placed.tensor != tensor) continue;
      if (found == nullptr || placed.first < found->first) found = &placed;
    }
    return found;
  }
  std::int32_t FirstUse(TensorId tensor) const {
    for (std::size_t slot = 0; slot < entry_.steps.size(); ++slot) {
      const plan::Step& step = entry_.steps[slot];
      if (step.op.valid() && Contains(subgraph_.ops[step.op].inputs, tensor)) {
        return static_cast<std::int32_t>(slot);
      }
    }
    return static_cast<std::int32_t>(entry_.steps.size());
  }

  Status AddStep(const plan::Step& step, std::int32_t slot) {
    if (step.moved.valid()) return AddMove(step.moved, slot);
    if (!step.op.valid()) return {};
    ++steps_;
    const NetworkOp& op = network_.ops[step.op.index()];
    records_.Varying(2 * static_cast<std::int64_t>(step.op.value()));
    if (op.scratch_bytes > 0) {
      std::vector<plan::StreamRange> used;
      for (const plan::TensorPlacement& placed : entry_.tensors) {
        if (IsLive(placed, slot)) used.push_back({placed.offset, placed.offset + placed.bytes});
      }
      const std::int64_t offset = LowestGap(std::move(used), op.scratch_bytes);
      arena_bytes_ = std::max(arena_bytes_, offset + op.scratch_bytes);
      records_.Varying(offset);
    }
    for (const std::int64_t output : op.outputs) {
      const plan::TensorPlacement* place = nullptr;
      for (const plan::TensorPlacement& placed : entry_.tensors) {
        const bool here = placed.tensor == network_.tensors[static_cast<std::size_t>(output)];
        if (here && placed.first == slot) place = &placed;
      }
      NEAP_CHECK_OK(Require(place != nullptr, "has no binary plan: an output without an address"));
      records_.Varying(place->offset);
    }
    return {};
  }

  Status AddMove(TensorId tensor, std::int32_t slot) {
    ++steps_;
    for (const plan::TensorPlacement& placed : entry_.tensors) {
      if (placed.tensor != tensor || placed.first != slot) continue;
      records_.Varying(2 * network_.NumberOf(tensor) + 1);
      records_.Varying(placed.offset);
      return {};
    }
    return Fail(BadInput("has no binary plan: a move without an address"));
  }

  BinaryPlan Whole() {
    arena_bytes_ = std::max(arena_bytes_, entry_.arena_bytes);
    PlanBytes bytes;
    bytes.Text("NEAP");
    bytes.Fixed(kBinaryVersion, 1);
    bytes.Fixed(0, 1);
    bytes.Fixed(steps_, 2);
    const auto length_at = static_cast<std::size_t>(bytes.size());
    bytes.Fixed(0, 4);
    bytes.Fixed(arena_bytes_, 4);
    constexpr int kHex = 16;
    for (std::size_t i = 0; i + 1 < plan_.model_sha256.size(); i += 2) {
      bytes.Fixed(std::stoll(plan_.model_sha256.substr(i, 2), nullptr, kHex), 1);
    }
    bytes.Fixed(std::ssize(network_.tensors), 2);
    bytes.Fixed(std::ssize(network_.ops), 2);
    bytes.Text(records_.Take());
    constexpr std::int64_t kChecksumBytes = 4;
    bytes.Set(length_at, bytes.size() + kChecksumBytes, 4);
    bytes.AddChecksum();
    return {bytes.Take(), arena_bytes_};
  }

  const Subgraph& subgraph_;
  const plan::Plan& plan_;
  const plan::EntryPlan& entry_;
  const Network& network_;
  PlanBytes records_;
  std::int64_t steps_ = 0;
  std::int64_t arena_bytes_ = 0;
};

}  // namespace

Result<BinaryPlan> ToBinary(const graph::Graph& graph, const plan::Plan& plan, KernelSet kernels) {
  NEAP_CHECK_OK(Require(plan.entries.size() == 1 && graph.subgraphs.Has(plan.entries[0].subgraph),
                        "has no binary plan: a model with several entry subgraphs"));
  const plan::EntryPlan& entry = plan.entries[0];
  NEAP_CHECK_OK(
      Require(!plan::HasEdits(plan), "has no binary plan: the plan changes the model's operators"));
  NEAP_CHECK_OK(Require(!entry.stream && plan.memories.empty() && entry.arena_bytes > 0,
                        "has no binary plan: tensors are not placed as a whole in one memory"));
  const Subgraph& subgraph = graph.subgraphs[entry.subgraph];
  Lowering lowering(subgraph, "model", kernels);
  // The overlaps of the plan, and operators without a kernel.
  Refusals refusals;
  NEAP_TRY(const auto segments, WholeSegments(entry, &lowering, &refusals));
  (void)segments;
  const Network network = NetworkOf(&lowering, &refusals);
  NEAP_CHECK_OK(RefusedStatus(&refusals, subgraph.ops.size()));
  return BinaryWriter(subgraph, plan, network).Write();
}

Result<Emitted> EmitNetwork(const graph::Graph& graph, const Source& source, const Options& options,
                            std::vector<Refusal>* refused) {
  NEAP_CHECK_OK(Require(IsPrefix(options.prefix),
                        "the prefix is not a C identifier of lower-case letters and digits"));
  const graph::SubgraphId main(0);
  NEAP_CHECK_OK(Require(graph.subgraphs.Has(main), "cannot be emitted: a model without operators"));
  const Subgraph& subgraph = graph.subgraphs[main];
  Lowering lowering(subgraph, options.prefix, options.kernels);
  Refusals refusals;
  Network network = NetworkOf(&lowering, &refusals);
  Program program;
  for (const TensorId tensor : subgraph.inputs) {
    program.inputs.push_back(PortOf(subgraph, tensor, &refusals));
  }
  for (const TensorId tensor : subgraph.outputs) {
    program.outputs.push_back(PortOf(subgraph, tensor, &refusals));
  }
  const Status status = RefusedStatus(&refusals, subgraph.ops.size());
  if (refused != nullptr) *refused = refusals;
  if (!status) return Fail(status.error());
  program.segments = network.segments;
  program.constants = lowering.TakeConstants();
  program.memory_bytes = {0};
  const Origin origin{source.neap_version, source.model, source.model_sha256, "", {}};
  return WriteNetwork(network, program, origin, options);
}

}  // namespace neap::emit
