// SPDX-License-Identifier: Apache-2.0
#include "neap/target/target.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "neap/target/board.h"

namespace neap::target {
namespace {

TEST(Target, NamesAreUniqueAndLeadBack) {
  std::set<std::string_view> names;
  for (const Target& target : Targets()) {
    EXPECT_TRUE(names.insert(target.name).second) << target.name;
    EXPECT_EQ(TargetNamed(target.name), &target);
    EXPECT_TRUE(target.name.ends_with("+" + std::string(NameOf(target.kernels)))) << target.name;
    EXPECT_EQ(TargetNamed(ReportNameOf(target)), &target);
    EXPECT_FALSE(target.title.empty());
    EXPECT_FALSE(target.version.empty());
    EXPECT_EQ(target.structs.word, target.has_compression ? 8 : 4) << "the wheel alone";
  }
  EXPECT_EQ(TargetNamed("cortex-m99"), nullptr);
  EXPECT_EQ(TargetNamed(""), nullptr);
  EXPECT_EQ(ReportNameOf(DefaultTarget()), "cortex-m");
  EXPECT_EQ(ReportNameOf(WheelTarget()), "x86-64");
}

TEST(Target, OptimisedLibrariesHaveTheirInstructions) {
  for (const Target& target : Targets()) {
    EXPECT_TRUE(target.simd != Simd::kEsp32S3 || target.kernels == Kernels::kEspNn) << target.name;
    EXPECT_TRUE(target.kernels != Kernels::kReference || target.simd == Simd::kNone);
  }
  EXPECT_EQ(TargetNamed("cortex-m4+cmsis-nn")->simd, Simd::kDsp);
  EXPECT_EQ(TargetNamed("cortex-m55+cmsis-nn")->simd, Simd::kMve);
  EXPECT_EQ(TargetNamed("cortex-m0+cmsis-nn")->simd, Simd::kNone);
}

TEST(Target, EqualMemoryIsOfEqualFacts) {
  const Target& m4 = *TargetNamed("cortex-m4+cmsis-nn");
  EXPECT_TRUE(HaveEqualMemory(m4, *TargetNamed("cortex-m33+cmsis-nn")));
  EXPECT_FALSE(HaveEqualMemory(m4, *TargetNamed("cortex-m55+cmsis-nn")));
  EXPECT_FALSE(HaveEqualMemory(m4, *TargetNamed("cortex-m4+reference")));
  EXPECT_FALSE(HaveEqualMemory(*TargetNamed("wasm32+reference"), DefaultTarget()));
}

TEST(Board, RowsAreComplete) {
  EXPECT_GE(Boards().size(), 30U);
  std::set<std::string_view> names;
  for (const Board& board : Boards()) {
    EXPECT_TRUE(names.insert(board.name).second) << board.name;
    EXPECT_EQ(BoardNamed(board.name), &board);
    EXPECT_NE(TargetNamed(board.target), nullptr) << board.name;
    EXPECT_GE(board.ram_bytes, 8 * 1024) << board.name;
    EXPECT_GE(board.flash_bytes, board.ram_bytes) << board.name;
    EXPECT_FALSE(board.title.empty() || board.chip.empty() || board.source.empty()) << board.name;
  }
  EXPECT_EQ(BoardNamed("nano-33-ble")->ram_bytes, 262144);
  for (const auto table : {Boards(), MemorySystems()}) {
    for (const Board& board : table) {
      const std::vector<BoardMemory> memories = MemoriesOf(board);
      ASSERT_FALSE(memories.empty()) << board.name;
      EXPECT_GT(memories.front().bytes, 0) << board.name;
      EXPECT_LE(FastBytesOf(board), board.ram_bytes) << board.name;
      for (const BoardMemory& memory : memories) {
        EXPECT_FALSE(memory.name.empty() || memory.source.empty()) << board.name;
      }
    }
  }
}

TEST(Board, SeveralMemories) {
  const Board& nucleo = *BoardNamed("nucleo-h743zi");
  EXPECT_EQ(FastBytesOf(nucleo), 128 * 1024);
  EXPECT_EQ(SlowBytesOf(nucleo), 512 * 1024);
  EXPECT_EQ(SlowBytesOf(*BoardNamed("portenta-h7")), 8 * 1024 * 1024) << "the largest of two";
  const Board& esp = *BoardNamed("xiao-esp32s3");
  EXPECT_EQ(MemoriesOf(esp).front().bytes, 512 * 1024);
  EXPECT_EQ(FastBytesOf(esp), esp.ram_bytes) << "at most the RAM in which a linker places data";
  EXPECT_EQ(SlowBytesOf(esp), 8 * 1024 * 1024);
  EXPECT_EQ(FastBytesOf(*BoardNamed("pico-2")), 520 * 1024);
  EXPECT_EQ(SlowBytesOf(*BoardNamed("pico-2")), std::nullopt);
  EXPECT_EQ(SlowBytesOf(*BoardNamed("ethos-u-sram-384k")), 0) << "as large as wanted";
  EXPECT_EQ(BoardNamed("no-such-board"), nullptr);
}

}  // namespace
}  // namespace neap::target
