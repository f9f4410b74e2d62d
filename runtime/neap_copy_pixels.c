/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Copies of pixels or of some of their channels: reshape, pad, slices. Input and output may share
 * bytes.
 */
#include "neap_rt.h"

void neap_copy_pixels(const neap_op* op, const neap_work* work) {
  const neap_copy* const copy = (const neap_copy*)op->params;
  const uint32_t pitch = op->views[0]->pixel_bytes;
  for (uint32_t p = 0; p < work->pixels; ++p) {
    const int8_t* const in =
        copy->in_pixel != 0 ? work->taps[0] + p * copy->in_pixel : work->taps[p];
    int8_t* const out = work->out + p * pitch;
    if (copy->fills != 0 && copy->before != 0) memset(out, copy->fill, copy->before);
    memmove(out + copy->before, in + copy->first, copy->channels);
    if (copy->fills != 0) {
      const uint32_t end = copy->before + copy->channels;
      if (end < work->channels) memset(out + end, copy->fill, work->channels - end);
    }
  }
}
