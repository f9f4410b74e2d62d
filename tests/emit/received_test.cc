// SPDX-License-Identifier: Apache-2.0
//
// Random networks for received plans: compiled once, then executed with the binary plan of each,
// and with damaged ones. A device may refuse a damaged plan; one that it accepts computes the same
// bytes.
#include <gtest/gtest.h>

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
#include "neap/ops/neap_rt.h"
#include "testing/streams.h"
#include "tests/emit/unit.h"

namespace neap::emit {
namespace {

using graph::SubgraphId;

constexpr const char* kHelpers = R"(
static unsigned long accepted, refused;
static void seal(unsigned char *plan, unsigned bytes) {
  uint32_t crc = 0xffffffffU;
  for (unsigned i = 0; i + 4 < bytes; ++i) {
    crc ^= plan[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1U ? 0xedb88320U : 0U);
  }
  crc = ~crc;
  for (int i = 0; i < 4; ++i) plan[bytes - 4 + (unsigned)i] = (unsigned char)(crc >> 8 * i);
}
static unsigned next(unsigned *state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }
)";

void AddArray(const std::string& name, std::span<const std::byte> bytes, std::string* text) {
  *text += "static const unsigned char " + name + "[] = {";
  for (const std::byte byte : bytes) *text += std::to_string(std::to_integer<int>(byte)) + ",";
  *text += "};\n";
}

// The C function check_<name>; "": the executor cannot run the network.
std::string CheckText(const std::string& name, const graph::Graph& graph, const BinaryPlan& plan) {
  const graph::Subgraph& main = graph.subgraphs[SubgraphId(0)];
  std::string upper = name;
  upper[0] = 'N';
  std::string text;
  AddArray(name + "_plan", std::as_bytes(std::span(plan.bytes)), &text);
  const auto inputs = execute::RandomInputs(main, 7, 1 << 28);
  if (!inputs) return "";
  execute::EvaluateOptions options;
  options.kernels = execute::Kernels::kTflm;
  const auto outputs = execute::Evaluate(graph, SubgraphId(0), *inputs, options);
  if (!outputs) return "";
  std::string given;
  std::string compared;
  for (std::size_t i = 0; i < inputs->size(); ++i) {
    const std::string in = name + "_in" + std::to_string(i);
    AddArray(in, (*inputs)[i].bytes, &text);
    given += (i == 0 ? "" : ", ") + in;
  }
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    const std::string out = name + "_out" + std::to_string(i);
    AddArray(out, (*outputs)[i].bytes, &text);
    compared +=
        " || memcmp(outputs[" + std::to_string(i) + "], " + out + ", sizeof(" + out + ")) != 0";
  }
  const std::string arena = std::to_string(plan.arena_bytes);
  return text + "static int check_" + name + "(void) {\n  const void *const inputs[] = {" + given +
         "};\n  const void *outputs[" + upper + "_OUTPUTS];\n  const unsigned bytes = sizeof(" +
         name + "_plan);\n  unsigned char *arena = guarded(" + arena +
         "), *plan = (unsigned char *)malloc(bytes);\n"
         "  void *work = guarded((" +
         upper + "_WORK_BYTES + 7) / 8 * 8);\n  unsigned state = 1;\n  int failed = 0;\n" +
         "  memset(arena, 0xA5, " + arena + ");\n  memcpy(plan, " + name + "_plan, bytes);\n" +
         "  if (" + name + "_apply(plan, bytes, arena, " + arena +
         ", work, inputs, outputs) != 0) failed = 1;\n  else if (0" + compared +
         ") failed = 2;\n  if (" + name + "_check(plan, bytes, " + arena +
         " - 1, work) != " + upper + "_PLAN_MEMORY) failed = 3;\n" +
         "  for (unsigned cut = 0; cut < bytes; ++cut) if (" + name + "_check(plan, cut, " + arena +
         ", work) == 0) failed = 4;\n" +
         "  for (int round = 0; round < 400 && failed == 0; ++round) {\n"
         "    memcpy(plan, " +
         name +
         "_plan, bytes);\n"
         "    for (unsigned change = next(&state) % 3 + 1; change > 0; --change) {\n"
         "      unsigned char *at = plan + 52 + next(&state) % (bytes - 56);\n"
         "      if (next(&state) % 2) *at = (unsigned char)next(&state);\n"
         "      else *at = (unsigned char)(*at + next(&state) % 9 - 4);\n    }\n"
         "    if (next(&state) % 4) seal(plan, bytes);\n    memset(arena, (int)(state >> 24), " +
         arena + ");\n    if (" + name + "_apply(plan, bytes, arena, " + arena +
         ", work, inputs, outputs) != 0) { ++refused; continue; }\n    ++accepted;\n    if (0" +
         compared + ") failed = 5;\n  }\n  free(plan);\n  return failed;\n}\n";
}

