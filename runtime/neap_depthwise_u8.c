/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * neap_depthwise_u8: the same loops on uint8, whose weights have a zero point.
 */
#define NEAP_UINT8
#include "neap_depthwise_s8.c"
#undef NEAP_UINT8
