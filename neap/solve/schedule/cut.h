// SPDX-License-Identifier: Apache-2.0
//
// Live bytes are a submodular function of the executed set, so the cheapest downset between two
// given ones is a minimum cut. Two uses: a lower bound per operator, and the waypoint that the
// search may commit to. Private to neap/schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/solve/schedule/instance.h"
#include "neap/solve/schedule/max_flow.h"
#include "neap/solve/schedule/relations.h"

namespace neap::schedule {

class CutFinder {
 public:
  explicit CutFinder(const Instance& instance);
  // The cuts of operators see `relations`, which contain those of the instance and may grow between
  // calls, in place of them.
  CutFinder(const Instance& instance, const Relations& relations);

  // Least possible hill of `op` over all orders (min cut over the operators incomparable with it),
  // or `enough` or a larger number as soon as it is known to be at least `enough`.
  // Proof: docs/algorithms/order.md, "Lower bound".
  std::int64_t LeastHill(OpIndex op, std::int64_t enough);

  // Pairs of operators: the network of one stage of `op` first, by itself, then with one more
  // operator (incomparable with `op`) that runs before it (`executed`) or after it, as often as
  // wanted; each starts from the flow of the first. All return what LeastHill() would over the
  // orders in question, for that stage.
  std::size_t NumStages(OpIndex op) const { return instance_.StagesOf(op).size(); }
  std::int64_t LeastStageHill(OpIndex op, std::size_t stage, std::int64_t enough);
  std::int64_t LeastStageHillWith(OpIndex forced, bool executed, std::int64_t enough);
  // After one of the two returned less than `enough`: the downset of that cost.
  void ExecutedAtCut(Word* out);
  // The same with as few operators as there can be at that cost.
  void FewestAtCut(Word* out);

  // One unit of proof: at least one of `buffers` costs its bytes wherever `op` runs. The first is
  // touched by then for certain; if it were finished, all its users would have run, among them
  // through[0].front() and so its predecessors down to through[0].back(), which touches the second;
  // and so on; the last cannot be finished. Each element of through[k] is a direct predecessor of
  // the one before it. The amounts of all paths over one buffer are at most its bytes.
  struct Path {
    std::int64_t bytes = 0;
    std::vector<BufferIndex> buffers;
    std::vector<std::vector<OpIndex>> through;
  };
  // A maximal flow of LeastHill's network as paths: together with the certain bytes, they prove the
  // bound. The value is returned in `hill`.
  std::vector<Path> Witness(OpIndex op, std::int64_t* hill);

  // The largest downset F with from <= F <= to whose live bytes are fewest. `from` and `to` are
  // downsets, from <= to. Writes it to `out` (words() words) and returns its live bytes.
  // `from_live`: live bytes of `from`.
  std::int64_t LargestMinimiser(const Word* from, std::int64_t from_live, const Word* to,
                                Word* out);

 private:
  const Word* Ancestors(OpIndex op) const {
    return relations_ == nullptr ? instance_.Ancestors(op) : relations_->Ancestors(op);
  }
  const Word* Descendants(OpIndex op) const {
    return relations_ == nullptr ? instance_.Descendants(op) : relations_->Descendants(op);
  }
  const std::vector<OpIndex>& Predecessors(OpIndex op) const {
    return relations_ == nullptr ? instance_.Predecessors(op) : relations_->Predecessors(op);
  }
  void ReadSide(const std::vector<char>& source_side, Word* out) const;
  // The state of an operator in the network: certainly executed, certainly not executed, or a node.
  enum : int { kExecuted = MaxFlow::kSource, kWaiting = MaxFlow::kSink };
  void Classify(OpIndex op);
  void ClassifyBetween(const Word* from, const Word* to);
  std::int64_t StageHill(OpIndex op, const std::vector<Instance::Stage>& stages, std::size_t stage,
                         std::int64_t enough);
  void AddCost(BufferIndex index, int touched, int finished, std::int64_t* constant);
  void AddFreeOps(const std::vector<OpIndex>& free_ops);
  int TouchedNode(const Instance::CompiledBuffer& buffer, bool at_start, OpIndex skip);
  int FinishedNode(const Instance::CompiledBuffer& buffer, bool at_end, OpIndex skip);

  const Instance& instance_;
  const Relations* relations_ = nullptr;
  MaxFlow flow_;
  std::vector<int> node_of_;
  std::vector<OpIndex> free_ops_;
  std::vector<char> seen_;  // per buffer
  // Of the last network of StageHill(): its cost besides the cut, and a node of either side.
  std::int64_t constant_ = 0;
  int executed_ = kExecuted;
  int waiting_ = kWaiting;
  std::vector<BufferIndex> touched_buffers_;
};

}  // namespace neap::schedule
