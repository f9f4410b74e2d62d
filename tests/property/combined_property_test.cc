// SPDX-License-Identifier: Apache-2.0
//
// Features together, on random networks in files and on the shared models: a set of features gives
// no worse plan than a subset of it, an effort none worse than any set, a budget that a set keeps
// is kept without an option, and every plan is replayed from its edits, checked, executed and
// compared with a run of the given model.
// NEAP_PROPERTY_FACTOR scales the number of networks, NEAP_LONG=1 takes larger shared models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
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

// Whether `superset` is worse than `subset` by the numbers that are compared. The price of
// equal numbers may differ: searches that end early find other plans of the same bytes.
bool IsWorse(Measure superset, Measure subset) {
  for (Measure* const one : {&superset, &subset}) one->extra_macs = one->operators = 0;
  return IsBetter(subset, superset);
}

std::string Numbers(const Measure& measure) {
  const std::string total =
      measure.total_arena_bytes ? std::to_string(*measure.total_arena_bytes) : "unknown";
  return std::to_string(measure.bytes) + " B, total " + total;
}

// "" if the plan of the superset is no worse than that of the subset.
std::string Compare(const Delivery& superset, const Delivery& subset) {
  const Measure& with = MeasureOf(superset);
  const Measure& without = MeasureOf(subset);
  if (!IsWorse(with, without)) return "";
  return Numbers(with) + " (" + std::string(NameOf(superset.kind)) + ") in place of " +
         Numbers(without) + " (" + std::string(NameOf(subset.kind)) + ")";
}

// A budget of the number that a plan has: under TFLM of the total arena, where it is known.
Words BudgetOf(const Measure& measure, Words words) {
  const bool alone = words.runtime == "tflm" && !measure.total_arena_bytes;
  const std::int64_t bytes = measure.total_arena_bytes.value_or(measure.bytes);
  EXPECT_TRUE(Set(alone ? "budget-activations" : "budget", std::to_string(bytes), &words));
  return words;
}

std::string TriedText(const Delivery& delivery) {
  std::string text;
  for (const Tried& tried : delivery.tried) {
    text += "\n  " + LabelOf(tried) + ": " + Numbers(tried.measure);
  }
  return text;
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

// Features that need each other.
void Complete(FeatureSet* features) {
  if (!features->contains("cascade")) features->erase("cascade-bodies");
}

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
  // Moves and overlap exclude each other.
  Complete(&features);
  if (features.contains("moves") && features.contains("overlap")) {
    features.erase(random->Chance(1, 2) ? "moves" : "overlap");
  }
  return features;
}

// Each feature left out with a chance of one half, at least one.
FeatureSet RandomSubset(const FeatureSet& all, Random* random) {
  FeatureSet fewer;
  for (const std::string& name : all) {
    if (random->Chance(1, 2)) fewer.insert(name);
  }
  if (fewer == all && !all.empty()) fewer.erase(fewer.begin());
  Complete(&fewer);
  return fewer;
}

TEST(CombinedProperty, ASetOfFeaturesIsNoWorseThanItsSubsets) {
  Tally tally;
  Random random(25);
  Random of_subsets(28);
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
    std::set<FeatureSet> subsets = {RandomSubset(all, &of_subsets)};
    for (const std::string& without : all) {
      FeatureSet fewer = all;
      fewer.erase(without);
      Complete(&fewer);
      subsets.insert(std::move(fewer));
    }
    for (const FeatureSet& fewer : subsets) {
      const auto other = Planned(model, WordsOf(fewer, runtime));
      ASSERT_TRUE(other) << Text(fewer);
      EXPECT_EQ(Compare(*best, *other), "") << "worse than with " << Text(fewer) << "alone";
    }
    // Within a budget that a subset keeps, too. Another interface changes the caller, so both have
    // it.
    FeatureSet fewer = RandomSubset(all, &of_subsets);
    if (all.contains("integer-io")) fewer.insert("integer-io");
    const auto other = Planned(model, WordsOf(fewer, runtime));
    ASSERT_TRUE(other) << Text(fewer);
    const auto within = Planned(model, BudgetOf(MeasureOf(*other), WordsOf(all, runtime)));
    ASSERT_TRUE(within);
    EXPECT_TRUE(MeasureOf(*within).fits)
        << "over a budget that " << Text(fewer) << "alone keeps: " << Numbers(MeasureOf(*other))
        << TriedText(*other) << "\n in place of" << TriedText(*within);
    ASSERT_EQ(Judge(model, *within, static_cast<std::uint64_t>(n)), "");
  }
  for (const auto& [name, count] : tally.tried()) RecordProperty(name, count);
  EXPECT_GT(tally.Of(Kind::kTiles), cases / 20);
  constexpr int kMany = 30;  // of fewer, none may have both
  EXPECT_TRUE(cases < kMany || tally.tried().contains("rewritten and tiles"));
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
    EXPECT_EQ(Compare(*least, *set), "");
    Words any;
    ASSERT_TRUE(Set("runtime", "tflm", &any));
    const auto within = Planned(model, BudgetOf(MeasureOf(*set), any));
    ASSERT_TRUE(within);
    ASSERT_EQ(Judge(model, *within, static_cast<std::uint64_t>(n)), "");
    EXPECT_TRUE(MeasureOf(*within).fits)
        << Numbers(MeasureOf(*set)) << TriedText(*set) << "\n in place of" << TriedText(*within);
    kept += MeasureOf(*within).fits ? 1 : 0;
  }
  EXPECT_EQ(kept, cases);
}

