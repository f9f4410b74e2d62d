/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The inputs of pixels as words of two 16-bit numbers, in the order that neap_conv_packed_s8.c
 * describes.
 */
#include "neap_dsp.h"
#include "neap_rt.h"

static inline uint32_t neap_halves(int32_t lower, int32_t upper) {
  return ((uint32_t)lower & 0xffffU) | (uint32_t)upper << 16;
}

/* As neap_packed_widen(), of taps with one input. */
static NEAP_APART void neap_packed_widen_one(const int8_t* const* taps, uint32_t count,
                                             uint32_t skip, uint32_t* to, uint32_t step) {
  for (; count >= 4; count -= 4, taps += 4, to += 2 * step) {
    to[0] = neap_halves(taps[0][skip], taps[2][skip]);
    to[step] = neap_halves(taps[1][skip], taps[3][skip]);
  }
  if (count == 0) return;
  to[0] = neap_halves(taps[0][skip], count == 1 ? 0 : taps[count - 1][skip]);
  if (count == 3) to[step] = neap_halves(taps[1][skip], 0);
}

/* The same of two pixels whose words alternate; the second one has its taps `next` bytes behind. */
void neap_packed_widen_ones(const int8_t* const* taps, uint32_t count, uint32_t skip, uint32_t next,
                            uint32_t* to) {
  for (; count >= 4; count -= 4, taps += 4, to += 4) {
    const int8_t* const a = taps[0] + skip;
    const int8_t* const b = taps[1] + skip;
    const int8_t* const c = taps[2] + skip;
    const int8_t* const d = taps[3] + skip;
    to[0] = neap_halves(a[0], c[0]);
    to[1] = neap_halves(a[next], c[next]);
    to[2] = neap_halves(b[0], d[0]);
    to[3] = neap_halves(b[next], d[next]);
  }
  if (count == 1) {
    to[0] = neap_halves(taps[0][skip], 0);
    to[1] = neap_halves(taps[0][skip + next], 0);
  } else if (count != 0) {
    neap_packed_widen_one(taps, count, skip, to, 2);
    neap_packed_widen_one(taps, count, skip + next, to + 1, 2);
  }
}

/* As neap_packed_widen(), of taps with three inputs: four of them. */
static uint32_t* neap_packed_widen_threes(const int8_t* const* taps, uint32_t skip, uint32_t* to,
                                          uint32_t step) {
  const int8_t* const a = taps[0] + skip;
  const int8_t* const b = taps[1] + skip;
  const int8_t* const c = taps[2] + skip;
  const int8_t* const d = taps[3] + skip;
  to[0] = neap_halves(a[0], a[2]);
  to[step] = neap_halves(a[1], b[0]);
  to += 2 * step;
  to[0] = neap_halves(b[1], c[0]);
  to[step] = neap_halves(b[2], c[1]);
  to += 2 * step;
  to[0] = neap_halves(c[2], d[1]);
  to[step] = neap_halves(d[0], d[2]);
  return to + 2 * step;
}

int neap_packed_are_nines(const neap_packed* p, const int8_t* const* taps) {
  if (p->inputs != 3 || p->taps != 9) return 0;
  for (uint32_t row = 0; row < 3; ++row, taps += 3) {
    if (taps[1] != taps[0] + 3 || taps[2] != taps[0] + 6) return 0;
  }
  return 1;
}

/* Four bytes of two pixels. */
static inline uint32_t* neap_packed_widen_both(uint32_t word, uint32_t next, uint32_t* to) {
  to[0] = neap_even_bytes(word);
  to[1] = neap_even_bytes(next);
  to[2] = neap_odd_bytes(word);
  to[3] = neap_odd_bytes(next);
  return to + 4;
}

void neap_packed_widen_nines(const int8_t* const* taps, uint32_t skip, uint32_t next,
                             uint32_t* to) {
  const int8_t* const a = taps[0] + skip;
  const int8_t* const b = taps[3] + skip;
  const int8_t* const c = taps[6] + skip;
  uint32_t word = neap_load_word(b);
  uint32_t other = neap_load_word(b + next);
  to = neap_packed_widen_both(neap_load_word(a), neap_load_word(a + next), to);
  to = neap_packed_widen_both(neap_load_word(a + 4), neap_load_word(a + next + 4), to);
  to = neap_packed_widen_both((uint32_t)(uint8_t)a[8] | word << 8,
                              (uint32_t)(uint8_t)a[next + 8] | other << 8, to);
  to = neap_packed_widen_both(neap_load_word(b + 3), neap_load_word(b + next + 3), to);
  word = neap_load_word(b + 5) >> 16 | neap_load_word(c) << 16;
  other = neap_load_word(b + next + 5) >> 16 | neap_load_word(c + next) << 16;
  to = neap_packed_widen_both(word, other, to);
  to = neap_packed_widen_both(neap_load_word(c + 2), neap_load_word(c + next + 2), to);
  word = neap_load_word(c + 5);
  other = neap_load_word(c + next + 5);
  to[0] = neap_odd_bytes(word);
  to[1] = neap_odd_bytes(other);
  to[2] = neap_even_bytes(word) >> 16;
  to[3] = neap_even_bytes(other) >> 16;
}

/* The inputs of one pixel to words that are `step` apart; `skip`: bytes from the taps to those of
 * the pixel. Taps that follow each other in memory are one stretch of bytes; bytes that are left of
 * a stretch go before the next one. */
