// SPDX-License-Identifier: Apache-2.0
//
// A plugin of QEMU's translator (system emulation, plugin API version 1) that counts executed
// instructions by their addresses. An instruction counts each time that it is executed, also where
// its condition is false. The counts are exact and the same in every run; they are instructions,
// not cycles.
//
//   -plugin libcount.so,out=FILE[,begin=ADDRESS,end=ADDRESS][,low=ADDRESS,high=ADDRESS]
//
// begin, end: only instructions between an execution of `begin` and the next one of `end` are
// counted by address. low, high: records the lowest and the highest byte in [low, high) that loads
// and stores access. With all four, also counts the loads and stores in [low, high) between each
// begin and end, and their bytes. An instruction that accesses several words counts once for each.
//
// FILE has one fact a line: `whole N`, all instructions of the run; `run N` for each pair of begin
// and end, in their order; `accesses READ WRITTEN LOADS STORES` likewise, the first two in bytes;
// `touched LOW HIGH`; `at ADDRESS N` for each address with a count, ascending. Addresses are
// hexadecimal.
//
// Debian installs no header for plugins, so that the functions of QEMU used here are declared by
// hand.

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef struct qemu_info_t qemu_info_t;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_RW = 3 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*callback)(qemu_plugin_id_t,
                                                            struct qemu_plugin_tb*));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn* instruction);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn* instruction,
                                                enum qemu_plugin_op operation, void* counter,
                                                uint64_t addend);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn* instruction,
                                            void (*callback)(unsigned int, void*),
                                            enum qemu_plugin_cb_flags flags, void* user);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn* instruction,
                                      void (*callback)(unsigned int, qemu_plugin_meminfo_t,
                                                       uint64_t, void*),
                                      enum qemu_plugin_cb_flags flags,
                                      enum qemu_plugin_mem_rw accesses, void* user);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t access);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t access);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, void*),
                                    void* user);

EXPORT int qemu_plugin_version = 1;

// One for each address that was translated. Code does not change, so that an address is one
// instruction. QEMU keeps pointers to `executed`: counters never move.
typedef struct Counter {
  uint64_t address;
  uint64_t executed;  // since the start
  uint64_t before;    // `executed` at the last `begin`
  uint64_t counted;   // between all pairs of `begin` and `end`
} Counter;

// Counters by address: an open hash table of pointers, twice as many places as counters.
static Counter** table;
static size_t places;
static size_t counters;

static uint64_t begin_address = UINT64_MAX, end_address = UINT64_MAX;
static bool counting;

// Loads and stores in [low, high).
typedef struct Accesses {
  uint64_t read, written;  // bytes
  uint64_t loads, stores;
} Accesses;

typedef struct Run {
  uint64_t instructions;
  Accesses accesses;
} Run;

static Accesses accesses;  // since the last `begin`
static Run* runs;
static size_t run_count;
static uint64_t low, high, lowest = UINT64_MAX, highest;
static const char* out_path;

static void* checked(void* memory) {
  if (memory == NULL) {
    fputs("count: out of memory\n", stderr);
    exit(1);
  }
  return memory;
}

static size_t place_of(uint64_t address) {
  size_t place = (size_t)(address * 0x9e3779b97f4a7c15u) & (places - 1);
  while (table[place] != NULL && table[place]->address != address)
    place = (place + 1) & (places - 1);
  return place;
}

static void grow_table(void) {
  Counter** const old = table;
  const size_t old_places = places;
  places = places == 0 ? 1 << 14 : places * 2;
  table = checked(calloc(places, sizeof(Counter*)));
  for (size_t i = 0; i < old_places; ++i) {
    if (old[i] != NULL) table[place_of(old[i]->address)] = old[i];
  }
  free(old);
}

static Counter* counter_of(uint64_t address) {
  if (counters * 2 >= places) grow_table();
  Counter** const place = &table[place_of(address)];
  if (*place == NULL) {
    *place = checked(calloc(1, sizeof(Counter)));
    (*place)->address = address;
    ++counters;
  }
  return *place;
}

static void begin_run(unsigned int cpu, void* user) {
  (void)cpu;
  (void)user;
  for (size_t i = 0; i < places; ++i) {
    if (table[i] != NULL) table[i]->before = table[i]->executed;
  }
  accesses = (Accesses){0};
  counting = true;
}

static void end_run(unsigned int cpu, void* user) {
  (void)cpu;
  (void)user;
  if (!counting) return;
  counting = false;
  uint64_t sum = 0;
  for (size_t i = 0; i < places; ++i) {
    // The functions at `begin` and `end` are the caller's, not the program's.
    if (table[i] == NULL || table[i]->address == begin_address || table[i]->address == end_address)
      continue;
    const uint64_t executed = table[i]->executed - table[i]->before;
    table[i]->counted += executed;
    sum += executed;
  }
  runs = checked(realloc(runs, (run_count + 1) * sizeof *runs));
  runs[run_count++] = (Run){sum, accesses};
}

