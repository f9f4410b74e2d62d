// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/written_model.h"

#include <set>
#include <span>
#include <utility>

#include "neap/check/offsets_check.h"
#include "neap/check/runtime_check.h"

namespace neap::deliver {
namespace {

using OperatorOrder = IdVector<graph::SubgraphId, std::vector<graph::OpId>>;

// Compares a model that has been read back with the order it was written in.
class OrderComparison {
 public:
  OrderComparison(const formats::SourceModel& source, const OperatorOrder& order,
                  const graph::Graph& written)
      : source_(source), order_(order), written_(written) {}

  // "" when all is as planned, else what is not.
  std::string Run() {
    if (source_.graph.subgraphs.size() != written_.subgraphs.size()) {
      return "it has a different number of subgraphs";
    }
    // Subgraphs of .tflite keep their numbers. Those of .onnx are numbered as they are met, so that
    // bodies are found through the operators that call them.
    if (source_.format == formats::Format::kTflite) {
      for (const graph::SubgraphId id : source_.graph.subgraphs.Ids()) Expect(id, id);
    } else {
      Expect(graph::SubgraphId(0), graph::SubgraphId(0));
    }
    for (std::size_t at = 0; at < pairs_.size(); ++at) {
      std::string why = ComparePair(pairs_[at].first, pairs_[at].second);
      if (!why.empty()) return why;
    }
    return "";
  }

 private:
  void Expect(graph::SubgraphId source, graph::SubgraphId written) {
    if (expected_.insert(source).second) pairs_.emplace_back(source, written);
  }

  std::vector<graph::OpId> PlannedOrder(graph::SubgraphId id) const {
    const graph::Subgraph& subgraph = source_.graph.subgraphs[id];
    std::vector<graph::OpId> out;
    const bool reordered = order_.Has(id) && !order_[id].empty();
    for (std::size_t at = 0; at < (reordered ? order_[id].size() : subgraph.ops.size()); ++at) {
      const graph::OpId op = reordered ? order_[id][at] : graph::OpId(at);
      if (!subgraph.ops[op].folded) out.push_back(op);
    }
    return out;
  }

  bool SameTensors(const graph::Subgraph& a, const std::vector<graph::TensorId>& in_a,
                   const graph::Subgraph& b, const std::vector<graph::TensorId>& in_b) const {
    if (in_a.size() != in_b.size()) return false;
    for (std::size_t at = 0; at < in_a.size(); ++at) {
      if (in_a[at].valid() != in_b[at].valid()) return false;
      if (!in_a[at].valid()) continue;
      if (source_.format == formats::Format::kTflite && in_a[at] != in_b[at]) return false;
      if (a.tensors[in_a[at]].name != b.tensors[in_b[at]].name) return false;
    }
    return true;
  }

  std::string ComparePair(graph::SubgraphId source_id, graph::SubgraphId written_id) {
    const graph::Subgraph& source = source_.graph.subgraphs[source_id];
    const graph::Subgraph& written = written_.subgraphs[written_id];
    const std::vector<graph::OpId> planned = PlannedOrder(source_id);
    std::size_t at = 0;
    for (const graph::Op& found : written.ops) {
      if (found.folded) continue;
      if (at == planned.size()) return "it has more operators";
      const graph::OpId id = planned[at++];
      const graph::Op& expected = source.ops[id];
      if (found.type != expected.type || found.name != expected.name ||
          found.bodies.size() != expected.bodies.size() ||
          !SameTensors(source, expected.inputs, written, found.inputs) ||
          !SameTensors(source, expected.outputs, written, found.outputs)) {
        return "position " + std::to_string(at - 1) + " has '" + found.type +
               "', expected operator " + graph::Describe(id, expected);
      }
      for (std::size_t body = 0; body < expected.bodies.size(); ++body) {
        Expect(expected.bodies[body], found.bodies[body]);
      }
    }
    return at == planned.size() ? "" : "it has fewer operators";
  }

