// SPDX-License-Identifier: Apache-2.0
//
// Every rule against Neap's executor: random networks before and after.
#include "neap/transform/rewrite/rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/transform/rewrite/compose.h"
#include "neap/transform/rewrite/rule.h"
#include "testing/limits.h"
#include "testing/rewrite_applications.h"
#include "testing/rewrite_networks.h"

namespace neap::rewrite {
namespace {

using execute::Value;
using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::SubgraphId;

constexpr std::int64_t kMemory = std::int64_t{1} << 28;
constexpr SubgraphId kMain(0);

std::vector<Value> Outputs(const Graph& graph, const std::vector<Value>& inputs, bool tflite) {
  execute::EvaluateOptions options;
  options.kernels = tflite ? execute::Kernels::kLitert : execute::Kernels::kOnnx;
  auto outputs = execute::Evaluate(graph, kMain, inputs, options);
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().ToString());
  return outputs ? std::move(*outputs) : std::vector<Value>();
}

bool Same(const std::vector<Value>& a, const std::vector<Value>& b) {
  bool same = a.size() == b.size() && !a.empty();
  for (std::size_t i = 0; same && i < a.size(); ++i) same = a[i].bytes == b[i].bytes;
  return same;
}

std::string Describe(const Graph& graph, const std::vector<plan::Rewrite>& applications) {
  std::string text;
  for (const OpId id : graph.subgraphs[kMain].ops.Ids()) {
    const Op& op = graph.subgraphs[kMain].ops[id];
    text += "\n  " + graph::Describe(id, op);
    for (const TensorId input : op.inputs) text += " " + std::to_string(input.value());
    text += " ->";
    for (const TensorId output : op.outputs) text += " " + std::to_string(output.value());
    for (const auto& application : applications) {
      if (application.op == id) text += "  " + application.rule;
    }
  }
  return text;
}

constexpr Flavour kFlavours[] = {{true, ElementType::kFloat32},
                                 {true, ElementType::kInt8},
                                 {true, ElementType::kUint8},
                                 {false, ElementType::kFloat32}};

Settings OwnSettings(int accumulator_bytes = 4) {
  Settings settings;
  settings.sums = Sums::kInPlace;
  settings.own_kernels = true;
  settings.accumulator_bytes = accumulator_bytes;
  return settings;
}

// Thousands of networks, every rule that claims to be bitwise, in all mixtures.
TEST(RewriteTest, BitwiseRulesKeepEveryByte) {
  Random random(1);
  std::map<std::string, int> used;
  int wrong = 0;
  for (int i = 0; i < 4000 && wrong == 0; ++i) {
    const Flavour flavour = kFlavours[i % 4];
    const Graph graph = NetworkMaker(flavour, &random).Make();
    ASSERT_TRUE(graph::Verify(graph));
    const Settings settings = OwnSettings();
    const auto applications =
        AllApplications(graph, settings, [&](const Rule&, plan::Exactness exactness) {
          return exactness == plan::Exactness::kBitwise && random.Below(5) != 0;
        });
    if (applications.empty()) continue;
    const auto edited = Apply(graph, applications, settings);
    ASSERT_TRUE(edited) << i << ": " << edited.error().ToString();
    for (const auto& application : applications) ++used[application.rule];
    const auto inputs =
        execute::RandomInputs(graph.subgraphs[kMain], static_cast<std::uint64_t>(i), kMemory);
    ASSERT_TRUE(inputs);
    const bool same =
        Same(Outputs(graph, *inputs, flavour.tflite), Outputs(*edited, *inputs, flavour.tflite));
    EXPECT_TRUE(same) << "network " << i << Describe(graph, applications);
    wrong += same ? 0 : 1;
  }
  for (const char* rule :
       {"no-op", "concat", "slice", "kernel-wise", "channel-wise", "sum", "split-conv"}) {
    EXPECT_GT(used[rule], 50) << rule;
  }
}

// An edited graph whose slices are exchanged: the comparison of the test above must find it.
TEST(RewriteTest, AWrongRewriteIsSeen) {
  Random random(2);
  int wrong = 0;
  int seen = 0;
  for (int i = 0; i < 600; ++i) {
    const Flavour flavour = kFlavours[i % 4];
    const Graph graph = NetworkMaker(flavour, &random).Make();
    const Settings settings = OwnSettings();
    const auto applications =
        AllApplications(graph, settings, [](const Rule&, plan::Exactness exactness) {
          return exactness == plan::Exactness::kBitwise;
        });
    auto edited = Apply(graph, applications, settings);
    ASSERT_TRUE(edited);
    auto& tensors = edited->subgraphs[kMain].tensors;
    // The data of the first two slices of one shape change places.
    std::map<graph::Shape, TensorId> first;
    bool swapped = false;
    for (std::size_t t = graph.subgraphs[kMain].tensors.size(); t < tensors.size() && !swapped;
         ++t) {
      graph::Tensor& tensor = tensors[TensorId(t)];
      if (!tensor.constant || !tensor.data || tensor.data->bytes.size() < 8) continue;
      const auto [at, fresh] = first.emplace(*tensor.shape, TensorId(t));
      if (fresh) continue;
      std::swap(tensor.data, tensors[at->second].data);
      swapped = true;
    }
    if (!swapped) continue;
    ++wrong;
    const auto inputs =
        execute::RandomInputs(graph.subgraphs[kMain], static_cast<std::uint64_t>(i), kMemory);
    seen += Same(Outputs(graph, *inputs, flavour.tflite), Outputs(*edited, *inputs, flavour.tflite))
                ? 0
                : 1;
  }
  EXPECT_GT(wrong, 50);
  // A rare one may hide: an activation cuts everything off, or both parts come from one tensor.
  EXPECT_GT(seen * 10, wrong * 6);
}

// A convolution over a concatenation of inputs, and the bound of its error.
struct ConvCase {
  Graph graph;
  std::int64_t products = 0;  // of one output
  std::size_t parts = 0;
};

ConvCase RandomConv(bool tflite, Random* random) {
  ConvCase out;
  Sketch maker;
  const std::int64_t count = random->Between(2, 5);
  std::vector<TensorId> pieces;
  std::int64_t channels = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t c = random->Between(1, 9);
    pieces.push_back(maker.Input(ElementType::kFloat32,
                                 tflite ? graph::Shape{1, 6, 5, c} : graph::Shape{1, c, 6, 5}));
    channels += c;
  }
  const auto shape = [&](std::int64_t c) {
    return tflite ? graph::Shape{1, 6, 5, c} : graph::Shape{1, c, 6, 5};
  };
  const TensorId whole = maker.Tensor(ElementType::kFloat32, shape(channels));
  maker.Op(tflite ? "tflite" : "", tflite ? "CONCATENATION" : "Concat", pieces, {whole},
           {{"axis", std::int64_t{tflite ? 3 : 1}}});
  const std::int64_t outputs = random->Between(1, 6);
  const std::int64_t k = random->Below(2) == 0 ? 1 : 3;
  const TensorId w = maker.RandomFloats(
      tflite ? graph::Shape{outputs, k, k, channels} : graph::Shape{outputs, channels, k, k},
      random);
  const TensorId b = maker.RandomFloats({outputs}, random);
  const TensorId y = maker.Tensor(ElementType::kFloat32, shape(outputs));
  if (tflite) {
    maker.Op("tflite", "CONV_2D", {whole, w, b}, {y},
             {{"padding", std::int64_t{0}},
              {"stride_w", std::int64_t{1}},
              {"stride_h", std::int64_t{1}},
              {"fused_activation_function", std::int64_t{0}}});
  } else {
    const std::int64_t pad = k / 2;
    maker.Op("", "Conv", {whole, w, b}, {y},
             {{"pads", std::vector<std::int64_t>{pad, pad, pad, pad}}});
  }
  maker.Output(y);
  for (const OpId id : maker.Main().ops.Ids()) {
    maker.Main().ops[id].source_index = id.value();
    maker.Main().ops[id].version = tflite ? 0 : 17;
  }
  out.graph = maker.graph();
  out.products = k * k * channels + 1;
  out.parts = pieces.size();
  return out;
}

