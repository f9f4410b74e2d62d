// SPDX-License-Identifier: Apache-2.0
//
// Networks emitted as C, many in one translation unit, compiled with AddressSanitizer and UBSan and
// run. Each arena is exactly its size between pages without access and is poisoned before a run.
// Outputs are compared with those of the executor, after runs as a whole and in steps. Slow memory
// is without access while a network runs, apart from copies, whose bytes are counted: these are
// done at once in steps, and as late as they may be in runs as a whole.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "neap/emit/emit.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/execute/run.h"

namespace neap::emit::test {

namespace fs = std::filesystem;

inline bool HasCompiler() { return std::system("cc --version > /dev/null 2>&1") == 0; }

// A number of an environment variable, for long runs.
inline int FromEnvironment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

constexpr const char* kPrelude = R"(#define _DEFAULT_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
struct feed { const unsigned char *at[2]; size_t bytes[2]; };
static int feed_input_row(void *user, int input, int row, int8_t *dst) {
  struct feed *feed = (struct feed *)user;
  memcpy(dst, feed->at[input] + (size_t)row * feed->bytes[input], feed->bytes[input]);
  return 0;
}
static int feed_row(void *user, int row, int8_t *dst) { return feed_input_row(user, 0, row, dst); }
static unsigned char *guarded(size_t bytes) {
  const size_t page = 65536, size = (bytes + page - 1) / page * page;
  unsigned char *base = (unsigned char *)mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED || mprotect(base + page, size, PROT_READ | PROT_WRITE) != 0) exit(3);
  return base + page + (size - bytes) / 4 * 4;
}
)";

// What a network is compared with.
struct Expected {
  const graph::Graph& graph;
  execute::Kernels kernels = execute::Kernels::kTflm;
  int seeds = 2;
  // Of a network with variables: a streamed plan by which the executor runs the seeds one after the
  // other, each from the variables after the run before. nullptr: each is a sequence of its own.
  const plan::EntryPlan* in_turn = nullptr;
};

// Writes the C function check_<name>, which runs a network on all seeds.
class CheckWriter {
 public:
  CheckWriter(std::string name, const Expected& expected, const plan::Plan& plan)
      : name_(std::move(name)),
        main_(expected.graph.subgraphs[graph::SubgraphId(0)]),
        expected_(expected) {
    for (const char c : name_) upper_ += static_cast<char>(std::toupper(c));
    for (const graph::Tensor& tensor : main_.tensors) {
      has_variables_ = has_variables_ || tensor.variable;
    }
    if (plan.entries[0].stream) {
      input_ = plan.entries[0].stream->input;
      slow_ = plan.entries[0].stream->slow;
    }
  }

  // "": the executor cannot run the network.
  std::string Text() {
    std::string in_steps;
    for (int seed = 0; seed < expected_.seeds; ++seed) {
      if (!AddSeed(seed, &in_steps)) return "";
    }
    body_ += in_steps;
    return arrays_ + "static int check_" + name_ +
           "(void) {\n  int result;\n  struct feed feed = {{0, 0}, {0, 0}};\n" +
           "  unsigned char *arena = guarded(" + upper_ +
           "_ARENA_BYTES);\n  (void)feed;\n  (void)feed_row;\n" +
           (slow_ ? "  (void)begin_run;\n  (void)end_run;\n  unsigned char *slow = make_slow(" +
                        upper_ + "_SLOW_BYTES, arena, " + upper_ + "_ARENA_BYTES);\n"
                  : "") +
           (slow_ && slow_->weight_bytes
                ? "  make_slow_weights(" + name_ + "_weights, " + name_ + "_weights_end);\n"
                : "") +
           body_ + "  return 0;\n}\n";
  }

 private:
  static std::string Port(const char* what, std::size_t count, std::size_t index) {
    return count == 1 ? what : std::string(what) + "_" + std::to_string(index);
  }

  void AddArray(const std::string& name, const std::vector<std::byte>& bytes) {
    arrays_ += "static const unsigned char " + name + "[] = {";
    for (const std::byte byte : bytes) arrays_ += std::to_string(std::to_integer<int>(byte)) + ",";
    arrays_ += "};\n";
  }

  Result<std::vector<execute::Value>> OutputsOf(const std::vector<execute::Value>& inputs) {
    if (expected_.in_turn == nullptr) {
      execute::EvaluateOptions options;
      options.kernels = expected_.kernels;
      return execute::Evaluate(expected_.graph, graph::SubgraphId(0), inputs, options);
    }
    execute::RunOptions options;
    options.kernels = expected_.kernels;
    options.variables = variables_;
    NEAP_TRY(auto result, execute::Run(expected_.graph, *expected_.in_turn, inputs, options));
    EXPECT_TRUE(result.violations.empty());
    variables_ = std::move(result.variables);
    return std::move(result.outputs);
  }

