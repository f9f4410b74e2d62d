// SPDX-License-Identifier: Apache-2.0
//
// The edited graph while it is being made, in one pass over the operators in an order that can be
// run. Every tensor of the source has a value: a tensor, or pieces along one axis whose
// concatenation it is. Rules read values and give their outputs values; only where an operator
// needs a tensor in one piece is a concatenation created. Private to neap/rewrite.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/transform/rewrite/rewrite.h"

namespace neap::rewrite {

struct Piece {
  graph::TensorId tensor;  // of the draft
  std::int64_t size = 0;   // along the axis
  friend bool operator==(const Piece&, const Piece&) = default;
};

struct Pieces {
  std::size_t axis = 0;
  std::vector<Piece> pieces;
};

// The purpose of the draft.
enum class Purpose : std::uint8_t {
  kGraph,  // the edited graph
  // An ordering problem: accumulators take their parts in any order. Not a graph to be run.
  kOrder,
};

// Facts about the source that all drafts need, computed once. `source` outlives it.
struct Facts {
  explicit Facts(const graph::Graph& graph);

  const graph::Graph& source;
  IdVector<graph::TensorId, std::vector<graph::OpId>> readers;
  IdVector<graph::TensorId, graph::OpId> producer;
  IdVector<graph::OpId, char> plain;
  IdVector<graph::TensorId, char> output;
  IdVector<graph::TensorId, char> input;
  std::int32_t opset = 0;  // ops::DefaultOpset()
};

class Draft {
 public:
  Draft(const Facts& facts, const Settings& settings, Purpose purpose);

  const graph::Subgraph& from() const { return facts_.source.subgraphs[graph::SubgraphId(0)]; }
  const graph::Op& SourceOp(graph::OpId id) const { return from().ops[id]; }
  const Settings& settings() const { return settings_; }
  Purpose purpose() const { return purpose_; }
  const graph::Tensor& TensorOf(graph::TensorId id) const { return to().tensors[id]; }

  // ---- queries of rules ----

  // The source operator may be replaced: no state, no bodies, not folded, no control edge, all
  // outputs there, no body reads its outputs.
  bool IsPlain(graph::OpId id) const { return facts_.plain[id] != 0; }
  bool IsOutput(graph::TensorId id) const { return facts_.output[id] != 0; }
  bool IsInput(graph::TensorId id) const { return facts_.input[id] != 0; }
  // Operators of the source that read the tensor (each once), folded ones included.
  const std::vector<graph::OpId>& ReadersOf(graph::TensorId id) const { return facts_.readers[id]; }
  graph::OpId ProducerOf(graph::TensorId id) const { return facts_.producer[id]; }
  // nullptr: the value is one tensor.
  const Pieces* PiecesOf(graph::TensorId source) const;
  // The tensor of a value in one piece, without creating one: the value has no pieces, or is known
  // to be needed whole.
  graph::TensorId TensorFor(graph::TensorId source) const;
  std::size_t Rank(graph::TensorId id) const;
  // The version of the default operator set; 0: not known.
  std::int32_t opset() const { return facts_.opset; }

  // ---- what rules do ----

