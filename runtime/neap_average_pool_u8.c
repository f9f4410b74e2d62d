/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * neap_average_pool_u8: the same loops on uint8.
 */
#define NEAP_UINT8
#include "neap_average_pool_s8.c"
#undef NEAP_UINT8