// Networks of the two tests above, beyond their ordinary number, on which a search once returned
// too much: with shared bodies, and for a budget where the total of the uncut model is unknown.
TEST(CombinedProperty, NetworksThatOnceFailed) {
  constexpr int kSharedBodies = 624;
  Random random(25);
  for (int n = 0; n <= kSharedBodies; ++n) {
    const bool quantized = n % 3 != 0;
    graph::Graph graph = cascade::RandomTflite(&random, quantized).graph;
    const std::string runtime = n % 4 == 3 ? "neap" : "tflm";
    const FeatureSet all = RandomSet(runtime, quantized, &random);
    if (n != kSharedBodies) continue;
    ASSERT_TRUE(all.contains("cascade-bodies"));
    if (quantized) graph = WithFloatInput(std::move(graph));
    const formats::SourceModel model = ModelOf(graph);
    FeatureSet clones = all;
    clones.erase("cascade-bodies");
    const auto best = Planned(model, WordsOf(all, runtime));
    const auto other = Planned(model, WordsOf(clones, runtime));
    ASSERT_TRUE(best && other);
    EXPECT_EQ(Compare(*best, *other), "");
  }
  constexpr int kUnknownTotal = 146;
  Random of_efforts(26);
  for (int n = 0; n <= kUnknownTotal; ++n) {
    const graph::Graph graph = cascade::RandomTflite(&of_efforts, n % 3 != 0).graph;
    FeatureSet features = RandomSet("tflm", false, &of_efforts);
    if (n != kUnknownTotal) continue;
    features.erase("cascade-bodies");
    const formats::SourceModel model = ModelOf(graph);
    const auto set = Planned(model, WordsOf(features, "tflm"));
    ASSERT_TRUE(set);
    Words any;
    ASSERT_TRUE(Set("runtime", "tflm", &any));
    const auto within = Planned(model, BudgetOf(MeasureOf(*set), any));
    ASSERT_TRUE(within);
    EXPECT_TRUE(MeasureOf(*within).fits) << TriedText(*within);
  }
}

// --- the shared models ---

struct File {
  std::string path;
  std::uintmax_t bytes = 0;
};

// Smallest first; those that are meant to be broken are left out.
std::vector<File> SharedModels(std::uintmax_t max_bytes) {
  namespace fs = std::filesystem;
  const char* shared = std::getenv("NEAP_SHARED");
  const char* source = std::getenv("NEAP_SOURCE_DIR");
  const fs::path beside = fs::path(source == nullptr ? "." : source) / "../shared";
  std::vector<File> files;
  std::error_code error;
  fs::recursive_directory_iterator at((shared != nullptr ? fs::path(shared) : beside) / "models",
                                      error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    const fs::path& path = at->path();
    if (path.extension() != ".tflite" || path.parent_path().filename() == "bad") continue;
    if (at->file_size() <= max_bytes) files.push_back({path.string(), at->file_size()});
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return std::tie(a.bytes, a.path) < std::tie(b.bytes, b.path);
  });
  return files;
}

// Sizes that only a run knows, types without kernels: such models have no plan, or no run.
bool CanBeRun(const formats::SourceModel& model) {
  const auto request = RequestOf(WordsOf({}, "tflm"), model, WithWeights());
  if (!request) return false;
  const auto plain = Deliver(model, *request);
  return plain && Judge(model, *plain, 1).empty();
}

void CompareSetsOf(const formats::SourceModel& model, const std::string& runtime, Random* random) {
  const FeatureSet all = RandomSet(runtime, false, random);
  const FeatureSet fewer = RandomSubset(all, random);
  SCOPED_TRACE(runtime + ": " + Text(all) + "against " + Text(fewer));
  const auto best = Planned(model, WordsOf(all, runtime));
  const auto other = Planned(model, WordsOf(fewer, runtime));
  ASSERT_TRUE(best && other);
  ASSERT_EQ(Judge(model, *best, random->Next()), "");
  EXPECT_EQ(Compare(*best, *other), "");
  // What no application has to consent to, a budget alone finds.
  if (fewer.contains("cascade-bodies") || fewer.contains("stream")) return;
  Words words;
  ASSERT_TRUE(Set("runtime", runtime, &words));
  const auto within = Planned(model, BudgetOf(MeasureOf(*other), words));
  ASSERT_TRUE(within);
  ASSERT_EQ(Judge(model, *within, random->Next()), "");
  EXPECT_TRUE(MeasureOf(*within).fits)
      << Numbers(MeasureOf(*other)) << TriedText(*other) << "\n in place of" << TriedText(*within);
}

// In groups, which run beside each other.
constexpr std::size_t kGroups = 8;
class SharedModelsTest : public testing::TestWithParam<std::size_t> {};

TEST_P(SharedModelsTest, ASetOfFeaturesIsNoWorseThanASubset) {
  const char* const wanted = std::getenv("NEAP_LONG");
  const bool is_long = wanted != nullptr && std::string(wanted) == "1";
  const std::vector<File> files = SharedModels(is_long ? 4'000'000 : 64'000);
  if (files.empty()) GTEST_SKIP() << "no shared models: set NEAP_SHARED";
  Random random(27 + GetParam());
  int compared = 0;
  for (std::size_t i = GetParam(); i < files.size(); i += kGroups) {
    SCOPED_TRACE(files[i].path);
    const auto model = formats::Load(files[i].path, WithWeights());
    if (!model || !CanBeRun(*model)) continue;
    CompareSetsOf(*model, compared % 3 == 2 ? "neap" : "tflm", &random);
    ++compared;
  }
  RecordProperty("models", compared);
  EXPECT_GT(compared, 0);
}

INSTANTIATE_TEST_SUITE_P(Groups, SharedModelsTest, testing::Range<std::size_t>(0, kGroups));

}  // namespace
}  // namespace neap::deliver
