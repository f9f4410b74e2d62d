// SPDX-License-Identifier: Apache-2.0
//
// The placement instances of others, where NEAP_SHARED (or ../shared) has them.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neap/io/file.h"
#include "neap/io/gzip.h"
#include "neap/solve/arena/csv.h"

namespace neap::tables {

inline std::filesystem::path PlacementFolder(const std::string& name) {
  const char* shared = std::getenv("NEAP_SHARED");
  return std::filesystem::path(shared != nullptr ? shared : "../shared") / "buffers" / name;
}

// .csv and .csv.gz, by name.
inline std::vector<std::filesystem::path> PlacementFiles(const std::string& name) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(PlacementFolder(name), error)) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with(".csv") || file.ends_with(".csv.gz")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::optional<arena::Problem> ReadPlacement(const std::filesystem::path& path) {
  const auto bytes = io::ReadFile(path.string());
  if (!bytes) return std::nullopt;
  std::vector<std::byte> content(**bytes);
  if (io::IsGzip(content)) {
    auto expanded = io::ExpandGzip(content, std::int64_t{1} << 30);
    if (!expanded) return std::nullopt;
    content = std::move(*expanded);
  }
  auto csv = arena::ParseCsv(
      std::string_view(reinterpret_cast<const char*>(content.data()), content.size()));
  if (!csv) return std::nullopt;
  return std::move(csv->problem);
}

}  // namespace neap::tables
