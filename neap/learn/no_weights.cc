// SPDX-License-Identifier: Apache-2.0
//
// In place of the weights in builds for web pages.
#include "neap/learn/builtin_weights.h"

namespace neap::learn {

std::span<const std::byte> BuiltinWeights(Task /*task*/) { return {}; }

}  // namespace neap::learn
