// SPDX-License-Identifier: Apache-2.0
//
// Boards that one can buy: how much memory they have, and the target that their firmware is. A
// table of facts, each row with its source.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace neap::target {

struct BoardMemory {
  std::string_view name;
  std::int64_t bytes = 0;  // 0: as large as the system that is built
  std::string_view source;
};

struct Board {
  std::string_view name;   // "nano-33-ble": for options and JSON
  std::string_view title;  // "Arduino Nano 33 BLE, Nano 33 BLE Sense": for people
  std::string_view chip;   // and the part of its memory that counts, if it has several
  // On-chip memory for data, as the source has it: what a linker places data in by default. Not
  // external memory.
  std::int64_t ram_bytes = 0;
  // For programs and weights, less what a boot loader keeps where the source leaves that out.
  std::int64_t flash_bytes = 0;
  std::string_view target;  // the name of a row of Targets(); empty: no TFLM target
  std::string_view source;  // of the figures
  // Memories for data, the fastest first. Empty: the RAM is the only one.
  std::span<const BoardMemory> memories = {};
};

// In the order of the table.
std::span<const Board> Boards();
// Memories of accelerators, without a board: usable for plans of the runtime neap alone.
std::span<const Board> MemorySystems();
// Of either table; nullptr: no such board.
const Board* BoardNamed(std::string_view name);

// Those that the row states, otherwise the RAM.
std::vector<BoardMemory> MemoriesOf(const Board& board);
// Bytes of the fastest memory in which a linker places data.
std::int64_t FastBytesOf(const Board& board);
// Of the largest memory beside the fastest: nullopt: there is none, 0: as large as wanted.
std::optional<std::int64_t> SlowBytesOf(const Board& board);

}  // namespace neap::target
