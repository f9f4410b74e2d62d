// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "neap/base/result.h"

namespace neap::io {

// Whether the bytes begin as a gzip file (RFC 1952) does.
bool IsGzip(std::span<const std::byte> bytes);

// The contents of a gzip file of one or more members; more than `max_bytes` is refused. Errors have
// no file name.
Result<std::vector<std::byte>> ExpandGzip(std::span<const std::byte> bytes, std::int64_t max_bytes);

// The same with a limit by the first bytes of the contents: all of them, or some thousands.
using ExpandLimit = std::function<std::int64_t(std::span<const std::byte> head)>;
Result<std::vector<std::byte>> ExpandGzip(std::span<const std::byte> bytes,
                                          const ExpandLimit& max_bytes_by_head);

// One member.
Result<std::vector<std::byte>> CompressGzip(std::span<const std::byte> bytes);

}  // namespace neap::io
