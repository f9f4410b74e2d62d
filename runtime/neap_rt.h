/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * neap_rt: runs a quantized network whose memory was planned by Neap. `neap emit` writes the tables
 * of a network; which include this header. C99, also C++17. No heap, no written
 * globals, no recursion; of the C library only memcpy, memmove and memset. Signed integers are
 * two's complement and `>>` of a negative one is arithmetic, as in every compiler for the targets.
 *
 * Images. Every tensor is an image of height x width pixels; a pixel is all its channels, one byte
 * each. A tensor that is no image is one of a single pixel, or of one pixel for each row.
 *
 * Segments. A network runs segment by segment. In a segment, for each row step, for each column
 * step, its operators run in their order, each on a box (rows x columns) of its output that may be
 * empty. A tensor that is computed as a whole is one box in one step.
 *
 * One path for all plans. A driver finds where the pixels of a box are and passes pointers to a
 * kernel; a kernel never knows whether tensors are whole, in tiles or in rings. runtime/README.md
 * has the rules for kernels.
 */
#ifndef NEAP_RT_H
#define NEAP_RT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Functions that would take registers from their caller. */
#ifdef __GNUC__
#define NEAP_APART __attribute__((noinline))
#else
#define NEAP_APART
#endif

/* Functions that run so rarely that their size counts more than their speed. */
#ifdef __GNUC__
#define NEAP_RARE __attribute__((cold))
#else
#define NEAP_RARE
#endif

/* Of drivers, with `neap emit --optimize flash`. */
#ifdef NEAP_LITTLE_FLASH
#define NEAP_LITTLE NEAP_RARE
#else
#define NEAP_LITTLE
#endif

/* Functions in the place of their call. Not every network calls all of them, which clang reports in
 * a single file. */
#ifdef __GNUC__
#define NEAP_INLINE static inline __attribute__((unused))
#else
#define NEAP_INLINE static inline
#endif

/* Thumb-1: kernels with fewer sums are faster. */
#if defined(__thumb__) && !defined(__thumb2__)
#define NEAP_FEW_REGISTERS
#endif

/* Tables state the version they were written for; it changes with any type of this header. */
#define NEAP_RT_VERSION 6

/* Results of the functions of a network. Any other value is that of the caller's row function. */
#define NEAP_OK 0           /* done */
#define NEAP_MORE 1         /* a step was done, more are left */
#define NEAP_BAD_ARENA (-1) /* no arena, or not aligned */
#define NEAP_NO_ROWS (-2)   /* the plan is fed by rows and there is no row function */
#define NEAP_NOT_BEGUN (-3) /* a step without a begin, or after the last */

/* `pixels` pixels from byte `offset` of a memory; the one after the last is the first again. */
typedef struct neap_ring {
  uint32_t offset;
  uint32_t pixels;
} neap_ring;

/* `memory` of a view: at or above it, the caller's input number `memory - NEAP_EXTERNAL`. */
#define NEAP_EXTERNAL 0x8000U

/* Where the pixels of a tensor are while a segment runs. Row y is in ring y % ring_count; there
 * pixel (y, x) has number (y / ring_count) * width + x, modulo the ring's pixels. */
typedef struct neap_view {
  const int8_t* constant; /* not null: the pixels one after the other, in read-only memory */
  const neap_ring* rings; /* otherwise: in memory `memory` */
  uint32_t pixel_bytes;
  uint16_t height;
  uint16_t width;
  uint16_t ring_count;
  uint16_t memory;
} neap_view;

/* Writes row `row` of the input to `dst`. 0: done; anything else ends the run and is its result. */
typedef int (*neap_row_fn)(void* user, int row, int8_t* dst);
/* The same of several inputs: neap_frame.rows of a plan with neap_drive_input_rows, converted. */
typedef int (*neap_input_row_fn)(void* user, int input, int row, int8_t* dst);
/* Copies between two memories, or within one, where source and target may share bytes. */
typedef void (*neap_copy_fn)(void* to, const void* from, size_t bytes);

