// SPDX-License-Identifier: Apache-2.0
//
// Selects the verb and runs it.
#include "tools/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "neap/base/check.h"
#include "neap/base/nearest.h"
#include "neap/base/version.h"
#include "neap/serve/serve.h"
#include "tools/common.h"

namespace neap::tools {
namespace {

// In the order of the help.
struct Verb {
  std::string_view name;
  std::string_view summary;
  int (*run)(std::vector<std::string> args);  // `args`: the words after it; the exit code
};
constexpr Verb kVerbs[] = {
    {"explain", "explain why a model needs its memory and which command lowers it", ExplainCommand},
    {"plan", "find the order of minimum peak, place the tensors, write model and plan",
     [](std::vector<std::string> args) { return PlanCommand(std::move(args), false); }},
    {"boards", "show on which boards a model fits, and what is missing on the others",
     BoardsCommand},
    {"check-budget", "compare models with a board's memory and a baseline, for scripts and CI",
     CheckBudgetCommand},
    {"inspect", "show the live bytes while each operator runs, and the tensors at the peak",
     InspectCommand},
    {"check", "verify a plan against its model, independently of the planner", CheckCommand},
    {"run", "execute a model or a plan, and compare their outputs", RunCommand},
    {"emit", "write C code that runs a model of 8-bit operators in its planned arena", EmitCommand},
    {"zoo", "write networks from their published definitions", ZooCommand},
    {"batch", "plan many graphs, one line each", BatchCommand},
    {"place", "place buffers with lifetimes, from a CSV file", PlaceCommand},
    {"pareto", "memory against time: plans with tiles or streams that no other plan beats",
     ParetoCommand},
    {"bench", "run a suite of measurements, such as the tables of a paper", BenchCommand},
    {"pipeline", "assign operators to a pipeline of accelerators", PipelineCommand},
    {"units", "schedule operators on several units: minimum peak or minimum makespan",
     UnitsCommand},
    {"serve", "plan models for others over HTTP, each in a confined process", ServeCommand},
    {"traffic", "off-chip traffic with a small on-chip memory for activations", TrafficCommand},
};

std::string Help() {
  std::string help =
      "Neap plans the memory of trained neural networks: an execution order of minimum peak with\n"
      "its proof, and addresses for all tensors. It writes the model in that order.\n"
      "\n"
      "Usage:\n"
      "  neap IN OUT [OPTIONS]     short for: neap plan IN -o OUT\n"
      "  neap VERB ... [OPTIONS]\n"
      "\n"
      "Verbs:\n";
  for (const Verb& verb : kVerbs) help += fmt::format("  {:<12} {}\n", verb.name, verb.summary);
  return help +
         "\n"
         "  -h, --help   this help; 'neap VERB --help' or 'neap help VERB': options and examples\n"
         "  --version    the version\n"
         "\n"
         "Examples:\n"
         "  neap explain model.tflite\n"
         "  neap model.tflite small.tflite\n"
         "  neap inspect model.onnx --dim batch=1\n"
         "  neap plan model.tflite --budget 256KiB --json\n"
         "\n"
         "Models are .tflite, .onnx or graph JSON. Results go to stdout, messages to stderr.\n";
}

int NoVerb(const std::string& word) {
  std::vector<std::string_view> names = {"help"};
  for (const Verb& verb : kVerbs) names.push_back(verb.name);
  const std::string near = DidYouMean(word, names);
  fmt::print(stderr, "neap: '{}' is neither a verb nor a file ({}see 'neap --help')\n",
             report::Printable(word), near.empty() ? "" : near + " ");
  return kUsage;
}

int Run(std::vector<std::string> args) {
  // `neap help`, `neap help VERB`.
  if (!args.empty() && args.front() == "help") {
    args.erase(args.begin());
    args.resize(std::min<std::size_t>(args.size(), 1));
    args.emplace_back("--help");
  }
  if (args.empty()) {
    fmt::print(stderr, "{}", Help());
    return kUsage;
  }
  if (std::find(args.begin(), args.end(), "") != args.end()) {
    fmt::print(stderr, "neap: an argument is empty (an unset variable?); see 'neap --help'\n");
    return kUsage;
  }
  const std::string first = args.front();
  if (first == "-h" || first == "--help") return Print(stdout, Help()) ? kDone : kFailed;
  if (first == "--version") {
    return Print(stdout, fmt::format("neap {}\n", Version())) ? kDone : kFailed;
  }
  std::vector<std::string> rest(args.begin() + 1, args.end());
  if (first == kDescribe) {
    std::string names;
    for (const Verb& verb : kVerbs) names += fmt::format("{}\t{}\n", verb.name, verb.summary);
    return Print(stdout, names) ? kDone : kFailed;
  }
  if (first == serve::kJobVerb && rest.empty()) return ServeJobCommand();
  for (const Verb& verb : kVerbs) {
    if (first == verb.name) return verb.run(std::move(rest));
  }
  // `neap IN OUT`, unless the word looks like a verb.
  std::error_code error;
  const bool looks_like_verb = !first.empty() && first.front() != '-' &&
                               first.find_first_of("./") == std::string::npos &&
                               !std::filesystem::exists(first, error);
  if (!looks_like_verb) return PlanCommand(std::move(args), true);
  return NoVerb(first);
}

}  // namespace

int RunProgram(std::vector<std::string> args) {
  try {
    return Run(std::move(args));
  } catch (const InternalError& error) {
    fmt::print(stderr, "neap: internal error, please report it with the model: {}\n", error.what());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "neap: out of memory (--max-memory limits the search)\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "neap: internal error, please report it with the model: {}\n", error.what());
  }
  return kFailed;
}

}  // namespace neap::tools