Result<deliver::Delivery> PlanFor(const formats::SourceModel& source, int number) {
  deliver::Request request;
  request.compile.runtime = plan::Runtime::kNeap;
  request.compile.kernels = ops::kNeapRt;
  request.compile.limits.max_states = 20'000;
  request.compile.limits.threads = 1;
  request.compile.moves =
      number % 3 == 0 ? compile::MoveStrategy::kBest : compile::MoveStrategy::kNone;
  request.rewriting.any = false;
  request.rewriting.sums_in_place = false;
  request.streaming.use = deliver::Use::kNever;
  request.load.weights = true;
  return deliver::Deliver(source, request);
}

TEST(ReceivedPlans, ComputeTheBytesOfTheExecutorOrAreRefused) {
  if (!test::HasCompiler()) GTEST_SKIP() << "there is no C compiler";
  const int networks = test::FromEnvironment("NEAP_EMIT_NETWORKS", 40);
  const test::fs::path folder =
      test::fs::path(::testing::TempDir()) / ("received_" + std::to_string(getpid()));
  std::string text = std::string(test::kPrelude) + kHelpers;
  std::string calls;
  int planned = 0;
  for (int i = 0; i < networks; ++i) {
    Random random(static_cast<std::uint64_t>(i) + 500);
    const graph::Graph graph =
        stream::test::RandomNetwork(&random, static_cast<int>(random.Between(1, 12)));
    const auto bytes = formats::ExportTflite(graph, "random");
    ASSERT_TRUE(bytes.has_value()) << bytes.error().ToString();
    formats::LoadOptions load;
    load.weights = true;
    const auto source = formats::LoadBytes(std::make_shared<const std::vector<std::byte>>(*bytes),
                                           "random.tflite", load);
    ASSERT_TRUE(source.has_value());
    const auto delivery = PlanFor(*source, i);
    ASSERT_TRUE(delivery.has_value()) << delivery.error().ToString();
    const plan::Plan& plan = delivery->compiled.plan;
    ASSERT_TRUE(check::CheckPlan(source->graph, plan).empty()) << i;
    Options options;
    constexpr KernelSet kSets[] = {KernelSet::kPortable, KernelSet::kDsp, KernelSet::kMve};
    options.kernels = kSets[i % 3];
    options.prefix = "n" + std::to_string(i);
    const auto binary = ToBinary(source->graph, plan, options.kernels);
    ASSERT_TRUE(binary.has_value()) << i << ": " << binary.error().ToString();
    EXPECT_GE(binary->arena_bytes, plan.entries[0].arena_bytes);
    const auto emitted = EmitNetwork(source->graph, {"0", "random", plan.model_sha256}, options);
    ASSERT_TRUE(emitted.has_value()) << i << ": " << emitted.error().ToString();
    const std::string check = CheckText(options.prefix, source->graph, *binary);
    ASSERT_FALSE(check.empty()) << i;
    for (const File& file : emitted->files) {
      test::fs::create_directories((folder / file.name).parent_path());
      std::ofstream(folder / file.name, std::ios::binary) << file.bytes;
    }
    text += "#include \"" + options.prefix + ".c\"\n" + check;
    calls += "  if ((result = check_" + options.prefix + "()) != 0) { printf(\"network " +
             std::to_string(i) + ": %d\\n\", result); ++failures; }\n";
    ++planned;
  }
  EXPECT_EQ(planned, networks);
  std::ofstream(folder / "unit.c")
      << text << "int main(void) {\n  int failures = 0, result;\n  (void)feed_row;\n"
      << calls
      << "  printf(\"%lu accepted, %lu refused\\n\", accepted, refused);\n"
         "  return failures == 0 && accepted > 0 && refused > accepted ? 0 : 1;\n}\n";
  const std::string compile =
      "cd '" + folder.string() +
      "' && cc -std=c99 -O1 -Wall -Wextra -Wpedantic -Werror -fsanitize=address,undefined "
      "-fno-sanitize-recover=all -I. unit.c neap_rt/*.c -o unit && ./unit";
  EXPECT_EQ(std::system(compile.c_str()), 0);
  if (!HasFailure()) test::fs::remove_all(folder);
}

}  // namespace
}  // namespace neap::emit
