// SPDX-License-Identifier: Apache-2.0
#include "lab/train/vectors.h"

#include <fmt/format.h>

#include "lab/train/policy.h"
#include "neap/learn/reference_cases.h"

namespace neap::train {

std::string LibtorchVectors() {
  std::string text;
  for (const learn::VectorCase& given : learn::VectorCases()) {
    Batch batch;
    batch.Add(given.rows, given.order, given.model.config.mask);
    text += given.name;
    for (const float log : Policy(given.model).LogProbabilities(batch)) {
      text += fmt::format(" {:.9g}", log);
    }
    text += "\n";
  }
  return text;
}

}  // namespace neap::train