static void on_access(unsigned int cpu, qemu_plugin_meminfo_t access, uint64_t address,
                      void* user) {
  (void)cpu;
  (void)user;
  const uint64_t bytes = UINT64_C(1) << qemu_plugin_mem_size_shift(access);
  const uint64_t last = address + bytes - 1;
  if (address < low || address >= high) return;
  if (counting && qemu_plugin_mem_is_store(access)) {
    ++accesses.stores;
    accesses.written += bytes;
  } else if (counting) {
    ++accesses.loads;
    accesses.read += bytes;
  }
  if (address < lowest) lowest = address;
  if (last > highest) highest = last;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  (void)id;
  const size_t count = qemu_plugin_tb_n_insns(block);
  for (size_t i = 0; i < count; ++i) {
    struct qemu_plugin_insn* const instruction = qemu_plugin_tb_get_insn(block, i);
    const uint64_t address = qemu_plugin_insn_vaddr(instruction);
    qemu_plugin_register_vcpu_insn_exec_inline(instruction, QEMU_PLUGIN_INLINE_ADD_U64,
                                               &counter_of(address)->executed, 1);
    if (address == begin_address) {
      qemu_plugin_register_vcpu_insn_exec_cb(instruction, begin_run, QEMU_PLUGIN_CB_NO_REGS, NULL);
    }
    if (address == end_address) {
      qemu_plugin_register_vcpu_insn_exec_cb(instruction, end_run, QEMU_PLUGIN_CB_NO_REGS, NULL);
    }
    if (high > low) {
      qemu_plugin_register_vcpu_mem_cb(instruction, on_access, QEMU_PLUGIN_CB_NO_REGS,
                                       QEMU_PLUGIN_MEM_RW, NULL);
    }
  }
}

static int by_address(const void* a, const void* b) {
  const uint64_t first = (*(Counter* const*)a)->address, second = (*(Counter* const*)b)->address;
  return (first > second) - (first < second);
}

static void write_counts(qemu_plugin_id_t id, void* user) {
  (void)id;
  (void)user;
  FILE* const out = fopen(out_path, "w");
  if (out == NULL) {
    perror(out_path);
    return;
  }
  Counter** const sorted = checked(malloc((counters + 1) * sizeof(Counter*)));
  size_t count = 0;
  uint64_t whole = 0;
  const bool all = begin_address == UINT64_MAX;
  for (size_t i = 0; i < places; ++i) {
    if (table[i] == NULL) continue;
    whole += table[i]->executed;
    if (all) table[i]->counted = table[i]->executed;
    if (table[i]->counted > 0) sorted[count++] = table[i];
  }
  qsort(sorted, count, sizeof(Counter*), by_address);
  fprintf(out, "whole %" PRIu64 "\n", whole);
  for (size_t i = 0; i < run_count; ++i) fprintf(out, "run %" PRIu64 "\n", runs[i].instructions);
  for (size_t i = 0; i < run_count && high > low; ++i) {
    const Accesses* const found = &runs[i].accesses;
    fprintf(out, "accesses %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", found->read,
            found->written, found->loads, found->stores);
  }
  if (highest > 0) fprintf(out, "touched %" PRIx64 " %" PRIx64 "\n", lowest, highest);
  for (size_t i = 0; i < count; ++i) {
    fprintf(out, "at %" PRIx64 " %" PRIu64 "\n", sorted[i]->address, sorted[i]->counted);
  }
  fclose(out);
  free(sorted);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc,
                               char** argv) {
  (void)info;
  for (int i = 0; i < argc; ++i) {
    char* const equals = strchr(argv[i], '=');
    const size_t length = equals == NULL ? 0 : (size_t)(equals - argv[i]);
    uint64_t* number = NULL;
    if (length == 3 && memcmp(argv[i], "out", 3) == 0) {
      out_path = equals + 1;
      continue;
    }
    if (length == 5 && memcmp(argv[i], "begin", 5) == 0) number = &begin_address;
    if (length == 3 && memcmp(argv[i], "end", 3) == 0) number = &end_address;
    if (length == 3 && memcmp(argv[i], "low", 3) == 0) number = &low;
    if (length == 4 && memcmp(argv[i], "high", 4) == 0) number = &high;
    if (number == NULL) {
      fprintf(stderr, "count: unknown argument %s\n", argv[i]);
      return -1;
    }
    *number = strtoull(equals + 1, NULL, 0);
  }
  if (out_path == NULL) {
    fputs("count: out=FILE is missing\n", stderr);
    return -1;
  }
  out_path = checked(strdup(out_path));
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, write_counts, NULL);
  return 0;
}
