/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Received plans: checked as they are read, and executed. docs/reference/binary-plan.md has the
 * format. A plan is walked twice: without the arena, to check it; then with the arena.
 */
#include "neap_rt.h"

/* The plan from `at` on. */
typedef struct neap_reader {
  const uint8_t* at;
  const uint8_t* end;
} neap_reader;

typedef struct neap_walk {
  const neap_network* network;
  const neap_plan_work* work;
  neap_reader reader;
  int8_t* arena; /* null: checks alone */
  uint32_t arena_bytes;
} neap_walk;

static uint32_t neap_plan_u32(const uint8_t* at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}
static uint32_t neap_plan_u16(const uint8_t* at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8; }

/* CRC-32 of Ethernet and zlib. */
static uint32_t neap_plan_crc(const uint8_t* at, uint32_t bytes) {
  uint32_t crc = 0xffffffffU;
  for (; bytes > 0; --bytes, ++at) {
    crc ^= *at;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xedb88320U & (0U - (crc & 1U)));
  }
  return ~crc;
}

/* Seven bits a byte, the lowest first; the last byte is below 128. */
static int neap_plan_number(neap_reader* reader, uint32_t* number) {
  uint32_t value = 0;
  for (uint32_t shift = 0; shift < 35; shift += 7) {
    uint32_t byte;
    if (reader->at == reader->end) return NEAP_PLAN_DAMAGED;
    byte = *reader->at++;
    if (shift == 28 && byte > 15) return NEAP_PLAN_DAMAGED;
    value |= (byte & 127U) << shift;
    if (byte < 128) {
      *number = value;
      return NEAP_OK;
    }
  }
  return NEAP_PLAN_DAMAGED;
}

/* An offset of `bytes` bytes inside of the arena. */
static int neap_plan_offset(neap_walk* walk, uint32_t bytes, uint32_t* offset) {
  const int result = neap_plan_number(&walk->reader, offset);
  if (result != NEAP_OK) return result;
  if (bytes > walk->arena_bytes || *offset > walk->arena_bytes - bytes) return NEAP_PLAN_PLACE;
  return NEAP_OK;
}

