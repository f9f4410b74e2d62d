// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/tflm_memory.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/compile/tflm_kernels.h"

namespace neap::compile {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

constexpr std::int64_t kBufferAlignment = 16;
constexpr std::int64_t kMaxScratchRequests = 12;  // of one kernel; memory is reserved for this many
constexpr std::int64_t kPlannerBytes = 40;        // of the greedy planner, for each buffer

// The end of the arena, from which persistent data is allocated.
class Tail {
 public:
  void Take(std::int64_t bytes, std::int64_t alignment) {
    bytes_ = AlignUp(bytes_ + bytes, alignment);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

class Replay {
 public:
  Replay(const graph::Graph& graph, const Orders& orders, const target::Target& target,
         std::int64_t outside)
      : graph_(graph),
        orders_(orders),
        target_(target),
        structs_(target.structs),
        outside_(outside) {}

  TflmTotal Run(std::int64_t arena_bytes) {
    TflmTotal total;
    total.target = &target_;
    total.missing = ReadKernels();
    if (!total.missing.empty()) return total;
    Load();
    const std::int64_t planning = Planning();
    TakeInterface();
    const std::int64_t running = arena_bytes + tail_.bytes();
    const std::int64_t needed = std::max(running, planning);
    if (needed < preparing_) {
      total.missing =
          "loading a single operator may need more memory than all that stays: the model is too "
          "small";
      return total;
    }
    total.total_arena_bytes = AlignUp(needed, kBufferAlignment);
    total.persistent_bytes = tail_.bytes();
    return total;
  }

 private:
  struct Kernel {
    const Subgraph* subgraph;
    const Op* op;
    KernelMemory memory;
  };

  // "" or the unknown part.
  std::string ReadKernels() {
    for (const SubgraphId s : graph_.subgraphs.Ids()) {
      const Subgraph& subgraph = graph_.subgraphs[s];
      if (orders_[s].size() != subgraph.ops.size()) return "not all operators run";
      for (const OpId id : orders_[s]) {
        auto memory = KernelMemoryOf(subgraph, subgraph.ops[id], target_);
        if (!memory) {
          return "the data that the kernel of operator " + graph::Describe(id, subgraph.ops[id]) +
                 " keeps is not known";
        }
        scratch_requests_ += static_cast<std::int64_t>(memory->scratch_bytes.size());
        kernels_.push_back({&subgraph, &subgraph.ops[id], std::move(*memory)});
      }
    }
    return kernels_.empty() ? "there is no operator" : "";
  }

  // Everything up to the moment when the activations are planned.
  void Load() {
    const std::int64_t word = structs_.word;
    tail_.Take(structs_.allocator, word);
    // A counter for the region of memory outside of the arena.
    if (outside_ > 0) tail_.Take(word, kBufferAlignment);
    tail_.Take(structs_.subgraph * Count(graph_.subgraphs.size()), word);
    for (const Subgraph& subgraph : graph_.subgraphs) {
      tail_.Take(structs_.eval_tensor * Count(subgraph.tensors.size()), word);
    }
    for (const Subgraph& subgraph : graph_.subgraphs) {
      tail_.Take(structs_.node * Count(subgraph.ops.size()), word);
    }
    for (const Kernel& kernel : kernels_) {
      if (kernel.memory.options_bytes > 0) {
        tail_.Take(kernel.memory.options_bytes, kernel.memory.options_alignment);
      }
    }
    for (const Kernel& kernel : kernels_) {
      if (kernel.memory.data_bytes > 0) tail_.Take(kernel.memory.data_bytes, kBufferAlignment);
    }
    for (const Kernel& kernel : kernels_) {
      for (const std::int64_t bytes : kernel.memory.channel_bytes) {
        tail_.Take(bytes, kBufferAlignment);
      }
      preparing_ = std::max(preparing_, tail_.bytes() + Preparing(kernel));
    }
    if (scratch_requests_ > 0) tail_.Take(word * scratch_requests_, word);
    for (const Subgraph& subgraph : graph_.subgraphs) {
      for (const graph::Tensor& tensor : subgraph.tensors) {
        const auto bytes = graph::TensorBytes(tensor);
        if (tensor.variable && bytes) tail_.Take(*bytes, kBufferAlignment);
      }
    }
  }

  static std::int64_t Count(std::size_t size) { return static_cast<std::int64_t>(size); }

  std::int64_t QuantizationBytes(const graph::Tensor& tensor) const {
    if (!tensor.quantization) return 0;
    return structs_.quantization + 4 + 4 * Count(tensor.quantization->scales.size());
  }

  // At most: a kernel looks at each tensor at most twice at once.
  std::int64_t Preparing(const Kernel& kernel) const {
    std::int64_t bytes = structs_.scratch_request * (scratch_requests_ + kMaxScratchRequests);
    for (const auto* list : {&kernel.op->inputs, &kernel.op->outputs}) {
      for (const TensorId id : *list) {
        if (!id.valid()) continue;
        const graph::Tensor& tensor = kernel.subgraph->tensors[id];
        bytes += 2 * AlignUp(structs_.tensor + QuantizationBytes(tensor), kBufferAlignment);
      }
    }
    return bytes;
  }

  // The list of requests, a record for each tensor and request, the planner's own lists.
  std::int64_t Planning() const {
    std::int64_t tensors = scratch_requests_;
    std::int64_t buffers = scratch_requests_ - outside_;
    for (const Subgraph& subgraph : graph_.subgraphs) {
      tensors += Count(subgraph.tensors.size());
      for (const graph::Tensor& tensor : subgraph.tensors) {
        const auto bytes = graph::TensorBytes(tensor);
        if (IsPlanned(tensor) && bytes && *bytes > 0) ++buffers;
      }
    }
    const std::int64_t word = structs_.word;
    std::int64_t front = structs_.scratch_request * (scratch_requests_ + kMaxScratchRequests);
    front = AlignUp(front, word) + word * Count(graph_.subgraphs.size());
    front = AlignUp(front, word) + structs_.allocation_info * tensors;
    return AlignUp(front, kBufferAlignment) + kPlannerBytes * buffers +
           AlignUp(tail_.bytes(), kBufferAlignment);
  }

  void TakeInterface() {
    const Subgraph& main = graph_.subgraphs[SubgraphId(0)];
    for (const auto* list : {&main.inputs, &main.outputs}) {
      tail_.Take(structs_.word * Count(list->size()), kBufferAlignment);
      for (const TensorId id : *list) {
        tail_.Take(structs_.tensor, structs_.word);
        const graph::Tensor& tensor = main.tensors[id];
        if (!tensor.quantization) continue;
        tail_.Take(structs_.quantization, structs_.word);
        tail_.Take(4 + 4 * Count(tensor.quantization->scales.size()), 4);
      }
    }
  }

  const graph::Graph& graph_;
  const Orders& orders_;
  const target::Target& target_;
  const target::Structs& structs_;
  std::int64_t outside_;  // tensors in decompression memory
  std::vector<Kernel> kernels_;
  std::int64_t scratch_requests_ = 0;
  std::int64_t preparing_ = 0;  // an upper bound of the bytes for preparing any operator
  Tail tail_;
};

}  // namespace

TflmTotal TflmTotalOf(const graph::Graph& graph, const Orders& orders, std::int64_t arena_bytes,
                      const target::Target& target, std::int64_t outside) {
  return Replay(graph, orders, target, outside).Run(arena_bytes);
}

}  // namespace neap::compile
