// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace neap::tools {

// The command line `neap ARGS`: runs a verb, prints, and returns the exit code. Throws nothing. A
// verb may replace the handler of SIGINT: for a process that does nothing else.
int RunProgram(std::vector<std::string> args);

}  // namespace neap::tools
