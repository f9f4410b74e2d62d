// SPDX-License-Identifier: Apache-2.0
//
// Every operator that is emitted, on random shapes, attributes and quantization, alone and in small
// networks, in random plans: the C is compiled with sanitizers, many networks in one translation
// unit, and computes the bytes of the executor. The arena is exactly its size between pages without
// access and poisoned. NEAP_EMIT_OPERATORS: how many networks; NEAP_EMIT_CASE: one of them alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/emit/emit.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "testing/random_network.h"
#include "testing/random_plans.h"

namespace neap::emit {
namespace {

namespace fs = std::filesystem;
using graph::ElementType;
using graph::SubgraphId;
using property::OperatorCase;
using property::PlanKind;

constexpr int kSeeds = 3;
constexpr int kInOneUnit = 40;

// What neap_rt computes. RELU_N1_TO_1 and the like are refused for types that the executor lacks.
const std::set<std::string>& EmittedTypes() {
  static const std::set<std::string> types = {"ADD",
                                              "SUB",
                                              "MUL",
                                              "SOFTMAX",
                                              "LOGISTIC",
                                              "TANH",
                                              "HARD_SWISH",
                                              "RELU",
                                              "RELU6",
                                              "RELU_N1_TO_1",
                                              "LEAKY_RELU",
                                              "QUANTIZE",
                                              "CONV_2D",
                                              "DEPTHWISE_CONV_2D",
                                              "AVERAGE_POOL_2D",
                                              "MAX_POOL_2D",
                                              "FULLY_CONNECTED",
                                              "MEAN",
                                              "RESHAPE",
                                              "SQUEEZE",
                                              "EXPAND_DIMS",
                                              "SLICE",
                                              "STRIDED_SLICE",
                                              "SPLIT",
                                              "SPLIT_V",
                                              "PAD",
                                              "PADV2",
                                              "CONCATENATION",
                                              "RESIZE_NEAREST_NEIGHBOR"};
  return types;
}

std::vector<const OperatorCase*> EmittedCases() {
  std::vector<const OperatorCase*> cases;
  for (const OperatorCase& one : property::TfliteCases()) {
    if (one.domain == "tflite" && EmittedTypes().contains(one.type)) cases.push_back(&one);
  }
  return cases;
}

// Scales of all quantized activations, which operators that move bytes or pool need to be equal. In
// a network of one operator that computes, each tensor has its own.
void Requantize(graph::Graph* graph, bool each, Random* random) {
  graph::Subgraph& main = graph->subgraphs[SubgraphId(0)];
  const auto draw = [&](ElementType type) {
    graph::Quantization quantization;
    quantization.scales = {0.001F * static_cast<float>(random->Between(3, 200))};
    quantization.zero_points = {type == ElementType::kInt8 ? random->Between(-128, 127)
                                                           : random->Between(0, 255)};
    return quantization;
  };
  const graph::Quantization bytes = draw(ElementType::kInt8);
  const graph::Quantization unsigned_bytes = draw(ElementType::kUint8);
  for (graph::Tensor& tensor : main.tensors) {
    const bool common = tensor.quantization && tensor.quantization->scales.size() == 1 &&
                        tensor.quantization->scales[0] == 0.05F;
    if (!common || (tensor.type != ElementType::kInt8 && tensor.type != ElementType::kUint8)) {
      continue;
    }
    tensor.quantization = each                                ? draw(tensor.type)
                          : tensor.type == ElementType::kInt8 ? bytes
                                                              : unsigned_bytes;
  }
}

bool HasScalesOfItsOwn(const std::string& type) {
  static const std::set<std::string> types = {
      "ADD",     "SUB",      "MUL",  "QUANTIZE",   "CONV_2D", "DEPTHWISE_CONV_2D",
      "SOFTMAX", "LOGISTIC", "TANH", "HARD_SWISH", "MEAN",    "FULLY_CONNECTED"};
  return types.contains(type);
}

struct Made {
  graph::Graph graph;
  ElementType type = ElementType::kInt8;
  std::string focus;
};

Made MakeNetwork(std::size_t number, Random* random) {
  const auto cases = EmittedCases();
  const OperatorCase& focus = *cases[number % cases.size()];
  Made made;
  made.focus = focus.type;
  made.type = random->Chance(2, 3) ? ElementType::kInt8 : ElementType::kUint8;
  const bool alone = random->Chance(2, 3);
  property::Network network(random);
  const auto add = [&](const OperatorCase& one) {
    const bool has = std::find(one.types.begin(), one.types.end(), made.type) != one.types.end();
    if (has) one.add(network, one, made.type);
    return has;
  };
  for (std::uint64_t more = alone ? 0 : random->Below(3); more > 0; --more) {
    add(*cases[random->Below(cases.size())]);
  }
  if (!add(focus)) {
    made.type = ElementType::kInt8;
    property::Network other(random);
    focus.add(other, focus, made.type);
    made.graph = other.Finish();
    return made;
  }
  for (std::uint64_t more = alone ? 0 : random->Below(3); more > 0; --more) {
    add(*cases[random->Below(cases.size())]);
  }
  made.graph = network.Finish();
  Requantize(&made.graph, alone && HasScalesOfItsOwn(focus.type), random);
  return made;
}

std::string UpperOf(const std::string& text) {
  std::string upper;
  for (const char c : text) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

std::string Array(const std::string& name, const std::vector<std::byte>& bytes) {
  std::string text = "static const unsigned char " + name + "[] = {";
  for (const std::byte byte : bytes) text += std::to_string(std::to_integer<int>(byte)) + ",";
  return text + "};\n";
}

std::string PortName(const std::string& name, std::size_t count, std::size_t index) {
  return count == 1 ? name : name + "_" + std::to_string(index);
}

// How a plan gets its inputs.
plan::StreamInput InputOf(const plan::Plan& plan) {
  const auto& stream = plan.entries[0].stream;
  return stream ? stream->input : plan::StreamInput::kResident;
}

// A C function that runs a network on all seeds. "": the executor fails on it, which is no matter
// of this test.
std::string Check(const std::string& name, const Made& made, plan::StreamInput input) {
  const graph::Subgraph& main = made.graph.subgraphs[SubgraphId(0)];
  execute::EvaluateOptions options;
  options.kernels =
      made.type == ElementType::kUint8 ? execute::Kernels::kLitert : execute::Kernels::kTflm;
  std::string arrays;
  std::string body;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const auto inputs =
        execute::RandomInputs(main, static_cast<std::uint64_t>(seed), std::int64_t{1} << 24);
    if (!inputs) return "";
    const auto outputs = execute::Evaluate(made.graph, SubgraphId(0), *inputs, options);
    if (!outputs) return "";
    const std::string suffix = "_" + std::to_string(seed) + "_";
    body += "  memset(arena, " + std::to_string(0x5A + seed) + ", " + UpperOf(name) +
            "_ARENA_BYTES);\n";
    std::string arguments = "arena";
    for (std::size_t i = 0; i < inputs->size(); ++i) {
      const std::string in = name + "_in" + suffix + std::to_string(i);
      arrays += Array(in, (*inputs)[i].bytes);
      if (input == plan::StreamInput::kExternal) {
        arguments += ", (const void *)" + in;
      } else if (input == plan::StreamInput::kRows) {
        body += "  feed.at = " + in + "; feed.bytes = sizeof(" + in + ") / " + UpperOf(name) +
                "_ROWS;\n";
        arguments += ", (" + name + "_row_fn)feed_row, &feed";
      } else {
        body += "  memcpy(" + name + "_" + PortName("input", inputs->size(), i) + "(arena), " + in +
                ", sizeof(" + in + "));\n";
      }
    }
    const std::string run = input == plan::StreamInput::kRows ? "_run_rows(" : "_run(";
    body += "  if (" + name + run + arguments + ") != 0) return 1;\n";
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      const std::string out = name + "_out" + suffix + std::to_string(i);
      arrays += Array(out, (*outputs)[i].bytes);
      body += "  if (memcmp(" + name + "_" + PortName("output", outputs->size(), i) + "(arena), " +
              out + ", sizeof(" + out + ")) != 0) return 2;\n";
    }
  }
  const graph::Shape& shape = *main.tensors[main.inputs[0]].shape;
  const std::int64_t rows = shape.size() == 4 ? shape[1] : 1;
  return "#define " + UpperOf(name) + "_ROWS " + std::to_string(rows) + "\n" + arrays +
         "static int check_" + name + "(void) {\n  struct feed feed = {0, 0};\n" +
         "  unsigned char *arena = guarded(" + UpperOf(name) + "_ARENA_BYTES);\n  (void)feed;\n" +
         body + "  return 0;\n}\n";
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

// Networks of one translation unit.
struct Unit {
  std::string text = kPrelude;
  std::string calls;
};

std::string ProgramOf(const Unit& unit) {
  return unit.text + "int main(void) {\n  int failures = 0, result;\n  (void)feed_row;\n" +
         unit.calls + "  return failures != 0;\n}\n";
}

struct Tally {
  int emitted = 0;
  int refused = 0;
};

PlanKind RandomKind(Random* random) {
  constexpr PlanKind kKinds[] = {PlanKind::kAddresses, PlanKind::kAddresses, PlanKind::kMoves,
                                 PlanKind::kTiles, PlanKind::kStreams};
  return kKinds[random->Below(std::size(kKinds))];
}

class Harness {
 public:
  Harness()
      : folder_(fs::path(::testing::TempDir()) / ("emit_operators_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  // The files of a single case stay.
  ~Harness() {
    if (std::getenv("NEAP_EMIT_CASE") == nullptr) fs::remove_all(folder_);
  }
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;

  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  // 0: everything was equal.
  int CompileAndRun(const Unit& unit) {
    Write("unit.c", ProgramOf(unit));
    const std::string flags =
        "cc -std=c99 -O1 -Wall -Wextra -Wpedantic -Werror -fsanitize=address,undefined "
        "-fno-sanitize-recover=all -I. ";
    const std::string in = "cd '" + folder_.string() + "' && ";
    // The files of the runtime are compiled once.
    for (const auto& file : fs::directory_iterator(folder_ / "neap_rt")) {
      const fs::path& path = file.path();
      if (path.extension() != ".c" || !compiled_.insert(path.string()).second) continue;
      if (std::system((in + flags + "-c neap_rt/" + path.filename().string() + " -o " +
                       path.stem().string() + ".o")
                          .c_str()) != 0) {
        return 1;
      }
    }
    return std::system((in + flags + "unit.c *.o -o unit && ./unit").c_str());
  }

 private:
  fs::path folder_;
  std::set<std::string> compiled_;
};

int NetworksFromEnvironment() {
  const char* const text = std::getenv("NEAP_EMIT_OPERATORS");
  return text == nullptr ? 400 : std::atoi(text);
}

TEST(EmitOperators, EveryEmittedOperatorHasACase) {
  std::set<std::string> types;
  for (const OperatorCase* one : EmittedCases()) types.insert(one->type);
  EXPECT_EQ(types, EmittedTypes());
}

TEST(EmitOperators, RandomOperatorsComputeTheBytesOfTheExecutor) {
  if (std::system("cc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no C compiler";
  Harness harness;
  const auto networks = static_cast<std::size_t>(NetworksFromEnvironment());
  std::map<std::string, Tally> tallies;
  std::map<std::string, int> refusals;
  Unit unit;
  int in_unit = 0;
  const char* const only = std::getenv("NEAP_EMIT_CASE");
  const auto cases = EmittedCases();
  for (std::size_t i = 0; i < 8 * networks; ++i) {
    // Operators with few kernels, such as MEAN, need more attempts until one is emitted.
    if (i >= networks && tallies[cases[i % cases.size()]->type].emitted > 0) continue;
    if (only != nullptr && std::to_string(i) != only) continue;
    Random random(7000 + i);
    Made made = MakeNetwork(i, &random);
    const auto planned = property::MakePlan(made.graph, RandomKind(&random), &random);
    if (!planned || !property::Check(*planned).empty()) continue;
    Options options;
    options.prefix = "n" + std::to_string(i);
    const auto files = Emit(planned->graph, planned->plan, options);
    Tally& tally = tallies[made.focus];
    if (!files) {
      ++tally.refused;
      ++refusals[files.error().message];
      continue;
    }
    const std::string check = Check(options.prefix, made, InputOf(planned->plan));
    if (check.empty()) continue;
    ++tally.emitted;
    if (only != nullptr) {
      printf("%s", property::Describe(made.graph, *planned).c_str());
      for (const graph::Tensor& tensor : made.graph.subgraphs[SubgraphId(0)].tensors) {
        if (!tensor.quantization) continue;
        printf("%s scale %g zero %d\n", tensor.name.c_str(),
               static_cast<double>(tensor.quantization->scales[0]),
               static_cast<int>(tensor.quantization->zero_points[0]));
      }
    }
    for (const File& file : files->files) harness.Write(file.name, file.bytes);
    unit.text += "#include \"" + options.prefix + ".c\"\n" + check;
    unit.calls += "  if ((result = check_" + options.prefix + "()) != 0) { printf(\"network " +
                  std::to_string(i) + " " + made.focus + ": %d\\n\", result); ++failures; }\n";
    if (++in_unit == kInOneUnit || i + 1 == networks) {
      ASSERT_EQ(harness.CompileAndRun(unit), 0) << "networks up to " << i;
      unit = {};
      in_unit = 0;
    }
  }
  if (in_unit > 0) {
    EXPECT_EQ(harness.CompileAndRun(unit), 0);
  }
  if (only != nullptr) return;
  for (const auto& [type, tally] : tallies) {
    EXPECT_GT(tally.emitted, 0) << type << " was refused " << tally.refused << " times";
    if (std::getenv("NEAP_EMIT_VERBOSE") != nullptr) {
      printf("%-24s emitted %4d refused %4d\n", type.c_str(), tally.emitted, tally.refused);
    }
  }
  if (std::getenv("NEAP_EMIT_VERBOSE") != nullptr) {
    for (const auto& [message, count] : refusals) printf("%4d %s\n", count, message.c_str());
  }
}

}  // namespace
}  // namespace neap::emit
