/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of operators whose weights are in slow memory. It calls the operator's own driver; in
 * blocks, with a kernel that passes only the channels of the block to the operator's own one.
 */
#include "neap_slow_weights.h"

/* A block in the buffer. */
typedef struct neap_block {
  const neap_slow_weights* of;
  const neap_op* op;
  const neap_frame* frame;
  uint32_t buffer; /* which of them */
  uint32_t first;  /* channels */
  uint32_t channels;
} neap_block;

static const int8_t* neap_weights_at(const neap_slow_weights* of, const neap_frame* frame,
                                     uint32_t buffer) {
  return frame->memories[0] + of->buffers[buffer];
}
static const int32_t* neap_bias_at(const neap_slow_weights* of, const neap_frame* frame,
                                   uint32_t buffer) {
  return (const int32_t*)(const void*)(frame->memories[0] + of->bias_buffers[buffer]);
}

/* Moves the taps of a pixel to the channels that a group of outputs reads. */
static void neap_shift_taps(const int8_t** taps, uint32_t count, ptrdiff_t bytes) {
  if (bytes == 0) return;
  for (uint32_t t = 0; t < count; ++t) taps[t] += bytes;
}

/* The part of a block from channel `c` on, in one pixel: up to the end of a group that the block
 * begins inside of, else up to `end`. To the kernel, the first channel has number 0 and the block
 * is the whole operator. Returns where it ends. */
static uint32_t neap_block_part(const neap_block* block, const neap_work* work, uint32_t c,
                                uint32_t end) {
  const neap_slow_weights* const of = block->of;
  const neap_conv* const whole = (const neap_conv*)block->op->params;
  const uint32_t group = c / whole->group_outputs;
  const uint32_t next = (group + 1) * whole->group_outputs;
  const uint32_t stop = c % whole->group_outputs != 0 && next < end ? next : end;
  const uint32_t at = c - block->first;
  /* Taps begin with the channel that work->first reads. */
  const ptrdiff_t shift = (ptrdiff_t)((group - work->first / whole->group_outputs) * whole->inputs);
  const uint32_t tap = (uint32_t)(work->taps - (const int8_t* const*)block->frame->taps);
  neap_conv conv = *whole;
  neap_view view = *block->op->views[0];
  const neap_view* views[2];
  neap_op op = *block->op;
  neap_work part = *work;
  conv.weights = neap_weights_at(of, block->frame, block->buffer) +
                 at * (of->by_tap != 0 ? 1 : of->channel_bytes);
  conv.bias =
      of->bias != NULL ? neap_bias_at(of, block->frame, block->buffer) + at : whole->bias + c;
  conv.fractions = whole->fractions + c;
  conv.shifts = whole->shifts + c;
  view.pixel_bytes = block->channels;
  views[0] = &view;
  views[1] = block->op->views[1];
  op.params = &conv;
  op.views = views;
  part.first = 0;
  part.channels = stop - c;
  part.out += c - work->first;
  neap_shift_taps(block->frame->taps + tap, conv.taps, shift);
  op.kernel(&op, &part);
  neap_shift_taps(block->frame->taps + tap, conv.taps, -shift);
  return stop;
}

static NEAP_APART void neap_block_kernel(const neap_op* op, const neap_work* work) {
  const neap_block* const block = (const neap_block*)op->params;
  const uint32_t taps = ((const neap_conv*)block->op->params)->taps;
  const uint32_t block_end = block->first + block->channels;
  const uint32_t work_end = work->first + work->channels;
  const uint32_t end = block_end < work_end ? block_end : work_end;
  neap_work one = *work;
  one.pixels = 1;
  for (uint32_t p = 0; p < work->pixels; ++p) {
    uint32_t c = block->first > work->first ? block->first : work->first;
    while (c < end) c = neap_block_part(block, &one, c, end);
    one.taps += taps;
    one.out += block->op->views[0]->pixel_bytes;
  }
}

static void neap_copy_weights(const neap_transfers* transfers, void* to, const int8_t* from,
                              size_t bytes) {
  if (transfers->begin != NULL) {
    transfers->begin(to, from, bytes);
  } else {
    memcpy(to, from, bytes);
  }
}

/* The block of a number among those of the call. */
static void neap_set_block(const neap_slow_weights* of, uint32_t number, neap_block* block) {
  number += of->first;
  if (of->kept != 0 && number == 0) {
    block->buffer = 2;
    block->first = 0;
    block->channels = of->kept;
    return;
  }
  block->buffer = number & of->two;
  block->first = of->kept != 0 ? of->kept + (number - 1) * of->block : number * of->block;
  block->channels = of->outputs - block->first;
  if (block->channels > of->block) block->channels = of->block;
}

static void neap_load_block(const neap_slow_weights* of, const neap_block* block) {
  int8_t* const memory = block->frame->memories[0];
  neap_copy_weights(&of->transfers, memory + of->buffers[block->buffer],
                    of->weights + block->first * of->channel_bytes,
                    (size_t)block->channels * of->channel_bytes);
  if (of->bias == NULL) return;
  neap_copy_weights(&of->transfers, memory + of->bias_buffers[block->buffer],
                    of->bias + block->first * sizeof(int32_t), block->channels * sizeof(int32_t));
}

/* Leaves the weights of a block in its buffer, and begins the copies that follow it. */
static void neap_take_block(const neap_slow_weights* of, uint32_t number, neap_block* block) {
  neap_set_block(of, number, block);
  if (block->buffer == 2) return;
  if (number == 0 ? of->is_ahead == 0 : of->two == 0) neap_load_block(of, block);
  if (of->transfers.wait != NULL) of->transfers.wait();
  if (number + 1u < of->blocks) {
    if (of->two == 0) return;
    neap_set_block(of, number + 1, block);
    neap_load_block(of, block);
    neap_set_block(of, number, block);
    return;
  }
  for (uint32_t i = 0; i < of->next_count; ++i) {
    neap_copy_weights(&of->transfers, block->frame->memories[0] + of->next[i].to, of->next[i].from,
                      of->next[i].bytes);
  }
}

int neap_drive_slow_weights(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                            uint32_t x1) {
  const neap_slow_weights* const of = (const neap_slow_weights*)op->params;
  neap_op call = *of->ops;
  neap_block block;
  if (of->block == 0) {
    neap_conv conv = *(const neap_conv*)call.params;
    conv.weights = neap_weights_at(of, frame, 0);
    if (of->bias != NULL) conv.bias = neap_bias_at(of, frame, 0);
    call.params = &conv;
    return call.driver(&call, frame, y, x0, x1);
  }
  block.of = of;
  block.frame = frame;
  neap_take_block(of, y % of->blocks, &block);
  for (uint32_t i = 0; i < of->op_count; ++i) {
    const uint16_t* rows;
    uint32_t row;
    uint32_t end;
    block.op = &of->ops[i];
    rows = block.op->rows + y / of->blocks * block.op->row_pitch;
    row = of->by_channel != 0 ? block.first : rows[0];
    end = of->by_channel != 0 ? block.first + block.channels : rows[1];
    call = *block.op;
    call.kernel = neap_block_kernel;
    call.params = &block;
    for (; row < end; ++row) {
      const int result = call.driver(&call, frame, row, x0, x1);
      if (result != NEAP_OK) return result;
    }
  }
  return NEAP_OK;
}