/* The memory of a run besides its tables. Owned by the caller for the time of the call. */
typedef struct neap_frame {
  int8_t* const* memories;        /* their first bytes */
  const int8_t* const* externals; /* the caller's inputs, where the plan reads them in place */
  const int8_t** taps;            /* neap_program.taps pointers */
  neap_row_fn rows;               /* or null */
  void* user;                     /* passed to `rows` */
  neap_copy_fn copy;              /* null: memmove */
} neap_frame;

/* The geometry of operators with a window: output pixel (y, x) reads input pixels
 * (y * stride_y + i * dilation_y - pad_y, x * stride_x + j * dilation_x - pad_x). */
typedef struct neap_window {
  const int8_t* padding; /* pixel_bytes bytes that stand for a pixel outside of the input */
  uint16_t height;       /* taps in a column of the window */
  uint16_t width;
  uint16_t stride_y;
  uint16_t stride_x;
  uint16_t dilation_y;
  uint16_t dilation_x;
  int16_t pad_y; /* negative: the window begins inside of the input */
  int16_t pad_x;
} neap_window;

/* What a driver passes to a kernel: `pixels` output pixels that are one after the other. */
typedef struct neap_work {
  /* neap_drive_window: for each output pixel, its taps, row by row. neap_drive_runs: the same with
   * tap_pitch pointers from pixel to pixel, or with those of the first pixel alone: tap_pitch is 0,
   * and the taps of each further one are `step` bytes behind. neap_drive_pixels: for each input,
   * its first pixel; the others follow it (an input of one column: there is one only). */
  const int8_t* const* taps;
  int8_t* out; /* channel `first` of the first pixel; pixels are views[0]->pixel_bytes apart */
  int8_t* scratch;
  uint32_t pixels;
  uint32_t first; /* the channels first .. first + channels - 1 of the output are computed */
  uint32_t channels;
  uint32_t tap_pitch; /* from here on: of convolutions */
  uint32_t step;      /* 0 where tap_pitch is not */
  ptrdiff_t out_step; /* bytes from output pixel to output pixel */
} neap_work;

struct neap_op;
typedef void (*neap_kernel)(const struct neap_op* op, const neap_work* work);
/* Computes columns [x0, x1) of row y of a box. NEAP_OK, or the result of a row function. Of
 * operators with NEAP_ROW_PAIRS, y may have NEAP_TWO_ROWS: the single column x0 of two rows. */
typedef int (*neap_driver)(const struct neap_op* op, const neap_frame* frame, uint32_t y,
                           uint32_t x0, uint32_t x1);

typedef struct neap_op {
  neap_driver driver;
  neap_kernel kernel;            /* null: the driver needs none */
  const void* params;            /* of the kernel */
  const neap_window* window;     /* null: none */
  const neap_view* const* views; /* the output, then the inputs */
  const uint16_t* rows;          /* box i: rows[i * row_pitch] up to rows[i * row_pitch + 1] */
  const uint16_t* columns;
  uint32_t scratch;  /* offset in memory 0 of the kernel's scratch */
  uint8_t row_pitch; /* 1: boxes follow each other; 2: each has its own bounds */
  uint8_t column_pitch;
  uint8_t inputs; /* views of inputs */
  uint8_t pixels; /* maximum output pixels for which taps are found at once, and NEAP_ROW_PAIRS */
} neap_op;
/* The kernel computes two pixels faster than twice one: boxes of one column go by two rows. */
#define NEAP_ROW_PAIRS 0x80U
#define NEAP_TWO_ROWS 0x10000U /* in a row number: that row and the next one */

/* A copy before a segment begins. */
typedef struct neap_move {
  uint32_t from;
  uint32_t to;
  uint32_t bytes;
  uint16_t from_memory;
  uint16_t to_memory;
} neap_move;

typedef struct neap_segment {
  const neap_move* moves;
  const neap_op* ops;
  uint16_t move_count;
  uint16_t op_count;
  uint16_t row_steps;
  uint16_t column_steps;
} neap_segment;

typedef struct neap_program {
  const neap_segment* segments;
  uint32_t state; /* offset in memory 0 of NEAP_STATE_BYTES bytes */
  uint16_t segment_count;
  uint16_t alignment; /* of memory 0 */
} neap_program;