  const formats::SourceModel& source_;
  const OperatorOrder& order_;
  const graph::Graph& written_;
  std::set<graph::SubgraphId> expected_;
  std::vector<std::pair<graph::SubgraphId, graph::SubgraphId>> pairs_;
};

std::string KernelsOf(const plan::Plan& plan) {
  return plan.kernels == ops::KernelLibrary::kNone ? "" : ops::NameOf(plan.kernels);
}

// "" when the file carries the offsets and they are right for its graph.
std::string WrongPlan(const formats::SourceModel& written, const compile::Compiled& compiled) {
  if (!written.carried_plan) return "it contains no memory plan";
  const formats::CarriedPlan& carried = *written.carried_plan;
  if (!carried.problem.empty()) return "in its memory plan, " + carried.problem;
  bool same = carried.offsets.size() == compiled.offsets.size() &&
              carried.kernels == KernelsOf(compiled.plan);
  for (const graph::SubgraphId id : compiled.offsets.Ids()) {
    same = same && carried.offsets[id].Items() == compiled.offsets[id].Items();
  }
  if (!same) return "it contains another memory plan";
  if (!carried.kernels.empty()) return "";
  const check::OffsetsVerdict verdict = check::CheckOffsets(written.graph, carried.offsets);
  if (!verdict.problems.empty()) return "in its memory plan, " + verdict.problems.front();
  return verdict.inside_operators.empty()
             ? ""
             : "in its memory plan, " + verdict.inside_operators.front();
}

// A plan that leaves every tensor to TFLM.
graph::TensorOffsets NoOffsets(const graph::Graph& graph) {
  graph::TensorOffsets offsets;
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    offsets.push_back(IdVector<graph::TensorId, std::int32_t>(subgraph.tensors.size(), -1));
  }
  return offsets;
}

// The model with its operators in this order and, where there are any, the planned offsets.
Result<std::shared_ptr<const std::vector<std::byte>>> MakeFile(const formats::SourceModel& source,
                                                               const OperatorOrder& order,
                                                               const compile::Compiled& compiled,
                                                               const std::string& path,
                                                               const formats::LoadOptions& options,
                                                               std::vector<std::string>* notes) {
  const bool planned = !compiled.offsets.empty() && source.format == formats::Format::kTflite;
  // TFLM would obey the memory plan that the given file carries, but the reported arena is that of
  // its own planner.
  const bool blanked = !planned && source.carried_plan &&
                       (compiled.delivered_arena_bytes >= 0 || !compiled.unknown_kernels.empty()) &&
                       compiled.plan.runtime == plan::Runtime::kTflm;
  NEAP_TRY(std::vector<std::byte> raw,
           planned
               ? formats::WritePlanned(source, order, compiled.offsets, KernelsOf(compiled.plan))
           : blanked ? formats::WritePlanned(source, order, NoOffsets(source.graph), "")
                     : formats::WriteReordered(source, order));
  auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(raw));
  formats::LoadOptions load = options;
  load.file_shapes = source.file_shapes;
  load.folds = source.folds;
  auto written = formats::LoadBytes(bytes, path == "-" ? source.path : path, load);
  if (!written && path != "-") {
    // The folder of a file is where its external data is looked for.
    written = formats::LoadBytes(bytes, source.path, load);
    if (written) {
      notes->insert(notes->begin(), "the model refers to files in the folder of '" + source.path +
                                        "': copy them to the folder of '" + path + "'");
    }
  }
  if (!written) {
    // Parts of a damaged file may share bytes, so that moving one breaks another.
    Diagnostic diagnostic = std::move(written).error();
    diagnostic.message = "was not written: read back, it " + diagnostic.message;
    diagnostic.file = path;
    return Fail(std::move(diagnostic));
  }
  std::string why = OrderComparison(source, order, written->graph).Run();
  if (why.empty() && planned) why = WrongPlan(*written, compiled);
  if (why.empty()) return bytes;
  Diagnostic diagnostic = BadInput("was not written: read back, " + why);
  diagnostic.file = path;
  diagnostic.hint = "this is a defect of Neap: please report it with the model";
  return Fail(std::move(diagnostic));
}

}  // namespace

Result<std::shared_ptr<const std::vector<std::byte>>> WrittenModel(
    const formats::SourceModel& source, const compile::Compiled& compiled, const std::string& path,
    const formats::LoadOptions& options, std::vector<std::string>* notes) {
  if (compiled.edited && source.format == formats::Format::kTflite) {
    // First the moves as operators, then addresses for the file that has them.
    NEAP_CHECK_OK(check::RequireKernels(source.graph, *compiled.edited, compiled.plan.runtime));
    NEAP_TRY(const formats::SourceModel edited,
             formats::WriteEdited(source, *compiled.edited, options));
    return MakeFile(edited, OperatorOrder(edited.graph.subgraphs.size()), compiled, path, options,
                    notes);
  }
  return MakeFile(source, compiled.order, compiled, path, options, notes);
}

}  // namespace neap::deliver
