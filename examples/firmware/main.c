// SPDX-License-Identifier: Apache-2.0
//
// Detects persons in the images of a camera that delivers rows. No image is ever in memory as a
// whole: the network computes with each row while the next one is exposed.
//
// The camera of this example is the file camera.pnm, with one or more binary images of the
// network's size: P5 (gray) or P6 (color), 8 bits a sample.

#include "board.h"
#include "person.h"

enum { kBadImage = 1000, kNoMoreImages };

static const int32_t shape[] = PERSON_INPUT_SHAPE;  // batch, rows, columns, channels

static uint8_t arena[PERSON_ARENA_BYTES]
    __attribute__((section(".arena"), aligned(PERSON_ARENA_ALIGN)));

// A number of the header of an image; the character after it is read, too. -1: there is none.
static int32_t read_number(int file) {
  int32_t number = -1;
  uint8_t character = ' ';
  while (board_read(file, &character, 1) == 1) {
    if (character >= '0' && character <= '9') {
      if (number > 99999) return -1;
      number = (number < 0 ? 0 : number * 10) + (character - '0');
    } else if (number >= 0) {
      return number;
    } else if (character > ' ') {
      return -1;
    }
  }
  return number;
}

// Reads the header of the next image: 0, kNoMoreImages, or kBadImage if it is not of the network's
// size.
static int start_exposure(int file) {
  uint8_t magic[2];
  if (board_read(file, magic, 2) != 2) return kNoMoreImages;
  const int32_t channels = magic[1] == '5' ? 1 : magic[1] == '6' ? 3 : 0;
  if (magic[0] != 'P' || channels != shape[3]) return kBadImage;
  const int32_t columns = read_number(file);
  const int32_t rows = read_number(file);
  const int32_t highest = read_number(file);
  return rows == shape[1] && columns == shape[2] && highest == 255 ? 0 : kBadImage;
}

// The network's request for a row: samples of 0 to 255 become integers of -128 to 127.
static int read_row(void* user, int row, int8_t* to) {
  (void)row;
  const uint32_t bytes = (uint32_t)(shape[2] * shape[3]);
  if (board_read(*(const int*)user, to, bytes) != bytes) return kBadImage;
  for (uint32_t i = 0; i < bytes; ++i) to[i] = (int8_t)(to[i] ^ -128);
  return 0;
}

int main(void) {
  int camera = board_open_to_read("camera.pnm");
  if (camera < 0) {
    board_print("camera.pnm cannot be read\n");
    return 1;
  }
  for (;;) {
    int result = start_exposure(camera);
    if (result == kNoMoreImages) break;
    if (result == 0) result = person_run_rows(arena, read_row, &camera);
    if (result != 0) {
      board_print(result == kBadImage ? "camera.pnm has no image of the network's size\n"
                                      : "the network failed\n");
      return 1;
    }
    // The two outputs are scores; their scale is the same.
    const int8_t* const scores = person_output(arena);
    board_print(scores[1] > scores[0] ? "person" : "no person");
    for (int i = 0; i < PERSON_OUTPUT_BYTES; ++i) {
      board_print(" ");
      board_print_number((uint32_t)(scores[i] + 128));
    }
    board_print("\n");
  }
  board_print("stack ");
  board_print_number(board_stack_used());
  board_print(" B, arena ");
  board_print_number(PERSON_ARENA_BYTES);
  board_print(" B\n");
  return 0;
}
