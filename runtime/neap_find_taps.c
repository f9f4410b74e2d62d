/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Pointers to the taps of a window.
 */
#include "neap_rt.h"

/* Pixel after pixel, row by row. A row of the window has one address in its ring; from there on
 * columns only wrap, at most once, since all pixels of a row that a box reads are stored. As a rule
 * all taps are inside the input and before the end of the ring. */
void neap_find_taps(const neap_window* window, const neap_view* in, const neap_frame* frame,
                    const int8_t** taps, uint32_t y, uint32_t x, uint32_t pixels) {
  const uint32_t width = window->width;
  const uint32_t height = window->height;
  const uint32_t tap_count = height * width;
  const int32_t left = (int32_t)(x * window->stride_x) - window->pad_x;
  const int32_t first = left < 0 ? 0 : left;
  /* From the first column to the last one. */
  const uint32_t span = (width - 1) * window->dilation_x + (pixels - 1) * window->stride_x;
  const int fits = left >= 0 && left + (int32_t)span < (int32_t)in->width;
  int32_t row = (int32_t)(y * window->stride_y) - window->pad_y;
  for (uint32_t i = 0; i < height; ++i, row += window->dilation_y, taps += width) {
    const int8_t** tap = taps;
    uint32_t rest = UINT32_MAX; /* pixels up to the end of the ring */
    if (row < 0 || row >= (int32_t)in->height || first >= (int32_t)in->width) {
      for (uint32_t p = 0; p < pixels; ++p, tap += tap_count) {
        for (uint32_t j = 0; j < width; ++j) tap[j] = window->padding;
      }
    } else {
      const int8_t* from = neap_source(in, frame, (uint32_t)row, (uint32_t)first, &rest);
      if (fits && span < rest) {
        const size_t tap_bytes = (size_t)window->dilation_x * in->pixel_bytes;
        const size_t pixel_bytes = (size_t)window->stride_x * in->pixel_bytes;
        const int8_t** const end = tap + pixels * tap_count;
        for (; tap != end; tap += tap_count, from += pixel_bytes) {
          const int8_t* address = from;
          for (uint32_t j = 0;;) {
            tap[j] = address;
            if (++j == width) break;
            address += tap_bytes;
          }
        }
      } else {
        const uint32_t ring_bytes =
            in->constant != NULL
                ? 0
                : in->pixel_bytes * in->rings[(uint32_t)row % in->ring_count].pixels;
        int32_t at = left;
        for (uint32_t p = 0; p < pixels; ++p, at += window->stride_x, tap += tap_count) {
          neap_find_row(window, in, tap, at, first, from, rest, ring_bytes);
        }
      }
    }
  }
}
