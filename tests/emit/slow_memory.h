/* SPDX-License-Identifier: Apache-2.0
 *
 * For programs that test emitted C with two memories: a slow memory without access but for copies,
 * and functions for PREFIX_COPY and PREFIX_WAIT that count them. The same of weights in slow
 * memory, which are only read. One network at a time.
 */
#ifndef NEAP_TESTS_SLOW_MEMORY_H
#define NEAP_TESTS_SLOW_MEMORY_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SLOW_PAGE 65536U
#define SLOW_CANARY 0xC7

static struct slow_memory {
  unsigned char *pages, *first, *arena; /* `first` up to the end of the pages; before it canaries */
  const unsigned char* weights;         /* whole pages, or null */
  size_t size, bytes, arena_bytes, weights_bytes, read, written, read_weights;
  unsigned count;
  int late; /* copies are done when they are waited for; else when they are begun */
  int bad;
  struct {
    unsigned char* to;
    const unsigned char* from;
    size_t bytes;
  } begun[4096];
} slow_memory;

static void access_slow(int access) {
  struct slow_memory* const m = &slow_memory;
  if (mprotect(m->pages, m->size, access) != 0) exit(3);
  if (m->weights == NULL) return;
  if (mprotect((void*)(size_t)m->weights, m->weights_bytes, access & PROT_READ) != 0) exit(3);
}

static unsigned char* make_slow(size_t bytes, unsigned char* arena, size_t arena_bytes) {
  struct slow_memory* const m = &slow_memory;
  unsigned char* pages;
  m->size = (bytes + SLOW_PAGE - 1) / SLOW_PAGE * SLOW_PAGE;
  pages = (unsigned char*)mmap(NULL, m->size + 2 * SLOW_PAGE, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) exit(3);
  m->pages = pages + SLOW_PAGE;
  m->bytes = bytes;
  m->first = m->pages + (m->size - bytes);
  m->arena = arena;
  m->weights = NULL;
  m->arena_bytes = arena_bytes;
  access_slow(PROT_READ | PROT_WRITE);
  memset(m->pages, SLOW_CANARY, m->size - bytes);
  return m->first;
}

/* After make_slow(): weights are in these pages. */
void make_slow_weights(const void* first, const void* end);
void make_slow_weights(const void* first, const void* end) {
  slow_memory.weights = (const unsigned char*)first;
  slow_memory.weights_bytes = (size_t)((const unsigned char*)end - slow_memory.weights);
}

/* The file of weights of a network in pages of its own: PREFIX_weights up to PREFIX_weights_end. */
#define SLOW_WEIGHTS(prefix)                                                                 \
  extern const signed char prefix##_weights[], prefix##_weights_end[];                       \
  __asm__(".pushsection .rodata\n.balign 65536\n.globl " #prefix "_weights\n.globl " #prefix \
          "_weights_end\n" #prefix "_weights:\n.incbin \"" #prefix                           \
          "_weights.bin\"\n.balign 65536\n" #prefix "_weights_end:\n.popsection\n");

static int is_inside(const unsigned char* at, size_t bytes, const unsigned char* memory,
                     size_t size) {
  return at >= memory && bytes <= size && (size_t)(at - memory) <= size - bytes;
}

static void do_copies(void) {
  struct slow_memory* const m = &slow_memory;
  unsigned i;
  access_slow(PROT_READ | PROT_WRITE);
  for (i = 0; i < m->count; ++i) memcpy(m->begun[i].to, m->begun[i].from, m->begun[i].bytes);
  m->count = 0;
  access_slow(PROT_NONE);
}

void begin_copy(void* to, const void* from, size_t bytes);
void begin_copy(void* to, const void* from, size_t bytes) {
  struct slow_memory* const m = &slow_memory;
  unsigned char* const t = (unsigned char*)to;
  const unsigned char* const f = (const unsigned char*)from;
  if (is_inside(f, bytes, m->first, m->bytes) && is_inside(t, bytes, m->arena, m->arena_bytes)) {
    m->read += bytes;
    if (m->late) memset(t, 0x3C, bytes);
  } else if (m->weights != NULL && is_inside(f, bytes, m->weights, m->weights_bytes) &&
             is_inside(t, bytes, m->arena, m->arena_bytes)) {
    m->read += bytes;
    m->read_weights += bytes;
    if (m->late) memset(t, 0x3C, bytes);
  } else if (is_inside(t, bytes, m->first, m->bytes) &&
             is_inside(f, bytes, m->arena, m->arena_bytes)) {
    m->written += bytes;
  } else {
    m->bad = 1;
    return;
  }
  if (m->count == sizeof(m->begun) / sizeof(m->begun[0])) {
    m->bad = 1;
    return;
  }
  m->begun[m->count].to = t;
  m->begun[m->count].from = f;
  m->begun[m->count++].bytes = bytes;
  if (!m->late) do_copies();
}

void wait_for_copies(void);
void wait_for_copies(void) {
  if (slow_memory.count > 0) do_copies();
}

/* From here on the network runs. */
static void begin_run(int late) {
  struct slow_memory* const m = &slow_memory;
  m->late = late;
  m->read = m->written = m->read_weights = m->count = 0;
  m->bad = 0;
  access_slow(PROT_NONE);
}

/* Up to here. Whether exactly these bytes were copied, each between the two memories, none is left
 * to be copied, and the canaries exist. */
static int end_run(size_t read, size_t written) {
  struct slow_memory* const m = &slow_memory;
  const unsigned char* at;
  access_slow(PROT_READ | PROT_WRITE);
  for (at = m->pages; at < m->first; ++at) {
    if (*at != SLOW_CANARY) return 0;
  }
  return m->read == read && m->written == written && m->count == 0 && !m->bad;
}

#endif
