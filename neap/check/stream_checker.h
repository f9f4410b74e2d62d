// SPDX-License-Identifier: Apache-2.0
//
// The checker of streamed plans. Private to stream_check.cc, which prepares, goes through the
// segments and compares the numbers, and stream_check_run.cc, which runs what a segment computes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "neap/check/stream_check.h"
#include "neap/ops/dependence.h"
#include "neap/ops/recurrence.h"

namespace neap::check {

// The name of an unused byte of the arena.
inline constexpr std::int64_t kNothing = -1;
// Bytes that are being copied from slow memory have this name and smaller ones, by copy.
inline constexpr std::int64_t kInFlight = -2;

// Rows and columns of an image.
struct Part {
  plan::StreamRange rows;
  plan::StreamRange columns;
  bool empty() const { return rows.empty() || columns.empty(); }
  std::int64_t size() const { return rows.size() * columns.size(); }
  bool Has(std::int64_t y, std::int64_t x) const {
    return y >= rows.first && y < rows.last && x >= columns.first && x < columns.last;
  }
};

// Runs a streamed plan on names: every byte of the arena is called after the byte of the tensor
// that it holds. Nothing is computed; a byte that is read must have the name that the operator
// expects.
class StreamChecker {
 public:
  StreamChecker(const graph::Graph& graph, const plan::EntryPlan& entry, Findings* findings)
      : graph_(graph),
        entry_(entry),
        stream_(*entry.stream),
        subgraph_(graph.subgraphs[entry.subgraph]),
        findings_(*findings),
        images_(plan::ImagesOf(subgraph_)),
        first_name_(subgraph_.tensors.size(), kNothing),
        areas_(subgraph_.tensors.size(), nullptr),
        written_(subgraph_.tensors.size()),
        added_(subgraph_.tensors.size()),
        sum_size_(subgraph_.tensors.size(), 0),
        slow_offset_(subgraph_.tensors.size(), kNothing) {}

  void Check() {
    if (!Prepare()) return;
    for (std::size_t i = 0; i < stream_.segments.size() && !Stopped(); ++i) RunSegment(i);
    if (!Stopped()) CheckEnd();
  }

  // CheckedTrafficBound().
  std::int64_t TrafficBound() { return stream_.slow && Prepare() ? ProvenTraffic() : 0; }

 private:
  bool Stopped() const { return failed_; }
  // One finding ends the run: what follows would be noise.
  void Fail(graph::OpId op, graph::TensorId tensor, const std::string& what) {
    if (!failed_) findings_.Add(graph_, entry_.subgraph, op, tensor, At() + what);
    failed_ = true;
  }
  std::string At() const {
    return segment_ < 0 ? "" : "segment " + std::to_string(segment_) + ": ";
  }

