/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of packed kernels that compute a pixel from the same pixel of the input: as
 * neap_drive_runs with a window of one tap, in fewer instructions.
 */
#include "neap_rt.h"

/* A constant tensor. */
static const neap_ring neap_points_ring = {0, UINT32_MAX};

/* As neap_source(), in the places where it would be called. */
static inline const int8_t* neap_points_from(const neap_view* in, const neap_frame* frame,
                                             uint32_t y, uint32_t x, uint32_t* count) {
  const neap_ring* ring = in->rings;
  const int8_t* memory = in->constant;
  uint32_t number;
  if (memory != NULL) {
    ring = &neap_points_ring;
  } else {
    memory = in->memory < NEAP_EXTERNAL ? frame->memories[in->memory]
                                        : frame->externals[in->memory - NEAP_EXTERNAL];
    if (in->ring_count > 1) {
      ring += y % in->ring_count;
      y /= in->ring_count;
    }
  }
  number = y * in->width + x;
  if (number >= ring->pixels) number %= ring->pixels;
  if (*count > ring->pixels - number) *count = ring->pixels - number;
  return memory + ring->offset + number * in->pixel_bytes;
}

/* A row, or column x0 of two. Kernels of NEAP_ROW_PAIRS, or of several pixels, get two pixels of
 * which each has its own tap where they do not follow each other. */
NEAP_LITTLE int neap_drive_points(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                      uint32_t x1) {
  const neap_view* const out = op->views[0];
  const neap_view* const in = op->views[1];
  uint32_t one = 1;
  neap_work work;
  work.taps = frame->taps;
  work.scratch = frame->memories[0] + op->scratch;
  work.first = 0;
  work.channels = out->pixel_bytes;
  if (y >= NEAP_TWO_ROWS) {
    y -= NEAP_TWO_ROWS;
    work.pixels = 2;
    work.tap_pitch = 1;
    work.step = 0;
    work.out = neap_target_here(out, frame, y, x0, &one);
    work.out_step = neap_target_here(out, frame, y + 1, x0, &one) - work.out;
    frame->taps[0] = neap_points_from(in, frame, y, x0, &one);
    frame->taps[1] = neap_points_from(in, frame, y + 1, x0, &one);
    op->kernel(op, &work);
    return NEAP_OK;
  }
  work.out_step = (ptrdiff_t)out->pixel_bytes;
  while (x0 < x1) {
    uint32_t count = x1 - x0;
    work.out = neap_target_here(out, frame, y, x0, &count);
    work.pixels = count;
    work.tap_pitch = 0;
    work.step = in->pixel_bytes;
    frame->taps[0] = neap_points_from(in, frame, y, x0, &work.pixels);
    if (work.pixels == 1 && count > 1 && (op->pixels & (NEAP_ROW_PAIRS - 1U)) > 1) {
      work.pixels = 2;
      work.tap_pitch = 1;
      work.step = 0;
      frame->taps[1] = neap_points_from(in, frame, y, x0 + 1, &one);
    }
    op->kernel(op, &work);
    x0 += work.pixels;
  }
  return NEAP_OK;
}
