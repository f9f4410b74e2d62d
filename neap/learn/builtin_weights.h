// SPDX-License-Identifier: Apache-2.0
//
// The bytes of neap/learn/weights/*.neapnet, as the build put them into the library. Private to
// neap/learn.
#pragma once

#include <cstddef>
#include <span>

#include "neap/learn/model.h"

namespace neap::learn {

std::span<const std::byte> BuiltinWeights(Task task);

}  // namespace neap::learn
