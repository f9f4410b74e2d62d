/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Neap for C, and through it for every language that calls C: read a model, plan it, check the
 * plan, run it, and write the model that a runtime executes. Includes the solvers of
 * neap_solvers.h, which also describes ownership, errors, threads and versions.
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

/* ---- bytes ---- */

/** Bytes that the library allocated. */
typedef struct neap_bytes neap_bytes;
/** The bytes; an uncounted 0 follows the last one. */
NEAP_API const char* neap_bytes_data(const neap_bytes* bytes);
/** The number of bytes. */
NEAP_API size_t neap_bytes_size(const neap_bytes* bytes);
/** Frees the bytes. */
NEAP_API void neap_bytes_free(neap_bytes* bytes);

/* ---- models ---- */

/** A model file: its bytes and its graph. */
typedef struct neap_model neap_model;
/** Reads a .tflite, .onnx or graph JSON file. `dims`: values of symbolic dimensions, such as
 * "batch=1"; may be NULL if `num_dims` is 0. Time and memory: O(file size). */
NEAP_API neap_model* neap_model_read(const char* path, const char* const* dims, size_t num_dims,
                                     neap_error** error);
/** Reads a model from memory, which is copied. `name` appears in messages and plans; its ending
 * decides the format if the first bytes do not. */
NEAP_API neap_model* neap_model_parse(const void* data, size_t size, const char* name,
                                      const char* const* dims, size_t num_dims, neap_error** error);
/** The number of operators of the main graph. */
NEAP_API size_t neap_model_num_operators(const neap_model* model);
/** Frees the model. */
NEAP_API void neap_model_free(neap_model* model);

/* ---- options ---- */

/** How to plan a model: the options of `neap plan` by name, without dashes. */
typedef struct neap_options neap_options;
/** The default options. NULL: out of memory. */
NEAP_API neap_options* neap_options_new(void);
/** Sets one option. The value of a flag is "". Fails with NEAP_USAGE if there is no such option or
 * value. */
NEAP_API neap_code neap_options_set(neap_options* options, const char* name, const char* value,
                                    neap_error** error);
/** Frees the options. */
NEAP_API void neap_options_free(neap_options* options);

/** The name of the option at `index` in the table of all options; NULL after the last one. */
NEAP_API const char* neap_option_name(size_t index);
/** The kind of value of that option, such as "SIZE"; "" for a flag; NULL after the last one. */
NEAP_API const char* neap_option_value(size_t index);
/** A description of that option; NULL after the last one. */
NEAP_API const char* neap_option_help(size_t index);

/* ---- plans ---- */

/** A plan: the order of the operators, the offset of each tensor, proven bounds, and the edits of
 * the graph. */
typedef struct neap_plan neap_plan;
/** Returns the best plan found within the limits of `options`, after checking it. NULL means
 * the default options, whose limits end the search after at most half a minute on one core. The
 * same model and options give the same plan, except with a time limit. Time and memory: the limits
 * of the options ("time-limit", "max-states", "max-memory"). */
NEAP_API neap_plan* neap_plan_make(const neap_model* model, const neap_options* options,
                                   neap_error** error);
/** Reads a plan.json. A plan that was read has neither the numbers of its runtime nor those of the
 * file order; the functions below derive its model from the given one. */
NEAP_API neap_plan* neap_plan_parse(const char* json, size_t size, neap_error** error);
/** Frees the plan. */
NEAP_API void neap_plan_free(neap_plan* plan);

/** The bytes to reserve for activations: the arena that the stock runtime allocates, if that is
 * known, else the arena of the plan; with "order-only" the peak. */
NEAP_API int64_t neap_plan_arena_bytes(const neap_plan* plan);
/** A proven lower bound of the arena over every order and placement of the planned graph; with
 * "order-only" of the peak over every order. */
NEAP_API int64_t neap_plan_lower_bound_bytes(const neap_plan* plan);
/** The largest sum of live bytes over all steps of the order. */
NEAP_API int64_t neap_plan_peak_bytes(const neap_plan* plan);
/** 1: no order and no placement of the planned graph needs less; 0: not proven. */
NEAP_API int neap_plan_is_optimal(const neap_plan* plan);
/** The arena of the given model in file order; -1: unknown. */
NEAP_API int64_t neap_plan_file_order_arena_bytes(const neap_plan* plan);
/** The total arena of TensorFlow Lite Micro on a Cortex-M: activations and persistent bytes; -1:
 * unknown. */
