// SPDX-License-Identifier: Apache-2.0
//
// Random networks and plans of all kinds, emitted as C, compiled with sanitizers, many in one
// translation unit, and run: the arena is exactly its size between pages without access and
// poisoned, and the outputs are those of the executor. NEAP_EMIT_NETWORKS: how many.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/check/check.h"
#include "neap/deliver/deliver.h"
#include "neap/emit/emit.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/formats/formats.h"
#include "neap/ops/overlap.h"
#include "testing/streams.h"

namespace neap::emit {
namespace {

namespace fs = std::filesystem;
using graph::SubgraphId;

constexpr int kSeeds = 2;

bool HasCompiler() { return std::system("cc --version > /dev/null 2>&1") == 0; }

void WriteText(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string Array(const std::string& name, const std::vector<std::byte>& bytes) {
  std::string text = "static const unsigned char " + name + "[] = {";
  for (const std::byte byte : bytes) text += std::to_string(std::to_integer<int>(byte)) + ",";
  return text + "};\n";
}

// How a network is planned: streams with each kind of input, or tensors as a whole.
struct Way {
  const char* name;
  bool streams;
  plan::StreamInput input;
};
constexpr Way kWays[] = {{"resident", true, plan::StreamInput::kResident},
                         {"external", true, plan::StreamInput::kExternal},
                         {"rows", true, plan::StreamInput::kRows},
                         {"whole", false, plan::StreamInput::kResident}};

Result<deliver::Delivery> PlanIn(const Way& way, const formats::SourceModel& source) {
  deliver::Request request;
  request.compile.runtime = plan::Runtime::kNeap;
  request.compile.limits.max_states = 20'000;
  request.compile.limits.threads = 1;
  request.rewriting.any = false;
  request.streams = way.streams ? deliver::Use::kAlways : deliver::Use::kNever;
  request.streaming.input = way.input;
  request.streaming.max_macs_permille =
      source.graph.subgraphs[SubgraphId(0)].ops.size() % 2 == 0 ? 1000 : 1500;
  request.load.weights = true;
  return deliver::Deliver(source, request);
}

// The C function that runs one network on all seeds; arrays of inputs and outputs before it.
std::string Checks(const std::string& name, const graph::Graph& graph, const plan::Plan& plan) {
  const graph::Subgraph& main = graph.subgraphs[SubgraphId(0)];
  std::string arrays;
  std::string body;
  std::string upper;
  for (const char c : name) upper += static_cast<char>(std::toupper(c));
  const bool streamed = plan.entries[0].stream.has_value();
  const auto input = streamed ? plan.entries[0].stream->input : plan::StreamInput::kResident;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const auto inputs = execute::RandomInputs(main, static_cast<std::uint64_t>(seed), 1 << 28);
    EXPECT_TRUE(inputs.has_value());
    execute::EvaluateOptions options;
    options.kernels = execute::Kernels::kTflm;
    const auto outputs = execute::Evaluate(graph, SubgraphId(0), *inputs, options);
    EXPECT_TRUE(outputs.has_value());
    const std::string in = name + "_in" + std::to_string(seed);
    arrays += Array(in, (*inputs)[0].bytes);
    for (int steps = 0; steps < 2; ++steps) {
      body += "  memset(arena, " + std::to_string(0x5A + steps) + ", " + upper + "_ARENA_BYTES);\n";
      const std::string rows = input == plan::StreamInput::kRows ? "_rows" : "";
      std::string more;
      if (input == plan::StreamInput::kExternal) {
        more = ", (const int8_t *)" + in;
      } else if (input == plan::StreamInput::kRows) {
        body += "  feed.at = " + in + "; feed.bytes = sizeof(" + in + ") / " +
                std::to_string((*main.tensors[main.inputs[0]].shape)[1]) + ";\n";
        more = ", feed_row, &feed";
      } else {
        body += "  memcpy(" + name + "_input(arena), " + in + ", sizeof(" + in + "));\n";
      }
      if (steps == 0) {
        body += "  result = " + name + "_run" + rows + "(arena" + more + ");\n";
      } else {
        body += "  " + name + "_begin(arena);\n  do result = " + name + "_step" + rows + "(arena" +
                more + "); while (result == " + upper + "_MORE);\n";
      }
      body += "  if (result != 0) return 1;\n";
      for (std::size_t o = 0; o < main.outputs.size(); ++o) {
        const std::string out = name + "_out" + std::to_string(seed) + "_" + std::to_string(o);
        if (steps == 0) arrays += Array(out, (*outputs)[o].bytes);
        const std::string call =
            name + "_output" + (main.outputs.size() > 1 ? "_" + std::to_string(o) : "");
        body +=
            "  if (memcmp(" + call + "(arena), " + out + ", sizeof(" + out + ")) != 0) return 2;\n";
      }
    }
  }
  return arrays + "static int check_" + name +
         "(void) {\n  int result;\n  struct feed feed = {0, 0};\n" +
         "  unsigned char *arena = guarded(" + upper +
         "_ARENA_BYTES);\n  (void)feed;\n  (void)feed_row;\n" + body + "  return 0;\n}\n";
}

constexpr const char* kPrelude = R"(#define _DEFAULT_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
struct feed { const unsigned char *at; size_t bytes; };
static int feed_row(void *user, int row, int8_t *dst) {
  struct feed *feed = (struct feed *)user;
  memcpy(dst, feed->at + (size_t)row * feed->bytes, feed->bytes);
  return 0;
}
static unsigned char *guarded(size_t bytes) {
  const size_t page = 65536, size = (bytes + page - 1) / page * page;
  unsigned char *base = (unsigned char *)mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED || mprotect(base + page, size, PROT_READ | PROT_WRITE) != 0) exit(3);
  return base + page + (size - bytes) / 4 * 4;
}
)";

