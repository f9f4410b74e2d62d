// SPDX-License-Identifier: Apache-2.0
//
// The most bytes of stack that a run uses, from the frames that a compiler reports. Private to
// neap/emit.
#pragma once

#include <cstdint>
#include <string>

#include "neap/emit/program.h"

namespace neap::emit {

std::int64_t StackBytes(const Program& program);
// "#define VWW_STACK_BYTES 352" with its source.
std::string StackMacros(const Program& program, const std::string& upper);

}  // namespace neap::emit
