/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Addresses of pixels.
 */
#include "neap_rt.h"

/* The ring of row y, and the number of pixel (y, x) in it. */
static const neap_ring* neap_find(const neap_view* view, uint32_t y, uint32_t x, uint32_t* number) {
  const neap_ring* ring = view->rings;
  if (view->ring_count > 1) {
    ring += y % view->ring_count;
    y /= view->ring_count;
  }
  *number = y * view->width + x;
  if (*number >= ring->pixels) *number %= ring->pixels;
  return ring;
}

const int8_t* neap_source(const neap_view* view, const neap_frame* frame, uint32_t y, uint32_t x,
                          uint32_t* count) {
  const neap_ring* ring;
  const int8_t* memory;
  uint32_t number;
  if (view->constant != NULL) return view->constant + (y * view->width + x) * view->pixel_bytes;
  ring = neap_find(view, y, x, &number);
  if (*count > ring->pixels - number) *count = ring->pixels - number;
  memory = view->memory < NEAP_EXTERNAL ? frame->memories[view->memory]
                                        : frame->externals[view->memory - NEAP_EXTERNAL];
  return memory + ring->offset + number * view->pixel_bytes;
}

int8_t* neap_target(const neap_view* view, const neap_frame* frame, uint32_t y, uint32_t x,
                    uint32_t* count) {
  uint32_t number;
  const neap_ring* const ring = neap_find(view, y, x, &number);
  if (*count > ring->pixels - number) *count = ring->pixels - number;
  return frame->memories[view->memory] + ring->offset + number * view->pixel_bytes;
}
