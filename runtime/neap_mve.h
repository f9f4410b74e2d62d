/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Kernels for cores with Armv8.1-M's vector extension (MVE, "Helium"): Cortex-M55, M85. Where the
 * compiler is not for such a core, C computes the same bytes from the same tables.
 */
#ifndef NEAP_MVE_H
#define NEAP_MVE_H

#include "neap_rt.h"

#if !defined(NEAP_PORTABLE) && defined(__GNUC__) && defined(__ARM_FEATURE_MVE) && \
    !defined(__ARM_BIG_ENDIAN)
#if __ARM_FEATURE_MVE & 1
#define NEAP_MVE_CORE
#include <arm_mve.h>
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Convolutions, fully connected and depthwise operators on int8. The input's zero point is in the
 * bias; every factor is below 1, every channel has an exponent of at least 1.
 * `channels` has rows of NEAP_MVE_ROW words for four channels: their biases, their fractions, and
 * their exponents negated, as four bytes, the first one lowest. */
typedef struct neap_mve {
  const int8_t* weights; /* as neap_conv_mve_s8.c and neap_depthwise_mve_s8.c describe them */
  const uint32_t* channels;
  uint32_t taps;
  uint32_t inputs;   /* of a tap */
  uint32_t row_taps; /* taps in a row of the window */
  uint32_t step;     /* bytes from a tap of a pixel to that of the next pixel */
  int32_t out_zero;
  int32_t low;
  int32_t high;
  uint32_t positive; /* low is the zero point: how negative sums are rounded is lost */
} neap_mve;
#define NEAP_MVE_ROW 9
#define NEAP_MVE_BYTES 16U /* of a vector */

/* work->taps: those of the first pixel; those of pixel p are p * step bytes further. */
void neap_conv_mve_s8(const neap_op* op, const neap_work* work);
void neap_depthwise_mve_s8(const neap_op* op, const neap_work* work);
/* neap_add_s8, of a neap_add whose shifts are 0 or negative, that of the output negative. */
void neap_add_mve_s8(const neap_op* op, const neap_work* work);

/* The driver of such kernels with a window: one call for each run of pixels whose taps are all
 * inside the input and equally far from those of the pixel before. */
int neap_drive_strip(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                     uint32_t x1);

/* The output of channel `lane` of a row of `channels`, from its sum of products. */
static inline int8_t neap_mve_output(const neap_mve* p, const uint32_t* row, uint32_t lane,
                                     uint32_t sum) {
  const int32_t shift = (int8_t)(uint8_t)(row[8] >> 8 * lane & 0xffU);
  const int32_t scaled = neap_scale((int32_t)(sum + row[lane]), (int32_t)row[4 + lane], shift);
  const int32_t value = (int32_t)((uint32_t)scaled + (uint32_t)p->out_zero);
  return (int8_t)neap_clamp(value, p->low, p->high);
}

#ifdef NEAP_MVE_CORE
/* The same of four sums, without zero point and range. */
static inline int32x4_t neap_mve_scale(const neap_mve* p, const uint32_t* row, int32x4_t sums) {
  int32x4_t value = vaddq_s32(sums, vreinterpretq_s32_u32(vldrwq_u32(row)));
  value = vqrdmulhq_s32(value, vreinterpretq_s32_u32(vldrwq_u32(row + 4)));
  if (p->positive == 0) value = vaddq_s32(value, vshrq_n_s32(value, 31));
  return vrshlq_s32(value, vldrbq_s32((const int8_t*)(const void*)(row + 8)));
}
#endif

#ifdef __cplusplus
}
#endif

#endif
