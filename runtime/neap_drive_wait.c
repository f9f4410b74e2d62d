/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Waits for the copies between fast and slow memory.
 */
#include "neap_transfers.h"

int neap_drive_wait(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                    uint32_t x1) {
  const neap_transfers* const transfers = (const neap_transfers*)op->params;
  (void)frame;
  (void)y;
  (void)x0;
  (void)x1;
  if (transfers->wait != NULL) transfers->wait();
  return NEAP_OK;
}
