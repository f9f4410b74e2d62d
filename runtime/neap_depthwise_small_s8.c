/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * neap_depthwise_small_s8: the same loops with channels in few bits. Forms of a loop that are only
 * faster are left out.
 */
#define NEAP_SMALL
#define NEAP_OUTPUTS(conv, channel, sums, out, next) \
  neap_small_outputs(conv, channel, 4, sums, out, next)
#define NEAP_OUTPUT_ONE(conv, channel, sum, out) \
  neap_small_outputs(conv, channel, 1, &(sum), out, out)
#include "neap_depthwise_s8.c"
#undef NEAP_SMALL
