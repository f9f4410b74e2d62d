// SPDX-License-Identifier: Apache-2.0
#include "tools/interface.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "neap/rewrite/interface.h"

namespace neap::tools {

void AddInterfaceOption(CLI::App* app, std::string* word) {
  app->add_option("--integer-io", *word,
                  "another interface: float inputs that go into a QUANTIZE, outputs of a "
                  "DEQUANTIZE, or both become its integers, and the caller converts")
      ->option_text("inputs|outputs|both")
      ->check(CLI::IsMember({"inputs", "outputs", "both"}));
}

deliver::IntegerIo IntegerIoOf(const std::string& word) {
  if (word.empty()) return deliver::IntegerIo::kNone;
  if (word == "both") return deliver::IntegerIo::kBoth;
  return word == "inputs" ? deliver::IntegerIo::kInputs : deliver::IntegerIo::kOutputs;
}

std::vector<report::InterfaceChange> InterfaceChanges(const graph::Graph& given,
                                                      const std::vector<graph::OpId>& caller_ops) {
  std::vector<report::InterfaceChange> changes;
  const graph::Subgraph& main = given.subgraphs[graph::SubgraphId(0)];
  for (const graph::OpId id : caller_ops) {
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

}  // namespace neap::tools