  bool Prepare();
  bool NameTensor(graph::TensorId id);
  bool CountWork();
  void RunSegment(std::size_t index);
  bool TakeAreas(const plan::StreamSegment& segment);
  bool PrepareSlow();
  bool IsSlow(graph::TensorId tensor) const { return slow_offset_[tensor] != kNothing; }
  void Load(graph::OpId op, graph::TensorId tensor, const Part& part);
  void BeginLoad(graph::TensorId tensor, const Part& part);
  void EndLoads();
  void LoadWhole(graph::OpId id);
  void Store(graph::OpId op, graph::TensorId tensor, const Part& part);
  void ReadSlow(graph::OpId op, graph::TensorId tensor, const Part& part);
  // The buffer of an operator's weights.
  struct Buffer {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    std::int64_t copied_bytes = 0;  // for a box, or for the segment
    bool in_blocks = false;
    std::int64_t second = kNothing;  // as plan::StreamWeights
    std::int64_t blocks = 1;
    std::int64_t first_bytes = 0;  // of the first copy: in the buffer, and copied
    std::int64_t first_copied_bytes = 0;
    graph::OpId after;
    std::int64_t kept = kNothing;  // the offset of weights that stay; kNothing: of none
    std::int64_t kept_bytes = 0;
  };
  // A copy of weights that begins with another operator.
  struct Coming {
    graph::OpId op;
    Buffer buffer;
    bool at_last = false;  // with its last box in the segment
  };
  std::optional<Buffer> BufferOf(const plan::StreamSegment& segment,
                                 const plan::StreamWeights& weights);
  void TakeWeights(std::size_t index);
  void FindComing(std::size_t index);
  void FillWeights(graph::OpId op, const Buffer& buffer);
  void BeginWeights(graph::OpId op);
  void EndWeights(graph::OpId op);
  void CheckWeights(graph::OpId op);
  void Arrive(graph::OpId op, const Buffer& buffer);
  std::int64_t CompulsoryWeights() const;
  void CheckSlowNumbers();
  std::int64_t CompulsoryBytes() const;
  std::int64_t ProvenTraffic();
  std::int64_t NeededBytes(graph::TensorId input) const;
  std::int64_t NeededBytes(graph::OpId op, std::size_t input, std::size_t output) const;
  void LoadInputs();
  std::int64_t ComputedBytes(graph::TensorId tensor) const;
  void RunMoves(const plan::StreamSegment& segment);
  void Forget(std::size_t index);
  void RunWhole(const plan::StreamSegment& segment);
  void RunChannels(graph::OpId id, std::int64_t plane);
  bool ReadChannel(graph::OpId op, graph::TensorId tensor, std::int64_t channel,
                   std::int64_t bytes);
  void RunBlocks(const plan::StreamSegment& segment);
  void RunBox(const plan::StreamOp& step, const Part& part);
  bool CheckSteps(const plan::StreamSegment& segment);
  bool CheckSum(const plan::StreamOp& step);
  // Operators with a state: stream_check_state.cc.
  bool TakeStates(const plan::StreamSegment& segment);
  void RunSteps(const plan::StreamOp& step, const Part& part);
  void CheckStates();
  bool FindVariables();
  bool TakeVariables();
  void LoadVariables();
  void RunVariableSteps(const plan::StreamOp& step, const Part& part);
  void RunWithVariables(graph::OpId id);
  void CheckVariables();
  bool OwnsVariables(graph::OpId op) const {
    return ops::OwnsVariables(subgraph_, subgraph_.ops[op]);
  }
  bool IsVariable(graph::TensorId tensor) const {
    return tensor.valid() && subgraph_.tensors[tensor].variable;
  }
  std::int64_t VariableBytes() const;
  std::optional<ops::Recurrence> RecurrenceOf(graph::OpId op) const {
    return ops::RecurrenceOf(subgraph_, subgraph_.ops[op]);
  }
  // Whether `tensor` is an output of `op` without a consumer, which has no place.
  bool IsLeftOut(graph::OpId op, graph::TensorId tensor) const {
    const auto recurrence = RecurrenceOf(op);
    return recurrence && subgraph_.ops[op].outputs[recurrence->output] != tensor;
  }
  // The name of the first byte of the state of `op`.
  std::int64_t StateName(graph::OpId op) const {
    return (static_cast<std::int64_t>(subgraph_.tensors.size()) * 2 +
            static_cast<std::int64_t>(op.index())) *
           plan::kMaxStreamBytes;
  }
  void AddToSums(const plan::StreamOp& step, const Part& part);
  // Whether places that a mean adds are pixels of its input.
  bool IsMeanOfPixels(const graph::Op& op) const {
    return !op.inputs.empty() && op.inputs[0].valid() &&
           ops::IsMeanOfPlaces(subgraph_, op, images_[op.inputs[0]].channels_first);
  }
  bool IsSumming(graph::TensorId tensor) const { return !added_[tensor].empty(); }
  // Of the sums of `tensor`, which is being summed.
  std::int64_t SumBytes(graph::TensorId tensor) const {
    return images_[tensor].bytes() * sum_size_[tensor];
  }
  // The name of the first byte of the running sums of which `tensor` is the mean.
  std::int64_t SumName(graph::TensorId tensor) const {
    return first_name_[tensor] + plan::kMaxStreamBytes;
  }
  void Feed(const plan::StreamOp& step, const Part& part);
  std::optional<Part> NeedOf(graph::OpId id, std::size_t input, const Part& part,
                             std::size_t output = 0) const;
  void Read(graph::OpId op, graph::TensorId tensor, const Part& part);
  void Write(graph::OpId op, graph::TensorId tensor, const Part& part,
             const std::vector<Part>& needs);
  // A range of bytes with consecutive names, and the replacement of the first name.
  struct Replaced {
    std::int64_t name = 0;
    std::int64_t bytes = 0;
    std::int64_t address = 0;
    std::int64_t by = 0;  // byte of the output; kNothing: of a sum
  };
  void CheckOverlap(graph::OpId op, graph::TensorId tensor, const Replaced& replaced,
                    const std::vector<Part>& needs);
  bool MayReplace(graph::OpId op, graph::TensorId input, graph::TensorId output) const;
  bool AreNamed(std::int64_t address, std::int64_t name, std::int64_t bytes) const;
  std::int64_t AddressOf(graph::TensorId tensor, std::int64_t y, std::int64_t x) const;
  bool IsConstant(graph::TensorId tensor) const { return subgraph_.tensors[tensor].constant; }
  bool IsInput(graph::TensorId tensor) const {
    return std::find(subgraph_.inputs.begin(), subgraph_.inputs.end(), tensor) !=
           subgraph_.inputs.end();
  }
  Part WholeOf(graph::TensorId tensor) const {
    return {{0, images_[tensor].height}, {0, images_[tensor].width}};
  }
  void CheckEnd();
  void CheckNumbers();

