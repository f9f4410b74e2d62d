// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace neap::train {

// libtorch's results for the cases of neap/learn/reference_cases.h, a line each: its name and the
// logarithms of the probabilities. The test of neap/learn compares with this without libtorch.
std::string LibtorchVectors();

}  // namespace neap::train
