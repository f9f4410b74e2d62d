// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/result.h"

namespace neap::io {

// Files larger than this are refused, so that no input can exhaust the machine.
inline constexpr std::int64_t kMaxFileBytes = std::int64_t{8} << 30;

// Refuses a file by its first bytes (at most 4,096) and its size, before the rest is read.
using HeadCheck = std::function<Status(std::span<const std::byte> head, std::int64_t file_bytes)>;

// The whole file ("-": standard input, read to its end). Errors name the path and the reason; a
// directory is refused. `accept` is called for regular files only.
Result<std::shared_ptr<const std::vector<std::byte>>> ReadFile(const std::string& path,
                                                               const HeadCheck& accept = {});

// Writes beside the target under a temporary name, then renames: the target is either what it was
// or complete. Refuses an existing target unless `force`. "-" is standard output.
Status WriteFile(const std::string& path, std::span<const std::byte> bytes, bool force);
Status WriteFile(const std::string& path, std::string_view text, bool force);

// Lower-case hex.
std::string Sha256(std::span<const std::byte> bytes);

}  // namespace neap::io
