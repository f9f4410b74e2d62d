// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/feature_rows.h"

#include <string>
#include <vector>

#include "neap/compile/headline.h"
#include "neap/deliver/price.h"
#include "neap/deliver/written_model.h"
#include "neap/ops/op_table.h"
#include "neap/transform/rewrite/interface.h"

namespace neap::deliver {
namespace {

bool HasConversions(const graph::Graph& graph) {
  return !rewrite::ConversionsAtEnds(graph, {true, true}).empty();
}

// Whether there is a convolution whose channels may be constant; the weights decide.
bool MayHaveDeadChannels(const graph::Graph& graph) {
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    for (const graph::Op& op : subgraph.ops) {
      if (ops::KindOf(op) != ops::OpKind::kConv2d || op.inputs.empty()) continue;
      const graph::Tensor& input = subgraph.tensors[op.inputs.front()];
      if (input.type == graph::ElementType::kInt8) return true;
    }
  }
  return false;
}

constexpr std::string_view kNeapRun = "neap run";

constexpr FeatureRow kRows[] = {
    {"order alone", {{{"rewrite", "none"}, {"no-memory-plan", ""}}}, kTflm, kAnyFormat, "", true},
    {"order and addresses", {{{"rewrite", "none"}}}, kTflm | kIdeal | kNeap, kAnyFormat, "", true},
    {"order", {{{"rewrite", "none"}}}, kRuntimePlaces, kAnyFormat, "", true},
    {"rewriting (default)", {}, kAnyRuntime, kAnyFormat, "", true, 2},
    {"reassociated sums",
     {{{"rewrite", "reassociate"}}},
     kAnyRuntime,
     kModels,
     "outputs round differently",
     false,
     2},
    {"dead channels",
     {{{"rewrite", "bitwise"}}},
     kTflm,
     kTflite,
     "",
     true,
     2,
     MayHaveDeadChannels,
     "no convolution of 8-bit integers"},
    {"copies in place", {{{"overlap", "copies"}}}, kTflm | kIdeal, kTflite, "", true},
    {"overlap",
     {{{"overlap", "tflm-reference"}}},
     kTflm | kIdeal,
     kTflite,
     "TFLM reference kernels",
     false,
     2},
    {"integer interface",
     {{{"integer-io", "both"}}},
     kAnyRuntime,
     kModels,
     "caller converts floats",
     false,
     1,
     HasConversions,
     "no float input is quantized, no float output dequantized"},
    {"moves", {{{"moves", "best"}}}, kTflm | kIdeal, kAnyFormat, "copies at run time"},
    {"tiles", {{{"cascade", "auto"}}}, kStock, kAnyFormat, "", false, 6},
    {"tiles and overlap",
     {{{"overlap", "tflm-reference"}, {"cascade", "auto"}}},
     kTflm | kIdeal,
     kTflite,
     "TFLM reference kernels",
     false,
     6},
    {"all features", {{{"effort", "default"}}}, kTflm, kAnyFormat, "", false, 8},
    {"Neap's executor", {{{"runtime", "neap"}}}, kStock, kModels, kNeapRun, false, 2},
    {"streams", {{{"runtime", "neap"}, {"stream", "auto"}}}, kStock, kModels, kNeapRun, false, 8},
    {"streams", {{{"stream", "auto"}}}, kNeap, kModels, "", true, 8},
    {"streams fed by rows",
     {{{"runtime", "neap"}, {"stream", "auto"}, {"input", "rows"}}},
     kStock,
     kModels,
     "neap run; input not in arena",
     false,
     6},
    {"streams fed by rows",
     {{{"stream", "auto"}, {"input", "rows"}}},
     kNeap,
     kModels,
     "input not in arena",
     false,
     6},
};

}  // namespace

std::span<const FeatureRow> FeatureRows() { return kRows; }

Feature FeatureOf(const FeatureRow& row, plan::Runtime runtime) {
  Feature feature;
  feature.label = row.label;
  feature.runtime = runtime;
  feature.requires_text = row.requires_text;
  feature.is_free = row.is_free;
  for (const FeatureOption& option : row.options) {
    if (option.name.empty()) break;
    feature.options.push_back(option);
    if (option.name == "runtime") feature.runtime = *plan::RuntimeNamed(option.value);
  }
  return feature;
}

void Describe(const formats::SourceModel& source, const Delivery& delivery,
              const formats::LoadOptions& load, bool writes_model, Feature* feature) {
  const compile::Compiled& compiled = delivery.compiled;
  const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
  feature->kind = delivery.kind;
  feature->arena_bytes = compile::HeadlineBytes(compiled, true);
  feature->lower_bound_bytes = entry.arena_lower_bound_bytes;
  if (!compiled.totals.empty()) {
    feature->total_arena_bytes = compiled.totals.front().total_arena_bytes;
  }
  if (HasTiles(delivery.kind) || IsStreamed(delivery.kind)) {
    const Price price = PriceOf(source, delivery.Planned(source), compiled);
    feature->macs = price.macs;
    feature->model_macs = price.model_macs;
  } else if (delivery.rewriting) {
    // Without dead channels there are fewer.
    const Price price = PriceOf(source, delivery.Planned(source), compiled);
    if (price.macs < price.model_macs) {
      feature->macs = price.macs;
      feature->model_macs = price.model_macs;
    }
  }
  // Of every choice of tiles.
  if (delivery.kind == Kind::kTiles && delivery.tiles) {
    feature->lower_bound_bytes = delivery.tiles->arena_lower_bound_bytes;
  }
  feature->state = FeatureState::kPlanned;
  if (!writes_model) return;
  std::vector<std::string> notes;
  const auto written = WrittenModel(delivery.Planned(source), compiled, "-", load, &notes);
  if (!written) {
    feature->state = FeatureState::kNotApplicable;
    feature->reason = written.error().message;
    return;
  }
  feature->new_operators =
      NewTypes(source.graph, compiled.edited ? *compiled.edited : delivery.Planned(source).graph);
  feature->growth_bytes = static_cast<std::int64_t>((*written)->size()) -
                          static_cast<std::int64_t>(source.bytes->size());
}

}  // namespace neap::deliver
