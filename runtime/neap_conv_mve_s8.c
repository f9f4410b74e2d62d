/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Convolution, pointwise and fully connected operators on int8, for cores with MVE; in C elsewhere.
 * The inputs of a pixel are copied, one tap after the other, to a multiple of 16 bytes, with zeros
 * behind them. Weights: of four output channels at a time, for each 16 inputs those of the first
 * channel, then of the second and so on, with zeros behind the last input. The same of the one to
 * three channels that are left.
 */
#include "neap_mve.h"

#ifdef NEAP_MVE_CORE

/* What the assembly below takes from memory, in this order. */
typedef struct neap_mve_run {
  const int8_t* in[2]; /* of two pixels */
  uint32_t more;       /* 16 inputs each, after the first ones */
  const uint32_t* end; /* of `channels` */
  uint32_t pitch;      /* bytes from the output of the first pixel to that of the second, less 4 */
  const uint32_t* channels;
  const int8_t* weights;
  int8_t* out;
  int32_t out_zero;
  int32_t low;
  int32_t high;
} neap_mve_run;

/* 16 inputs of two pixels and four channels. Sums: r0, r4, r8, r12 and r2, r6, r10, lr. */
#define NEAP_MVE_TWO(add)                  \
  "vldrb.8 q0, [r9], #16 \n\t"             \
  "vldrb.8 q2, [r5], #16 \n\t"             \
  "vldrb.8 q1, [r11], #16 \n\t"             \
  "vldrb.8 q3, [r5], #16 \n\t"             \
  "vmladav" add ".s8 r0, q0, q2 \n\t"      \
  "vmladav" add ".s8 r2, q1, q2 \n\t"      \
  "vldrb.8 q2, [r5], #16 \n\t"             \
  "vmladav" add ".s8 r4, q0, q3 \n\t"      \
  "vmladav" add ".s8 r6, q1, q3 \n\t"      \
  "vldrb.8 q3, [r5], #16 \n\t"             \
  "vmladav" add ".s8 r8, q0, q2 \n\t"      \
  "vmladav" add ".s8 r10, q1, q2 \n\t"     \
  "vmladav" add ".s8 r12, q0, q3 \n\t"     \
  "vmladav" add ".s8 lr, q1, q3 \n\t"
/* The same of one pixel. */
#define NEAP_MVE_ONE(add)                  \
  "vldrb.8 q0, [r9], #16 \n\t"             \
  "vldrb.8 q1, [r5], #16 \n\t"             \
  "vldrb.8 q2, [r5], #16 \n\t"             \
  "vmladav" add ".s8 r0, q0, q1 \n\t"      \
  "vldrb.8 q3, [r5], #16 \n\t"             \
  "vmladav" add ".s8 r4, q0, q2 \n\t"      \
  "vldrb.8 q1, [r5], #16 \n\t"             \
  "vmladav" add ".s8 r8, q0, q3 \n\t"      \
  "vmladav" add ".s8 r12, q0, q1 \n\t"
/* All inputs: r3 times 16 more than the first. */
#define NEAP_MVE_ALL(some)                 \
  some("")                                 \
  "lsrs r3, r3, #1 \n\t"                   \
  "bcc 2f \n\t"                            \
  some("a")                                \
  "2: \n\t"                                \
  "beq 4f \n"                              \
  "3: \n\t"                                \
  some("a") some("a")                      \
  "subs r3, r3, #1 \n\t"                   \
  "bne 3b \n"                              \
  "4: \n\t"
#define NEAP_MVE_SIGN(q)                   \
  "vshr.s32 q4, " q ", #31 \n\t"           \
  "vadd.i32 " q ", " q ", q4 \n\t"
#define NEAP_MVE_NO_SIGN(q)
#define NEAP_MVE_START                     \
  "push {r7, r11} \n\t"                    \
  "ldr r1, [r0, #32] \n\t"                 \
  "ldr r3, [r0, #36] \n\t"                 \
  "ldr r4, [r0, #40] \n\t"                 \
  "vdup.32 q5, r1 \n\t"                    \
  "vdup.32 q6, r3 \n\t"                    \
  "vdup.32 q7, r4 \n\t"                    \
  "ldm r0!, {r1, r2, r3, r4, r6} \n\t"     \
  "push {r1, r2, r3, r4, r6} \n\t"         \
  "ldr r7, [r0] \n\t"                      \
  "ldr r5, [r0, #4] \n\t"                  \
  "ldr r1, [r0, #8] \n"                    \
  "1: \n\t"
#define NEAP_MVE_END                       \
  "ldr r0, [sp, #12] \n\t"                 \
  "cmp r7, r0 \n\t"                        \
  "bne 1b \n\t"                            \
  "add sp, sp, #20 \n\t"                   \
  "pop {r7, r11} \n\t"