/* How far a run is. */
typedef struct neap_state {
  uint16_t segment;
  uint16_t row_step;
  uint16_t column_step;
  uint16_t op;
  uint16_t row;   /* of the box, from its first */
  uint16_t phase; /* NEAP_MOVES or NEAP_BOXES; anything else: not begun, or done */
} neap_state;
#define NEAP_STATE_BYTES 12
#define NEAP_MOVES 0x4e52 /* the moves of the segment are next */
#define NEAP_BOXES 0x4e53 /* a row of a box is next */

/* Runs everything. */
int neap_run(const neap_program* program, const neap_frame* frame);
/* The same in steps: one row of one box for each call, or the moves of one segment. The state is in
 * the arena. */
int neap_begin(const neap_program* program, const neap_frame* frame);
int neap_step(const neap_program* program, const neap_frame* frame);

/* The drivers. */
int neap_drive_window(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                      uint32_t x1);
int neap_drive_runs(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                    uint32_t x1);
int neap_drive_points(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                      uint32_t x1);
int neap_drive_pixels(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                      uint32_t x1);
int neap_drive_nearest(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                       uint32_t x1);
int neap_drive_bilinear(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                        uint32_t x1);
int neap_drive_spread(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                      uint32_t x1);
int neap_drive_blocks(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                      uint32_t x1);
int neap_drive_planes(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                      uint32_t x1);
int neap_drive_sums(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                    uint32_t x1);
int neap_drive_mean(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                    uint32_t x1);
int neap_drive_rows(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                    uint32_t x1);
int neap_drive_input_rows(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                          uint32_t x1);

/* The address of pixel (y, x) of a view; *count is cut to the pixels that follow it there. */
const int8_t* neap_source(const neap_view* view, const neap_frame* frame, uint32_t y, uint32_t x,
                          uint32_t* count);
int8_t* neap_target(const neap_view* view, const neap_frame* frame, uint32_t y, uint32_t x,
                    uint32_t* count);

/* As neap_target(), in the place of the call, which is half the instructions of a short run. */
NEAP_INLINE int8_t* neap_target_here(const neap_view* out, const neap_frame* frame, uint32_t y,
                                     uint32_t x, uint32_t* count) {
  const neap_ring* ring = out->rings;
  uint32_t number;
  if (out->ring_count > 1) {
    ring += y % out->ring_count;
    y /= out->ring_count;
  }
  number = y * out->width + x;
  if (number >= ring->pixels) number %= ring->pixels;
  if (*count > ring->pixels - number) *count = ring->pixels - number;
  return frame->memories[out->memory] + ring->offset + number * out->pixel_bytes;
}

/* Pointers to the taps of `pixels` output pixels from (y, x) on. */
void neap_find_taps(const neap_window* window, const neap_view* in, const neap_frame* frame,
                    const int8_t** taps, uint32_t y, uint32_t x, uint32_t pixels);

/* Those of pixel (y, x) of an operator with a window. The result is for how many pixels from it on,
 * at most `pixels`, they are those of the first one, moved. 0: some are padding, or behind the end
 * of a ring; pointers may have been written. With NEAP_TWO_ROWS in y, stride_y rows more. */
uint32_t neap_find_run(const neap_op* op, const neap_frame* frame, const int8_t** taps, uint32_t y,
                       uint32_t x, uint32_t pixels);
/* The same of any pixel, never 0; `padded`: pixels for which the window's padding has bytes. */
uint32_t neap_find_edge(const neap_op* op, const neap_frame* frame, const int8_t** taps, uint32_t y,
                        uint32_t x, uint32_t pixels, uint32_t padded);

/* Those of pixels (y, x) and (y + 1, x): from which one on those of the second are. */
uint32_t neap_find_pair(const neap_op* op, const neap_frame* frame, const int8_t** taps, uint32_t y,
                        uint32_t x);

/* Those of a row of the window from column `at` on; `from`: the address of column `first`, from
 * which on `rest` pixels follow each other in the ring. */
void neap_find_row(const neap_window* window, const neap_view* in, const int8_t** tap, int32_t at,
                   int32_t first, const int8_t* from, uint32_t rest, uint32_t ring_bytes);

/* Fixed-point arithmetic of TensorFlow Lite: fraction / 2^31 * 2^shift, rounded twice. */

