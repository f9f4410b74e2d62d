/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Neap for C, and through it for every language that calls C: read a model, plan it, check the
 * plan, run it, write the model that a runtime executes; and the solvers of neap_solvers.h.
 *
 * Ownership, errors, threads and versions are as in neap_solvers.h.
 */
#ifndef NEAP_NEAP_C_H
#define NEAP_NEAP_C_H

/* NOLINTBEGIN(readability-identifier-naming,modernize-*): C has no other names and types */

#include <stddef.h>
#include <stdint.h>

#include "neap_solvers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- bytes that the library makes ---- */

/** Bytes that the library makes. */
typedef struct neap_bytes neap_bytes;
/** `size` bytes; a 0 follows that is not counted. */
NEAP_API const char* neap_bytes_data(const neap_bytes* bytes);
NEAP_API size_t neap_bytes_size(const neap_bytes* bytes);
NEAP_API void neap_bytes_free(neap_bytes* bytes);

/* ---- models ---- */

/** A file, as bytes and as a graph. */
typedef struct neap_model neap_model;
/** A .tflite, .onnx or graph JSON file. `dims`: values of symbolic dimensions, "batch=1"; may be
 * NULL where `num_dims` is 0. O(file). */
NEAP_API neap_model* neap_model_read(const char* path, const char* const* dims, size_t num_dims,
                                     neap_error** error);
/** The same from memory, which is copied. `name` is for messages and plans; where the first bytes
 * do not tell the format its ending does. */
NEAP_API neap_model* neap_model_parse(const void* data, size_t size, const char* name,
                                      const char* const* dims, size_t num_dims, neap_error** error);
/** Of the main graph. */
NEAP_API size_t neap_model_num_operators(const neap_model* model);
NEAP_API void neap_model_free(neap_model* model);

/* ---- options ---- */

/** How a model is to be planned: the options of `neap plan` by their names, without dashes. Flags
 * take the value "". */
typedef struct neap_options neap_options;
NEAP_API neap_options* neap_options_new(void);
NEAP_API neap_code neap_options_set(neap_options* options, const char* name, const char* value,
                                    neap_error** error);
NEAP_API void neap_options_free(neap_options* options);

/** The table of all options. NULL behind the last one. */
NEAP_API const char* neap_option_name(size_t index);
NEAP_API const char* neap_option_value(size_t index); /* what it takes, "SIZE"; "": a flag */
NEAP_API const char* neap_option_help(size_t index);

/* ---- plans ---- */

/** An order with addresses, bounds and what was edited. */
typedef struct neap_plan neap_plan;
/** The best plan found within the limits of `options` (NULL: the defaults, which end after about
 * half a minute of one core at most), checked. The same model and options give the same plan,
 * unless there is a time limit. */
NEAP_API neap_plan* neap_plan_make(const neap_model* model, const neap_options* options,
                                   neap_error** error);
/** A plan.json that was written before. Such a plan has no numbers of its runtime and of the file's
 * order; its model is made again from the given one. */
NEAP_API neap_plan* neap_plan_parse(const char* json, size_t size, neap_error** error);
NEAP_API void neap_plan_free(neap_plan* plan);

/** What to reserve for activations: the arena that the stock runtime allocates where that is known,
 * else that of the plan; with "order-only" the peak. */
NEAP_API int64_t neap_plan_arena_bytes(const neap_plan* plan);
/** No order and no placement of the planned graph has a smaller arena; with "order-only": no order
 * has a smaller peak. */
NEAP_API int64_t neap_plan_lower_bound_bytes(const neap_plan* plan);
NEAP_API int64_t neap_plan_peak_bytes(const neap_plan* plan);
/** 1: order and addresses are proven optimal for the planned graph; 0: not proven. */
NEAP_API int neap_plan_is_optimal(const neap_plan* plan);
/** The arena of the model as it was given, in the order of the file; -1: not known. */
NEAP_API int64_t neap_plan_file_order_arena_bytes(const neap_plan* plan);
/** The whole arena of TensorFlow Lite Micro on a Cortex-M; -1: not known. */
NEAP_API int64_t neap_plan_total_arena_bytes(const neap_plan* plan);
/** Whether the plan is within all budgets of the options: 1, 0, or -1: what is needed is not known.
 * 1 without a budget. */
NEAP_API int neap_plan_fits(const neap_plan* plan);
/** "as given", "rewritten", "streamed", "tiles"; "" of a plan that was parsed. */
NEAP_API const char* neap_plan_kind(const neap_plan* plan);
/** plan.json. */
NEAP_API neap_bytes* neap_plan_json(const neap_plan* plan, neap_error** error);

/** Whether the plan is right for the model, by code that shares nothing with what made it:
 * NEAP_WRONG_PLAN names the first thing that is wrong. */
NEAP_API neap_code neap_check(const neap_model* model, const neap_plan* plan, neap_error** error);

/** The model in the plan's order, with its edits and, for TensorFlow Lite Micro, its addresses, as
 * the bytes of a file; read back and compared. Fails with NEAP_USAGE for plans that no file can
 * hold (streams, several memories) and plans that were parsed. */
NEAP_API neap_bytes* neap_write_model(const neap_model* model, const neap_plan* plan,
                                      neap_error** error);

/** Bytes of the caller's. */
typedef struct neap_span {
  const void* data;
  size_t size;
} neap_span;
/** Executes the planned model in an arena of exactly the planned size, with Neap's own kernels. A
 * span for each input and a place for each output of the model, in their order; elements row-major,
 * little-endian. Each of `outputs` is the caller's to free. Fails with NEAP_WRONG_PLAN where the
 * plan reads what is not there. */
NEAP_API neap_code neap_run(const neap_model* model, const neap_plan* plan, const neap_span* inputs,
                            size_t num_inputs, neap_bytes** outputs, size_t num_outputs,
                            neap_error** error);

/** Whether some order has a peak of at most `budget_bytes` under the runtime of `options` (NULL:
 * the default), without placing anything: 1, 0, or -1: not known within the limits. Stops as soon
 * as the answer is known: what an architecture search asks of thousands of graphs. Fails with -2.
 */
NEAP_API int neap_fits(const neap_model* model, int64_t budget_bytes, const neap_options* options,
                       neap_error** error);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming,modernize-*) */

#endif /* NEAP_NEAP_C_H */
