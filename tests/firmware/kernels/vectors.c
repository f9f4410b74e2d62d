// SPDX-License-Identifier: Apache-2.0
//
// The kernels as the compiler's processor has them.
#include "neap_add_mve_s8.c"
#include "neap_add_s8.c"
#include "neap_conv_mve_s8.c"
#include "neap_depthwise_mve_s8.c"

int has_vectors(void) {
#if defined(NEAP_MVE_CORE) || defined(NEAP_VECTOR)
  return 1;
#else
  return 0;
#endif
}
