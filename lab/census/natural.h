// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "neap/base/random.h"

namespace neap::census {

// A natural number of any size: orders are too many for 64 bits.
class Natural {
 public:
  Natural() = default;
  explicit Natural(std::uint64_t value);

  Natural& operator+=(const Natural& other);
  Natural& operator-=(const Natural& other);  // other <= *this
  friend bool operator==(const Natural&, const Natural&) = default;
  friend std::strong_ordering operator<=>(const Natural& a, const Natural& b);

  bool IsZero() const { return words_.empty(); }
  std::string ToString() const;  // decimal
  // For people: at most one part in 2^50 off; infinity beyond double.
  double ToDouble() const;
  // Uniform in [0, *this), which is not zero.
  Natural Draw(Random* random) const;

 private:
  void Trim();
  std::vector<std::uint64_t> words_;  // low first, the last one not zero
};

// part / whole for people, however large both are. 0 < whole.
double Share(const Natural& part, const Natural& whole);

}  // namespace neap::census
