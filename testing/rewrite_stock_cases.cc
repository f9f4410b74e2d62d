// SPDX-License-Identifier: Apache-2.0
//
// rewrite_cases FOLDER FIRST COUNT [--wrong] [--tflm] [--attention]: writes random instances of
// rules and random networks, before and after, for stock runtimes (test_rewrite_rules.py). Each
// seed from FIRST on gives one instance; a line of JSON on standard output lists the files.
// --wrong: parts are exchanged in the files after rewriting. --tflm: rewritten as for TensorFlow
// Lite Micro. --attention: attention over blocks of keys instead. rewrite_cases --one-attention
// FILE QUERIES KEYS WIDTH HEADS DEPTH: attention of these sizes, for measurements. FILE ends in
// .tflite or .onnx.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neap/formats/formats.h"
#include "neap/io/file.h"
#include "neap/transform/rewrite/rewrite.h"
#include "testing/attention_cases.h"
#include "testing/rewrite_applications.h"
#include "testing/rewrite_cases.h"

namespace {

using namespace neap;           // NOLINT(google-build-using-namespace)
using namespace neap::rewrite;  // NOLINT(google-build-using-namespace)

constexpr graph::SubgraphId kMain(0);

struct Kind {
  Flavour flavour;
  const char* name;
};
constexpr Kind kKinds[] = {{{true, ElementType::kFloat32}, "float32"},
                           {{true, ElementType::kInt8}, "int8"},
                           {{true, ElementType::kUint8}, "uint8"},
                           {{false, ElementType::kFloat32}, "onnx"}};

// The same network on absolute values and without activations: the sums that bounds of float sums
// are relative to.
graph::Graph AbsolutesOf(graph::Graph graph) {
  graph::Subgraph& subgraph = graph.subgraphs[kMain];
  for (graph::Tensor& tensor : subgraph.tensors) {
    if (!tensor.data || tensor.type != ElementType::kFloat32) continue;
    auto bytes = std::make_shared<std::vector<std::byte>>(tensor.data->bytes.begin(),
                                                          tensor.data->bytes.end());
    for (std::size_t at = 0; at + sizeof(float) <= bytes->size(); at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, bytes->data() + at, sizeof(value));
      value = std::fabs(value);
      std::memcpy(bytes->data() + at, &value, sizeof(value));
    }
    tensor.data = graph::ConstantData{bytes, *bytes};
  }
  for (graph::Op& op : subgraph.ops) {
    const auto found = op.attributes.find("fused_activation_function");
    if (found != op.attributes.end()) found->second = std::int64_t{0};
  }
  return graph;
}

// Two slices of one shape change places, or two inputs of one shape of a new operator.
bool MixUp(const graph::Graph& before, graph::Graph* after) {
  auto& tensors = after->subgraphs[kMain].tensors;
  std::map<graph::Shape, TensorId> first;
  for (std::size_t t = before.subgraphs[kMain].tensors.size(); t < tensors.size(); ++t) {
    graph::Tensor& tensor = tensors[TensorId(t)];
    if (!tensor.constant || !tensor.data || tensor.data->bytes.size() < 8) continue;
    const auto [at, fresh] = first.emplace(*tensor.shape, TensorId(t));
    if (fresh) continue;
    std::swap(tensor.data, tensors[at->second].data);
    return true;
  }
  for (graph::Op& op : after->subgraphs[kMain].ops) {
    if (op.type != "CONCATENATION" && op.type != "Concat") continue;
    for (std::size_t i = 1; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == op.inputs[0]) continue;
      if (tensors[op.inputs[i]].shape != tensors[op.inputs[0]].shape) continue;
      std::swap(op.inputs[i], op.inputs[0]);
      return true;
    }
  }
  return false;
}

Status WriteGraph(const graph::Graph& graph, bool tflite, const std::string& path) {
  NEAP_TRY(const auto bytes,
           tflite ? formats::ExportTflite(graph, "case") : formats::ExportOnnx(graph, "case"));
  return io::WriteFile(path, bytes, true);
}

// The terms of a sum come in any order.
void Shuffle(const graph::Graph& graph, Random* random, std::vector<plan::Rewrite>* applications) {
  const auto& ops = graph.subgraphs[kMain].ops;
  for (plan::Rewrite& application : *applications) {
    if (application.rule != "sum" && application.rule != "channel-wise") continue;
    const graph::Op& of = application.rule == "sum" ? ops[application.op] : ops[graph::OpId(0)];
    for (std::size_t i = 0; i < of.inputs.size(); ++i) {
      application.parameters.push_back(static_cast<std::int64_t>(i));
      std::swap(application.parameters[random->Below(i + 1)], application.parameters.back());
    }
  }
}

struct Stock {
  plan::Runtime runtime = plan::Runtime::kLitert;
  bool wrong = false;
  bool attention = false;
};

