// SPDX-License-Identifier: Apache-2.0
//
// The file that a plan is delivered in.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/formats/formats.h"

namespace neap::deliver {

// `source` with its operators in the order of `compiled` and, where that has offsets, with that
// offline memory plan, as the bytes of a file. The bytes have been read back: they have exactly
// those operators in that order, and a plan in which no live tensors share a byte. `source` is the
// planned model (Delivery::Planned()), `options` those that it was read with; `path` is the file's
// future path ("-": unknown). May add a line for the user to `notes`. O(file).
Result<std::shared_ptr<const std::vector<std::byte>>> WrittenModel(
    const formats::SourceModel& source, const compile::Compiled& compiled, const std::string& path,
    const formats::LoadOptions& options, std::vector<std::string>* notes);

}  // namespace neap::deliver