std::vector<float> FloatsOf(const Value& value) {
  std::vector<float> values(value.bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), value.bytes.data(), value.bytes.size());
  return values;
}

void MakePositive(std::vector<std::byte>* bytes) {
  for (std::size_t at = 0; at + 4 <= bytes->size(); at += 4) {
    float value = 0;
    std::memcpy(&value, bytes->data() + at, 4);
    value = std::fabs(value);
    std::memcpy(bytes->data() + at, &value, 4);
  }
}

// The same network on absolute values: the sum of |x w| + |b| that the bound is relative to.
std::vector<float> SumOfAbsolutes(ConvCase conv, std::vector<Value> inputs, bool tflite) {
  for (graph::Tensor& tensor : conv.graph.subgraphs[kMain].tensors) {
    if (!tensor.data) continue;
    auto bytes = std::make_shared<std::vector<std::byte>>(tensor.data->bytes.begin(),
                                                          tensor.data->bytes.end());
    MakePositive(bytes.get());
    tensor.data = graph::ConstantData{bytes, *bytes};
  }
  for (Value& value : inputs) MakePositive(&value.bytes);
  return FloatsOf(Outputs(conv.graph, inputs, tflite)[0]);
}

TEST(RewriteTest, FloatPartialSumsKeepTheirBound) {
  Random random(3);
  int different = 0;
  for (int i = 0; i < 1500; ++i) {
    const bool tflite = i % 2 == 0;
    const ConvCase conv = RandomConv(tflite, &random);
    Settings settings = OwnSettings();
    settings.keep_order = false;
    if (i % 4 >= 2) settings.sums = Sums::kTensors;
    plan::Rewrite concat;
    concat.rule = "concat";
    concat.op = OpId(0);
    plan::Rewrite partial;
    partial.rule = "channel-wise";
    partial.op = OpId(1);
    for (std::size_t k = 0; k < conv.parts; ++k) {
      partial.parameters.push_back(
          static_cast<std::int64_t>((k + static_cast<std::size_t>(i)) % conv.parts));
    }
    // An inexact application must not be declared bitwise.
    ASSERT_FALSE(Apply(conv.graph, std::vector{concat, partial}, settings));
    partial.exactness = plan::Exactness::kReassociates;
    const auto edited = Apply(conv.graph, std::vector{concat, partial}, settings);
    ASSERT_TRUE(edited) << edited.error().ToString();
    const auto inputs =
        execute::RandomInputs(conv.graph.subgraphs[kMain], static_cast<std::uint64_t>(i), kMemory);
    const auto before = FloatsOf(Outputs(conv.graph, *inputs, tflite)[0]);
    const auto after = FloatsOf(Outputs(*edited, *inputs, tflite)[0]);
    const auto sums = SumOfAbsolutes(conv, *inputs, tflite);
    ASSERT_EQ(before.size(), after.size());
    const double ku = static_cast<double>(conv.products) * 0x1p-24;
    for (std::size_t k = 0; k < before.size(); ++k) {
      const double error =
          std::fabs(static_cast<double>(before[k]) - static_cast<double>(after[k]));
      ASSERT_LE(error, 2 * ku / (1 - ku) * static_cast<double>(sums[k]) * 1.001) << i;
      different += error > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(different, 0) << "sums in another order are other sums: the class is no formality";
}

// 8-bit convolution of random pieces to one accumulator of one byte.
TEST(RewriteTest, OneByteAccumulatorsKeepTheirBound) {
  Random random(4);
  int different = 0;
  for (int i = 0; i < 800; ++i) {
    const bool is_unsigned = i % 2 == 1;
    const ElementType type = is_unsigned ? ElementType::kUint8 : ElementType::kInt8;
    Sketch maker;
    std::vector<TensorId> pieces;
    std::int64_t channels = 0;
    const std::int64_t count = random.Between(2, 5);
    const auto settle = [&](TensorId id, float scale) {
      maker.Quantize(id, scale, is_unsigned ? 117 : -9);
      return id;
    };
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t c = random.Between(1, 6);
      pieces.push_back(settle(maker.Input(type, {1, 4, 4, c}), 0.03F));
      channels += c;
    }
    const TensorId whole = settle(maker.Tensor(type, {1, 4, 4, channels}), 0.03F);
    maker.Op("tflite", "CONCATENATION", pieces, {whole}, {{"axis", std::int64_t{3}}});
    const std::int64_t outputs = random.Between(1, 5);
    std::vector<std::int8_t> values;
    for (std::int64_t k = 0; k < outputs * channels; ++k) {
      values.push_back(static_cast<std::int8_t>(random.Between(-127, 127)));
    }
    const TensorId w = maker.Constant(type, {outputs, 1, 1, channels}, values);
    maker.Quantize(w, 0.004F, is_unsigned ? 128 : 0);
    std::vector<std::int32_t> offsets;
    for (std::int64_t k = 0; k < outputs; ++k) {
      offsets.push_back(static_cast<std::int32_t>(random.Between(-2000, 2000)));
    }
    const TensorId b = maker.Constant(ElementType::kInt32, {outputs}, offsets);
    constexpr float kOutScale = 0.05F;
    const TensorId y = settle(maker.Tensor(type, {1, 4, 4, outputs}), kOutScale);
    maker.Op("tflite", "CONV_2D", {whole, w, b}, {y},
             {{"padding", std::int64_t{1}},
              {"stride_w", std::int64_t{1}},
              {"stride_h", std::int64_t{1}},
              {"fused_activation_function", std::int64_t{0}}});
    maker.Output(y);
    for (const OpId id : maker.Main().ops.Ids()) maker.Main().ops[id].source_index = id.value();
    plan::Rewrite concat{"concat", OpId(0), {}, plan::Exactness::kBitwise, 0};
    plan::Rewrite partial{"channel-wise", OpId(1), {}, plan::Exactness::kReassociates, 0};
    const auto edited = Apply(maker.graph(), std::vector{concat, partial}, OwnSettings(1));
    ASSERT_TRUE(edited) << edited.error().ToString();
    // The steps of the accumulators are in the graph.
    std::vector<float> steps;
    for (const graph::Tensor& tensor : edited->subgraphs[kMain].tensors) {
      if (tensor.quantization &&
          tensor.quantization->scales.size() == static_cast<std::size_t>(outputs) &&
          !tensor.constant && tensor.name.find("/sum") != std::string::npos) {
        steps = tensor.quantization->scales;
      }
    }
    if (steps.empty()) continue;  // no accumulator with a scale per channel
    const auto inputs = execute::RandomInputs(maker.Main(), static_cast<std::uint64_t>(i), kMemory);
    const auto before = Outputs(maker.graph(), *inputs, true)[0].bytes;
    const auto after = Outputs(*edited, *inputs, true)[0].bytes;
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t k = 0; k < before.size(); ++k) {
      const auto number = [&](std::byte byte) {
        const auto value = std::to_integer<std::uint8_t>(byte);
        return is_unsigned ? static_cast<int>(value)
                           : static_cast<int>(static_cast<std::int8_t>(value));
      };
      const double step = static_cast<double>(steps[k % static_cast<std::size_t>(outputs)]);
      const double bound =
          static_cast<double>(count - 1) * step / 2 / static_cast<double>(kOutScale) + 2;
      const int error = std::abs(number(before[k]) - number(after[k]));
      ASSERT_LE(error, bound) << i;
      different += error;
    }
  }
  EXPECT_GT(different, 0);
}