  bool AddSeed(int seed, std::string* in_steps) {
    const auto inputs = execute::RandomInputs(main_, static_cast<std::uint64_t>(seed), 1 << 28);
    if (!inputs) return false;
    const auto outputs = OutputsOf(*inputs);
    if (!outputs) return false;
    const std::string suffix = "_" + std::to_string(seed) + "_";
    for (std::size_t i = 0; i < inputs->size(); ++i) {
      AddArray(name_ + "_in" + suffix + std::to_string(i), (*inputs)[i].bytes);
    }
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      AddArray(name_ + "_out" + suffix + std::to_string(i), (*outputs)[i].bytes);
    }
    const bool resets = seed == 0 || expected_.in_turn == nullptr;
    for (const bool steps : {false, true}) {
      std::string* const text = steps && expected_.in_turn != nullptr ? in_steps : &body_;
      std::swap(*text, body_);
      AddRun(suffix, inputs->size(), outputs->size(), steps, resets);
      std::swap(*text, body_);
    }
    return true;
  }

  void AddRun(const std::string& suffix, std::size_t inputs, std::size_t outputs, bool steps,
              bool resets) {
    const std::string memories = slow_ ? "arena, slow" : "arena";
    if (resets) {
      body_ += std::string("  memset(arena, ") + (steps ? "0x5A" : "0xA5") + ", " + upper_ +
               "_ARENA_BYTES);\n";
      if (has_variables_) body_ += "  " + name_ + "_reset(" + memories + ");\n";
    }
    if (slow_) {
      body_ += "  memset(slow, 0x96, " + upper_ + "_SLOW_BYTES);\n";
    }
    std::string arguments = memories;
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::string in = name_ + "_in" + suffix + std::to_string(i);
      if (input_ == plan::StreamInput::kExternal) {
        arguments += ", (const void *)" + in;
      } else if (input_ == plan::StreamInput::kRows) {
        const graph::Tensor& tensor = main_.tensors[main_.inputs[i]];
        const plan::StreamImage image = plan::ImageOf(tensor);
        const std::string number = std::to_string(i);
        body_ += "  feed.at[" + number + "] = " + in + "; feed.bytes[" + number + "] = sizeof(" +
                 in + ") / " + std::to_string(image.height) + ";\n";
        if (i > 0) continue;
        arguments +=
            ", (" + name_ + "_row_fn)" + (inputs > 1 ? "feed_input_row" : "feed_row") + ", &feed";
      } else {
        body_ += "  memcpy(" + name_ + "_" + Port("input", inputs, i) + Home() + ", " + in +
                 ", sizeof(" + in + "));\n";
      }
    }
    const std::string rows = input_ == plan::StreamInput::kRows ? "_rows(" : "(";
    if (slow_) {
      body_ += "#ifdef " + upper_ + "_COUNTED\n  begin_run(" + (steps ? "0" : "1") + ");\n#endif\n";
    }
    if (steps) {
      body_ += "  " + name_ + "_begin(" + memories + ");\n  do result = " + name_ + "_step" + rows +
               arguments + "); while (result == " + upper_ + "_MORE);\n";
    } else {
      body_ += "  result = " + name_ + "_run" + rows + arguments + ");\n";
    }
    body_ += "  if (result != 0) return 1;\n";
    if (slow_) {
      body_ += "#ifdef " + upper_ + "_COUNTED\n  if (!end_run(" +
               std::to_string(slow_->read_bytes) + ", " + std::to_string(slow_->written_bytes) +
               ")) return 4;\n  if (slow_memory.read_weights != " +
               std::to_string(slow_->weight_bytes.value_or(0)) + ") return 5;\n#endif\n";
    }
    for (std::size_t i = 0; i < outputs; ++i) {
      const std::string out = name_ + "_out" + suffix + std::to_string(i);
      body_ += "  if (memcmp(" + name_ + "_" + Port("output", outputs, i) + Home() + ", " + out +
               ", sizeof(" + out + ")) != 0) return 2;\n";
    }
  }

  // Of inputs and outputs.
  const char* Home() const { return slow_ ? "(slow)" : "(arena)"; }

  std::string name_;
  std::string upper_;
  const graph::Subgraph& main_;
  const Expected& expected_;
  plan::StreamInput input_ = plan::StreamInput::kResident;
  std::optional<plan::SlowMemory> slow_;
  bool has_variables_ = false;
  std::map<graph::TensorId, std::vector<std::byte>> variables_;  // after the last run
  std::string arrays_;
  std::string body_;
};

