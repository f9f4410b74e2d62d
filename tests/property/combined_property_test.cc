// SPDX-License-Identifier: Apache-2.0
//
// Features together, on random networks in files: a set of features gives no worse plan than the
// set without one of them, an effort none worse than any set, and every plan is replayed from its
// edits, checked, executed and compared with a run of the given model.
// NEAP_PROPERTY_FACTOR scales the number of networks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "neap/check/check.h"
#include "neap/deliver/deliver.h"
#include "neap/deliver/edits.h"
#include "neap/deliver/options.h"
#include "neap/formats/formats.h"
#include "testing/cases.h"
#include "testing/random_plans.h"
#include "testing/tile_networks.h"

namespace neap::deliver {
namespace {

// An option that switches a feature on, and what switches it off; "": leaving it out.
struct Feature {
  const char* name;
  const char* on;
  const char* off;
};
constexpr Feature kFeatures[] = {
    {"rewrite", "bitwise", "none"}, {"cascade", "auto", "off"}, {"cascade-bodies", "shared", ""},
    {"overlap", "copies", ""},      {"moves", "best", ""},      {"integer-io", "both", ""},
    {"stream", "auto", "off"},
};
using FeatureSet = std::set<std::string>;

Words WordsOf(const FeatureSet& features, const std::string& runtime) {
  Words words;
  EXPECT_TRUE(Set("runtime", runtime, &words));
  EXPECT_TRUE(Set("threads", "1", &words));
  for (const Feature& feature : kFeatures) {
    const std::string text = features.contains(feature.name) ? feature.on : feature.off;
    if (!text.empty()) {
      EXPECT_TRUE(Set(feature.name, text, &words)) << feature.name;
    }
  }
  return words;
}

std::string Text(const FeatureSet& features) {
  std::string text;
  for (const std::string& name : features) text += name + " ";
  return text;
}

// The same network with a float input that it quantizes first, so that the interface can change.
graph::Graph WithFloatInput(graph::Graph graph) {
  graph::Subgraph& main = graph.subgraphs[graph::SubgraphId(0)];
  graph::Tensor given = main.tensors[main.inputs.front()];
  given.name = "given";
  given.type = graph::ElementType::kFloat32;
  given.quantization.reset();
  graph::Op quantize;
  quantize.type = "QUANTIZE";
  quantize.domain = "tflite";
  quantize.outputs = {main.inputs.front()};
  main.inputs.front() = main.tensors.push_back(std::move(given));
  quantize.inputs = {main.inputs.front()};
  IdVector<graph::OpId, graph::Op> ops;
  ops.push_back(std::move(quantize));
  for (graph::Op& op : main.ops) ops.push_back(std::move(op));
  main.ops = std::move(ops);
  return graph;
}

formats::LoadOptions WithWeights() {
  formats::LoadOptions load;
  load.weights = true;
  return load;
}

formats::SourceModel ModelOf(const graph::Graph& graph) {
  auto bytes = formats::ExportTflite(graph, "random");
  EXPECT_TRUE(bytes) << bytes.error().ToString();
  auto model = formats::LoadBytes(std::make_shared<const std::vector<std::byte>>(*std::move(bytes)),
                                  "random.tflite", WithWeights());
  EXPECT_TRUE(model) << model.error().ToString();
  return *std::move(model);
}

// nullopt: the options exclude each other.
std::optional<Delivery> Planned(const formats::SourceModel& model, const Words& words) {
  const auto request = RequestOf(words, model, WithWeights());
  if (!request) return std::nullopt;
  auto delivery = Deliver(model, *request);
  EXPECT_TRUE(delivery) << delivery.error().ToString();
  if (!delivery) return std::nullopt;
  return *std::move(delivery);
}

const Measure& MeasureOf(const Delivery& delivery) {
  for (const Tried& tried : delivery.tried) {
    if (tried.kind == delivery.kind && tried.extras == delivery.extras) return tried.measure;
  }
  throw std::logic_error("the delivered plan is not among those that were compared");
}

// "" if the plan, as its text alone describes it, is valid and computes the model's outputs.
std::string Judge(const formats::SourceModel& model, const Delivery& delivery, std::uint64_t seed) {
  const plan::Plan& plan = delivery.compiled.plan;
  auto replayed = ReplayEdits(model, plan, WithWeights());
  if (!replayed) return "its edits cannot be replayed: " + replayed.error().ToString();
  property::Planned planned;
  planned.graph = replayed->Planned().graph;
  planned.plan = plan;
  planned.kernels = execute::Kernels::kTflm;
  const std::vector<std::string> findings = check::CheckPlan(planned.graph, plan);
  if (!findings.empty()) return "the checker rejects it: " + findings.front();
  return property::Judge(replayed->interfaced.graph, planned, seed);
}

class Tally {
 public:
  void Count(const Delivery& delivery) {
    ++kinds_[std::string(NameOf(delivery.kind))];
    for (const Tried& tried : delivery.tried) ++tried_[LabelOf(tried)];
  }
  int Of(Kind kind) { return kinds_[std::string(NameOf(kind))]; }
  const std::map<std::string, int>& tried() const { return tried_; }