// ---- the search

compile::Options IdealOptions(plan::Runtime runtime) {
  compile::Options options;
  options.runtime = runtime;
  options.limits.max_states = 20000;
  return options;
}

bool HasElement(const std::vector<OpId>& list, OpId op) {
  return std::find(list.begin(), list.end(), op) != list.end();
}

struct SearchCounts {
  int graphs = 0;
  int better = 0;
  int proven = 0;
  int missed = 0;  // without a bound, as a limit of the runtime binds
  int cut_short = 0;
  int bounds = 0;
};

// Against all choices, one by one.
void CompareWithAllChoices(std::uint64_t seed, plan::Runtime runtime, SearchCounts* counts) {
  Random random(seed);
  for (int i = 0; i < 100; ++i) {
    const Flavour flavour = kFlavours[i % 4];
    const Graph graph = NetworkMaker(flavour, &random).Make();
    SearchOptions search;
    search.settings = OwnSettings();
    if (runtime == plan::Runtime::kIdeal) {
      search.settings.sums = Sums::kTensors;
      search.settings.own_kernels = false;
    }
    if (i % 3 == 0) search.settings.max_concat_inputs = 3;
    const auto options = IdealOptions(runtime);
    const std::string where = "seed " + std::to_string(seed) + " graph " + std::to_string(i);
    std::vector<plan::Rewrite> all;
    std::vector<plan::Rewrite> always;
    for (const auto& application :
         AllApplications(graph, search.settings, [](const Rule&, plan::Exactness exactness) {
           return exactness == plan::Exactness::kBitwise;
         })) {
      (RuleNamed(application.rule)->info.always ? always : all).push_back(application);
    }
    if (all.empty() || all.size() > 7) continue;
    ++counts->graphs;
    std::int64_t least = -1;
    std::vector<std::int64_t> peaks;  // by mask
    for (std::uint32_t mask = 0; mask < (1U << all.size()); ++mask) {
      Choices choices;
      for (const auto& application : always) {
        choices[application.op] = {RuleNamed(application.rule), {}, false};
      }
      for (std::size_t k = 0; k < all.size(); ++k) {
        if ((mask >> k & 1U) == 0) continue;
        choices[all[k].op] = {RuleNamed(all[k].rule), all[k].parameters, false};
      }
      const Composed composed = Compose(Facts(graph), RunnableOrder(graph.subgraphs[kMain]),
                                        choices, search.settings, Purpose::kOrder);
      const auto peak = compile::FindPeak(composed.graph, options, false);
      ASSERT_TRUE(peak) << peak.error().ToString();
      if (least < 0 || peak->peak_bytes < least) least = peak->peak_bytes;
      // A choice whose rule does not fit beside the others counts as the one without it.
      std::uint32_t applied = 0;
      for (std::size_t k = 0; k < all.size(); ++k) {
        applied |= std::uint32_t{HasElement(composed.applied, all[k].op)} << k;
      }
      peaks.push_back(applied == mask ? peak->peak_bytes : -1);
    }
    // An open choice bounds every decision of it.
    for (int draw = 0; draw < 6; ++draw) {
      const auto masks = static_cast<std::int64_t>(peaks.size());
      const auto open =
          static_cast<std::uint32_t>(draw == 0 ? masks - 1 : random.Between(0, masks - 1));
      const auto on = static_cast<std::uint32_t>(random.Between(0, masks - 1));
      Choices choices;
      for (const auto& application : always) {
        choices[application.op] = {RuleNamed(application.rule), {}, false};
      }
      for (std::size_t k = 0; k < all.size(); ++k) {
        const bool is_open = (open >> k & 1U) != 0;
        if (!is_open && (on >> k & 1U) == 0) continue;
        choices[all[k].op] = {RuleNamed(all[k].rule), all[k].parameters, is_open};
      }
      Settings relaxed = search.settings;
      relaxed.in_place = plan::ProfileOf(options.runtime).in_place;
      const Composed composed = Compose(Facts(graph), RunnableOrder(graph.subgraphs[kMain]),
                                        choices, relaxed, Purpose::kOrder);
      if (composed.refused || composed.limited) continue;
      const auto bound = compile::FindPeak(composed.graph, options, true);
      ASSERT_TRUE(bound) << bound.error().ToString();
      for (std::uint32_t mask = 0; mask < peaks.size(); ++mask) {
        if (((mask ^ on) & ~open) != 0 || peaks[mask] < 0) continue;
        ++counts->bounds;
        EXPECT_LE(bound->lower_bound_bytes, peaks[mask])
            << where << " open " << open << " mask " << mask;
      }
    }
    const auto found = Search(graph, options, search);
    ASSERT_TRUE(found) << found.error().ToString();
    // There are coarser splits, too, which the masks above leave out.
    EXPECT_LE(found->lower_bound_bytes, std::min(least, found->peak_bytes))
        << where << Describe(graph, found->applications) << "\n all:" << Describe(graph, all);
    counts->missed += found->peak_bytes > least ? 1 : 0;
    counts->proven += found->optimal() ? 1 : 0;
    // Cut short anywhere, the bound is one of all choices.
    for (const std::int64_t work : {1, 300, 3'000, 30'000}) {
      search.max_work = work;
      const auto some = Search(graph, options, search);
      ASSERT_TRUE(some) << some.error().ToString();
      EXPECT_LE(some->lower_bound_bytes, std::min(least, found->peak_bytes))
          << where << " " << work;
      counts->cut_short += some->optimal() ? 0 : 1;
    }
    for (const std::int64_t looks : {1, 20, 400}) {
      search.max_work = SearchOptions().max_work;
      const CountedClock clock;
      compile::Options timed = options;
      timed.limits.deadline = CountedClock::At(looks);
      const auto some = Search(graph, timed, search);
      ASSERT_TRUE(some) << some.error().ToString();
      EXPECT_LE(some->lower_bound_bytes, std::min(least, found->peak_bytes))
          << where << " " << looks;
      // Every search that begins after the deadline looks at the clock a few times.
      EXPECT_LE(CountedClock::looks(), looks + 200);
    }
    const auto plain = compile::FindPeak(graph, options, false);
    counts->better += found->peak_bytes < plain->peak_bytes ? 1 : 0;
    // Apply() makes the graph that the search returned.
    const auto again = Apply(graph, found->applications, search.settings);
    ASSERT_TRUE(again) << again.error().ToString();
    EXPECT_EQ(again->subgraphs[kMain].ops.size(), found->graph.subgraphs[kMain].ops.size());
    const auto inputs = execute::RandomInputs(graph.subgraphs[kMain], 1, kMemory);
    EXPECT_TRUE(
        Same(Outputs(graph, *inputs, flavour.tflite), Outputs(*again, *inputs, flavour.tflite)));
  }
}