class Unit {
 public:
  // Networks are compiled and run, `max_networks` together, when so many exist and by Run().
  // The files stay where `keeps_files`.
  Unit(const std::string& name, int max_networks, bool keeps_files = false)
      : folder_(fs::path(::testing::TempDir()) / ("emit_" + name + "_" + std::to_string(getpid()))),
        max_networks_(max_networks),
        keeps_files_(keeps_files) {
    fs::create_directories(folder_);
  }
  ~Unit() {
    if (!keeps_files_) fs::remove_all(folder_);
  }
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  // `graph`: what the plan is about. The program prints `what` where outputs differ. False, without
  // an error: the executor does not run `expected`. Fails with the reason of Emit().
  Result<bool> Add(const graph::Graph& graph, const plan::Plan& plan, const Expected& expected,
                   const std::string& what) {
    Options options;
    // Packed weights in most networks.
    constexpr KernelSet kSets[] = {KernelSet::kPortable, KernelSet::kDsp, KernelSet::kMve};
    options.kernels = kSets[count_ % 3];
    options.small = count_ % 6 == 0;
    options.prefix = "n" + std::to_string(count_++);
    const bool slow = plan.entries[0].stream && plan.entries[0].stream->slow;
    options.binary_weights = slow && plan.entries[0].stream->slow->weight_bytes;
    NEAP_TRY(const Emitted emitted, Emit(graph, plan, options));
    const std::string check = CheckWriter(options.prefix, expected, plan).Text();
    if (check.empty()) return false;
    for (const File& file : emitted.files) Write(file.name, file.bytes);
    // Now and then without functions of the caller.
    if (slow && count_ % 8 > 0) {
      text_ += "#define " + Upper(options.prefix) + "_COUNTED\n#define " + Upper(options.prefix) +
               "_COPY begin_copy\n#define " + Upper(options.prefix) + "_WAIT wait_for_copies\n";
    }
    // Its guard lets a unit include it for each such network.
    if (slow) text_ += "#include \"slow_memory.h\"\n";
    text_ += "#include \"" + options.prefix + ".c\"\n";
    if (options.binary_weights) text_ += "SLOW_WEIGHTS(" + options.prefix + ")\n";
    text_ += check;
    calls_ += "  if ((result = check_" + options.prefix + "()) != 0) { printf(\"" + what +
              ": %d\\n\", result); ++failures; }\n";
    if (++waiting_ >= max_networks_) Run();
    return true;
  }

  // The same network with its tensors apart, with an output as near to an input as it may be, and
  // one byte nearer: the second computes the outputs of the first on random inputs, the third does
  // not for some, unless `nearer` is null.
  Status AddDistance(const graph::Graph& graph, const plan::Plan& apart, const plan::Plan& near,
                     const plan::Plan* nearer, const std::string& what) {
    std::vector<std::string> names;
    for (const plan::Plan* const plan : {&apart, &near, nearer}) {
      if (plan == nullptr) continue;
      Options options;
      options.prefix = "n" + std::to_string(count_++);
      NEAP_TRY(Emitted emitted, Emit(graph, *plan, options));
      for (const File& file : emitted.files) Write(file.name, file.bytes);
      text_ += "#include \"" + options.prefix + ".c\"\n";
      names.push_back(options.prefix);
    }
    const graph::Subgraph& main = graph.subgraphs[graph::SubgraphId(0)];
    text_ += DistanceCheck(names, main.inputs.size(), main.outputs.size());
    calls_ += "  if ((result = check_" + names[0] + "()) != 0) { printf(\"" + what +
              ": %d\\n\", result); ++failures; }\n";
    if (++waiting_ >= max_networks_) Run();
    return {};
  }

  // Compiles and runs the networks that were added since the last time.
  void Run() {
    if (waiting_ == 0) return;
    Write("unit.c", std::string(kPrelude) + text_ +
                        "int main(void) {\n  int failures = 0, result;\n" + calls_ +
                        "  return failures != 0;\n}\n");
    text_.clear();
    calls_.clear();
    waiting_ = 0;
    // The files of the runtime are compiled once, but for those with vectors, of one kind each
    // time. Of tables, more than half of the time would be that of optimizations.
    const std::string vectors = VectorFlags(runs_++);
    for (const auto& file : fs::directory_iterator(folder_ / "neap_rt")) {
      const fs::path& path = file.path();
      const bool has_vectors = path.filename().string().find("_mve_") != std::string::npos;
      if (path.extension() != ".c") continue;
      if (!compiled_.insert(path.string()).second && !has_vectors) continue;
      ASSERT_EQ(Shell(kCompile + "-O1 " + (has_vectors ? vectors : "") + "-c neap_rt/" +
                      path.filename().string() + " -o " + path.stem().string() + ".o"),
                0);
    }
    ASSERT_EQ(Shell(kCompile + "unit.c *.o -lm -o unit"), 0);
    EXPECT_EQ(Shell("./unit"), 0);
    // Tables of networks that have run.
    for (const auto& file : fs::directory_iterator(folder_)) {
      const std::string name = file.path().filename().string();
      const bool table = name[0] == 'n' && (name.ends_with(".c") || name.ends_with(".h"));
      if (table && !keeps_files_ && !::testing::Test::HasFailure()) fs::remove(file.path());
    }
  }

