// SPDX-License-Identifier: Apache-2.0
//
// A parsed model back as bytes. Private to neap/formats/onnx.
#pragma once

#include <cstddef>
#include <vector>

#include "neap/base/result.h"
#include "neap/formats/onnx/model.h"

namespace neap::formats::onnx {

// Deterministic; unknown fields survive. Fails with kBadInput above 2 GiB.
Result<std::vector<std::byte>> Serialise(const pb::ModelProto& model);

}  // namespace neap::formats::onnx