#define NEAP_MVE_RUN_TWO(sign)             \
  NEAP_MVE_START                           \
  "ldrd r9, r11, [sp] \n\t"                 \
  "ldr r3, [sp, #8] \n\t"                  \
  NEAP_MVE_ALL(NEAP_MVE_TWO)               \
  "vldrw.u32 q2, [r7], #16 \n\t"           \
  "vmov d0, r0, r4 \n\t"                   \
  "vmov d1, r8, r12 \n\t"                  \
  "vmov d2, r2, r6 \n\t"                   \
  "vmov d3, r10, lr \n\t"                  \
  "vadd.i32 q0, q0, q2 \n\t"               \
  "vldrw.u32 q3, [r7], #16 \n\t"           \
  "vadd.i32 q1, q1, q2 \n\t"               \
  "vqrdmulh.s32 q0, q0, q3 \n\t"           \
  "vldrb.s32 q2, [r7], #4 \n\t"            \
  "vqrdmulh.s32 q1, q1, q3 \n\t"           \
  sign("q0") sign("q1")                    \
  "vrshl.s32 q0, q0, q2 \n\t"              \
  "vrshl.s32 q1, q1, q2 \n\t"              \
  "vadd.i32 q0, q0, q5 \n\t"               \
  "vadd.i32 q1, q1, q5 \n\t"               \
  "vmax.s32 q0, q0, q6 \n\t"               \
  "vmax.s32 q1, q1, q6 \n\t"               \
  "vmin.s32 q0, q0, q7 \n\t"               \
  "vmin.s32 q1, q1, q7 \n\t"               \
  "ldr r0, [sp, #16] \n\t"                 \
  "vstrb.32 q0, [r1], #4 \n\t"            \
  "add r0, r0, r1 \n\t"                   \
  "vstrb.32 q1, [r0] \n\t"                 \
  NEAP_MVE_END
#define NEAP_MVE_RUN_ONE(sign)             \
  NEAP_MVE_START                           \
  "ldr r9, [sp] \n\t"                      \
  "ldr r3, [sp, #8] \n\t"                  \
  NEAP_MVE_ALL(NEAP_MVE_ONE)               \
  "vldrw.u32 q1, [r7], #16 \n\t"           \
  "vmov d0, r0, r4 \n\t"                   \
  "vmov d1, r8, r12 \n\t"                  \
  "vldrw.u32 q2, [r7], #16 \n\t"           \
  "vadd.i32 q0, q0, q1 \n\t"               \
  "vldrb.s32 q3, [r7], #4 \n\t"            \
  "vqrdmulh.s32 q0, q0, q2 \n\t"           \
  sign("q0")                               \
  "vrshl.s32 q0, q0, q3 \n\t"              \
  "vadd.i32 q0, q0, q5 \n\t"               \
  "vmax.s32 q0, q0, q6 \n\t"               \
  "vmin.s32 q0, q0, q7 \n\t"               \
  "vstrb.32 q0, [r1], #4 \n\t"            \
  NEAP_MVE_END
#define NEAP_MVE_ASM(run)                                                                         \
  __asm__ volatile(run                                                                            \
                   : "+r"(given)                                                                  \
                   :                                                                              \
                   : "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r12", "lr", "q0", "q1", \
                     "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory")

/* All channels that are four at a time, of one or two pixels. */
static void neap_mve_fours(const neap_mve_run* run, uint32_t pixels, uint32_t positive) {
  register const neap_mve_run* given __asm__("r0") = run;
  if (pixels == 2) {
    if (positive != 0) {
      NEAP_MVE_ASM(NEAP_MVE_RUN_TWO(NEAP_MVE_NO_SIGN));
    } else {
      NEAP_MVE_ASM(NEAP_MVE_RUN_TWO(NEAP_MVE_SIGN));
    }
  } else if (positive != 0) {
    NEAP_MVE_ASM(NEAP_MVE_RUN_ONE(NEAP_MVE_NO_SIGN));
  } else {
    NEAP_MVE_ASM(NEAP_MVE_RUN_ONE(NEAP_MVE_SIGN));
  }
}

#undef NEAP_MVE_TWO
#undef NEAP_MVE_ONE
#undef NEAP_MVE_ALL
#undef NEAP_MVE_SIGN
#undef NEAP_MVE_NO_SIGN
#undef NEAP_MVE_START
#undef NEAP_MVE_END
#undef NEAP_MVE_RUN_TWO
#undef NEAP_MVE_RUN_ONE
#undef NEAP_MVE_ASM

static void neap_mve_copy(const int8_t* from, uint32_t bytes, int8_t* to) {
  for (; bytes >= NEAP_MVE_BYTES; bytes -= NEAP_MVE_BYTES) {
    vstrbq_s8(to, vldrbq_s8(from));
    from += NEAP_MVE_BYTES;
    to += NEAP_MVE_BYTES;
  }
  if (bytes != 0) {
    const mve_pred16_t some = vctp8q(bytes);
    vstrbq_p_s8(to, vldrbq_z_s8(from, some), some);
  }
}

