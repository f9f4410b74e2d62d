// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "tools/common.h"
#include "tools/pictures.h"

namespace neap::tools {

// The command line of `neap plan`. How the model is planned is in `model.words`.
struct PlanOptions {
  ModelOptions model;
  OutputOptions output;
  std::string model_out;  // -o; "": none
  std::string plan_out;   // --plan; "": none
  std::string c_out;      // --emit-c; "": none
  PictureOptions pictures;
  std::string scratch;  // a file; "": none
  bool require_optimal = false;
  bool force = false;

  // Standard output carries a file or JSON, so that the text has to go to standard error.
  bool StdoutIsTaken() const {
    return model_out == "-" || plan_out == "-" || c_out == "-" || pictures.TakesStdout();
  }
};

// nullopt: go on with *options; else the exit code. `short_form`: `neap IN OUT`, where the second
// word is the model to write.
std::optional<int> ParsePlanOptions(std::vector<std::string> args, bool short_form,
                                    PlanOptions* options);

// Everything that can be known to be wrong before the input is read; fails with kUsage, and with
// kIo for outputs that exist (without --force) or whose folder does not.
Status CheckPlanOptions(const PlanOptions& options);

}  // namespace neap::tools
