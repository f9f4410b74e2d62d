/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * neap_select_u8: the same loops on uint8.
 */
#define NEAP_UINT8
#include "neap_select_s8.c"
#undef NEAP_UINT8
