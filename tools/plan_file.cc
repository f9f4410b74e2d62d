// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_file.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "neap/io/file.h"
#include "neap/plan/plan_json.h"

namespace neap::tools {

Result<plan::Plan> LoadPlan(const std::string& path) {
  NEAP_TRY(const auto bytes, io::ReadFile(path));
  auto plan =
      plan::FromJson(std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
  if (plan) return plan;
  Diagnostic diagnostic = std::move(plan).error();
  if (diagnostic.file.empty()) diagnostic.file = path;
  return Fail(std::move(diagnostic));
}

std::string HashMismatch(const plan::Plan& plan, const formats::SourceModel& source) {
  if (plan.written_sha256 == source.sha256) {
    return fmt::format(
        "this is the model written with the plan; the plan describes the given model, '{}' with "
        "sha256 {}",
        plan.model, plan.model_sha256);
  }
  return fmt::format("the plan is for another model: found sha256 {} in the plan, {} in the file",
                     plan.model_sha256, source.sha256);
}

}  // namespace neap::tools
