// SPDX-License-Identifier: Apache-2.0
#include "tools/weights_file.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "neap/io/file.h"

namespace neap::tools {
namespace {

// The widest network of all has a quarter of it.
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{256} << 20;

}  // namespace

Result<std::shared_ptr<const learn::Model>> LoadWeights(const std::string& path, learn::Task task) {
  if (path.empty()) return std::shared_ptr<const learn::Model>();
  const auto refuse = [&](Diagnostic diagnostic) {
    diagnostic.file = path;
    return Fail(std::move(diagnostic));
  };
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > kMaxFileBytes) {
    return refuse(BadInput("not a usable weights file: it has " + std::to_string(size) +
                           " bytes, expected at most " + std::to_string(kMaxFileBytes)));
  }
  NEAP_TRY(const auto bytes, io::ReadFile(path));
  auto model = learn::ParseModel(*bytes);
  if (!model) return refuse(std::move(model).error());
  if (model->config.task != task) {
    return refuse(BadInput(std::string("is a network for ") +
                           (task == learn::Task::kPeak ? "stages, expected one for peak memory"
                                                       : "peak memory, expected one for stages")));
  }
  return std::make_shared<const learn::Model>(std::move(*model));
}

}  // namespace neap::tools
