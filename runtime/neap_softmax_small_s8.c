/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * neap_softmax_small_s8: the same with exponentials that are computed, as the stock kernels do.
 */
#include "neap_rt.h"

/* e^a for a in (-2^31, 0] with 26 bits behind the point, as a fraction of 2^31. */
static NEAP_RARE NEAP_APART int32_t neap_softmax_exponential(const neap_small_softmax* softmax,
                                                             uint32_t difference) {
  /* e^-(2^-2), e^-(2^-1), ..., e^-(2^4). */
  static const int32_t factors[] = {1672461947, 1302514674, 790015084, 290630308,
                                    39332535,   720401,     242};
  const int32_t quarter = (int32_t)1 << 24;
  const int32_t eighth = 1895147668; /* e^(-1/8) */
  const int32_t a =
      neap_high_product((int32_t)((0U - difference) << softmax->shift), softmax->fraction);
  const int32_t rest = (a & (quarter - 1)) - quarter;
  const uint32_t quarters = (uint32_t)(rest - a) >> 24;
  /* The Taylor series around -1/8. */
  const int32_t x = rest * 32 + ((int32_t)1 << 28);
  const int32_t x2 = neap_high_product(x, x);
  const int32_t x3 = neap_high_product(x2, x);
  const int32_t x4 = neap_high_product(x2, x2);
  const int32_t sum = neap_high_product(neap_rounding_shift(x4, 2) + x3, 715827883) + x2;
  int32_t result = eighth + neap_high_product(eighth, x + neap_rounding_shift(sum, 1));
  if (a == 0) return INT32_MAX;
  for (uint32_t i = 0; i < 7; ++i) {
    if ((quarters >> i & 1U) != 0) result = neap_high_product(result, factors[i]);
  }
  return result;
}

#define NEAP_SMALL
#define NEAP_EXPONENTIAL(softmax, difference) neap_softmax_exponential(softmax, difference)
#include "neap_softmax_s8.c"
#undef NEAP_SMALL
