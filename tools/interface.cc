// SPDX-License-Identifier: Apache-2.0
#include "tools/interface.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "neap/deliver/edits.h"
#include "neap/rewrite/interface.h"

namespace neap::tools {
namespace {

Diagnostic AtModel(Diagnostic error, const formats::SourceModel& source) {
  if (error.file.empty()) error.file = source.path;
  return error;
}

std::vector<report::InterfaceChange> ChangesOf(const graph::Graph& given,
                                               const std::vector<graph::OpId>& ops) {
  std::vector<report::InterfaceChange> changes;
  const graph::Subgraph& main = given.subgraphs[graph::SubgraphId(0)];
  for (const graph::OpId id : ops) {
    const graph::Op& op = main.ops[id];
    report::InterfaceChange change;
    change.is_input = rewrite::IsAtInput(op);
    const graph::TensorId in = op.inputs[0];
    const graph::TensorId out = op.outputs[0];
    const graph::Tensor& was = main.tensors[change.is_input ? in : out];
    const graph::Tensor& is = main.tensors[change.is_input ? out : in];
    change.op = graph::Describe(id, op);
    change.name = was.name;
    change.new_name = is.name;
    change.type = was.type;
    change.new_type = is.type;
    change.quantization = is.quantization;
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace

void AddInterfaceOption(CLI::App* app, std::string* word) {
  app->add_option("--integer-io", *word,
                  "another interface: float inputs that go into a QUANTIZE, outputs of a "
                  "DEQUANTIZE, or both become its integers, and the caller converts")
      ->option_text("inputs|outputs|both")
      ->check(CLI::IsMember({"inputs", "outputs", "both"}));
}

Result<Interfaced> WithInterface(const formats::SourceModel& source, const std::string& word,
                                 const formats::LoadOptions& options) {
  Interfaced out;
  if (word.empty()) {
    out.model = source;
    return out;
  }
  out.caller_ops = rewrite::ConversionsAtEnds(source.graph, {word != "outputs", word != "inputs"});
  if (out.caller_ops.empty()) {
    const char* const why = word == "inputs"    ? "no float input goes into a QUANTIZE alone"
                            : word == "outputs" ? "no float output comes from a DEQUANTIZE alone"
                                                : "no float input goes into a QUANTIZE alone, and "
                                                  "no float output comes from a DEQUANTIZE alone";
    Diagnostic error = BadInput(std::string("--integer-io cannot be had: ") + why);
    return Fail(AtModel(std::move(error), source));
  }
  out.changes = ChangesOf(source.graph, out.caller_ops);
  NEAP_TRY(out.model, deliver::InterfacedModel(source, out.caller_ops, options));
  return out;
}

}  // namespace neap::tools
