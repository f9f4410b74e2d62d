// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neap/base/result.h"

namespace neap::io {

// Whether the bytes begin as a gzip file (RFC 1952) does.
bool IsGzip(std::span<const std::byte> bytes);

// The contents of a gzip file of one or more members; more than `max_bytes` is refused. Errors have
// no file name.
Result<std::vector<std::byte>> ExpandGzip(std::span<const std::byte> bytes, std::int64_t max_bytes);

// One member.
Result<std::vector<std::byte>> CompressGzip(std::span<const std::byte> bytes);

}  // namespace neap::io
