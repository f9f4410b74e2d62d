/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Plans with two memories. Memory 0 is the fast one, memory 1 the slow one. Operators access memory
 * 0 alone; these drivers copy boxes between the two, and nothing else accesses memory 1.
 */
#ifndef NEAP_TRANSFERS_H
#define NEAP_TRANSFERS_H

#include "neap_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Functions of the caller. A copy may be done at any time between the call of `begin` and the end
 * of the next call of `wait`. Until then its target is not accessed, its source is not written, and
 * no other copy has a byte of its target. */
typedef struct neap_transfers {
  neap_copy_fn begin; /* null: memcpy */
  void (*wait)(void); /* returns when all copies that were begun are done; null: nothing to do */
} neap_transfers;

/* Columns [x0, x1) of row y, from views[1] to views[0]: one copy for each run of pixels that are
 * one after the other in both. `params` is a neap_transfers. */
int neap_drive_transfer(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                        uint32_t x1);
/* Behind the copies before an operator, and behind those of its output. */
int neap_drive_wait(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                    uint32_t x1);

#ifdef __cplusplus
}
#endif

#endif