void neap_packed_widen(const neap_packed* p, const int8_t* const* taps, uint32_t skip, uint32_t* to,
                       uint32_t step) {
  const int8_t* const* const end = taps + p->taps;
  uint32_t waiting = 0; /* bytes, lowest first */
  uint32_t bits = 0;    /* of them */
  if (p->inputs == 1) {
    neap_packed_widen_one(taps, p->taps, skip, to, step);
    return;
  }
  if (p->inputs == 3) {
    for (; end - taps >= 4; taps += 4) to = neap_packed_widen_threes(taps, skip, to, step);
    if (end - taps == 1) {
      const int8_t* const last = taps[0] + skip;
      to[0] = neap_halves(last[0], last[2]);
      to[step] = neap_halves(last[1], 0);
      return;
    }
  }
  while (taps != end) {
    const int8_t* in = *taps;
    uint32_t bytes = p->inputs;
    while (++taps != end && *taps == in + bytes) bytes += p->inputs;
    in += skip;
    if (bits == 0) {
      for (; bytes >= 4; bytes -= 4, in += 4, to += 2 * step) {
        const uint32_t four = neap_load_word(in);
        to[0] = neap_even_bytes(four);
        to[step] = neap_odd_bytes(four);
      }
    } else {
      for (; bytes >= 4; bytes -= 4, in += 4, to += 2 * step) {
        const uint32_t four = neap_load_word(in);
        const uint32_t word = waiting | four << bits;
        to[0] = neap_even_bytes(word);
        to[step] = neap_odd_bytes(word);
        waiting = four >> (32 - bits);
      }
    }
    for (; bytes > 0; --bytes) {
      waiting |= (uint32_t)(uint8_t)*in++ << bits;
      bits += 8;
      if (bits == 32) {
        to[0] = neap_even_bytes(waiting);
        to[step] = neap_odd_bytes(waiting);
        to += 2 * step;
        waiting = 0;
        bits = 0;
      }
    }
  }
  if (bits == 16) {
    to[0] = neap_even_bytes((waiting & 0xffU) | (waiting & 0xff00U) << 8);
  } else if (bits != 0) {
    to[0] = neap_even_bytes(waiting);
    if (bits == 24) to[step] = neap_odd_bytes(waiting) & 0xffffU;
  }
}

#ifdef NEAP_DSP_CORE
/* Four bytes of two pixels. */
#define NEAP_WIDEN_TWO         \
  "ldr r6, [%0], #4 \n\t"      \
  "ldr r8, [%1], #4 \n\t"      \
  "sxtb16 r4, r6 \n\t"         \
  "sxtb16 r5, r8 \n\t"         \
  "sxtb16 r6, r6, ror #8 \n\t" \
  "sxtb16 r8, r8, ror #8 \n\t" \
  "stmia %2!, {r4, r5, r6, r8} \n\t"
#define NEAP_WIDEN_ONE         \
  "ldr r6, [%0], #4 \n\t"      \
  "sxtb16 r4, r6 \n\t"         \
  "sxtb16 r5, r6, ror #8 \n\t" \
  "stmia %1!, {r4, r5} \n\t"
#endif

/* The same of two pixels at once, whose words alternate, and of one; of taps with a multiple of
 * four inputs. */
void neap_packed_widen_fours(const neap_packed* p, const int8_t* const* taps,
                             const int8_t* const* next_taps, uint32_t skip, uint32_t next_skip,
                             uint32_t* to, uint32_t pixels) {
  const int8_t* const* const end = taps + p->taps;
  for (; taps != end; ++taps, ++next_taps) {
    const int8_t* in = *taps + skip;
    const int8_t* const last = in + p->inputs;
    if (pixels == 2) {
      const int8_t* next = *next_taps + next_skip;
#ifdef NEAP_DSP_CORE
      __asm__ volatile(
          "tst %4, #4 \n\t"
          "beq 2f \n\t" NEAP_WIDEN_TWO
          "cmp %0, %3 \n\t"
          "beq 3f \n"
          "2: \n\t" NEAP_WIDEN_TWO NEAP_WIDEN_TWO
          "cmp %0, %3 \n\t"
          "bne 2b \n"
          "3: \n\t"
          : "+r"(in), "+r"(next), "+r"(to)
          : "r"(last), "r"(p->inputs)
          : "r4", "r5", "r6", "r8", "cc", "memory");
#else
      for (; in != last; in += 4, next += 4, to += 4) {
        to[0] = neap_even_bytes(neap_load_word(in));
        to[1] = neap_even_bytes(neap_load_word(next));
        to[2] = neap_odd_bytes(neap_load_word(in));
        to[3] = neap_odd_bytes(neap_load_word(next));
      }
#endif
    } else {
#ifdef NEAP_DSP_CORE
      __asm__ volatile(
          "tst %3, #4 \n\t"
          "beq 2f \n\t" NEAP_WIDEN_ONE
          "cmp %0, %2 \n\t"
          "beq 3f \n"
          "2: \n\t" NEAP_WIDEN_ONE NEAP_WIDEN_ONE
          "cmp %0, %2 \n\t"
          "bne 2b \n"
          "3: \n\t"
          : "+r"(in), "+r"(to)
          : "r"(last), "r"(p->inputs)
          : "r4", "r5", "r6", "cc", "memory");
#else
      for (; in != last; in += 4, to += 2) {
        to[0] = neap_even_bytes(neap_load_word(in));
        to[1] = neap_odd_bytes(neap_load_word(in));
      }
#endif
    }
  }
}

#ifdef NEAP_DSP_CORE
#undef NEAP_WIDEN_TWO
#undef NEAP_WIDEN_ONE
#endif
