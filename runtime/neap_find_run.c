/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Pointers to the taps of a run of pixels: of pixels inside of the input, and of those at its
 * edges.
 */
#include "neap_rt.h"

/* A constant tensor. */
static const neap_ring neap_run_ring = {0, UINT32_MAX};

static inline const int8_t* neap_run_memory(const neap_view* in, const neap_frame* frame,
                                            const neap_ring** rings) {
  *rings = in->rings;
  if (in->constant != NULL) {
    *rings = &neap_run_ring;
    return in->constant;
  }
  if (in->memory < NEAP_EXTERNAL) return frame->memories[in->memory];
  return frame->externals[in->memory - NEAP_EXTERNAL];
}

uint32_t neap_find_run(const neap_op* op, const neap_frame* frame, const int8_t** taps, uint32_t y,
                       uint32_t x, uint32_t pixels) {
  const neap_window* const window = op->window;
  const neap_view* const in = op->views[1];
  const uint32_t in_width = in->width;
  const uint32_t ring_count = in->ring_count;
  const uint32_t pixel_bytes = in->pixel_bytes;
  const uint32_t width = window->width;
  const uint32_t left = (uint32_t)((int32_t)(x * window->stride_x) - window->pad_x);
  uint32_t row =
      (uint32_t)((int32_t)((y & (NEAP_TWO_ROWS - 1U)) * window->stride_y) - window->pad_y);
  uint32_t rows = window->height;
  uint32_t room = in_width - left;
  uint32_t reach = 0;
  uint32_t tap_bytes = 0;
  const neap_ring* rings;
  const int8_t* const memory = neap_run_memory(in, frame, &rings);
  if (y >= NEAP_TWO_ROWS) rows += window->stride_y;
  if (left >= in_width || row >= in->height) return 0;
  if (rows + width != 2) {
    reach = (width - 1U) * window->dilation_x;
    tap_bytes = window->dilation_x * pixel_bytes;
    if (reach >= room || row + (rows - 1U) * window->dilation_y >= in->height) return 0;
  }
  for (;;) {
    const neap_ring* ring = rings;
    uint32_t number = row;
    uint32_t rest;
    const int8_t* from;
    if (ring_count > 1) {
      number /= ring_count;
      ring += row - number * ring_count;
    }
    number = number * in_width + left;
    rest = ring->pixels;
    if (number >= rest) number %= rest;
    rest -= number;
    from = memory + ring->offset + number * pixel_bytes;
    if (width == 3) {
      taps[0] = from;
      taps[1] = from + tap_bytes;
      taps[2] = from + 2 * tap_bytes;
      if (rest < room) {
        if (reach < rest) {
          room = rest;
        } else { /* the last tap, or the last two, are behind the end of the ring */
          const uint32_t ring_bytes = ring->pixels * pixel_bytes;
          if (window->dilation_x >= rest) taps[1] -= ring_bytes;
          taps[2] -= ring_bytes;
          pixels = 1;
        }
      }
      taps += 3;
    } else {
      if (rest < room) {
        room = rest;
        if (reach >= room) return 0;
      }
      *taps++ = from;
      for (uint32_t more = width - 1; more > 0; --more) *taps++ = from += tap_bytes;
    }
    if (--rows == 0) break;
    row += window->dilation_y;
  }
  room -= reach;
  if (pixels == 1 || room > (pixels - 1) * window->stride_x) return pixels;
  return (room - 1) / window->stride_x + 1;
}

/* `count` pointers, `step` bytes apart. */
static inline const int8_t** neap_edge_taps(const int8_t** taps, uint32_t count, const int8_t* from,
                                            uint32_t step) {
  for (; count > 0; --count, from += step) *taps++ = from;
  return taps;
}