TEST(SearchTest, FindsTheLeastPeakOfAllChoices) {
  for (const auto runtime : {plan::Runtime::kNeap, plan::Runtime::kIdeal}) {
    SearchCounts counts;
    for (const std::uint64_t seed : {5U, 7U, 27U}) CompareWithAllChoices(seed, runtime, &counts);
    EXPECT_GT(counts.graphs, 100);
    EXPECT_GT(counts.better, counts.graphs / 5);
    EXPECT_GT(counts.proven, counts.graphs / 2);
    EXPECT_LE(counts.missed, counts.graphs / 100);
    EXPECT_GT(counts.cut_short, 100);
    EXPECT_GT(counts.bounds, 1000);
  }
}

TEST(SearchTest, RulesThatAreOffAreNotUsed) {
  Random random(6);
  for (int i = 0; i < 60; ++i) {
    const Graph graph = NetworkMaker(kFlavours[i % 4], &random).Make();
    for (const RuleInfo& rule : Rules()) {
      SearchOptions search;
      search.settings = OwnSettings();
      search.rules = {std::string(rule.name)};
      const auto found = Search(graph, IdealOptions(plan::Runtime::kIdeal), search);
      ASSERT_TRUE(found);
      for (const plan::Rewrite& application : found->applications) {
        EXPECT_EQ(application.rule, rule.name);
        EXPECT_EQ(application.exactness, plan::Exactness::kBitwise);
      }
    }
  }
}

