// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 without a library, for builds that have no OpenSSL. Private to neap/io.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace neap::io {

// The digest of FIPS 180-4, section 6.2. O(bytes).
std::array<std::uint8_t, 32> Sha256Digest(std::span<const std::byte> bytes);

}  // namespace neap::io
