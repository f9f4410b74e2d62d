// SPDX-License-Identifier: Apache-2.0
//
// Sets of operators as rows of 64-bit words. Private to neap/schedule. The number of words is fixed
// per problem and passed along; a row does not own its words.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace neap::schedule {

using Word = std::uint64_t;

inline bool TestBit(const Word* row, std::int32_t bit) {
  return ((row[static_cast<std::size_t>(bit) >> 6U] >> (static_cast<unsigned>(bit) & 63U)) & 1U) !=
         0;
}
inline void SetBit(Word* row, std::int32_t bit) {
  row[static_cast<std::size_t>(bit) >> 6U] |= Word{1} << (static_cast<unsigned>(bit) & 63U);
}
inline void ClearBit(Word* row, std::int32_t bit) {
  row[static_cast<std::size_t>(bit) >> 6U] &= ~(Word{1} << (static_cast<unsigned>(bit) & 63U));
}
inline int CountBits(const Word* row, std::size_t words) {
  int count = 0;
  for (std::size_t w = 0; w < words; ++w) count += std::popcount(row[w]);
  return count;
}
// a is a subset of b
inline bool IsSubset(const Word* a, const Word* b, std::size_t words) {
  for (std::size_t w = 0; w < words; ++w) {
    if ((a[w] & ~b[w]) != 0) return false;
  }
  return true;
}
inline bool Intersects(const Word* a, const Word* b, std::size_t words) {
  for (std::size_t w = 0; w < words; ++w) {
    if ((a[w] & b[w]) != 0) return true;
  }
  return false;
}
template <typename Visit>
void ForEachBit(const Word* row, std::size_t words, Visit&& visit) {
  for (std::size_t w = 0; w < words; ++w) {
    for (Word rest = row[w]; rest != 0; rest &= rest - 1) {
      visit(static_cast<std::int32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(rest))));
    }
  }
}

// A matrix of bits, one row per index.
class BitRows {
 public:
  BitRows() = default;
  BitRows(std::size_t rows, std::size_t words) : words_(words), bits_(rows * words, 0) {}
  Word* Row(std::int32_t row) { return bits_.data() + static_cast<std::size_t>(row) * words_; }
  const Word* Row(std::int32_t row) const {
    return bits_.data() + static_cast<std::size_t>(row) * words_;
  }
  bool empty() const { return bits_.empty(); }

 private:
  std::size_t words_ = 0;
  std::vector<Word> bits_;
};

}  // namespace neap::schedule
