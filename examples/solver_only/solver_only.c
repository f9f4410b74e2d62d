/* SPDX-License-Identifier: Apache-2.0
 *
 * The solvers alone, from C99: an order of minimum peak, then places for its buffers. Two branches, one
 * with a large tensor, one with a larger one:
 *
 *   in -> A -> a -> B -> b \
 *                           E -> out
 *   in -> C -> c -> D -> d /
 */
#include <stdio.h>

#include <neap/neap_solvers.h>

enum { kOperators = 5, kBuffers = 6 };

static int Complain(neap_error* error) {
  fprintf(stderr, "solver_only: %s\n", neap_error_message(error));
  neap_error_free(error);
  return 1;
}

int main(void) {
  /* Buffers: in, a, b, c, d, out. Operators: A, C, B, D, E. */
  static const size_t use_begin[kOperators + 1] = {0, 2, 4, 6, 8, 11};
  static const int32_t uses[] = {0, 1, 0, 3, 1, 2, 3, 4, 2, 4, 5};
  static const int64_t bytes[kBuffers] = {10, 100, 10, 200, 10, 5};
  static const uint8_t at_start[kBuffers] = {1, 0, 0, 0, 0, 0};
  static const uint8_t at_end[kBuffers] = {0, 0, 0, 0, 0, 1};
  static const int32_t before[] = {0, 1, 2, 3};
  static const int32_t after[] = {2, 3, 4, 4};
  const neap_order_problem problem = {kOperators, use_begin, uses,   NULL,  kBuffers, bytes,
                                      at_start,   at_end,    4,      before, after};
  int32_t order[kOperators];
  neap_bounds peak;
  neap_error* error = NULL;
  if (neap_order(&problem, 0, order, &peak, &error) != NEAP_OK) return Complain(error);

  /* From the order to lifetimes: a buffer lives from its first user to its last one. */
  neap_buffer buffers[kBuffers];
  for (int b = 0; b < kBuffers; ++b) {
    buffers[b].bytes = bytes[b];
    buffers[b].first = at_start[b] ? 0 : kOperators;
    buffers[b].last = 0;
    buffers[b].alignment = 1;
    buffers[b].fixed_offset = -1;
  }
  for (int32_t step = 0; step < kOperators; ++step) {
    for (size_t k = use_begin[order[step]]; k < use_begin[order[step] + 1]; ++k) {
      neap_buffer* buffer = &buffers[uses[k]];
      if (step < buffer->first) buffer->first = step;
      buffer->last = step + 1;
    }
  }
  int64_t offsets[kBuffers];
  neap_bounds arena;
  if (neap_place(buffers, kBuffers, NULL, 0, 0, offsets, &arena, &error) != NEAP_OK) {
    return Complain(error);
  }
  printf("order:");
  for (int v = 0; v < kOperators; ++v) printf(" %c", "ACBDE"[order[v]]);
  printf("; peak %lld B (no order has less than %lld B); arena %lld B\n", (long long)peak.bytes,
         (long long)peak.lower_bound_bytes, (long long)arena.bytes);
  return peak.bytes == 220 && peak.lower_bound_bytes == 220 && arena.bytes == 220 ? 0 : 1;
}
