// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/formats/formats.h"

namespace neap::tools {

// `source` with its operators in `order` and, where `offsets` is not empty, with that offline
// memory plan, as the bytes of a file that has been read back and found to hold exactly those
// operators in that order and a plan in which nothing live shares a byte. `path` is where it is
// going to be. A line that the user should know may be added to `notes`.
Result<std::shared_ptr<const std::vector<std::byte>>> MakeOrderedModel(
    const formats::SourceModel& source, const compile::Compiled& compiled, const std::string& path,
    const formats::LoadOptions& options, std::vector<std::string>* notes);

}  // namespace neap::tools
