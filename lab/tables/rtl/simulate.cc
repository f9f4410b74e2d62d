// SPDX-License-Identifier: Apache-2.0
//
// A verilated RV32 core with memory that answers in the first cycle in which it can: runs IMAGE, a
// flat binary at ORIGIN, until the program is done. Prints the cycles between the stores of the
// begin and of the end of a run (program.c), and the output's bytes in hexadecimal.
//
//   simulate IMAGE
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "Vcore.h"
#include "verilated.h"

namespace {

constexpr std::uint32_t kOrigin = 0x80000000;
constexpr std::uint32_t kBytes = 16U << 20;
constexpr std::uint32_t kPort = 0x10000000;
constexpr std::uint64_t kMaxCycles = 3'000'000'000;

std::vector<std::uint32_t> memory(kBytes / 4);
std::uint64_t cycle = 0;
std::uint64_t begin = 0;
std::uint64_t end = 0;

[[noreturn]] void Stop(const char* message) {
  std::fprintf(stderr, "simulate: %s in cycle %llu\n", message,
               static_cast<unsigned long long>(cycle));
  std::exit(1);
}

std::uint32_t Load(std::uint32_t address) {
  const std::uint32_t at = address - kOrigin;
  // A core fetches ahead, past the end as well.
  return at < kBytes ? memory[at / 4] : 0;
}

void Store(std::uint32_t address, std::uint32_t value, std::uint32_t lanes) {
  if (address == kPort) {
    if (value == 1) begin = cycle;
    if (value == 2) end = cycle;
    if (value == 3) {
      std::printf("\ncycles %llu\n", static_cast<unsigned long long>(end - begin));
      std::exit(0);
    }
    if (value == 4) Stop("the network failed");
    return;
  }
  if (address == kPort + 4) {
    std::printf("%02x", value & 0xffU);
    return;
  }
  const std::uint32_t at = address - kOrigin;
  if (at >= kBytes) Stop("a store outside of memory");
  std::uint32_t mask = 0;
  for (int lane = 0; lane < 4; ++lane) {
    if ((lanes >> lane & 1U) != 0) mask |= 0xffU << 8 * lane;
  }
  memory[at / 4] = (memory[at / 4] & ~mask) | (value & mask);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) Stop("expected IMAGE");
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.empty() || bytes.size() > kBytes) Stop("no image, or one too large");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    memory[i / 4] |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i]))
                     << 8 * (i % 4);
  }
  Vcore top;
#if defined(PICORV32)
  top.resetn = 0;
#else
  top.rst_ni = 0;
  top.fetch_enable_i = 1;
  top.boot_addr_i = kOrigin;
  top.instr_gnt_i = 1;
  top.data_gnt_i = 1;
#endif
  for (; cycle < kMaxCycles; ++cycle) {
    if (cycle == 10) {
#if defined(PICORV32)
      top.resetn = 1;
#else
      top.rst_ni = 1;
#endif
    }
#if defined(PICORV32)
    // The answer comes in the cycle of the request.
    top.clk = 0;
    top.eval();
    top.mem_ready = top.mem_valid;
    if (top.mem_valid != 0) {
      if (top.mem_wstrb != 0) {
        Store(top.mem_addr, top.mem_wdata, top.mem_wstrb);
      } else {
        top.mem_rdata = Load(top.mem_addr);
      }
    }
    if (top.trap != 0) Stop("trap");
    top.eval();
    top.clk = 1;
    top.eval();
#else
    // A request is granted at once and answered in the next cycle.
    top.clk_i = 0;
    top.eval();
    const bool fetches = top.instr_req_o != 0 && cycle > 10;
    const bool accesses = top.data_req_o != 0 && cycle > 10;
    const std::uint32_t fetched = fetches ? Load(top.instr_addr_o) : 0;
    std::uint32_t loaded = 0;
    if (accesses && top.data_we_o != 0) {
      Store(top.data_addr_o, top.data_wdata_o, top.data_be_o);
    } else if (accesses) {
      loaded = Load(top.data_addr_o);
    }
    top.clk_i = 1;
    top.eval();
    top.instr_rvalid_i = fetches ? 1 : 0;
    top.instr_rdata_i = fetched;
    top.data_rvalid_i = accesses ? 1 : 0;
    top.data_rdata_i = loaded;
    top.eval();
#endif
  }
  Stop("the program did not end");
}
