// SPDX-License-Identifier: Apache-2.0
//
// The program `neap`.
#include <string>
#include <vector>

#include "tools/program.h"

int main(int argc, char** argv) {
  return neap::tools::RunProgram(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