  const graph::Graph& graph_;
  const plan::EntryPlan& entry_;
  const plan::Stream& stream_;
  const graph::Subgraph& subgraph_;
  Findings& findings_;
  plan::StreamImages images_;
  IdVector<graph::TensorId, std::int64_t> first_name_;
  IdVector<graph::TensorId, const plan::StreamArea*> areas_;  // of the segment
  IdVector<graph::TensorId, std::vector<bool>> written_;      // pixels that have been computed
  IdVector<graph::TensorId, std::vector<bool>>
      added_;  // pixels that sums hold; empty: there are none
  IdVector<graph::TensorId, std::int64_t> sum_size_;  // bytes of one of its sums
  std::vector<std::int64_t> names_;                   // of each byte of the arena
  // With two memories.
  IdVector<graph::TensorId, std::int64_t> slow_offset_;  // kNothing: its home is fast memory
  std::vector<std::int64_t> slow_names_;                 // of each byte of the slow memory
  std::int64_t slow_read_bytes_ = 0;
  std::int64_t slow_written_bytes_ = 0;
  std::int64_t ahead_bytes_ = 0;
  std::int64_t weight_bytes_ = 0;                      // of those read
  std::map<graph::OpId, Buffer> weights_;              // of the segment
  std::map<graph::OpId, std::vector<Coming>> coming_;  // with boxes of each operator of the segment
  std::map<graph::OpId, std::int64_t> boxes_left_;     // of these operators, in the segment
  std::map<graph::OpId, Buffer> copied_;               // weights whose copies are in progress
  struct Copy {
    graph::TensorId tensor;
    Part part;
  };
  std::vector<Copy> in_flight_;  // begun in this block
  struct State {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    std::int64_t steps = 0;  // done
    std::int64_t due = 0;    // steps in all
  };
  std::map<graph::OpId, State> states_;                // of the segment
  std::map<graph::TensorId, std::int64_t> variables_;  // offsets; kNothing before the first segment
  std::map<graph::OpId, std::int64_t> advanced_;       // steps done, of operators with variables
  std::int64_t touched_bytes_ = 0;
  std::int64_t macs_ = 0;
  std::map<graph::TensorId, std::int64_t> fed_rows_;  // of each input, so far
  int segment_ = -1;
  bool repeats_ = false;  // a pixel was computed again
  bool failed_ = false;
};

}  // namespace neap::check
