// SPDX-License-Identifier: Apache-2.0
//
// A run of a streamed plan. Private to stream_run.cc, which checks the plan, runs the segments and
// returns the outputs, and stream_boxes.cc, which computes the boxes of a segment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "neap/execute/arena.h"
#include "neap/execute/box.h"
#include "neap/execute/program.h"
#include "neap/execute/run.h"
#include "neap/execute/value.h"
#include "neap/ops/dependence.h"
#include "neap/ops/recurrence.h"
#include "neap/plan/plan.h"
#include "neap/plan/stream_weights.h"

namespace neap::execute {

class StreamMachine {
 public:
  StreamMachine(const Program& program, const plan::EntryPlan& entry, std::span<const Value> inputs,
                const RunOptions& options)
      : program_(program),
        stream_(*entry.stream),
        subgraph_(program.subgraph()),
        inputs_(inputs),
        options_(options),
        arena_(entry.arena_bytes),
        slow_(stream_.slow ? stream_.slow->bytes : 0),
        slow_offset_(subgraph_.tensors.size(), -1),
        images_(plan::ImagesOf(subgraph_)),
        held_(subgraph_.tensors.size()),
        areas_(subgraph_.tensors.size(), nullptr),
        boxes_(program, images_) {}

  Status Prepare();
  Status Run();
  RunResult Finish();

 private:
  // A copy of the written pixels outside the arena, and which pixels have been written.
  struct Held {
    std::vector<std::byte> bytes;
    std::vector<bool> written;
    // Of a mean that takes its input part by part: the sums, and which pixels they hold; empty
    // before the first and after the last.
    std::vector<std::byte> sums;
    std::vector<bool> added;
  };

  void Report(graph::OpId op, graph::TensorId tensor, const std::string& what);
  Status CheckSegment(const plan::StreamSegment& segment, std::int64_t* boxes,
                      std::int64_t* pixels);
  Status TakeAreas(const plan::StreamSegment& segment);
  void PoisonRest(std::size_t segment);
  // Steps of plans with two memories.
  Status PrepareSlow();
  bool IsSlow(graph::TensorId tensor) const { return slow_offset_[tensor] >= 0; }
  Status Load(graph::TensorId tensor, const ImagePart& part);
  Status BeginLoad(graph::TensorId tensor, const ImagePart& part);
  Status EndLoads();
  Status LoadWhole(graph::OpId op);
  void Store(graph::TensorId tensor, const ImagePart& part);
  std::vector<std::byte> SlowBytes(graph::TensorId tensor);
  void PoisonSlow(std::size_t segment);
  // The buffer of an operator's weights in slow memory.
  struct Buffer {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    bool in_blocks = false;                // read for every box
    std::vector<plan::WeightCopy> blocks;  // all weights, where they stay
    std::int64_t second = -1;              // as plan::StreamWeights; -1: none
    std::int64_t kept = -1;                // of the first block, which stays; -1: none does
    graph::OpId after;
    std::vector<std::vector<std::byte>> found;  // of every input, as the arena has it
  };
  static constexpr std::int64_t kChannelAxis = 3;
  // A copy of weights that begins with another operator.
  struct Coming {
    graph::OpId op;
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    bool at_last = false;  // with its last box in the segment
  };
  Result<Buffer> BufferOf(const plan::StreamSegment& segment, const plan::StreamWeights& weights);
  Status TakeWeights(std::size_t index);
  Status FindComing(std::size_t index);
  void LoadBlocks(graph::OpId op, Buffer* buffer);
  void Arrive(graph::OpId op, const Buffer& buffer);
  bool IsPoison(std::int64_t offset, std::int64_t bytes);
  void LoadWeights(const graph::Op& op, const plan::WeightCopy& copy, std::int64_t offset,
                   bool counts);
  bool FindWeights(const graph::Op& op, const plan::WeightCopy& copy, std::int64_t offset,
                   Buffer* buffer);
  void BeginWeights(graph::OpId op);
  void EndWeights(graph::OpId op);
  static const plan::WeightCopy& LargestOf(const Buffer& buffer);
  std::span<const std::byte> ConstantOf(graph::OpId op, std::size_t input) const;
  Status RunMoves(const plan::StreamSegment& segment);
  Status RunWhole(const plan::StreamOp& step);
  Status RunChannels(graph::OpId op, std::int64_t plane);
  Status RunBlocks(const plan::StreamSegment& segment);
  Status RunBox(const plan::StreamOp& step, const ImagePart& part);
  Status AddToSums(graph::OpId op, const ImagePart& part);
  std::span<std::byte> SumsOf(graph::OpId op);
  // Operators with a state: stream_states.cc.
  Status TakeStates(const plan::StreamSegment& segment);
  Status RunSteps(const plan::StreamOp& step, const ImagePart& part);
  Status AddSteps(const plan::StreamOp& step, const ImagePart& part);
  Result<std::vector<std::byte>> AdvanceState(graph::OpId op, const ImagePart& part, bool first,
                                              std::span<std::byte> state);
  void EndStates();
  void LoadVariables();
  Status RunVariableSteps(const plan::StreamOp& step, const ImagePart& part);
  Status AdvanceVariables(const plan::StreamOp& step, const ImagePart& in, const ImagePart& out,
                          const RunKernel* kernel);
  void FinishVariables();
  bool OwnsVariables(graph::OpId op) const {
    return ops::OwnsVariables(subgraph_, subgraph_.ops[op]);
  }
  std::optional<ops::Recurrence> RecurrenceOf(graph::OpId op) const {
    return ops::RecurrenceOf(subgraph_, subgraph_.ops[op]);
  }
  void Observe(const plan::StreamOp& step, graph::TensorId written);
  // Whether places that a mean adds are pixels of its input.
  bool IsMeanOfPixels(const graph::Op& op) const {
    return !op.inputs.empty() && op.inputs[0].valid() &&
           ops::IsMeanOfPlaces(subgraph_, op, images_[op.inputs[0]].channels_first);
  }
  Status Feed(const plan::StreamOp& step, const ImagePart& part);
  ImagePart WholeOf(graph::TensorId tensor) const {
    return {{0, images_[tensor].height}, {0, images_[tensor].width}};
  }
  std::int64_t AddressOf(graph::TensorId tensor, std::int64_t y, std::int64_t x) const;
  std::vector<std::byte> Gather(graph::OpId op, graph::TensorId tensor, const ImagePart& part);
  void Scatter(graph::OpId op, graph::TensorId tensor, const ImagePart& part,
               std::span<const std::byte> bytes);
  // Pixel after pixel, and in the order of the tensor's dimensions.
  std::vector<std::byte> ToPixels(graph::TensorId tensor, std::span<const std::byte> planes) const;
  std::vector<std::byte> FromPixels(graph::TensorId tensor, std::vector<std::byte> pixels) const;
  bool IsRearranged(graph::TensorId tensor) const {
    return images_[tensor].IsRearranged(graph::BitsOf(subgraph_.tensors[tensor].type) / 8);
  }
  Status RunKernelOn(const plan::StreamOp& step, const std::vector<ImagePart>& needs,
                     const ImagePart& part, const RunKernel* kernel);
  std::ptrdiff_t InputIndex(graph::TensorId tensor) const {
    const auto at = std::find(subgraph_.inputs.begin(), subgraph_.inputs.end(), tensor);
    return at == subgraph_.inputs.end() ? -1 : at - subgraph_.inputs.begin();
  }
  bool IsExternal(graph::TensorId tensor) const {
    return stream_.input == plan::StreamInput::kExternal && InputIndex(tensor) >= 0;
  }

