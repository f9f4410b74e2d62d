// SPDX-License-Identifier: Apache-2.0
//
// The program of the page: the verbs of the command line that the page uses. A worker starts it
// with the model as a file in memory, and reads the files that it has written.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neap/base/version.h"
#include "tools/common.h"

namespace {

using neap::tools::ExitCode;

struct Verb {
  std::string_view name;
  int (*run)(std::vector<std::string> args);
};
constexpr Verb kVerbs[] = {
    {"explain", neap::tools::ExplainCommand},
    {"plan",
     [](std::vector<std::string> args) {
       return neap::tools::PlanCommand(std::move(args), false);
     }},
    {"boards", neap::tools::BoardsCommand},
    {"inspect", neap::tools::InspectCommand},
    {"check", neap::tools::CheckCommand},
    {"emit", neap::tools::EmitCommand},
    {"zoo", neap::tools::ZooCommand},
    {"pareto", neap::tools::ParetoCommand},
};

int Run(std::vector<std::string> args) {
  const std::string name = args.empty() ? "" : args.front();
  if (name == "--version") {
    fmt::print("neap {}\n", neap::Version());
    return neap::tools::kDone;
  }
  for (const Verb& verb : kVerbs) {
    if (name == verb.name) return verb.run({args.begin() + 1, args.end()});
  }
  fmt::print(stderr, "neap: this build has no verb '{}'\n", name);
  return neap::tools::kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "neap: out of memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "neap: internal error, please report it with the model: {}\n", error.what());
  }
  return neap::tools::kFailed;
}
