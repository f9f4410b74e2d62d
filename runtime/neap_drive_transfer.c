/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of copies between fast and slow memory.
 */
#include "neap_transfers.h"

int neap_drive_transfer(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                        uint32_t x1) {
  const neap_transfers* const transfers = (const neap_transfers*)op->params;
  while (x0 < x1) {
    uint32_t count = x1 - x0;
    int8_t* const to = neap_target(op->views[0], frame, y, x0, &count);
    const int8_t* const from = neap_source(op->views[1], frame, y, x0, &count);
    const size_t bytes = (size_t)count * op->views[0]->pixel_bytes;
    if (transfers->begin != NULL) {
      transfers->begin(to, from, bytes);
    } else {
      memcpy(to, from, bytes);
    }
    x0 += count;
  }
  return NEAP_OK;
}
