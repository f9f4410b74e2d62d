// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "neap/base/result.h"
#include "neap/learn/model.h"

namespace neap::tools {

// Reads --weights FILE: a network that neap-train has made for the task. "": null, which means the
// one that comes with the program. Fails, naming the file, for anything else than such a file, and
// before it is read when it is larger than any of them.
Result<std::shared_ptr<const learn::Model>> LoadWeights(const std::string& path, learn::Task task);

}  // namespace neap::tools
