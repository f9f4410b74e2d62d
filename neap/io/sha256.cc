// SPDX-License-Identifier: Apache-2.0
#include "neap/io/sha256.h"

#include <algorithm>
#include <bit>

namespace neap::io {
namespace {

using Word = std::uint32_t;
constexpr std::size_t kBlockBytes = 64;
constexpr std::size_t kRounds = 64;
constexpr std::size_t kLengthBytes = 8;  // of the message, at the end of its last block

// Section 4.2.2.
constexpr std::array<Word, kRounds> kConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

struct State {
  std::array<Word, 8> words = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

  // Section 6.2.2. `block` has kBlockBytes bytes.
  void Add(const std::byte* block) {
    std::array<Word, kRounds> schedule = {};
    for (std::size_t t = 0; t < 16; ++t) {
      for (std::size_t i = 0; i < 4; ++i) {
        schedule[t] = (schedule[t] << 8U) | static_cast<Word>(block[4 * t + i]);
      }
    }
    for (std::size_t t = 16; t < kRounds; ++t) {
      const Word w15 = schedule[t - 15];
      const Word w2 = schedule[t - 2];
      const Word s0 = std::rotr(w15, 7) ^ std::rotr(w15, 18) ^ (w15 >> 3U);
      const Word s1 = std::rotr(w2, 17) ^ std::rotr(w2, 19) ^ (w2 >> 10U);
      schedule[t] = schedule[t - 16] + s0 + schedule[t - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = words;
    for (std::size_t t = 0; t < kRounds; ++t) {
      const Word s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const Word choice = (e & f) ^ (~e & g);
      const Word first = h + s1 + choice + kConstants[t] + schedule[t];
      const Word s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      const Word majority = (a & b) ^ (a & c) ^ (b & c);
      h = g;
      g = f;
      f = e;
      e = d + first;
      d = c;
      c = b;
      b = a;
      a = first + s0 + majority;
    }
    const std::array<Word, 8> added = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < words.size(); ++i) words[i] += added[i];
  }
};

}  // namespace

std::array<std::uint8_t, 32> Sha256Digest(std::span<const std::byte> bytes) {
  State state;
  std::size_t at = 0;
  for (; bytes.size() - at >= kBlockBytes; at += kBlockBytes) state.Add(bytes.data() + at);
  // The rest, a set bit, zeros, and the length in bits: one block or two.
  std::array<std::byte, 2 * kBlockBytes> last = {};
  const std::size_t rest = bytes.size() - at;
  std::copy_n(bytes.data() + at, rest, last.begin());
  last[rest] = std::byte{0x80};
  const std::size_t end = rest + 1 + kLengthBytes <= kBlockBytes ? kBlockBytes : 2 * kBlockBytes;
  const std::uint64_t bits = static_cast<std::uint64_t>(bytes.size()) * 8;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    last[end - 1 - i] = static_cast<std::byte>((bits >> (8 * i)) & 0xffU);
  }
  for (std::size_t block = 0; block < end; block += kBlockBytes) state.Add(last.data() + block);
  std::array<std::uint8_t, 32> digest = {};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(state.words[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

}  // namespace neap::io