TEST(ApplyTest, WhatDoesNotFitIsRefused) {
  Random random(7);
  const ConvCase conv = RandomConv(true, &random);
  const Settings settings = OwnSettings();
  const auto refused = [&](const std::string& rule, int op, std::vector<std::int64_t> parameters) {
    plan::Rewrite rewrite;
    rewrite.rule = rule;
    rewrite.op = OpId(op);
    rewrite.parameters = std::move(parameters);
    return !Apply(conv.graph, std::vector{rewrite}, settings);
  };
  EXPECT_TRUE(refused("nonsense", 0, {}));
  EXPECT_TRUE(refused("concat", 1, {}));
  EXPECT_TRUE(refused("concat", 9, {}));
  EXPECT_TRUE(refused("concat", -1, {}));
  EXPECT_TRUE(refused("concat", 0, {1}));
  EXPECT_TRUE(refused("channel-wise", 1, {})) << "its input is in one piece";
  plan::Rewrite concat{"concat", OpId(0), {}, plan::Exactness::kBitwise, 0};
  plan::Rewrite partial{"channel-wise", OpId(1), {0, 0}, plan::Exactness::kBitwise, 0};
  EXPECT_FALSE(Apply(conv.graph, std::vector{concat, partial}, settings)) << "no permutation";
  EXPECT_FALSE(Apply(conv.graph, std::vector{concat, concat}, settings)) << "twice";
}

}  // namespace
}  // namespace neap::rewrite
