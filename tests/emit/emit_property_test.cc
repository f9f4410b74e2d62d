// SPDX-License-Identifier: Apache-2.0
//
// Random networks and plans of all kinds, emitted as C, compiled with sanitizers, many in one
// translation unit, and run: the arena is exactly its size between pages without access and
// poisoned, and the outputs are those of the executor. NEAP_EMIT_NETWORKS: how many.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/check/check.h"
#include "neap/deliver/deliver.h"
#include "neap/emit/emit.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/formats/formats.h"
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
         "  unsigned char *arena = guarded(" + upper + "_ARENA_BYTES);\n  (void)feed;\n" + body +
         "  return 0;\n}\n";
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

TEST(EmitProperty, RandomNetworksComputeTheBytesOfTheExecutor) {
  if (!HasCompiler()) GTEST_SKIP() << "there is no C compiler";
  const fs::path folder =
      fs::path(::testing::TempDir()) / ("emit_property_" + std::to_string(getpid()));
  const int networks = NetworksFromEnvironment();
  constexpr int kInOneUnit = 20;
  int emitted = 0;
  std::map<std::string, int> by_way;
  for (int first = 0; first < networks; first += kInOneUnit) {
    std::string unit = kPrelude;
    std::string calls;
    for (int i = first; i < std::min(first + kInOneUnit, networks); ++i) {
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
      ASSERT_TRUE(delivery.has_value()) << delivery.error().ToString();
      const graph::Graph& planned = delivery->Planned(*source).graph;
      ASSERT_TRUE(check::CheckPlan(planned, delivery->compiled.plan).empty()) << i;
      Options options;
      options.prefix = "n" + std::to_string(i);
      const auto files = Emit(planned, delivery->compiled.plan, options);
      ASSERT_TRUE(files.has_value())
          << "network " << i << " " << way.name << ": " << files.error().ToString();
      for (const File& file : files->files) WriteText(folder / file.name, file.bytes);
      unit += "#include \"" + options.prefix + ".c\"\n" +
              Checks(options.prefix, planned, delivery->compiled.plan);
      calls += "  if ((result = check_" + options.prefix + "()) != 0) { printf(\"network " +
               std::to_string(i) + " " + way.name + ": %d\\n\", result); ++failures; }\n";
      ++emitted;
      ++by_way[way.name];
    }
    unit +=
        "int main(void) {\n  int failures = 0, result;\n" + calls + "  return failures != 0;\n}\n";
    WriteText(folder / "unit.c", unit);
    const std::string in = "cd '" + folder.string() + "' && ";
    const std::string flags =
        "cc -std=c99 -O1 -Wall -Wextra -Werror -fsanitize=address,undefined "
        "-fno-sanitize-recover=all ";
    // Files of uint8 kernels include those of int8, which are units of their own too.
    ASSERT_EQ(std::system((in + flags + "-I. unit.c neap_rt/*.c -o unit").c_str()), 0);
    EXPECT_EQ(std::system((in + "./unit").c_str()), 0) << "networks from " << first;
    if (HasFailure()) return;
  }
  fs::remove_all(folder);
  EXPECT_EQ(emitted, networks);
}

}  // namespace
}  // namespace neap::emit
