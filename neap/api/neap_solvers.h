/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The two solvers of Neap for C: orders of minimum peak and placements of minimum height. They are
 * pure combinatorics, without neural networks. The library libneap_solvers contains them and needs
 * no other library; libneap contains them too.
 *
 * Handles are opaque. The caller owns them and frees each with its own function; freeing NULL does
 * nothing. Text and bytes returned by `const` pointer are valid until their handle is freed. Text
 * arguments are UTF-8, end in 0 and are copied.
 *
 * A function that can fail takes `neap_error** error`. On failure it returns NULL, or a code other
 * than NEAP_OK, and sets *error to a handle that the caller frees, unless `error` is NULL. On
 * success it leaves *error unchanged. No C++ exception leaves the library. One thread at a time may
 * use a handle; several threads may read the same model or plan. A function without a stated time
 * takes time proportional to its arguments and result.
 *
 * Sizes are bytes. Versions are semantic (CHANGELOG.md): within a major version no function is
 * removed and none changes its meaning.
 */
#ifndef NEAP_NEAP_SOLVERS_H
#define NEAP_NEAP_SOLVERS_H

/* NOLINTBEGIN(readability-identifier-naming,modernize-*): C has no other names and types */

#include <stddef.h>
#include <stdint.h>

/** Marks an exported function. */
#if defined(__GNUC__)
#define NEAP_API __attribute__((visibility("default")))
#else
#define NEAP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Major version of this interface. */
#define NEAP_C_VERSION_MAJOR 0
/** Minor version of this interface. */
#define NEAP_C_VERSION_MINOR 1

/** The version of the linked library, such as "0.1.0". */
NEAP_API const char* neap_version(void);

/* ---- errors ---- */

/** The kind of an error. */
typedef enum neap_code {
  NEAP_OK = 0,            /**< success */
  NEAP_BAD_INPUT = 1,     /**< a file or value is malformed */
  NEAP_USAGE = 2,         /**< no such option or value, or it contradicts another one */
  NEAP_OVER_BUDGET = 3,   /**< the result exceeds the given memory */
  NEAP_MISSING_SIZE = 4,  /**< the size of a tensor is unknown: a dimension has no value */
  NEAP_IO = 5,            /**< the operating system refused */
  NEAP_WRONG_PLAN = 6,    /**< the plan is not valid for this model */
  NEAP_OUT_OF_MEMORY = 7, /**< an allocation failed */
  NEAP_INTERNAL = 8       /**< a defect of Neap */
} neap_code;

/** Why a function failed. */
typedef struct neap_error neap_error;
/** The kind of the error; NEAP_OUT_OF_MEMORY for NULL. */
NEAP_API neap_code neap_error_code(const neap_error* error);
/** One line: what failed, where, what was found, what was expected, what to do next. */
NEAP_API const char* neap_error_message(const neap_error* error);
/** Frees the error. */
NEAP_API void neap_error_free(neap_error* error);

/* ---- the solvers ---- */

/** Operators 0 to num_operators - 1 and the buffers that they use. Operator v reads or writes the
 * buffers uses[use_begin[v]] to uses[use_begin[v + 1] - 1]. A buffer is live from its first use in
 * the order to its last one. Uses imply no precedence: operator before[k] runs before operator
 * after[k]. The caller owns all arrays. */
typedef struct neap_order_problem {
  size_t num_operators;         /**< number of operators */
  const size_t* use_begin;      /**< num_operators + 1 indices into `uses` */
  const int32_t* uses;          /**< buffers */
  const int64_t* scratch_bytes; /**< for each operator; NULL: none */
  size_t num_buffers;           /**< number of buffers */
  const int64_t* buffer_bytes;  /**< for each buffer */
  const uint8_t* live_at_start; /**< for each buffer, 0 or 1; NULL: none */
  const uint8_t* live_at_end;   /**< for each buffer, 0 or 1; NULL: none */
  size_t num_precedences;       /**< number of precedences */
  const int32_t* before;        /**< for each precedence, an operator */
  const int32_t* after;         /**< for each precedence, an operator that runs later */
} neap_order_problem;

/** A result and its proven bound. */
typedef struct neap_bounds {
  int64_t bytes;             /**< the peak of the order, or the height of the placement */
  int64_t lower_bound_bytes; /**< proven: no order, or no placement, has less */
} neap_bounds;

/** Finds an order of minimum peak, or the best one within `max_states` states (0: as many as take a
 * few seconds). Writes num_operators operators to `order`. Deterministic. Time: bounds and simple
 * orders, polynomial in operators and uses; then at most `max_states` states, each O(operators that
 * are ready x their uses). Memory: num_operators^2 bits, and tables of states of at most 4 GiB. */
NEAP_API neap_code neap_order(const neap_order_problem* problem, int64_t max_states, int32_t* order,
                              neap_bounds* bounds, neap_error** error);

/** A buffer that is live in the steps [first, last). */
typedef struct neap_buffer {
  int64_t bytes;        /**< size */
  int32_t first;        /**< first step */
  int32_t last;         /**< the step after the last one */
  int64_t alignment;    /**< 1 or more; 0 means 1 */
  int64_t fixed_offset; /**< -1: anywhere */
} neap_buffer;
/** Forbids relative offsets of two buffers: offset(b) - offset(a) is at most `low` or at least
 * `high`. For two buffers that are live at the same time, their rules replace the default rule that
 * they share no byte. */
typedef struct neap_pair_rule {
  int32_t a;    /**< a buffer */
  int32_t b;    /**< another buffer */
  int64_t low;  /**< the largest difference below the forbidden range */
  int64_t high; /**< the smallest difference above it */
} neap_pair_rule;
/** Finds a placement of minimum height, or the best one within `max_states` states (0: as many as
 * take a few seconds). Writes num_buffers offsets to `offsets`. Deterministic. Time: at most
 * `max_states` states, each O(num_buffers). Memory: O(num_buffers + pairs of buffers that are live
 * at the same time). */
NEAP_API neap_code neap_place(const neap_buffer* buffers, size_t num_buffers,
                              const neap_pair_rule* rules, size_t num_rules, int64_t max_states,
                              int64_t* offsets, neap_bounds* bounds, neap_error** error);

/** What neap_place_in_memories() found. */
typedef struct neap_cost_bounds {
  int64_t cost;             /**< the sum of the costs of all buffers */
  int64_t lower_bound_cost; /**< proven: no placement that fits costs less */
} neap_cost_bounds;

/** Assigns each buffer to one of several memories (banks) for its whole life, with an offset in it,
 * so that every memory stays within its capacity and the sum of costs is minimal.
 * costs[i * num_memories + m] is the cost of buffer i in memory m, at least 0, or -1 if it may not
 * be there. Pair rules apply to buffers in the same memory. Writes num_buffers elements each to
 * `memories` and `offsets`. Fails with NEAP_OVER_BUDGET if no placement fits, or if `max_states`
 * states (0: as many as take a few seconds) do not find one; the message states which.
 * Deterministic. Time: at most `max_states` states, each a placement in every memory. */
NEAP_API neap_code neap_place_in_memories(const neap_buffer* buffers, size_t num_buffers,
                                          const neap_pair_rule* rules, size_t num_rules,
                                          const int64_t* capacities_bytes, size_t num_memories,
                                          const int64_t* costs, int64_t max_states,
                                          int32_t* memories, int64_t* offsets,
                                          neap_cost_bounds* bounds, neap_error** error);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming,modernize-*) */

#endif /* NEAP_NEAP_SOLVERS_H */
