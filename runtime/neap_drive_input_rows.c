/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The driver of several inputs that come row by row.
 */
#include "neap_rt.h"

/* As neap_drive_rows(), with the number of the input. */
int neap_drive_input_rows(const neap_op* op, const neap_frame* frame, uint32_t y, uint32_t x0,
                          uint32_t x1) {
  const neap_fed* const fed = (const neap_fed*)op->params;
  const neap_view* const out = op->views[0];
  const neap_input_row_fn rows = (neap_input_row_fn)(void (*)(void))frame->rows;
  uint32_t count = x1 - x0;
  int8_t* to = neap_target(out, frame, y, x0, &count);
  const int8_t* from = frame->memories[0] + op->scratch;
  int result;
  if (frame->rows == NULL) return NEAP_NO_ROWS;
  if (count == x1 - x0) return rows(frame->user, fed->input, (int)y, to);
  result = rows(frame->user, fed->input, (int)y, frame->memories[0] + op->scratch);
  while (result == NEAP_OK && x0 < x1) {
    count = x1 - x0;
    to = neap_target(out, frame, y, x0, &count);
    memcpy(to, from, count * out->pixel_bytes);
    from += count * out->pixel_bytes;
    x0 += count;
  }
  return result;
}