static uint32_t neap_mve_dot(const int8_t* in, const int8_t* weights, uint32_t pitch,
                             uint32_t count) {
  int32_t sum = 0;
  for (; count > 0; --count, in += NEAP_MVE_BYTES, weights += pitch) {
    sum = vmladavaq_s8(sum, vldrbq_s8(in), vldrbq_s8(weights));
  }
  return (uint32_t)sum;
}

#else

static void neap_mve_copy(const int8_t* from, uint32_t bytes, int8_t* to) {
  memcpy(to, from, bytes);
}

static uint32_t neap_mve_dot(const int8_t* in, const int8_t* weights, uint32_t pitch,
                             uint32_t count) {
  uint32_t sum = 0;
  for (; count > 0; --count, in += NEAP_MVE_BYTES, weights += pitch) {
    for (uint32_t i = 0; i < NEAP_MVE_BYTES; ++i) sum += (uint32_t)(in[i] * weights[i]);
  }
  return sum;
}

#endif

/* The inputs of a pixel to `to`. Taps that follow each other in memory are copied as one. */
static void neap_mve_gather(const neap_mve* p, const int8_t* const* taps, size_t ahead,
                            uint32_t padded, int8_t* to) {
  const int8_t* const* const end = taps + p->taps;
  int8_t* const last = to + padded - NEAP_MVE_BYTES;
#ifdef NEAP_MVE_CORE
  vstrbq_s8(last, vdupq_n_s8(0));
#else
  memset(last, 0, NEAP_MVE_BYTES);
#endif
  while (taps != end) {
    const int8_t* const from = *taps;
    uint32_t bytes = p->inputs;
    while (++taps != end && *taps == from + bytes) bytes += p->inputs;
    neap_mve_copy(from + ahead, bytes, to);
    to += bytes;
  }
}

void neap_conv_mve_s8(const neap_op* op, const neap_work* work) {
  const neap_mve* const p = (const neap_mve*)op->params;
  const uint32_t pitch = op->views[0]->pixel_bytes;
  const uint32_t length = p->taps * p->inputs;
  const uint32_t count = (length + NEAP_MVE_BYTES - 1) / NEAP_MVE_BYTES;
  const uint32_t padded = count * NEAP_MVE_BYTES;
  const uint32_t fours = work->channels / 4;
  const uint32_t rest = work->channels % 4;
  for (uint32_t done = 0; done < work->pixels;) {
    const uint32_t pixels = work->pixels - done > 1 ? 2 : 1;
    const size_t ahead = (size_t)done * p->step;
    int8_t* const out = work->out + done * pitch;
    const int8_t* in[2];
    const int8_t* weights = p->weights;
    const uint32_t* row = p->channels;
    if (pixels == 1 && p->taps == 1 && length == padded) {
      in[0] = work->taps[0] + ahead;
    } else {
      neap_mve_gather(p, work->taps, ahead, padded, work->scratch);
      in[0] = work->scratch;
      if (pixels == 2) {
        neap_mve_gather(p, work->taps, ahead + p->step, padded, work->scratch + padded);
      }
    }
    in[1] = in[0] + padded;
#ifdef NEAP_MVE_CORE
    if (fours != 0) {
      const neap_mve_run run = {{in[0], in[1]}, count - 1, row + fours * NEAP_MVE_ROW, pitch - 4,
                                row, weights, out, p->out_zero, p->low, p->high};
      neap_mve_fours(&run, pixels, p->positive);
      row += fours * NEAP_MVE_ROW;
      weights += fours * 4 * padded;
    }
#else
    for (uint32_t i = 0; i < fours; ++i, row += NEAP_MVE_ROW, weights += 4 * padded) {
      for (uint32_t k = 0; k < pixels; ++k) {
        int8_t results[4];
        for (uint32_t c = 0; c < 4; ++c) {
          const uint32_t sum = neap_mve_dot(in[k], weights + c * NEAP_MVE_BYTES,
                                            4 * NEAP_MVE_BYTES, count);
          results[c] = neap_mve_output(p, row, c, sum);
        }
        memcpy(out + k * pitch + i * 4, results, sizeof(results));
      }
    }
#endif
    for (uint32_t k = 0; k < pixels; ++k) {
      int8_t results[4] = {0, 0, 0, 0};
      for (uint32_t c = 0; c < rest; ++c) {
        const uint32_t sum = neap_mve_dot(in[k], weights + c * NEAP_MVE_BYTES,
                                          rest * NEAP_MVE_BYTES, count);
        results[c] = neap_mve_output(p, row, c, sum);
      }
      for (uint32_t c = 0; c < rest; ++c) out[k * pitch + fours * 4 + c] = results[c];
    }
    done += pixels;
  }
}