 private:
  std::map<std::string, int> kinds_;
  std::map<std::string, int> tried_;
};

FeatureSet RandomSet(const std::string& runtime, bool has_conversion, Random* random) {
  FeatureSet features;
  for (const Feature& feature : kFeatures) {
    const std::string name = feature.name;
    const bool streams = name == "stream";
    if (name == "integer-io" && !has_conversion) continue;
    if (streams != (runtime == "neap") &&
        (streams || name == "moves" || name == "overlap" || name == "cascade-bodies")) {
      continue;
    }
    if (random->Chance(2, 3)) features.insert(name);
  }
  // Without tiles there are no bodies; moves and overlap exclude each other.
  if (!features.contains("cascade")) features.erase("cascade-bodies");
  if (features.contains("moves") && features.contains("overlap")) {
    features.erase(random->Chance(1, 2) ? "moves" : "overlap");
  }
  return features;
}

TEST(CombinedProperty, ASetOfFeaturesIsNoWorseThanItsSubsets) {
  Tally tally;
  Random random(25);
  const int cases = Cases(120);
  for (int n = 0; n < cases; ++n) {
    const bool quantized = n % 3 != 0;
    graph::Graph graph = cascade::RandomTflite(&random, quantized).graph;
    if (quantized) graph = WithFloatInput(std::move(graph));
    const formats::SourceModel model = ModelOf(graph);
    const std::string runtime = n % 4 == 3 ? "neap" : "tflm";
    const FeatureSet all = RandomSet(runtime, quantized, &random);
    SCOPED_TRACE("network " + std::to_string(n) + ", " + runtime + ": " + Text(all));
    const auto best = Planned(model, WordsOf(all, runtime));
    if (!best) continue;
    tally.Count(*best);
    ASSERT_EQ(Judge(model, *best, static_cast<std::uint64_t>(n)), "");
    for (const std::string& without : all) {
      if (without == "cascade" && all.contains("cascade-bodies")) continue;
      FeatureSet fewer = all;
      fewer.erase(without);
      const auto other = Planned(model, WordsOf(fewer, runtime));
      ASSERT_TRUE(other) << Text(fewer);
      EXPECT_LE(MeasureOf(*best).bytes, MeasureOf(*other).bytes)
          << "worse than without " << without;
    }
  }
  for (const auto& [name, count] : tally.tried()) RecordProperty(name, count);
  EXPECT_GT(tally.Of(Kind::kTiles), cases / 20);
  EXPECT_GT(tally.tried().at("rewritten and tiles"), 0);
}

// With a budget that some set of features keeps, so does the effort, and at no more
// multiply-accumulates; without one, it needs no more bytes than any set.
TEST(CombinedProperty, AnEffortIsNoWorseThanAnySetOfFeatures) {
  Random random(26);
  const int cases = Cases(60);
  int kept = 0;
  for (int n = 0; n < cases; ++n) {
    const formats::SourceModel model = ModelOf(cascade::RandomTflite(&random, n % 3 != 0).graph);
    FeatureSet features = RandomSet("tflm", false, &random);
    features.erase("cascade-bodies");
    SCOPED_TRACE("network " + std::to_string(n) + ": " + Text(features));
    const auto set = Planned(model, WordsOf(features, "tflm"));
    ASSERT_TRUE(set);
    Words effort;
    ASSERT_TRUE(Set("effort", "default", &effort));
    const auto least = Planned(model, effort);
    ASSERT_TRUE(least);
    ASSERT_EQ(Judge(model, *least, static_cast<std::uint64_t>(n)), "");
    EXPECT_LE(MeasureOf(*least).bytes, MeasureOf(*set).bytes);
    Words budget;
    const std::int64_t bytes = MeasureOf(*set).bytes;
    ASSERT_TRUE(Set("budget-activations", std::to_string(bytes), &budget));
    const auto within = Planned(model, budget);
    ASSERT_TRUE(within);
    ASSERT_EQ(Judge(model, *within, static_cast<std::uint64_t>(n)), "");
    EXPECT_TRUE(MeasureOf(*within).fits);
    EXPECT_LE(MeasureOf(*within).bytes, bytes);
    kept += MeasureOf(*within).fits ? 1 : 0;
  }
  EXPECT_EQ(kept, cases);
}

}  // namespace
}  // namespace neap::deliver
