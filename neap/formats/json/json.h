// SPDX-License-Identifier: Apache-2.0
//
// Graph JSON, Neap's own input for people who search architectures; schemas/graph.schema.json.
// Private to neap/formats.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "neap/base/result.h"
#include "neap/graph/graph.h"

namespace neap::formats::json {

// {"tensors":[{"name","bytes"}],"inputs":[..],"outputs":[..],
//  "ops":[{"name","inputs":[..],"outputs":[..],"scratch_bytes":0}]}
// Lists refer to tensors by index or by name. A tensor of n bytes becomes uint8[n].
Result<graph::Graph> Read(std::span<const std::byte> bytes, const std::string& path);

}  // namespace neap::formats::json