  // The value in one piece; a concatenation is made where there are pieces.
  graph::TensorId Whole(graph::TensorId source);
  // The same for the inputs of an operator: of a bound (SetPieces(), free) the pieces as they are.
  std::vector<graph::TensorId> Readable(graph::TensorId source);
  // A free value does not need a whole tensor.
  bool IsFree(graph::TensorId source) const;
  // `free`: joining the pieces costs nothing, as if they were adjacent.
  void SetPieces(graph::TensorId source, Pieces value, bool free);
  // Makes this draft one of a bound, before anything else: some choices are relaxed, no limit of a
  // runtime binds, and these values are free as soon as they have pieces.
  void Relax(std::set<graph::TensorId> free) {
    relaxed_ = true;
    free_ = std::move(free);
  }
  bool relaxed() const { return relaxed_; }
  // A concatenation has more pieces than the runtime takes (Settings::max_concat_inputs).
  void NoteLimit() { limited_ = true; }
  bool limited() const { return limited_; }
  // The value of `source` is that of `of`.
  void SetSame(graph::TensorId source, graph::TensorId of);
  // Of a relaxed draft: the operator may overwrite its first input, which is free, and then has no
  // cost (Keep()).
  bool IsFreeInPlace(graph::OpId id) const;
  // The operator as it is, on whole inputs.
  void Keep(graph::OpId id);
  // A new tensor like `like` (a tensor of the draft) under a name of its own: `suffix` behind the
  // name of `like`.
  graph::TensorId NewTensor(graph::TensorId like, const std::string& suffix);
  graph::Tensor& Edit(graph::TensorId id) { return to().tensors[id]; }
  // Indices [begin, begin + size) of a constant along an axis, with its scales.
  graph::TensorId Slice(graph::TensorId constant, std::size_t axis, std::int64_t begin,
                        std::int64_t size);
  // A list of integers, of 4 or 8 bytes each. Equal ones are one constant.
  graph::TensorId Integers(const std::vector<std::int64_t>& values, bool wide);
  // A value that a rule no longer reads: operators that only it needs are removed (Finish()).
  void Abandon(graph::TensorId source) { abandoned_.push_back(source); }
  // Adds an operator; returns its index.
  graph::OpId Emit(graph::Op op);
  // A new operator with type, domain and attributes of `id`; `suffix` behind its name.
  graph::Op Like(graph::OpId id, const std::string& suffix) const;
  // Consumers of `tensor` run after `op`.
  void ReadAfter(graph::TensorId tensor, graph::OpId op) { waits_[tensor].push_back(op); }
  void Edge(graph::OpId before, graph::OpId after) { edges_.push_back({before, after}); }

  // A term of a sum: the tensor, and the operator that adds it in an ordering problem.
  struct Term {
    graph::TensorId tensor;
    graph::OpId part = {};
  };
  // Of the sum that an operator has become, in the order in which parameters count them.
  void NoteTerms(graph::OpId id, std::vector<Term> terms) { terms_[id] = std::move(terms); }
  const std::map<graph::OpId, std::vector<Term>>& terms() const { return terms_; }

  // Values that some operator needs whole: to be joined at the position of their operator.
  const std::set<graph::TensorId>& needed() const { return needed_; }
  void ExpectNeeded(std::set<graph::TensorId> needed) { expected_ = std::move(needed); }
  // After every operator: makes what is known to be needed.
  void Settle(graph::OpId id);
  // The graph outputs in one piece, control edges, renumbering. Ends the draft.
  graph::Graph Finish();

 private:
  struct Value {
    graph::TensorId same_as;  // the value is another one's
    graph::TensorId tensor;   // one piece
    std::optional<Pieces> pieces;
    bool free = false;          // putting the pieces together costs nothing (a bound)
    bool materialised = false;  // `tensor` is the concatenation of the pieces
  };

  graph::Subgraph& to() { return out_.subgraphs[graph::SubgraphId(0)]; }
  const graph::Subgraph& to() const { return out_.subgraphs[graph::SubgraphId(0)]; }
  graph::TensorId RootOf(graph::TensorId source) const;
  void Expand(graph::TensorId source, std::size_t axis,
              std::vector<graph::TensorId>* tensors) const;
  void EmitConcat(graph::TensorId source, const Pieces& pieces);
  void WriteOutputs();
  void RemoveAbandoned();
  std::string UniqueName(const std::string& name);

  const Facts& facts_;
  const Settings& settings_;
  Purpose purpose_;
  graph::Graph out_;
  IdVector<graph::OpId, graph::Op> ops_;
  IdVector<graph::TensorId, Value> values_;  // by source tensor
  std::set<std::string> names_;
  std::map<std::tuple<graph::TensorId, std::size_t, std::int64_t, std::int64_t>, graph::TensorId>
      slices_;
  std::map<std::pair<std::vector<std::int64_t>, bool>, graph::TensorId> integers_;
  std::vector<graph::TensorId> abandoned_;
  std::map<graph::TensorId, std::vector<graph::OpId>> waits_;
  std::vector<graph::ControlEdge> edges_;
  std::map<graph::OpId, std::vector<Term>> terms_;
  std::set<graph::TensorId> needed_;
  std::set<graph::TensorId> expected_;
  bool relaxed_ = false;
  bool limited_ = false;
  std::set<graph::TensorId> free_;
};

}  // namespace neap::rewrite