// "absolutes" has the products of queries and keys, and the values.
Status WriteAttention(const std::string& folder, std::uint64_t seed, const Stock& stock) {
  Random random(seed);
  const Kind& kind = kKinds[seed % 2 == 0 ? 0 : 3];
  const bool tflite = kind.flavour.tflite;
  AttentionSizes sizes = AttentionMaker::AnySizes(&random);
  sizes.opset = 17;  // of exported files
  const AttentionCase made = AttentionMaker(tflite, &random).Make(sizes);
  plan::Rewrite rewrite;
  rewrite.rule = kKeyBlocks;
  rewrite.op = LastProductOf(made.graph);
  const std::int64_t count = random.Between(2, std::min<std::int64_t>(made.sizes.keys, 9));
  rewrite.parameters = {count, random.Between(0, 2)};
  rewrite.exactness = plan::Exactness::kReassociates;
  NEAP_TRY(const graph::Graph after,
           Apply(made.graph, std::vector{rewrite}, SettingsFor(stock.runtime, {})));
  graph::Graph inside = AbsolutesOf(made.graph);
  inside.subgraphs[kMain].outputs = {made.products, made.values};
  const char* const ending = tflite ? "tflite" : "onnx";
  const auto path = [&](const char* what) {
    return fmt::format("{}/{:06}-{}.{}", folder, seed, what, ending);
  };
  NEAP_CHECK_OK(WriteGraph(made.graph, tflite, path("before")));
  NEAP_CHECK_OK(WriteGraph(after, tflite, path("after")));
  NEAP_CHECK_OK(WriteGraph(inside, tflite, path("absolutes")));
  fmt::print(
      "{{\"seed\":{},\"rule\":\"{}\",\"type\":\"{}\",\"ending\":\"{}\",\"bitwise\":false,"
      "\"keys\":{},\"blocks\":{},\"width\":{},\"depth\":{}}}\n",
      seed, kKeyBlocks, kind.name, ending, made.sizes.keys, count, made.sizes.width,
      made.sizes.depth);
  return {};
}

Status WriteCase(const std::string& folder, std::uint64_t seed, const Stock& stock) {
  if (stock.attention) return WriteAttention(folder, seed, stock);
  Random random(seed);
  const Kind& kind = kKinds[seed % std::size(kKinds)];
  const std::size_t which = seed / std::size(kKinds) % (kCaseRules.size() + 1);
  const bool network = which == kCaseRules.size();
  const std::string_view rule = network ? "network" : kCaseRules[which];
  if (!network && !CaseMaker::Has(rule, kind.flavour)) return {};
  const RuleCase made = network ? RuleCase{NetworkMaker(kind.flavour, &random).Make(), 0}
                                : CaseMaker(kind.flavour, &random).Make(rule);
  Settings settings = SettingsFor(stock.runtime, {});
  settings.keep_order = network || random.Below(2) == 0;
  auto applications =
      AllApplications(made.graph, settings, [&](const Rule&, plan::Exactness exactness) {
        return !network || exactness == plan::Exactness::kBitwise;
      });
  if (applications.empty()) return {};
  if (!network && !settings.keep_order) Shuffle(made.graph, &random, &applications);
  bool bitwise = true;
  bool used = network;
  for (const plan::Rewrite& application : applications) {
    bitwise = bitwise && application.exactness == plan::Exactness::kBitwise;
    used = used || application.rule == rule;
  }
  if (!used) return {};
  NEAP_TRY(graph::Graph after, Apply(made.graph, applications, settings));
  if (stock.wrong && !MixUp(made.graph, &after)) return {};
  const char* const ending = kind.flavour.tflite ? "tflite" : "onnx";
  const auto path = [&](const char* what) {
    return fmt::format("{}/{:06}-{}.{}", folder, seed, what, ending);
  };
  NEAP_CHECK_OK(WriteGraph(made.graph, kind.flavour.tflite, path("before")));
  NEAP_CHECK_OK(WriteGraph(after, kind.flavour.tflite, path("after")));
  if (!bitwise) {
    NEAP_CHECK_OK(WriteGraph(AbsolutesOf(made.graph), kind.flavour.tflite, path("absolutes")));
  }
  fmt::print(
      "{{\"seed\":{},\"rule\":\"{}\",\"type\":\"{}\",\"ending\":\"{}\",\"bitwise\":{},"
      "\"products\":{}}}\n",
      seed, rule, kind.name, ending, bitwise, made.products);
  return {};
}

int WriteOne(char** argv) {
  const std::string path = argv[2];
  const auto size = [&](int i) { return std::int64_t{std::atoi(argv[i])}; };
  AttentionSizes sizes;
  sizes.queries = size(3);
  sizes.keys = size(4);
  sizes.width = size(5);
  sizes.heads = size(6);
  sizes.depth = size(7);
  sizes.scale = true;
  Random random(1);
  const bool tflite = path.ends_with(".tflite");
  const AttentionCase made = AttentionMaker(tflite, &random).Make(sizes);
  const Status status = WriteGraph(made.graph, tflite, path);
  if (!status) fmt::print(stderr, "rewrite_cases: {}\n", status.error().ToString());
  return status ? 0 : 1;
}

int Run(int argc, char** argv) {
  if (argc == 8 && std::string_view(argv[1]) == "--one-attention") return WriteOne(argv);
  if (argc < 4) {
    fmt::print(stderr, "rewrite_cases FOLDER FIRST COUNT [--wrong] [--tflm] [--attention]\n");
    return 2;
  }
  const std::uint64_t first = std::strtoull(argv[2], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[3], nullptr, 10);
  Stock stock;
  for (int i = 4; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--wrong") stock.wrong = true;
    if (std::string_view(argv[i]) == "--attention") stock.attention = true;
    if (std::string_view(argv[i]) == "--tflm") stock.runtime = plan::Runtime::kTflm;
  }
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Status status = WriteCase(argv[1], seed, stock);
    if (status) continue;
    fmt::print(stderr, "rewrite_cases: seed {}: {}\n", seed, status.error().ToString());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rewrite_cases: {}\n", error.what());
    return 1;
  }
}
