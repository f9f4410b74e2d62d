// SPDX-License-Identifier: Apache-2.0
//
// The same kernels in C, under other names.
#define NEAP_PORTABLE
#define neap_conv_mve_s8 scalar_conv_s8
#define neap_depthwise_mve_s8 scalar_depthwise_s8
#define neap_add_s8 scalar_add_s8
#include "neap_add_s8.c"
#include "neap_conv_mve_s8.c"
#include "neap_depthwise_mve_s8.c"
