/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Plans with two memories whose weights are in slow memory, too. Before an operator runs, its
 * weights are copied to a buffer in memory 0, from which its kernel reads them: all of them before
 * the segment, or in blocks of output channels for every box.
 */
#ifndef NEAP_SLOW_WEIGHTS_H
#define NEAP_SLOW_WEIGHTS_H

#include "neap_transfers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Weights of another operator, copied to an offset in memory 0. */
typedef struct neap_weight_copy {
  const int8_t* from;
  uint32_t to;
  uint32_t bytes;
} neap_weight_copy;

/* Of neap_drive_slow_weights: operators whose params are a neap_conv, in which weights, and the
 * bias unless it is no weight, are those of the buffer. */
typedef struct neap_slow_weights {
  neap_transfers transfers;
  const neap_op* ops;    /* the operator, once for each of its images; all in the same boxes */
  const int8_t* weights; /* in slow memory, block after block */
  const int8_t* bias;    /* the same of int32; null: it is no weight */
  const neap_weight_copy* next; /* `next_count`, which begin with the last block */
  uint32_t buffers[3];      /* offsets in memory 0 of weights: of blocks in turn, of the kept one */
  uint32_t bias_buffers[3]; /* and of their biases, at a multiple of 4 */
  uint32_t channel_bytes;   /* weights of an output channel */
  uint16_t outputs;         /* output channels */
  uint16_t block;           /* of a block; 0: all weights are in the buffer */
  uint16_t kept;            /* of the first block, which stays in its buffer; 0: none does */
  uint16_t first;           /* the first block that is computed, and how many are */
  uint16_t blocks;
  uint16_t op_count;
  uint16_t next_count;
  uint8_t by_tap;     /* weights of a block are [tap][output], else [output][tap][input] */
  uint8_t by_channel; /* rows of `ops` are channels (neap_drive_planes) */
  uint8_t two;        /* buffers: each block is copied while the one before it is computed */
  uint8_t is_ahead;   /* the copy of the first block has begun before */
} neap_slow_weights;

/* Row y of a box; in blocks, y is `blocks` times the step, plus the number of a block: its weights
 * are copied, or waited for, and the next copies begin; then its channels are computed in all rows
 * of `ops` in that step. */
int neap_drive_slow_weights(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                            uint32_t x1);

#ifdef __cplusplus
}
#endif

#endif