int NetworksFromEnvironment() {
  const char* const text = std::getenv("NEAP_EMIT_NETWORKS");
  return text == nullptr ? 60 : std::atoi(text);
}

// Networks that are compiled together and run.
class Unit {
 public:
  explicit Unit(const std::string& name)
      : folder_(fs::path(::testing::TempDir()) /
                ("emit_" + name + "_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~Unit() { fs::remove_all(folder_); }

  // `graph`: what the plan is about. Prints `what` where the outputs differ.
  void Add(const graph::Graph& graph, const plan::Plan& plan, const std::string& what) {
    Options options;
    options.prefix = "n" + std::to_string(count_++);
    const auto emitted = Emit(graph, plan, options);
    ASSERT_TRUE(emitted.has_value()) << what << ": " << emitted.error().ToString();
    for (const File& file : emitted->files) WriteText(folder_ / file.name, file.bytes);
    text_ += "#include \"" + options.prefix + ".c\"\n" + Checks(options.prefix, graph, plan);
    calls_ += "  if ((result = check_" + options.prefix + "()) != 0) { printf(\"" + what +
              ": %d\\n\", result); ++failures; }\n";
  }

  // Compiles and runs what was added since the last call.
  void Run() {
    if (calls_.empty()) return;
    WriteText(folder_ / "unit.c", std::string(kPrelude) + text_ +
                                      "int main(void) {\n  int failures = 0, result;\n" + calls_ +
                                      "  return failures != 0;\n}\n");
    text_.clear();
    calls_.clear();
    const std::string in = "cd '" + folder_.string() + "' && ";
    const std::string flags =
        "cc -std=c99 -O1 -Wall -Wextra -Werror -fsanitize=address,undefined "
        "-fno-sanitize-recover=all ";
    ASSERT_EQ(std::system((in + flags + "-I. unit.c neap_rt/*.c -o unit").c_str()), 0);
    EXPECT_EQ(std::system((in + "./unit").c_str()), 0);
  }

 private:
  fs::path folder_;
  int count_ = 0;
  std::string text_;
  std::string calls_;
};

constexpr int kInOneUnit = 20;

TEST(EmitProperty, RandomNetworksComputeTheBytesOfTheExecutor) {
  if (!HasCompiler()) GTEST_SKIP() << "there is no C compiler";
  const int networks = NetworksFromEnvironment();
  Unit unit("networks");
  for (int i = 0; i < networks && !HasFailure(); ++i) {
    Random random(static_cast<std::uint64_t>(i) + 1);
    const graph::Graph graph =
        stream::test::RandomNetwork(&random, static_cast<int>(random.Between(1, 9)));
    const auto bytes = formats::ExportTflite(graph, "random");
    ASSERT_TRUE(bytes.has_value()) << bytes.error().ToString();
    formats::LoadOptions load;
    load.weights = true;
    const auto source = formats::LoadBytes(std::make_shared<const std::vector<std::byte>>(*bytes),
                                           "random.tflite", load);
    ASSERT_TRUE(source.has_value());
    const Way& way = kWays[i % 4];
    auto delivery = PlanIn(way, *source);
    // An operator that reads the input as a whole cannot be fed by rows.
    if (!delivery && way.input == plan::StreamInput::kRows) delivery = PlanIn(kWays[0], *source);
    ASSERT_TRUE(delivery.has_value()) << delivery.error().ToString();
    const graph::Graph& planned = delivery->Planned(*source).graph;
    ASSERT_TRUE(check::CheckPlan(planned, delivery->compiled.plan).empty()) << i;
    unit.Add(planned, delivery->compiled.plan, "network " + std::to_string(i) + " " + way.name);
    if ((i + 1) % kInOneUnit == 0 || i + 1 == networks) unit.Run();
  }
}

// Each output as far over its input as the rule of the kernels permits.
TEST(EmitProperty, OverlapsAtTheirDistanceComputeTheSameBytes) {
  if (!HasCompiler()) GTEST_SKIP() << "there is no C compiler";
  Unit unit("overlaps");
  int overlaps = 0;
  for (int i = 0; i < NetworksFromEnvironment() && !HasFailure(); ++i) {
    Random random(static_cast<std::uint64_t>(i) + 1'000'000);
    const graph::Graph graph = stream::test::RandomNetwork(&random, 1);
    const graph::Subgraph& main = graph.subgraphs[SubgraphId(0)];
    if (main.ops.size() != 1 || main.ops[graph::OpId(0)].inputs[0] != main.inputs[0]) continue;
    const graph::Op& op = main.ops[graph::OpId(0)];
    const auto rule = ops::OverlapRuleOf(main, op, 0, ops::KernelLibrary::kNeap);
    if (!rule || rule->kind != ops::OverlapRule::Kind::kStartsBelow) continue;
    const std::int64_t in = *graph::TensorBytes(main.tensors[main.inputs[0]]);
    const std::int64_t out = *graph::TensorBytes(main.tensors[main.outputs[0]]);
    plan::EntryPlan entry;
    entry.subgraph = SubgraphId(0);
    entry.steps = {{SubgraphId(0), graph::OpId(0)}};
    entry.tensors = {{SubgraphId(0), main.inputs[0], rule->bytes, in, 0, 1},
                     {SubgraphId(0), main.outputs[0], 0, out, 0, 1}};
    entry.overlaps = {{0, SubgraphId(0), main.inputs[0], main.outputs[0],
                       plan::OverlapKind::kStartsBelow, rule->bytes}};
    entry.arena_bytes = std::max(rule->bytes + in, out);
    plan::Plan plan;
    plan.entries = {entry};
    unit.Add(graph, plan, "overlap " + std::to_string(i) + " of " + op.type);
    if (++overlaps % kInOneUnit == 0) unit.Run();
  }
  unit.Run();
  EXPECT_GT(overlaps, 0);
}

}  // namespace
}  // namespace neap::emit
