/* SPDX-License-Identifier: Apache-2.0
 *
 * Neap for C, and through it for every language that calls C: read a model, plan it, check the
 * plan, write the model that a runtime executes; and the two solvers alone.
 *
 * Handles are opaque and owned by the caller: each is freed by its own function, and freeing NULL
 * does nothing. Text and bytes that a function returns by `const` pointer live as long as the
 * handle that they come from. Text that goes in is UTF-8, ends in 0 and is copied.
 *
 * A function that can fail takes `neap_error** error`. When it fails it returns NULL, or a code
 * other than NEAP_OK, and sets *error to a handle for the caller to free, unless `error` is NULL.
 * It leaves *error alone when it succeeds. No C++ exception leaves the library. A handle may be
 * used by one thread at a time, models and plans that nothing changes by several.
 *
 * Sizes are bytes. Versions are semantic (CHANGELOG.md): within a major version no function is
 * removed and none changes its meaning.
 */
#ifndef NEAP_NEAP_C_H
#define NEAP_NEAP_C_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define NEAP_API __attribute__((visibility("default")))
#else
#define NEAP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define NEAP_C_VERSION_MAJOR 0
#define NEAP_C_VERSION_MINOR 1

/* "0.1.0", of the library that is linked. */
NEAP_API const char* neap_version(void);

/* ---- errors ---- */

typedef enum neap_code {
  NEAP_OK = 0,
  NEAP_BAD_INPUT = 1,    /* a file or value is malformed */
  NEAP_USAGE = 2,        /* an option or value does not exist, or does not go with another */
  NEAP_OVER_BUDGET = 3,  /* it does not fit into what was given */
  NEAP_MISSING_SIZE = 4, /* the bytes of a tensor cannot be known: a dimension has no value */
  NEAP_IO = 5,           /* the operating system refused */
  NEAP_WRONG_PLAN = 6,   /* a plan is not right for this model */
  NEAP_OUT_OF_MEMORY = 7,
  NEAP_INTERNAL = 8 /* a defect of Neap */
} neap_code;

typedef struct neap_error neap_error;
NEAP_API neap_code neap_error_code(const neap_error* error);
/* One line: file, operator, tensor, what was found, what was expected, what to do next. */
NEAP_API const char* neap_error_message(const neap_error* error);
NEAP_API void neap_error_free(neap_error* error);

/* ---- bytes that the library makes ---- */

typedef struct neap_bytes neap_bytes;
/* `size` bytes; a 0 follows that is not counted. */
NEAP_API const char* neap_bytes_data(const neap_bytes* bytes);
NEAP_API size_t neap_bytes_size(const neap_bytes* bytes);
NEAP_API void neap_bytes_free(neap_bytes* bytes);

/* ---- models ---- */

typedef struct neap_model neap_model;
/* A .tflite, .onnx or graph JSON file. `dims`: values of symbolic dimensions, "batch=1"; may be
 * NULL where `num_dims` is 0. O(file). */
NEAP_API neap_model* neap_model_read(const char* path, const char* const* dims, size_t num_dims,
                                     neap_error** error);
/* The same from memory, which is copied. `name` is for messages and plans; where the first bytes do
 * not tell the format its ending does. */
NEAP_API neap_model* neap_model_parse(const void* data, size_t size, const char* name,
                                      const char* const* dims, size_t num_dims, neap_error** error);
/* Of the main graph. */
NEAP_API size_t neap_model_num_operators(const neap_model* model);
NEAP_API void neap_model_free(neap_model* model);

/* ---- options ---- */

/* How a model is to be planned: the options of `neap plan` by their names, without dashes. Flags
 * take the value "". */
typedef struct neap_options neap_options;
NEAP_API neap_options* neap_options_new(void);
NEAP_API neap_code neap_options_set(neap_options* options, const char* name, const char* value,
                                    neap_error** error);
NEAP_API void neap_options_free(neap_options* options);

/* The table of all options. NULL behind the last one. */
NEAP_API const char* neap_option_name(size_t index);
NEAP_API const char* neap_option_value(size_t index); /* what it takes, "SIZE"; "": a flag */
NEAP_API const char* neap_option_help(size_t index);

/* ---- plans ---- */

typedef struct neap_plan neap_plan;
/* The best plan found within the limits of `options` (NULL: the defaults, which end after about
 * half a minute of one core at most), checked. The same model and options give the same plan,
 * unless there is a time limit. */
NEAP_API neap_plan* neap_plan_make(const neap_model* model, const neap_options* options,
                                   neap_error** error);
/* A plan.json that was written before. Such a plan has no numbers of its runtime and of the file's
 * order; its model is made again from the given one. */
NEAP_API neap_plan* neap_plan_parse(const char* json, size_t size, neap_error** error);
NEAP_API void neap_plan_free(neap_plan* plan);

/* What to reserve for activations: the arena that the stock runtime allocates where that is known,
 * else that of the plan; with "order-only" the peak. */
NEAP_API int64_t neap_plan_arena_bytes(const neap_plan* plan);
/* No order and no placement of the planned graph has a smaller arena; with "order-only": no order
 * has a smaller peak. */
