// SPDX-License-Identifier: Apache-2.0
#include "lab/census/natural.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace neap::census {

Natural::Natural(std::uint64_t value) {
  if (value != 0) words_.push_back(value);
}

void Natural::Trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

Natural& Natural::operator+=(const Natural& other) {
  if (words_.size() < other.words_.size()) words_.resize(other.words_.size(), 0);
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const std::uint64_t add = i < other.words_.size() ? other.words_[i] : 0;
    std::uint64_t sum = 0;
    const bool first = __builtin_add_overflow(words_[i], add, &sum);
    const bool second = __builtin_add_overflow(sum, carry, &words_[i]);
    carry = first || second ? 1 : 0;
  }
  if (carry != 0) words_.push_back(carry);
  return *this;
}

Natural& Natural::operator-=(const Natural& other) {
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const std::uint64_t take = i < other.words_.size() ? other.words_[i] : 0;
    std::uint64_t rest = 0;
    const bool first = __builtin_sub_overflow(words_[i], take, &rest);
    const bool second = __builtin_sub_overflow(rest, borrow, &words_[i]);
    borrow = first || second ? 1 : 0;
  }
  Trim();
  return *this;
}

std::strong_ordering operator<=>(const Natural& a, const Natural& b) {
  if (a.words_.size() != b.words_.size()) return a.words_.size() <=> b.words_.size();
  for (std::size_t i = a.words_.size(); i-- > 0;) {
    if (a.words_[i] != b.words_[i]) return a.words_[i] <=> b.words_[i];
  }
  return std::strong_ordering::equal;
}

std::string Natural::ToString() const {
  if (words_.empty()) return "0";
  constexpr std::uint64_t kChunk = 1'000'000'000;
  constexpr int kDigits = 9;
  std::vector<std::uint64_t> rest = words_;
  std::string out;
  __extension__ using Wide = unsigned __int128;
  while (!rest.empty()) {
    Wide remainder = 0;
    for (std::size_t i = rest.size(); i-- > 0;) {
      const Wide at = (remainder << 64U) | rest[i];
      rest[i] = static_cast<std::uint64_t>(at / kChunk);
      remainder = at % kChunk;
    }
    while (!rest.empty() && rest.back() == 0) rest.pop_back();
    auto digits = static_cast<std::uint64_t>(remainder);
    for (int i = 0; i < kDigits && (digits != 0 || !rest.empty()); ++i) {
      out += static_cast<char>('0' + digits % 10);
      digits /= 10;
    }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

double Natural::ToDouble() const {
  double value = 0;
  for (std::size_t i = words_.size(); i-- > 0;) {
    value = value * 0x1.0p64 + static_cast<double>(words_[i]);
  }
  return value;
}

Natural Natural::Draw(Random* random) const {
  const auto bits = static_cast<unsigned>(std::bit_width(words_.back()));
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  while (true) {
    Natural draw;
    for (std::size_t i = 0; i < words_.size(); ++i) draw.words_.push_back(random->Next());
    draw.words_.back() &= mask;
    draw.Trim();
    if (draw < *this) return draw;
  }
}

double Share(const Natural& part, const Natural& whole) {
  const double of_whole = whole.ToDouble();
  if (std::isfinite(of_whole)) return part.ToDouble() / of_whole;
  // Both by their leading digits.
  const std::string top = part.ToString();
  const std::string bottom = whole.ToString();
  constexpr std::size_t kDigits = 17;
  const double exponent = static_cast<double>(top.size()) - static_cast<double>(bottom.size());
  const auto lead = [&](const std::string& text) {
    return std::stod("0." + text.substr(0, kDigits));
  };
  return lead(top) / lead(bottom) * std::pow(10.0, exponent);
}

}  // namespace neap::census
