// SPDX-License-Identifier: Apache-2.0
//
// .npz: refused, or arrays whose bytes match their shapes, within the allowed memory, and equal
// after writing and reading again.
#include <span>

#include "neap/execute/npz.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t kMax = std::int64_t{1} << 22;
  const auto file = std::as_bytes(std::span(data, size));
  const auto read = neap::execute::ReadNpz(file, kMax);
  if (!read) return 0;
  std::int64_t total = 0;
  for (const neap::execute::NamedValue& named : *read) {
    std::int64_t elements = 1;
    for (const std::int64_t d : named.value.shape) elements *= d;
    const auto bits = static_cast<std::int64_t>(neap::graph::BitsOf(named.value.type));
    neap::fuzz::Require(bits % 8 == 0 && static_cast<std::int64_t>(named.value.bytes.size()) ==
                                             elements * (bits / 8),
                        "bytes and shape say the same");
    total += static_cast<std::int64_t>(named.value.bytes.size());
  }
  neap::fuzz::Require(total <= kMax, "no more memory than allowed");
  const auto written = neap::execute::WriteNpz(*read);
  if (!written) return 0;
  const auto again = neap::execute::ReadNpz(*written, kMax);
  neap::fuzz::Require(again.has_value() && again->size() == read->size(),
                      "what was written can be read");
  for (std::size_t i = 0; i < read->size(); ++i) {
    neap::fuzz::Require((*again)[i].name == (*read)[i].name &&
                            (*again)[i].value.shape == (*read)[i].value.shape &&
                            (*again)[i].value.bytes == (*read)[i].value.bytes,
                        "reading and writing lose nothing");
  }
  return 0;
}