NEAP_API int64_t neap_plan_lower_bound_bytes(const neap_plan* plan);
NEAP_API int64_t neap_plan_peak_bytes(const neap_plan* plan);
/* 1: order and addresses are proven optimal for the planned graph; 0: not proven. */
NEAP_API int neap_plan_is_optimal(const neap_plan* plan);
/* The arena of the model as it was given, in the order of the file; -1: not known. */
NEAP_API int64_t neap_plan_file_order_arena_bytes(const neap_plan* plan);
/* The whole arena of TensorFlow Lite Micro on a Cortex-M; -1: not known. */
NEAP_API int64_t neap_plan_total_arena_bytes(const neap_plan* plan);
/* Whether the plan is within all budgets of the options: 1, 0, or -1: what is needed is not known.
 * 1 without a budget. */
NEAP_API int neap_plan_fits(const neap_plan* plan);
/* "as given", "rewritten", "streamed", "tiles"; "" of a plan that was parsed. */
NEAP_API const char* neap_plan_kind(const neap_plan* plan);
/* plan.json. */
NEAP_API neap_bytes* neap_plan_json(const neap_plan* plan, neap_error** error);

/* Whether the plan is right for the model, by code that shares nothing with what made it:
 * NEAP_WRONG_PLAN names the first thing that is wrong. */
NEAP_API neap_code neap_check(const neap_model* model, const neap_plan* plan, neap_error** error);

/* The model in the plan's order, with its edits and, for TensorFlow Lite Micro, its addresses, as
 * the bytes of a file; read back and compared. Fails with NEAP_USAGE for plans that no file can
 * hold (streams, several memories) and plans that were parsed. */
NEAP_API neap_bytes* neap_write_model(const neap_model* model, const neap_plan* plan,
                                      neap_error** error);

typedef struct neap_span {
  const void* data;
  size_t size;
} neap_span;
/* Executes the planned model in an arena of exactly the planned size, with Neap's own kernels. A
 * span for each input and a place for each output of the model, in their order; elements row-major,
 * little-endian. Each of `outputs` is the caller's to free. Fails with NEAP_WRONG_PLAN where the
 * plan reads what is not there. */
NEAP_API neap_code neap_run(const neap_model* model, const neap_plan* plan, const neap_span* inputs,
                            size_t num_inputs, neap_bytes** outputs, size_t num_outputs,
                            neap_error** error);

/* Whether some order has a peak of at most `budget_bytes` under the runtime of `options` (NULL: the
 * default), without placing anything: 1, 0, or -1: not known within the limits. Stops as soon as
 * the answer is known: what an architecture search asks of thousands of graphs. Fails with -2. */
NEAP_API int neap_fits(const neap_model* model, int64_t budget_bytes, const neap_options* options,
                       neap_error** error);

/* ---- the solvers alone ---- */

/* Operators 0..num_operators-1 and buffers. Operator v writes or reads the buffers
 * uses[use_begin[v]] .. uses[use_begin[v+1] - 1]; each of these arrays is the caller's. Precedence
 * is stated, not implied: `before[k]` comes before `after[k]`. */
typedef struct neap_order_problem {
  size_t num_operators;
  const size_t* use_begin; /* num_operators + 1 */
  const int32_t* uses;
  const int64_t* scratch_bytes; /* of each operator; NULL: none */
  size_t num_buffers;
  const int64_t* buffer_bytes;
  const uint8_t* live_at_start; /* of each buffer, 0 or 1; NULL: none */
  const uint8_t* live_at_end;   /* NULL: none */
  size_t num_precedences;
  const int32_t* before;
  const int32_t* after;
} neap_order_problem;

typedef struct neap_bounds {
  int64_t bytes;             /* peak, or height of the arena */
  int64_t lower_bound_bytes; /* no order, or no placement, has less */
} neap_bounds;

/* An order of least peak, or the best that `max_states` states find (0: a few seconds' worth).
 * `order` has room for num_operators. Deterministic. */
NEAP_API neap_code neap_order(const neap_order_problem* problem, int64_t max_states, int32_t* order,
                              neap_bounds* bounds, neap_error** error);

/* Live in the steps [first, last). */
typedef struct neap_buffer {
  int64_t bytes;
  int32_t first;
  int32_t last;
  int64_t alignment;    /* 1 or more; 0 stands for 1 */
  int64_t fixed_offset; /* -1: anywhere */
} neap_buffer;
/* The offset of b less that of a must not lie between `low` and `high`, both excluded. Rules of a
 * pair that is live together replace the rule that its buffers share no byte. */
typedef struct neap_pair_rule {
  int32_t a;
  int32_t b;
  int64_t low;
  int64_t high;
} neap_pair_rule;
/* Places of least height. `offsets` has room for num_buffers. Deterministic. */
NEAP_API neap_code neap_place(const neap_buffer* buffers, size_t num_buffers,
                              const neap_pair_rule* rules, size_t num_rules, int64_t max_states,
                              int64_t* offsets, neap_bounds* bounds, neap_error** error);

#ifdef __cplusplus
}
#endif

#endif /* NEAP_NEAP_C_H */