static int neap_plan_meets(uint32_t a, uint32_t a_bytes, uint32_t b, uint32_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

/* What [offset, offset + bytes) overwrites of a tensor is lost, up to its last byte there. */
static void neap_plan_lose(const neap_walk* walk, uint32_t tensor, uint32_t offset,
                           uint32_t bytes) {
  neap_place* const place = &walk->work->places[tensor];
  const uint32_t size = walk->network->tensor_bytes[tensor];
  uint32_t lost;
  if (place->lost == NEAP_NEVER) return;
  if (!neap_plan_meets(offset, bytes, place->offset, size)) return;
  lost = offset + bytes - place->offset;
  if (lost > size) lost = size;
  if (lost > place->lost) place->lost = lost;
}

static void neap_plan_put(const neap_walk* walk, uint32_t tensor, uint32_t offset) {
  walk->work->places[tensor].offset = offset;
  if (walk->arena != NULL) walk->work->memories[1 + tensor] = walk->arena + offset;
}

/* Whether output `o` may share bytes with input `i`; *holds: both values exist afterwards. */
static int neap_plan_permits(const neap_network_op* op, uint32_t o, uint32_t i, uint32_t out,
                             uint32_t in, int* holds) {
  for (uint32_t r = 0; r < op->rule_count; ++r) {
    const neap_rule* const rule = &op->rules[r];
    if (rule->kind == NEAP_READS_FROM || rule->input != i || rule->output != o) continue;
    *holds = rule->kind == NEAP_HOLDS_INPUT || rule->kind == NEAP_HOLDS_OUTPUT;
    if (rule->kind == NEAP_STARTS_BELOW && in >= rule->bytes && out <= in - rule->bytes) return 1;
    if (rule->kind == NEAP_HOLDS_INPUT && in >= out && in - out == rule->bytes) return 1;
    if (rule->kind == NEAP_HOLDS_OUTPUT && out >= in && out - in == rule->bytes) return 1;
    if (rule->kind == NEAP_IN_PLACE && out == in) return 1;
  }
  return 0;
}

/* The first byte that input `i` is read from. */
static uint32_t neap_plan_first_read(const neap_network_op* op, uint32_t i) {
  for (uint32_t r = 0; r < op->rule_count; ++r) {
    if (op->rules[r].kind == NEAP_READS_FROM && op->rules[r].input == i) return op->rules[r].bytes;
  }
  return 0;
}

static void neap_plan_run(const neap_walk* walk, const neap_network_op* op) {
  neap_frame frame;
  frame.memories = walk->work->memories;
  frame.externals = NULL;
  frame.taps = walk->work->taps;
  frame.rows = NULL;
  frame.user = NULL;
  frame.copy = NULL;
  for (uint32_t c = 0; c < op->call_count; ++c) {
    const neap_op* const call = &op->calls[c];
    for (uint32_t y = call->rows[0]; y < call->rows[1]; ++y) {
      (void)call->driver(call, &frame, y, call->columns[0], call->columns[1]);
    }
  }
}

/* Output `o` at `offset`, while the inputs of the operator are where they are. */
static int neap_plan_output(neap_walk* walk, const neap_network_op* op, uint32_t o,
                            uint32_t offset) {
  const uint32_t* const sizes = walk->network->tensor_bytes;
  const uint16_t* const inputs = op->tensors + op->outputs;
  const uint32_t output = op->tensors[o];
  const uint32_t bytes = sizes[output];
  for (uint32_t i = 0; i < op->inputs; ++i) {
    const neap_place* const in = &walk->work->places[inputs[i]];
    int holds = 0;
    if (!neap_plan_meets(offset, bytes, in->offset, sizes[inputs[i]])) continue;
    if (!neap_plan_permits(op, o, i, offset, in->offset, &holds)) return NEAP_PLAN_OVERLAP;
  }
  for (uint32_t t = 0; t < walk->network->tensor_count; ++t) {
    int keeps = 0;
    int reads = 0;
    for (uint32_t i = 0; i < op->inputs; ++i) {
      int holds = 0;
      if (inputs[i] != t) continue;
      (void)neap_plan_permits(op, o, i, offset, walk->work->places[t].offset, &holds);
      keeps = holds && (keeps || !reads);
      reads = 1;
    }
    if (!keeps) neap_plan_lose(walk, t, offset, bytes);
  }
  return NEAP_OK;
}

static int neap_plan_op(neap_walk* walk, uint32_t number) {
  const neap_network_op* const op = &walk->network->ops[number];
  const uint32_t* const sizes = walk->network->tensor_bytes;
  neap_place* const places = walk->work->places;
  const uint16_t* const inputs = op->tensors + op->outputs;
  uint32_t scratch = 0;
  for (uint32_t i = 0; i < op->inputs; ++i) {
    const neap_place* const in = &places[inputs[i]];
    if (in->lost == NEAP_NEVER) return NEAP_PLAN_ORDER;
    if (in->lost > neap_plan_first_read(op, i)) return NEAP_PLAN_OVERLAP;
  }
  if (op->scratch_bytes != 0) {
    const int result = neap_plan_offset(walk, op->scratch_bytes, &scratch);
    if (result != NEAP_OK) return result;
    if (scratch % 4 != 0) return NEAP_PLAN_PLACE;
    for (uint32_t i = 0; i < op->inputs; ++i) {
      if (neap_plan_meets(scratch, op->scratch_bytes, places[inputs[i]].offset, sizes[inputs[i]])) {
        return NEAP_PLAN_OVERLAP;
      }
    }
    for (uint32_t t = 0; t < walk->network->tensor_count; ++t) {
      neap_plan_lose(walk, t, scratch, op->scratch_bytes);
    }
  }
  for (uint32_t o = 0; o < op->outputs; ++o) {
    const uint32_t output = op->tensors[o];
    uint32_t offset;
    int result = neap_plan_offset(walk, sizes[output], &offset);
    if (result != NEAP_OK) return result;
    if (places[output].lost != NEAP_NEVER) return NEAP_PLAN_ORDER;
    if (neap_plan_meets(scratch, op->scratch_bytes, offset, sizes[output])) {
      return NEAP_PLAN_OVERLAP;
    }
    for (uint32_t p = 0; p < o; ++p) {
      const uint32_t other = op->tensors[p];
      if (neap_plan_meets(offset, sizes[output], places[other].offset, sizes[other])) {
        return NEAP_PLAN_OVERLAP;
      }
    }
    result = neap_plan_output(walk, op, o, offset);
    if (result != NEAP_OK) return result;
    neap_plan_put(walk, output, offset);
  }
  if (walk->arena != NULL) {
    walk->work->memories[0] = walk->arena + scratch;
    neap_plan_run(walk, op);
  }
  for (uint32_t o = 0; o < op->outputs; ++o) places[op->tensors[o]].lost = 0;
  return NEAP_OK;
}

static int neap_plan_move(neap_walk* walk, uint32_t tensor) {
  neap_place* const place = &walk->work->places[tensor];
  const uint32_t bytes = walk->network->tensor_bytes[tensor];
  uint32_t offset;
  const int result = neap_plan_offset(walk, bytes, &offset);
  if (result != NEAP_OK) return result;
  if (place->lost == NEAP_NEVER) return NEAP_PLAN_ORDER;
  for (uint32_t t = 0; t < walk->network->tensor_count; ++t) {
    if (t != tensor) neap_plan_lose(walk, t, offset, bytes);
  }
  if (walk->arena != NULL) memmove(walk->arena + offset, walk->arena + place->offset, bytes);
  neap_plan_put(walk, tensor, offset);
  return NEAP_OK;
}

/* The records: the inputs' offsets, then the steps. */
static int neap_plan_walk(neap_walk* walk, uint32_t steps, const void* const* inputs) {
  const neap_network* const network = walk->network;
  neap_place* const places = walk->work->places;
  for (uint32_t t = 0; t < network->tensor_count; ++t) places[t].lost = NEAP_NEVER;
  for (uint32_t i = 0; i < network->input_count; ++i) {
    const uint32_t tensor = network->inputs[i];
    const uint32_t bytes = network->tensor_bytes[tensor];
    uint32_t offset;
    const int result = neap_plan_offset(walk, bytes, &offset);
    if (result != NEAP_OK) return result;
    if (places[tensor].lost != NEAP_NEVER) return NEAP_PLAN_ORDER;
    for (uint32_t t = 0; t < network->tensor_count; ++t) neap_plan_lose(walk, t, offset, bytes);
    neap_plan_put(walk, tensor, offset);
    places[tensor].lost = 0;
    if (walk->arena != NULL) memcpy(walk->arena + offset, inputs[i], bytes);
  }
  for (; steps > 0; --steps) {
    uint32_t head;
    int result = neap_plan_number(&walk->reader, &head);
    if (result != NEAP_OK) return result;
    if ((head & 1U) != 0) {
      if (head / 2 >= network->tensor_count) return NEAP_PLAN_DAMAGED;
      result = neap_plan_move(walk, head / 2);
    } else {
      if (head / 2 >= network->op_count) return NEAP_PLAN_DAMAGED;
      result = neap_plan_op(walk, head / 2);
    }
    if (result != NEAP_OK) return result;
  }
  if (walk->reader.at != walk->reader.end) return NEAP_PLAN_DAMAGED;
  for (uint32_t i = 0; i < network->output_count; ++i) {
    const uint32_t lost = places[network->outputs[i]].lost;
    if (lost == NEAP_NEVER) return NEAP_PLAN_ORDER;
    if (lost != 0) return NEAP_PLAN_OVERLAP;
  }
  return NEAP_OK;
}

static int neap_plan_is_of(const neap_network* network, const uint8_t* model) {
  for (uint32_t i = 0; i < 32; ++i) {
    if (model[i] != network->model[i]) return 0;
  }
  return 1;
}

static int neap_plan_open(const neap_network* network, const uint8_t* plan, uint32_t bytes,
                          uint32_t capacity, neap_walk* walk) {
  if (plan == NULL || bytes < NEAP_PLAN_HEADER + NEAP_PLAN_CHECKSUM) return NEAP_PLAN_DAMAGED;
  if (plan[0] != 'N' || plan[1] != 'E' || plan[2] != 'A' || plan[3] != 'P') {
    return NEAP_PLAN_DAMAGED;
  }
  if (plan[4] != 1 || plan[5] != 0) return NEAP_PLAN_VERSION;
  if (neap_plan_u32(plan + 8) != bytes) return NEAP_PLAN_DAMAGED;
  if (neap_plan_u32(plan + bytes - NEAP_PLAN_CHECKSUM) !=
      neap_plan_crc(plan, bytes - NEAP_PLAN_CHECKSUM)) {
    return NEAP_PLAN_DAMAGED;
  }
  if (!neap_plan_is_of(network, plan + 16) ||
      neap_plan_u16(plan + 48) != network->tensor_count ||
      neap_plan_u16(plan + 50) != network->op_count) {
    return NEAP_PLAN_MODEL;
  }
  walk->arena_bytes = neap_plan_u32(plan + 12);
  /* Sums of two offsets must not wrap around. */
  if (walk->arena_bytes > capacity || walk->arena_bytes > 0x7fffffffU) return NEAP_PLAN_MEMORY;
  walk->reader.at = plan + NEAP_PLAN_HEADER;
  walk->reader.end = plan + bytes - NEAP_PLAN_CHECKSUM;
  return NEAP_OK;
}

int neap_plan_check(const neap_network* network, const uint8_t* plan, uint32_t bytes,
                    uint32_t capacity, const neap_plan_work* work) {
  neap_walk walk;
  const int result = neap_plan_open(network, plan, bytes, capacity, &walk);
  if (result != NEAP_OK) return result;
  walk.network = network;
  walk.work = work;
  walk.arena = NULL;
  return neap_plan_walk(&walk, neap_plan_u16(plan + 6), NULL);
}

int neap_plan_apply(const neap_network* network, const uint8_t* plan, uint32_t bytes, void* arena,
                    uint32_t capacity, const neap_plan_work* work, const void* const* inputs,
                    const void** outputs) {
  neap_walk walk;
  int result = neap_plan_check(network, plan, bytes, capacity, work);
  if (result != NEAP_OK) return result;
  if (arena == NULL || (uintptr_t)arena % 4 != 0) return NEAP_BAD_ARENA;
  (void)neap_plan_open(network, plan, bytes, capacity, &walk);
  walk.network = network;
  walk.work = work;
  walk.arena = (int8_t*)arena;
  result = neap_plan_walk(&walk, neap_plan_u16(plan + 6), inputs);
  for (uint32_t i = 0; result == NEAP_OK && i < network->output_count; ++i) {
    outputs[i] = walk.arena + work->places[network->outputs[i]].offset;
  }
  return result;
}
