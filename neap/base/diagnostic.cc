// SPDX-License-Identifier: Apache-2.0
#include "neap/base/diagnostic.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace neap {
namespace {

// Names come from untrusted files: the message stays one line of bounded length.
std::string Escape(std::string_view text) {
  constexpr std::size_t kMaxBytes = 400;
  constexpr std::array<char, 17> kHex = {"0123456789abcdef"};
  std::string out;
  for (const char c : text.substr(0, kMaxBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex.at(byte >> 4U);
      out += kHex.at(byte & 15U);
    } else {
      out += c;
    }
  }
  if (text.size() > kMaxBytes) out += "...";
  return out;
}

}  // namespace

std::string Diagnostic::ToString() const {
  std::string out;
  if (!file.empty()) out += Escape(file) + ": ";
  if (!op.empty()) out += "operator " + Escape(op) + ": ";
  if (!tensor.empty()) out += "tensor " + Escape(tensor) + ": ";
  out += Escape(message);
  if (!hint.empty()) out += " (" + Escape(hint) + ")";
  return out;
}

}  // namespace neap
