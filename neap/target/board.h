// SPDX-License-Identifier: Apache-2.0
//
// Boards that one can buy: how much memory they have, and the target that their firmware is. A
// table of facts, each row with its source.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace neap::target {

struct Board {
  std::string_view name;   // "nano-33-ble": for options and JSON
  std::string_view title;  // "Arduino Nano 33 BLE, Nano 33 BLE Sense": for people
  std::string_view chip;   // and the part of its memory that counts, if it has several
  // On-chip memory for data, as the source has it: what a linker places data in by default. Not
  // external memory.
  std::int64_t ram_bytes = 0;
  // For programs and weights, less what a boot loader keeps where the source leaves that out.
  std::int64_t flash_bytes = 0;
  std::string_view target;  // the name of a row of Targets()
  std::string_view source;  // of the figures
};

// In the order of the table.
std::span<const Board> Boards();
// nullptr: no such board.
const Board* BoardNamed(std::string_view name);

}  // namespace neap::target