NEAP_INLINE int32_t neap_high_product(int32_t a, int32_t b) {
  return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

/* x / 2^exponent to nearest, ties away from zero; exponent in [0, 31]. */
NEAP_INLINE int32_t neap_rounding_shift(int32_t x, int32_t exponent) {
  const int32_t mask = (int32_t)(((uint32_t)1 << exponent) - 1U);
  const int32_t rest = x & mask;
  const int32_t half = (int32_t)((uint32_t)mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> exponent) + (rest > half ? 1 : 0);
}

NEAP_INLINE int32_t neap_scale(int32_t x, int32_t fraction, int32_t shift) {
  if (shift > 0) {
    return neap_high_product((int32_t)((uint32_t)x << shift), fraction);
  }
  return neap_rounding_shift(neap_high_product(x, fraction), -shift);
}

NEAP_INLINE int32_t neap_clamp(int32_t x, int32_t low, int32_t high) {
  return x < low ? low : x > high ? high : x;
}

/* Parameters of kernels. Kernels ending in _s8 compute on int8, in _u8 on uint8. */

/* Convolutions, fully connected and depthwise operators. Weights of convolutions are of four output
 * channels at a time, [tap][input][output], in each group; those of channels that are left are
 * [output][tap][input]. Weights of depthwise operators are [tap][output], those of neap_spread_s8
 * [output][tap][input]. The input's zero point is in the bias.
 * Without shifts, an output is (256 * sum + bias) * fraction / 2^44, rounded down and clamped: the
 * emitter has compared all sums. */
typedef struct neap_conv {
  const int8_t* weights;
  const int32_t* bias;
  const int32_t* fractions;
  const int8_t* shifts; /* or null; int8 only */
  uint32_t taps;
  uint32_t inputs;        /* channels that one output channel reads of a tap */
  uint32_t group_outputs; /* output channels that read the same inputs; depthwise: multiplier */
  int32_t weight_zero;    /* uint8 only */
  int32_t out_zero;
  int32_t low; /* the fused activation */
  int32_t high;
} neap_conv;

/* Those of four channels from `channel` on, from sums of products without bias; where `next` is not
 * `out`, of another pixel from sums[4] on. */
void neap_conv_outputs(const neap_conv* conv, uint32_t channel, const uint32_t* sums, int8_t* out,
                       int8_t* next);
void neap_conv_output_one(const neap_conv* conv, uint32_t channel, uint32_t sum, int8_t* out);
/* Whether `pixels` pixels are computed two at a time: their outputs, from `out` on, share no byte
 * with their taps, `tap_count` of each. `skip`: bytes from the taps to those of the first one. */
int neap_pixels_are_apart(const neap_op* op, uint32_t tap_count, const neap_work* work,
                          const int8_t* const* taps, uint32_t skip, const int8_t* out,
                          uint32_t pixels);

/* The output of `channel` from the sum of its products and bias, with shifts. */
NEAP_INLINE int8_t neap_conv_output(const neap_conv* conv, uint32_t channel, uint32_t sum) {
  const int32_t scaled =
      neap_scale((int32_t)sum, conv->fractions[channel], (int32_t)conv->shifts[channel]);
  const int32_t value = (int32_t)((uint32_t)scaled + (uint32_t)conv->out_zero);
  return (int8_t)neap_clamp(value, conv->low, conv->high);
}

/* The same operators on int8, with channels in few bits. Bits of channel c are those from bit
 * c * (bias_bits + exponent_bits + fraction_bits) of `channels` on, the lowest of a byte first: its
 * bias less `bias`, its exponent less `exponent`, and the bits of its fraction behind the first
 * one, which is 2^30; bits that are missing at its end are 0. An output is as the stock kernels
 * compute it, with -exponent as the shift. 8 bytes from the first one of a channel on are readable;
 * a channel has at most 57 bits, its bias and exponent at most 31. No sum with its bias reaches
 * 2^30, exponents are 1 to 31.
 * Without bits of fractions, a channel has 8 bytes: the bias and the fraction of a neap_conv
 * without shifts, the lowest byte first. */
typedef struct neap_small {
  const int8_t* weights;
  const uint8_t* channels;
  int32_t bias;
  uint16_t taps;
  uint16_t inputs;
  uint16_t group_outputs;
  uint8_t bias_bits;
  uint8_t fraction_bits;
  uint8_t exponents; /* 32 * exponent_bits + exponent */
  int8_t out_zero;
  int8_t low;
  int8_t high;
} neap_small;
void neap_conv_small_s8(const neap_op* op, const neap_work* work);
void neap_depthwise_small_s8(const neap_op* op, const neap_work* work);
/* The outputs of `count` channels, at most four; otherwise as neap_conv_outputs(). */
void neap_small_outputs(const neap_small* conv, uint32_t channel, uint32_t count,
                        const uint32_t* sums, int8_t* out, int8_t* next);

/* The same operators on int8, their weights packed as neap_conv_packed_s8.c and
 * neap_depthwise_packed_s8.c describe them. An output is in one of two forms, clamped.
 * Scaled: (256 * sum + offset) * factor / 2^44, rounded down, where the emitter has compared all
 * sums. `channels` has, of four channels: the offsets of channels 0 and 1, their factors, and the
 * same of 2 and 3; of each channel that is left, its offset and its factor.
 * Otherwise as the stock kernels compute it. No sum with its bias reaches 2^30, all factors are
 * below 1/2. `channels` has, of four channels: the exponents of all, the first one lowest; twice
 * the bias of channels 0 and 1, their fractions, and the same of 2 and 3; of each channel that is
 * left, twice its bias, its fraction and its exponent. An exponent is -shift - 1. */
typedef struct neap_packed {
  const uint32_t* weights;
  const uint32_t* channels;
  uint32_t taps;
  uint32_t inputs;  /* of a tap */
  int32_t rounding; /* 2 * the output's zero point + 1 */
  int32_t low;
  int32_t high;
  uint32_t scaled;
} neap_packed;
/* Words of neap_packed.channels. */
#define NEAP_FOUR_CHANNELS(p) ((p)->scaled != 0 ? 8U : 9U)
#define NEAP_ONE_CHANNEL(p) ((p)->scaled != 0 ? 2U : 3U)
void neap_conv_packed_s8(const neap_op* op, const neap_work* work);
void neap_depthwise_packed_s8(const neap_op* op, const neap_work* work);

void neap_conv_s8(const neap_op* op, const neap_work* work);
void neap_conv_u8(const neap_op* op, const neap_work* work);
void neap_depthwise_s8(const neap_op* op, const neap_work* work);
void neap_depthwise_u8(const neap_op* op, const neap_work* work);

/* Pooling: taps that point at the window's padding do not count. */
typedef struct neap_pool {
  uint32_t taps;
  int32_t low;
  int32_t high;
} neap_pool;
void neap_average_pool_s8(const neap_op* op, const neap_work* work);
void neap_average_pool_u8(const neap_op* op, const neap_work* work);
void neap_max_pool_s8(const neap_op* op, const neap_work* work);
void neap_max_pool_u8(const neap_op* op, const neap_work* work);

/* Means: of neap_drive_mean, whose window is inside the input, and of neap_drive_sums, over all
 * places, whose boxes are those of the input, each pixel in one of them. Sums are of values from
 * -128 to 127. */
typedef struct neap_mean {
  int32_t places;
  int32_t fraction; /* 0: the sum is divided by `places` (AVERAGE_POOL_2D) */
  int32_t shift;
  int32_t in_zero; /* less 128 where values are uint8 */
  int32_t out_zero;
  int32_t low;
  int32_t high;
  uint16_t first_row; /* neap_drive_sums: the first pixel that is added, and the end of the last */
  uint16_t first_column;
  uint16_t end_row;
  uint16_t end_column;
  uint8_t sum_bytes; /* of one channel in the arena: 2 or 4 */
  uint8_t flip;      /* 0x80 where values are uint8 */
} neap_mean;
/* Writes work->channels means; work->taps[0] are their sums, each sum_bytes long. */
void neap_finish_mean(const neap_op* op, const neap_work* work);

/* How an element-wise kernel goes through an operand: bytes from pixel to pixel and from channel to
 * channel; 0: the same again. */
typedef struct neap_stride {
  uint32_t pixel;
  uint32_t channel;
} neap_stride;

/* ADD and SUB. */
typedef struct neap_add {
  neap_stride strides[2];
  int32_t zeros[2];
  int32_t fractions[2];
  int32_t shifts[2];
  int32_t sign; /* of the second operand */
  int32_t out_fraction;
  int32_t out_shift;
  int32_t out_zero;
  int32_t low;
  int32_t high;
} neap_add;
void neap_add_s8(const neap_op* op, const neap_work* work);
void neap_add_u8(const neap_op* op, const neap_work* work);

/* ADD and SUB, as (factors[0] * a + factors[1] * b + offset) >> shift, clamped. */
typedef struct neap_linear {
  neap_stride strides[2];
  int32_t factors[2];
  int32_t offset;
  int32_t shift;
  int32_t low;
  int32_t high;
} neap_linear;
void neap_add_linear_s8(const neap_op* op, const neap_work* work);

/* MUL. */
typedef struct neap_mul {
  neap_stride strides[2];
  int32_t zeros[2];
  int32_t fraction;
  int32_t shift;
  int32_t out_zero;
  int32_t low;
  int32_t high;
} neap_mul;
void neap_mul_s8(const neap_op* op, const neap_work* work);
void neap_mul_u8(const neap_op* op, const neap_work* work);

/* MAXIMUM and MINIMUM. */
typedef struct neap_select {
  neap_stride strides[2];
  int32_t larger; /* 1: the larger operand, 0: the smaller one */
} neap_select;
void neap_select_s8(const neap_op* op, const neap_work* work);
void neap_select_u8(const neap_op* op, const neap_work* work);

/* Functions of one byte. */
typedef struct neap_table {
  const int8_t* values; /* 256, by the byte as an unsigned number */
  neap_stride stride;
} neap_table;
void neap_lookup(const neap_op* op, const neap_work* work);

/* Of neap_drive_input_rows. */
typedef struct neap_fed {
  int32_t input; /* its number */
} neap_fed;

/* Rows of `length` elements, one after the other in a pixel. */
typedef struct neap_softmax {
  const int32_t* exponentials; /* of differences 0, 1, ... to the largest element */
  uint32_t exponential_count;  /* larger differences count as nothing */
  uint32_t rows;
  uint32_t length;
} neap_softmax;
void neap_softmax_s8(const neap_op* op, const neap_work* work);
void neap_softmax_u8(const neap_op* op, const neap_work* work);

/* The same where exponentials are computed: e^-(difference * fraction / 2^31 *
 * 2^(shift - 26)). */
typedef struct neap_small_softmax {
  int32_t fraction;
  uint32_t shift;
  uint32_t exponential_count;
  uint32_t rows;
  uint32_t length;
} neap_small_softmax;
void neap_softmax_small_s8(const neap_op* op, const neap_work* work);

/* Copies of channels of the first tap or input: output channels `before` .. `before + channels` are
 * input channels from `first` on; all others are `fill`. */
typedef struct neap_copy {
  uint32_t in_pixel; /* bytes from pixel to pixel of the input; 0: each pixel has its own tap */
  uint32_t first;
  uint32_t before;
  uint32_t channels;
  int8_t fill;
  uint8_t fills; /* whether there are others */
} neap_copy;
void neap_copy_pixels(const neap_op* op, const neap_work* work);

/* A pixel of the output is one of each input, side by side. */
typedef struct neap_concatenation {
  const uint32_t* bytes; /* of a pixel of each input */
} neap_concatenation;
void neap_concatenate_pixels(const neap_op* op, const neap_work* work);

/* The same with inputs of other scales. The 256 values for bytes of input i, as unsigned numbers,
 * begin at tables[first[i]]; its bytes are copied where first[i] is negative. */
typedef struct neap_rescaled_concatenation {
  const uint32_t* bytes;
  const int8_t* tables;
  const int32_t* first;
} neap_rescaled_concatenation;
void neap_concatenate_rescaled(const neap_op* op, const neap_work* work);

/* RESIZE_NEAREST_NEIGHBOR: the row and the column of the input for each of the output. */
typedef struct neap_nearest {
  neap_copy copy;
  const uint16_t* rows;
  const uint16_t* columns;
} neap_nearest;

/* RESIZE_BILINEAR: for each row and each column of the output, the two of the input between which
 * it is, and its distance from the first one in units of 1/1024, below 1024. */
typedef struct neap_bilinear {
  const uint16_t* rows;
  const uint16_t* columns;
} neap_bilinear;

/* TRANSPOSE_CONV: a neap_conv whose bias lacks the input's zero point. */
void neap_spread_s8(const neap_op* op, const neap_work* work);

/* Plans that arrive while the device runs. Operators and weights are compiled in; order, offsets
 * and moves are those of a received plan (docs/reference/binary-plan.md). Each tensor is a memory
 * of its own: memory 0 is the scratch of the operator that runs, memory 1 + t tensor t. */

/* How an output may share bytes with an input of its operator, and which bytes of an input count.
 */
#define NEAP_STARTS_BELOW 1 /* output 0 begins at least `bytes` before the input, which is lost */
#define NEAP_HOLDS_INPUT 2  /* the input is exactly `bytes` above the output's first byte */
#define NEAP_HOLDS_OUTPUT 3 /* the output is exactly `bytes` above the input's first byte */
#define NEAP_IN_PLACE 4     /* the output begins where the input does, which is lost */
#define NEAP_READS_FROM 5   /* the first `bytes` bytes of the input are not read */
typedef struct neap_rule {
  uint32_t bytes;
  uint8_t kind;
  uint8_t input;
  uint8_t output;
} neap_rule;

typedef struct neap_network_op {
  const neap_op* calls;
  const uint16_t* tensors; /* the outputs, then the inputs, without constants */
  const neap_rule* rules;
  uint32_t scratch_bytes;
  uint16_t call_count;
  uint8_t outputs;
  uint8_t inputs;
  uint16_t rule_count;
} neap_network_op;

typedef struct neap_network {
  const neap_network_op* ops;
  const uint32_t* tensor_bytes;
  const uint16_t* inputs; /* tensors */
  const uint16_t* outputs;
  const uint8_t* model; /* the SHA-256 of the model's file, 32 bytes */
  uint16_t op_count;
  uint16_t tensor_count;
  uint16_t input_count;
  uint16_t output_count;
} neap_network;

/* Where a tensor is. Its first `lost` bytes have been overwritten. */
typedef struct neap_place {
  uint32_t offset;
  uint32_t lost; /* NEAP_NEVER: it has not been written yet */
} neap_place;
#define NEAP_NEVER 0xffffffffU

/* Memory for a plan, of the caller. */
typedef struct neap_plan_work {
  int8_t** memories;  /* tensor_count + 1 */
  neap_place* places; /* tensor_count */
  const int8_t** taps;
} neap_plan_work;

#define NEAP_PLAN_DAMAGED (-10) /* it is cut off, changed, or no plan */
#define NEAP_PLAN_VERSION (-11) /* it is of another version of the format */
#define NEAP_PLAN_MODEL (-12)   /* it is for another model */
#define NEAP_PLAN_MEMORY (-13)  /* it needs a larger arena */
#define NEAP_PLAN_ORDER (-14)   /* an operator runs twice, or before its inputs, or never */
#define NEAP_PLAN_PLACE (-15)   /* a tensor or scratch is outside of the arena, or not aligned */
#define NEAP_PLAN_OVERLAP (-16) /* an overlap that the kernels do not permit, or a lost value */

/* The bytes of the header and of the checksum. */
#define NEAP_PLAN_HEADER 52
#define NEAP_PLAN_CHECKSUM 4

/* Whether the plan can be executed in an arena of `capacity` bytes: NEAP_OK, or why not. Nothing of
 * `plan` is trusted. O(bytes of the plan x tensors). */
int neap_plan_check(const neap_network* network, const uint8_t* plan, uint32_t bytes,
                    uint32_t capacity, const neap_plan_work* work);

/* Checks, and executes only what can be executed as a whole. `inputs` are copied into the arena;
 * `outputs` are set to their places in it. */
int neap_plan_apply(const neap_network* network, const uint8_t* plan, uint32_t bytes, void* arena,
                    uint32_t capacity, const neap_plan_work* work, const void* const* inputs,
                    const void** outputs);

#ifdef __cplusplus
}
#endif

#endif