  const Program& program_;
  const plan::Stream& stream_;
  const graph::Subgraph& subgraph_;
  std::span<const Value> inputs_;
  const RunOptions& options_;
  Arena arena_;
  // With two memories: the slow one, and the tensors whose home it is; -1: fast memory.
  Arena slow_;
  IdVector<graph::TensorId, std::int64_t> slow_offset_;
  struct Copy {
    graph::TensorId tensor;
    ImagePart part;
  };
  std::vector<Copy> in_flight_;                        // begun in this block
  std::map<graph::OpId, Buffer> weights_;              // of the segment
  std::map<graph::OpId, std::vector<Coming>> coming_;  // with boxes of each operator of the segment
  std::map<graph::OpId, std::int64_t> boxes_left_;     // of these operators, in the segment
  std::map<graph::OpId, Coming> copied_;               // weights whose copies are in progress
  plan::StreamImages images_;
  IdVector<graph::TensorId, Held> held_;
  IdVector<graph::TensorId, const plan::StreamArea*> areas_;
  BoxKernels boxes_;
  struct State {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    std::int64_t steps = 0;       // done
    std::vector<std::byte> held;  // a copy outside the arena
  };
  std::map<graph::OpId, State> states_;           // of the segment
  std::vector<graph::TensorId> variables_;        // by index
  std::map<graph::OpId, std::int64_t> advanced_;  // steps done, of operators with variables
  std::map<std::pair<graph::OpId, std::int64_t>, RunKernel> step_kernels_;  // by number of steps
  std::vector<std::vector<graph::TensorId>>
      live_;                               // before each segment: the pixels read from then on
  std::vector<plan::StreamRange> writes_;  // of the box, where somebody observes
  std::vector<plan::StreamRange> reads_;
  RunResult result_;
  std::int32_t segment_ = -1;
};

}  // namespace neap::execute
