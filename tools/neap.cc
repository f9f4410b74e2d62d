// SPDX-License-Identifier: Apache-2.0
//
// The program `neap`: finds the verb and hands over.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "neap/base/check.h"
#include "neap/base/version.h"
#include "tools/common.h"

namespace neap::tools {
namespace {

constexpr std::string_view kHelp =
    "Neap plans the memory of trained neural networks: the execution order with the least peak,\n"
    "a proof of it, addresses for all tensors, and the same model written back.\n"
    "\n"
    "Usage:\n"
    "  neap IN OUT [OPTIONS]     short for: neap plan IN -o OUT\n"
    "  neap VERB ... [OPTIONS]\n"
    "\n"
    "Verbs:\n"
    "  plan      find the best order, place the tensors, write model and plan\n"
    "  inspect   show live memory operator by operator, and what makes the peak\n"
    "  check     verify a plan against its model, independently of the planner\n"
    "  run       execute a model, and a plan of it at its addresses\n"
    "  zoo       make networks from their published definitions\n"
    "  batch     plan many graphs, a line in and a line out for each\n"
    "  place     place buffers with lifetimes, from a CSV file\n"
    "  pareto    memory against time: all ways to run the model in tiles\n"
    "  bench     run a suite of measurements, such as the tables of a paper\n"
    "  pipeline  assign operators to a pipeline of accelerators\n"
    "  traffic   off-chip bytes when activations live in a small on-chip memory\n"
    "\n"
    "  -h, --help   this help; 'neap VERB --help' has options and examples\n"
    "  --version    the version\n"
    "\n"
    "Examples:\n"
    "  neap model.tflite small.tflite\n"
    "  neap inspect model.onnx --dim batch=1\n"
    "  neap plan model.tflite --budget 256KiB --json\n"
    "\n"
    "Models are .tflite, .onnx or graph JSON. Results go to stdout, messages to stderr.\n";

int Run(std::vector<std::string> args) {
  if (args.empty()) {
    fmt::print(stderr, "{}", kHelp);
    return kUsage;
  }
  if (std::find(args.begin(), args.end(), "") != args.end()) {
    fmt::print(stderr, "neap: an argument is empty (an unset variable?); see 'neap --help'\n");
    return kUsage;
  }
  const std::string first = args.front();
  if (first == "-h" || first == "--help") return Print(stdout, kHelp) ? kDone : kFailed;
  if (first == "--version") {
    return Print(stdout, fmt::format("neap {}\n", Version())) ? kDone : kFailed;
  }
  std::vector<std::string> rest(args.begin() + 1, args.end());
  if (first == "plan") return PlanCommand(std::move(rest), false);
  if (first == "inspect") return InspectCommand(std::move(rest));
  if (first == "check") return CheckCommand(std::move(rest));
  if (first == "zoo") return ZooCommand(std::move(rest));
  if (first == "run") return RunCommand(std::move(rest));
  if (first == "batch") return BatchCommand(std::move(rest));
  if (first == "place") return PlaceCommand(std::move(rest));
  if (first == "bench") return BenchCommand(std::move(rest));
  if (first == "pipeline") return PipelineCommand(std::move(rest));
  if (first == "traffic") return TrafficCommand(std::move(rest));
  if (first == "pareto") return ParetoCommand(std::move(rest));
  // `neap IN OUT`, unless the word looks like a verb.
  std::error_code error;
  const bool looks_like_verb = !first.empty() && first.front() != '-' &&
                               first.find_first_of("./") == std::string::npos &&
                               !std::filesystem::exists(first, error);
  if (!looks_like_verb) return PlanCommand(std::move(args), true);
  fmt::print(stderr, "neap: '{}' is neither a verb nor a file (see 'neap --help')\n",
             report::Printable(first));
  return kUsage;
}

}  // namespace
}  // namespace neap::tools

int main(int argc, char** argv) {
  try {
    return neap::tools::Run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const neap::InternalError& error) {
    fmt::print(stderr, "neap: internal error, please report it with the model: {}\n", error.what());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "neap: out of memory (--max-memory limits the search)\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "neap: internal error, please report it with the model: {}\n", error.what());
  }
  return neap::tools::kFailed;
}
