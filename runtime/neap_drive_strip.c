/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of operators with a window whose kernel finds the taps of a pixel from those of the
 * pixel before: a run of pixels in one call as long as no tap is padding or behind the end of a
 * ring; other pixels one by one.
 */
#include "neap_mve.h"

/* The taps of output pixel (y, x), and the number of pixels from there on, at most `pixels`, whose
 * taps follow from them. */
static uint32_t neap_strip_find(const neap_window* window, const neap_view* in,
                                const neap_frame* frame, uint32_t y, uint32_t x, uint32_t pixels) {
  const uint32_t width = window->width;
  const uint32_t dilation = window->dilation_x;
  const uint32_t stride = window->stride_x;
  const int32_t left = (int32_t)(x * stride) - window->pad_x;
  const int32_t first = left < 0 ? 0 : left;
  const int32_t right = left + (int32_t)((width - 1) * dilation);
  const size_t tap_bytes = (size_t)dilation * in->pixel_bytes;
  int32_t row = (int32_t)(y * window->stride_y) - window->pad_y;
  const int8_t** tap = frame->taps;
  uint32_t span = (uint32_t)(right - first); /* from the first column in the input to the last */
  if (left < 0 || right >= (int32_t)in->width) {
    pixels = 1;
    span = UINT32_MAX;
  } else if (pixels > 1) {
    const uint32_t more = (in->width - 1U - (uint32_t)right) / stride;
    if (pixels > more) pixels = more + 1;
  }
  for (uint32_t i = 0; i < window->height; ++i, row += window->dilation_y, tap += width) {
    const neap_ring* ring = in->rings;
    const int8_t* from;
    uint32_t rest = UINT32_MAX; /* pixels up to the end of the ring */
    uint32_t ring_bytes = 0;
    if (row < 0 || row >= (int32_t)in->height || first >= (int32_t)in->width) {
      for (uint32_t j = 0; j < width; ++j) tap[j] = window->padding;
      pixels = 1;
      continue;
    }
    if (in->constant != NULL) {
      from = in->constant + ((uint32_t)row * in->width + (uint32_t)first) * in->pixel_bytes;
    } else {
      uint32_t at = (uint32_t)row;
      if (in->ring_count > 1) {
        ring += at % in->ring_count;
        at /= in->ring_count;
      }
      at = at * in->width + (uint32_t)first;
      if (at >= ring->pixels) at %= ring->pixels;
      rest = ring->pixels - at;
      ring_bytes = ring->pixels * in->pixel_bytes;
      from = in->memory < NEAP_EXTERNAL ? frame->memories[in->memory]
                                        : frame->externals[in->memory - NEAP_EXTERNAL];
      from += ring->offset + at * in->pixel_bytes;
    }
    if (span < rest) {
      if (pixels > 1) {
        const uint32_t more = (rest - 1 - span) / stride;
        if (pixels > more) pixels = more + 1;
      }
      for (uint32_t j = 0; j < width; ++j, from += tap_bytes) tap[j] = from;
    } else {
      neap_find_row(window, in, tap, left, first, from, rest, ring_bytes);
      pixels = 1;
    }
  }
  return pixels;
}

int neap_drive_strip(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                     uint32_t x1) {
  const neap_view* const out = op->views[0];
  neap_work work;
  work.taps = frame->taps;
  work.scratch = frame->memories[0] + op->scratch;
  work.first = 0;
  work.channels = out->pixel_bytes;
  while (x0 < x1) {
    work.pixels = x1 - x0;
    work.out = neap_target(out, frame, y, x0, &work.pixels);
    work.pixels = neap_strip_find(op->window, op->views[1], frame, y, x0, work.pixels);
    op->kernel(op, &work);
    x0 += work.pixels;
  }
  return NEAP_OK;
}
