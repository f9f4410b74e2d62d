// SPDX-License-Identifier: Apache-2.0
//
// Off-chip traffic, independent of neural networks: tensors of different sizes are written once and
// read in known steps; some of them are resident in an on-chip memory of a given size for some of
// the time, and every byte that moves between it and external memory is counted.
//
// Rules:
//  - A tensor is resident during a step or it is not; the bytes of all resident tensors and the
//    step's scratch fit into the memory. Residency begins with an access (the tensor is written, or
//    read in and kept), or at the start for tensors that are on chip at the start.
//  - A read of a tensor that is not held moves its bytes in, once, whether it is then kept or
//    streams past through buffers that are not counted. A tensor that is not held while it is
//    written streams out: its bytes are written.
//  - A tensor whose residency ends although it is still needed, and that has no copy outside, is
//    written back. With a copy outside it is dropped at no cost (no step writes it again). Tensors
//    without further use are never written.
//  - The memory needs no addresses here: fragmentation is not part of this model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace neap::traffic {

using Step = std::int32_t;
using TensorIndex = std::int32_t;

enum class Begin : std::uint8_t {
  kWritten,  // its first access writes it
  kOnChip,   // it is on chip before the first step; tensors that do not fit then are written out
  kOffChip,  // it is outside before the first step; its first read moves it in
};
enum class End : std::uint8_t {
  kDead,      // not needed after its last access
  kAnywhere,  // needed after the last step, on chip or outside
  kOffChip,   // has to be outside after the last step
};

struct Tensor {
  std::int64_t bytes = 0;
  std::vector<Step> accesses;  // strictly increasing
  Begin begin = Begin::kWritten;
  End end = End::kDead;
};

struct Problem {
  Step num_steps = 0;
  std::vector<Tensor> tensors;
  std::vector<std::int64_t> scratch_bytes;  // one per step, or empty: none
};

// Sums that no problem may exceed: of bytes times accesses.
inline constexpr std::int64_t kMaxTraffic = std::int64_t{1} << 50;

// The error of a malformed problem, in one line; nullopt when it is well-formed: accesses in range
// and increasing, a kWritten tensor has one, sizes not negative, sums within kMaxTraffic.
std::optional<std::string> Validate(const Problem& problem);

// `tensor` is held in the steps [first, last). [0, ...) of a tensor that is on chip at the start
// may begin before its first access; every other range begins with an access. Ranges of a tensor
// are in order and do not touch.
struct Residency {
  TensorIndex tensor = 0;
  Step first = 0;
  Step last = 0;
  friend bool operator==(const Residency&, const Residency&) = default;
};

struct Counts {
  std::int64_t misses = 0;  // reads of a tensor that is not held
  std::int64_t read_bytes = 0;
  std::int64_t written_bytes = 0;
  std::int64_t total() const { return read_bytes + written_bytes; }
  friend bool operator==(const Counts&, const Counts&) = default;
};

// The compulsory traffic: tensors that begin outside and are read, and tensors that have to end
// there.
std::int64_t CompulsoryBytes(const Problem& problem);

// The least memory with which nothing but the compulsory bytes moves.
std::int64_t LeastBytesWithoutTraffic(const Problem& problem);

}  // namespace neap::traffic
