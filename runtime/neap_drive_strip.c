/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of operators with a window whose kernel finds the taps of a pixel from those of the
 * pixel before: a run of pixels in one call as long as no column of taps is padding or behind the
 * end of a ring; other pixels one by one. Rows of padding are in runs of at most op->pixels pixels,
 * for which the window's padding has the bytes.
 */
#include "neap_mve.h"

/* A constant tensor. */
static const neap_ring neap_strip_ring = {0, UINT32_MAX};

/* The taps of output pixel (y, x), and the number of pixels from there on, at most `pixels`, whose
 * taps follow from them. */
static uint32_t neap_strip_find(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x,
                                uint32_t pixels) {
  const neap_window* const window = op->window;
  const neap_view* const in = op->views[1];
  const uint32_t width = window->width;
  const uint32_t stride = window->stride_x;
  const uint32_t in_width = in->width;
  const uint32_t pixel_bytes = in->pixel_bytes;
  const uint32_t ring_count = in->ring_count;
  const int32_t left = (int32_t)(x * stride) - window->pad_x;
  const int32_t first = left < 0 ? 0 : left;
  const int32_t right = left + (int32_t)((width - 1) * window->dilation_x);
  const size_t tap_bytes = (size_t)window->dilation_x * pixel_bytes;
  const neap_ring* const rings = in->constant != NULL ? &neap_strip_ring : in->rings;
  const int8_t* const base = in->constant != NULL         ? in->constant
                             : in->memory < NEAP_EXTERNAL ? frame->memories[in->memory]
                                                          : frame->externals[in->memory - NEAP_EXTERNAL];
  const int32_t top = (int32_t)(y * window->stride_y) - window->pad_y;
  uint32_t row = (uint32_t)top; /* above the input: a large number */
  const int8_t** tap = frame->taps;
  const int8_t** const end = tap + window->height * width;
  uint32_t span = (uint32_t)(right - first); /* from the first column in the input to the last */
  if (left < 0 || right >= (int32_t)in_width) {
    pixels = 1;
    span = UINT32_MAX;
  } else if (pixels > 1) {
    const uint32_t more = (in_width - 1U - (uint32_t)right) / stride;
    if (pixels > more) pixels = more + 1;
  }
  for (; tap != end; row += window->dilation_y) {
    const neap_ring* ring = rings;
    const int8_t* from;
    uint32_t at = row;
    uint32_t rest; /* pixels up to the end of the ring */
    if (row >= in->height || first >= (int32_t)in_width) {
      if (pixels > op->pixels) pixels = op->pixels;
      for (uint32_t j = 0; j < width; ++j) *tap++ = window->padding;
      continue;
    }
    if (ring_count > 1) {
      ring += at % ring_count;
      at /= ring_count;
    }
    at = at * in_width + (uint32_t)first;
    if (at >= ring->pixels) at %= ring->pixels;
    rest = ring->pixels - at;
    from = base + ring->offset + at * pixel_bytes;
    if (span >= rest) {
      neap_find_row(window, in, tap, left, first, from, rest, ring->pixels * pixel_bytes);
      tap += width;
      pixels = 1;
      continue;
    }
    if (pixels > 1) {
      const uint32_t more = (rest - 1 - span) / stride;
      if (pixels > more) pixels = more + 1;
    }
    tap[0] = from;
    if (width == 3) {
      tap[1] = from + tap_bytes;
      tap[2] = from + 2 * tap_bytes;
    } else {
      for (uint32_t j = 1; j < width; ++j) tap[j] = from += tap_bytes;
    }
    tap += width;
  }
  return pixels;
}

int neap_drive_strip(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                     uint32_t x1) {
  neap_work work;
  work.taps = frame->taps;
  work.scratch = frame->memories[0] + op->scratch;
  work.first = 0;
  work.channels = op->views[0]->pixel_bytes;
  while (x0 < x1) {
    work.pixels = x1 - x0;
    work.out = neap_target(op->views[0], frame, y, x0, &work.pixels);
    work.pixels = neap_strip_find(op, frame, y, x0, work.pixels);
    op->kernel(op, &work);
    x0 += work.pixels;
  }
  return NEAP_OK;
}