NEAP_API int64_t neap_plan_total_arena_bytes(const neap_plan* plan);
/** 1: the plan is within all budgets of its options, or there are none; 0: it exceeds one; -1: its
 * need is unknown. */
NEAP_API int neap_plan_fits(const neap_plan* plan);
/** "as given", "rewritten", "streamed", "tiles" or "recomputed"; of a rewritten model "rewritten
 * and streamed", "rewritten and tiles" or "rewritten and recomputed"; "" for a plan that was read.
 */
NEAP_API const char* neap_plan_kind(const neap_plan* plan);
/** The plan as plan.json. */
NEAP_API neap_bytes* neap_plan_json(const neap_plan* plan, neap_error** error);

/** Checks the plan against the model with code that shares nothing with the planner. Fails with
 * NEAP_WRONG_PLAN and the first violation. Time: O(model + plan), and for overlaps the steps of the
 * overlapping kernels. */
NEAP_API neap_code neap_check(const neap_model* model, const neap_plan* plan, neap_error** error);

/** Returns the planned model as the bytes of a file: in the plan's order, with its edits and, for
 * TensorFlow Lite Micro, its offsets. The bytes are read back and compared. Fails with NEAP_USAGE
 * for a plan that no file can represent (streams, several memories) and for a plan that was read.
 */
NEAP_API neap_bytes* neap_write_model(const neap_model* model, const neap_plan* plan,
                                      neap_error** error);

/** Bytes that the caller owns. */
typedef struct neap_span {
  const void* data; /**< the first byte */
  size_t size;      /**< the number of bytes */
} neap_span;
/** Executes the planned model with Neap's own kernels in an arena of exactly the planned size.
 * `inputs` and `outputs` have one element for each input and output of the model, in its order;
 * values are row-major and little-endian. The caller frees each element of `outputs`. Fails with
 * NEAP_WRONG_PLAN if the plan reads a byte that does not contain its tensor. */
NEAP_API neap_code neap_run(const neap_model* model, const neap_plan* plan, const neap_span* inputs,
                            size_t num_inputs, neap_bytes** outputs, size_t num_outputs,
                            neap_error** error);

/** C99 source files. */
typedef struct neap_sources neap_sources;
/** Returns C99 that runs the planned model of 8-bit operators in its arena, as the command
 * `neap emit` writes it: `PREFIX.h` and `PREFIX.c` and, if `single_file` is 0, the files of its
 * runtime in the folder `neap_rt`. A prefix of NULL or "" is that of the model's name. A plan for
 * it has the options `runtime` "neap" and `overlap` "neap-rt". Fails with NEAP_BAD_INPUT and the
 * types of all operators without a kernel, or for a plan that is not valid, and with NEAP_USAGE for
 * a prefix that is no C identifier of lower-case letters, digits and '_'. */
NEAP_API neap_sources* neap_emit_c(const neap_model* model, const neap_plan* plan,
                                   const char* prefix, int single_file, neap_error** error);
/** The number of files. */
NEAP_API size_t neap_sources_count(const neap_sources* sources);
/** The name of a file, relative to the output folder, with '/'; NULL behind the last file. */
NEAP_API const char* neap_sources_name(const neap_sources* sources, size_t index);
/** The text of a file; NULL behind the last file. */
NEAP_API const char* neap_sources_text(const neap_sources* sources, size_t index);
/** The bytes of the arena that the code requires: activations, lines, scratch, state. */
NEAP_API int64_t neap_sources_arena_bytes(const neap_sources* sources);
/** The maximum stack of a run, with the compiler that the header names. */
NEAP_API int64_t neap_sources_stack_bytes(const neap_sources* sources);
/** Frees the files. */
NEAP_API void neap_sources_free(neap_sources* sources);

/** Whether some order has a peak of at most `budget_bytes` under the runtime of `options` (NULL:
 * the default). Returns 1 or 0, -1 if the limits end the search first, and -2 on failure. Stops as
 * soon as the answer is known and places nothing: for architecture searches over thousands of
 * graphs. */
NEAP_API int neap_fits(const neap_model* model, int64_t budget_bytes, const neap_options* options,
                       neap_error** error);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming,modernize-*) */

#endif /* NEAP_NEAP_C_H */
