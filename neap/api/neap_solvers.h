/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The two solvers of Neap for C, which know nothing of neural networks: orders of least peak, and
 * places of least height. A library of their own, libneap_solvers, has them and needs no other;
 * libneap has them, too.
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
#ifndef NEAP_NEAP_SOLVERS_H
#define NEAP_NEAP_SOLVERS_H

/* NOLINTBEGIN(readability-identifier-naming,modernize-*): C has no other names and types */

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

/** "0.1.0", of the library that is linked. */
NEAP_API const char* neap_version(void);

/* ---- errors ---- */

/** What kind of answer an error is. */
typedef enum neap_code {
  NEAP_OK = 0,            /**< success */
  NEAP_BAD_INPUT = 1,     /**< a file or value is malformed */
  NEAP_USAGE = 2,         /**< an option or value does not exist, or does not go with another */
  NEAP_OVER_BUDGET = 3,   /**< it does not fit into what was given */
  NEAP_MISSING_SIZE = 4,  /**< the bytes of a tensor cannot be known: a dimension has no value */
  NEAP_IO = 5,            /**< the operating system refused */
  NEAP_WRONG_PLAN = 6,    /**< a plan is not right for this model */
  NEAP_OUT_OF_MEMORY = 7, /**< nothing was made */
  NEAP_INTERNAL = 8       /**< a defect of Neap */
} neap_code;

/** Why a function failed. */
typedef struct neap_error neap_error;
/** Of NULL, where there was no memory for the error: NEAP_OUT_OF_MEMORY. */
NEAP_API neap_code neap_error_code(const neap_error* error);
/** One line: file, operator, tensor, what was found, what was expected, what to do next. */
NEAP_API const char* neap_error_message(const neap_error* error);
NEAP_API void neap_error_free(neap_error* error);

/* ---- the solvers ---- */

/** Operators 0..num_operators-1 and buffers. Operator v writes or reads the buffers
 * uses[use_begin[v]] .. uses[use_begin[v+1] - 1]; each of these arrays is the caller's. Precedence
 * is stated, not implied: `before[k]` comes before `after[k]`. */
typedef struct neap_order_problem {
  size_t num_operators;
  const size_t* use_begin; /**< num_operators + 1 */
  const int32_t* uses;
  const int64_t* scratch_bytes; /**< of each operator; NULL: none */
  size_t num_buffers;
  const int64_t* buffer_bytes;
  const uint8_t* live_at_start; /**< of each buffer, 0 or 1; NULL: none */
  const uint8_t* live_at_end;   /**< NULL: none */
  size_t num_precedences;
  const int32_t* before;
  const int32_t* after;
} neap_order_problem;

/** What was found and what was proven. */
typedef struct neap_bounds {
  int64_t bytes;             /**< peak, or height of the arena */
  int64_t lower_bound_bytes; /**< no order, or no placement, has less */
} neap_bounds;

/** An order of least peak, or the best that `max_states` states find (0: a few seconds' worth).
 * `order` has room for num_operators. Deterministic. */
NEAP_API neap_code neap_order(const neap_order_problem* problem, int64_t max_states, int32_t* order,
                              neap_bounds* bounds, neap_error** error);

/** Live in the steps [first, last). */
typedef struct neap_buffer {
  int64_t bytes;
  int32_t first;
  int32_t last;
  int64_t alignment;    /**< 1 or more; 0 stands for 1 */
  int64_t fixed_offset; /**< -1: anywhere */
} neap_buffer;
/** The offset of b less that of a must not lie between `low` and `high`, both excluded. Rules of a
 * pair that is live together replace the rule that its buffers share no byte. */
typedef struct neap_pair_rule {
  int32_t a;
  int32_t b;
  int64_t low;
  int64_t high;
} neap_pair_rule;
/** Places of least height. `offsets` has room for num_buffers. Deterministic. */
NEAP_API neap_code neap_place(const neap_buffer* buffers, size_t num_buffers,
                              const neap_pair_rule* rules, size_t num_rules, int64_t max_states,
                              int64_t* offsets, neap_bounds* bounds, neap_error** error);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming,modernize-*) */

#endif /* NEAP_NEAP_SOLVERS_H */
