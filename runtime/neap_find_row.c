/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Pointers to the taps of a row of a window.
 */
#include "neap_rt.h"

void neap_find_row(const neap_window* window, const neap_view* in, const int8_t** tap, int32_t at,
                   int32_t first, const int8_t* from, uint32_t rest, uint32_t ring_bytes) {
  for (uint32_t j = 0; j < window->width; ++j, at += window->dilation_x) {
    if (at < 0 || at >= (int32_t)in->width) {
      tap[j] = window->padding;
    } else {
      const uint32_t ahead = (uint32_t)(at - first);
      const ptrdiff_t bytes = (ptrdiff_t)(ahead * in->pixel_bytes);
      tap[j] = from + (ahead < rest ? bytes : bytes - (ptrdiff_t)ring_bytes);
    }
  }
}
