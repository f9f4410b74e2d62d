/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ADD of int8 for cores with MVE, x86-64 with AVX2 and AArch64: operands of one shape as vectors; all
 * others, SUB, and all on other processors by neap_add_s8. No shift is to the left; that of the output
 * is to the right.
 */
#include "neap_mve.h"
#include "neap_vector.h"

#if defined(NEAP_MVE_CORE) || defined(NEAP_VECTOR)

/* Operands that are vectors, in the order in which the assembly below reads them from memory. */
typedef struct neap_add_run {
  const int8_t* a;
  const int8_t* b;
  int8_t* out;
  int32_t a_zero;
  int32_t a_fraction;
  int32_t b_zero;
  int32_t b_fraction;
  int32_t out_fraction;
  int32_t out_shift;
  int32_t out_zero;
  uint32_t count;
  int32_t a_shift;
  int32_t b_shift;
  int32_t low;
  int32_t high;
} neap_add_run;

#endif

#ifdef NEAP_MVE_CORE

/* Four values of an operand, at their common scale. Shifts are 0 or negative: the sign of a value
 * counts for the latter. */
#define NEAP_ADD_OPERAND(q, from, zero, fraction, shift) \
  "vldrb.s32 " q ", [" from "], #4 \n\t"   \
  "vsub.i32 " q ", " q ", " zero " \n\t"   \
  "vshl.i32 " q ", " q ", #20 \n\t"        \
  "vqrdmulh.s32 " q ", " q ", " fraction " \n\t" \
  "vand q2, " q ", " shift " \n\t"         \
  "vshr.s32 q2, q2, #31 \n\t"              \
  "vadd.i32 " q ", " q ", q2 \n\t"         \
  "vrshl.s32 " q ", " q ", " shift " \n\t"

static void neap_add_mve_run(const neap_add_run* run) {
  register const neap_add_run* given __asm__("r0") = run;
  __asm__ volatile(
      "ldr r1, [r0, #44] \n\t"
      "ldr r2, [r0, #48] \n\t"
      "ldr r3, [r0, #52] \n\t"
      "ldr r4, [r0, #56] \n\t"
      "vdup.32 q3, r1 \n\t"
      "vdup.32 q4, r2 \n\t"
      "vdup.32 q5, r3 \n\t"
      "vdup.32 q6, r4 \n\t"
      "ldm r0, {r0, r1, r2, r3, r4, r5, r6, r8, r9, r10, r12} \n\t"
      "dlstp.32 lr, r12 \n"
      "1: \n\t"
      NEAP_ADD_OPERAND("q0", "r0", "r3", "r4", "q3")
      NEAP_ADD_OPERAND("q1", "r1", "r5", "r6", "q4")
      "vadd.i32 q0, q0, q1 \n\t"
      "vqrdmulh.s32 q0, q0, r8 \n\t"
      "vshr.s32 q1, q0, #31 \n\t"
      "vadd.i32 q0, q0, q1 \n\t"
      "vrshl.s32 q0, r9 \n\t"
      "vadd.i32 q0, q0, r10 \n\t"
      "vmax.s32 q0, q0, q5 \n\t"
      "vmin.s32 q0, q0, q6 \n\t"
      "vstrb.32 q0, [r2], #4 \n\t"
      "letp lr, 1b \n\t"
      : "+r"(given)
      :
      : "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r12", "lr", "q0", "q1", "q2", "q3",
        "q4", "q5", "q6", "cc", "memory");
}

#undef NEAP_ADD_OPERAND

#elif defined(NEAP_VECTOR)

/* Four values of an operand, at their common scale. */
static inline neap_four neap_add_operand(const void* from, int32_t zero, int32_t fraction,
                                         int32_t shift) {
  neap_four value = neap_four_add(neap_four_widen(from), neap_four_all(-zero));
  value = neap_four_product(neap_four_shift_left_20(value), neap_four_all(fraction));
  return shift == 0 ? value : neap_four_round(neap_four_lower(value), neap_four_all(shift));
}

static inline void neap_add_four(const neap_add_run* run, const neap_vector_range* range,
                                 const int8_t* a, const int8_t* b, int8_t* out) {
  const neap_four left = neap_add_operand(a, run->a_zero, run->a_fraction, run->a_shift);
  const neap_four right = neap_add_operand(b, run->b_zero, run->b_fraction, run->b_shift);
  neap_four sum = neap_four_product(neap_four_add(left, right), neap_four_all(run->out_fraction));
  sum = neap_four_round(neap_four_lower(sum), neap_four_all(run->out_shift));
  neap_four_store(neap_four_clamp(neap_four_add(sum, range->zero), range->low, range->high), out);
}

static void neap_add_mve_run(const neap_add_run* run) {
  const neap_vector_range range = neap_vector_range_of(run->out_zero, run->low, run->high);
  const uint32_t fours = run->count / 4 * 4;
  for (uint32_t i = 0; i < fours; i += 4) {
    neap_add_four(run, &range, run->a + i, run->b + i, run->out + i);
  }
  if (fours != run->count) {
    int8_t bytes[3][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};
    memcpy(bytes[0], run->a + fours, run->count - fours);
    memcpy(bytes[1], run->b + fours, run->count - fours);
    neap_add_four(run, &range, bytes[0], bytes[1], bytes[2]);
    memcpy(run->out + fours, bytes[2], run->count - fours);
  }
}

#endif

void neap_add_mve_s8(const neap_op* op, const neap_work* work) {
#if defined(NEAP_MVE_CORE) || defined(NEAP_VECTOR)
  const neap_add* const add = (const neap_add*)op->params;
  const uint32_t pitch = op->views[0]->pixel_bytes;
  int is_flat = work->channels == pitch && add->sign > 0;
  for (uint32_t i = 0; i < 2; ++i) {
    is_flat = is_flat && add->strides[i].channel == 1 &&
              (add->strides[i].pixel == pitch || work->pixels == 1);
  }
  if (is_flat) {
    const neap_add_run run = {work->taps[0], work->taps[1], work->out, add->zeros[0],
                              add->fractions[0], add->zeros[1], add->fractions[1],
                              add->out_fraction, add->out_shift, add->out_zero,
                              work->pixels * pitch, add->shifts[0], add->shifts[1], add->low,
                              add->high};
    neap_add_mve_run(&run);
    return;
  }
#endif
  neap_add_s8(op, work);
}
