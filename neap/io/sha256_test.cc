// SPDX-License-Identifier: Apache-2.0
#include "neap/io/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/io/file.h"

namespace neap::io {
namespace {

std::string Hex(const std::array<std::uint8_t, 32>& digest) {
  constexpr const char* kHex = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : digest) {
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
  return out;
}

TEST(Sha256Digest, MatchesPublishedVectors) {
  // FIPS 180-2, appendix B.
  EXPECT_EQ(Hex(Sha256Digest({})),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const std::string abc = "abc";
  EXPECT_EQ(Hex(Sha256Digest(std::as_bytes(std::span(abc)))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string million(1'000'000, 'a');
  EXPECT_EQ(Hex(Sha256Digest(std::as_bytes(std::span(million)))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Every length around the ends of blocks, against OpenSSL.
TEST(Sha256Digest, EqualsOpenSslAtEveryLength) {
  Random random(7);
  std::vector<std::byte> bytes;
  for (std::size_t length = 0; length <= 300; ++length) {
    ASSERT_EQ(Hex(Sha256Digest(bytes)), Sha256(bytes)) << length << " bytes";
    bytes.push_back(static_cast<std::byte>(random.Below(256)));
  }
}

}  // namespace
}  // namespace neap::io