 private:
  static std::string Upper(const std::string& name) { return "N" + name.substr(1); }

  // check_<first name>(): 1: near differs, 2: nearer is equal.
  static std::string DistanceCheck(const std::vector<std::string>& names, std::size_t inputs,
                                   std::size_t outputs) {
    const auto port = [](const char* what, std::size_t count, std::size_t i) {
      return count == 1 ? what : std::string(what) + "_" + std::to_string(i);
    };
    std::string text =
        "static int check_" + names[0] + "(void) {\n  int beyond = 0;\n  (void)feed_row;\n";
    for (const std::string& name : names) {
      text += "  unsigned char *arena_" + name + " = guarded(" + Upper(name) + "_ARENA_BYTES);\n";
    }
    text +=
        "  for (unsigned seed = 1; seed <= 40; ++seed) {\n    unsigned state = seed * "
        "2654435761u;\n";
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::string bytes =
          Upper(names[0]) + "_" + (inputs == 1 ? "INPUT" : "INPUT_" + std::to_string(i)) + "_BYTES";
      text += "    for (int i = 0; i < " + bytes +
              "; ++i) {\n      state = state * 1664525u + 1013904223u;\n";
      for (const std::string& name : names) {
        text += "      ((unsigned char *)" + name + "_" + port("input", inputs, i) + "(arena_" +
                name + "))[i] = (unsigned char)(state >> 24);\n";
      }
      text += "    }\n";
    }
    for (const std::string& name : names) {
      text += "    if (" + name + "_run(arena_" + name + ") != 0) return 3;\n";
    }
    for (std::size_t i = 0; i < outputs; ++i) {
      const std::string bytes = Upper(names[0]) + "_" +
                                (outputs == 1 ? "OUTPUT" : "OUTPUT_" + std::to_string(i)) +
                                "_BYTES";
      for (std::size_t n = 1; n < names.size(); ++n) {
        text += "    if (memcmp(" + names[0] + "_" + port("output", outputs, i) + "(arena_" +
                names[0] + "), " + names[n] + "_" + port("output", outputs, i) + "(arena_" +
                names[n] + "), " + bytes + ") != 0) " + (n == 1 ? "return 1;\n" : "beyond = 1;\n");
      }
    }
    return text + "  }\n  return " + (names.size() == 2 ? "beyond" : "beyond ? 0 : 2") + ";\n}\n";
  }

  // Options of the compiler for one of the kinds of vectors that this processor has, or none.
  static std::string VectorFlags(int number) {
#ifdef __x86_64__
    const bool has_bytes =
        __builtin_cpu_supports("avx512vnni") != 0 && __builtin_cpu_supports("avx512bw") != 0;
    if (number % 3 == 0 && has_bytes) return "-mavx2 -mavx512f -mavx512bw -mavx512vnni ";
    if (number % 3 <= 1 && __builtin_cpu_supports("avx2") != 0) return "-mavx2 ";
#endif
    return "";
  }

  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  int Shell(const std::string& command) const {
    return std::system(("cd '" + folder_.string() + "' && " + command).c_str());
  }

  // With slow_memory.h: run by ctest, or in the root of the repository.
  static std::string Sources() {
    const char* const root = std::getenv("NEAP_SOURCE_DIR");
    return fs::absolute(fs::path(root == nullptr ? "." : root) / "tests/emit").string();
  }

  inline static const std::string kCompile =
      "cc -std=c99 -Wall -Wextra -Wpedantic -Werror -fsanitize=address,undefined "
      "-fno-sanitize-recover=all -I. -I'" +
      Sources() + "' ";

  fs::path folder_;
  int max_networks_;
  bool keeps_files_;
  int count_ = 0;
  int waiting_ = 0;
  int runs_ = 0;
  std::string text_;
  std::string calls_;
  std::set<std::string> compiled_;
};

}  // namespace neap::emit::test