NEAP_LITTLE uint32_t neap_find_edge(const neap_op* op, const neap_frame* frame, const int8_t** taps, uint32_t y,
                        uint32_t x, uint32_t pixels, uint32_t padded) {
  const neap_window* const window = op->window;
  const neap_view* const in = op->views[1];
  const uint32_t in_width = in->width;
  const uint32_t width = window->width;
  const uint32_t dilation = window->dilation_x;
  const uint32_t tap_bytes = dilation * in->pixel_bytes;
  const int32_t left = (int32_t)(x * window->stride_x) - window->pad_x;
  /* Taps of a row before the input, inside of it, and the column of the first one inside. */
  const uint32_t before = left < 0 ? ((uint32_t)-left + dilation - 1U) / dilation : 0;
  const uint32_t first = (uint32_t)(left + (int32_t)(before * dilation));
  uint32_t inside = width - before;
  uint32_t reach; /* from column `first` on, up to the last tap inside and one more */
  uint32_t row = (uint32_t)((int32_t)(y * window->stride_y) - window->pad_y);
  uint32_t room = in_width - first; /* pixels that follow each other in all rows */
  const neap_ring* rings;
  const int8_t* const memory = neap_run_memory(in, frame, &rings);
  if (before >= width || first >= in_width) { /* nothing but padding */
    (void)neap_edge_taps(taps, width * window->height, window->padding, 0);
    return 1;
  }
  if ((inside - 1U) * dilation >= room) inside = (room - 1U) / dilation + 1U;
  if (inside != width) pixels = 1;
  reach = (inside - 1U) * dilation + 1U;
  for (uint32_t rows = window->height; rows > 0; --rows, row += window->dilation_y) {
    const neap_ring* ring = rings;
    uint32_t number = row;
    uint32_t rest;
    const int8_t* from;
    if (row >= in->height) { /* or above it: a large number */
      taps = neap_edge_taps(taps, width, window->padding, 0);
      if (pixels > padded) pixels = padded;
      continue;
    }
    if (in->ring_count > 1) {
      number /= in->ring_count;
      ring += row - number * in->ring_count;
    }
    number = number * in_width + first;
    if (number >= ring->pixels) number %= ring->pixels;
    rest = ring->pixels - number;
    from = memory + ring->offset + number * in->pixel_bytes;
    if (width == 3) {
      const int8_t* second = from + tap_bytes;
      const int8_t* third = second + tap_bytes;
      if (reach > rest) {
        const uint32_t ring_bytes = ring->pixels * in->pixel_bytes;
        if (dilation >= rest) second -= ring_bytes;
        third -= ring_bytes;
        pixels = 1;
      } else if (rest < room) {
        room = rest;
      }
      if (before == 0) {
        taps[0] = from;
        taps[1] = inside > 1 ? second : window->padding;
        taps[2] = inside > 2 ? third : window->padding;
      } else {
        taps[0] = window->padding;
        taps[1] = before == 1 ? from : window->padding;
        taps[2] = before != 1 ? from : inside > 1 ? second : window->padding;
      }
      taps += 3;
      continue;
    }
    if (reach > rest) {
      neap_find_row(window, in, taps, left, (int32_t)first, from, rest,
                    ring->pixels * in->pixel_bytes);
      taps += width;
      pixels = 1;
      continue;
    }
    if (rest < room) room = rest;
    taps = neap_edge_taps(taps, before, window->padding, 0);
    taps = neap_edge_taps(taps, inside, from, tap_bytes);
    taps = neap_edge_taps(taps, width - before - inside, window->padding, 0);
  }
  if (pixels == 1 || room - reach >= (pixels - 1) * window->stride_x) return pixels;
  return (room - reach) / window->stride_x + 1;
}

uint32_t neap_find_pair(const neap_op* op, const neap_frame* frame, const int8_t** taps, uint32_t y,
                        uint32_t x) {
  const neap_window* const window = op->window;
  const uint32_t stride = window->stride_y;
  uint32_t pitch = stride * window->width;
  if (window->dilation_y == 1 && stride <= window->height &&
      neap_find_run(op, frame, taps, y + NEAP_TWO_ROWS, x, 1) != 0) {
    return pitch;
  }
  pitch = (uint32_t)window->height * window->width;
  (void)neap_find_edge(op, frame, taps, y, x, 1, 1);
  (void)neap_find_edge(op, frame, taps + pitch, y + 1, x, 1, 1);
  return pitch;
}
