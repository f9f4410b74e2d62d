/* SPDX-License-Identifier: Apache-2.0
 *
 * A device that asks a server for a plan: device PORT MODEL-SHA-256 FREE-BYTES INPUT OUTPUT.
 *
 * It has the operators and weights of a network compiled in (`neap emit model.tflite -o net --prefix
 * net --received-plans`). It sends the model's hash and its free memory, receives a plan for exactly
 * that memory, executes it on the bytes of the file INPUT and writes the bytes of its output to
 * OUTPUT. Then its memory shrinks to 70 %, and it asks again. Where nothing fits, it prints what the
 * server answers, and ends with 3.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net.h"

enum { ANSWER_BYTES = 65536, TRIES = 600 };

static int port;
static char answer[ANSWER_BYTES]; /* header and body */

/* One request to the server on this machine; the status, or -1. *body, *bytes: those of the answer. */
static int request(const char *method, const char *target, const char **body, size_t *bytes) {
  struct sockaddr_in address;
  char text[512];
  size_t got = 0;
  ssize_t part;
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  memset(&address, 0, sizeof(address));
  address.sin_family = AF_INET;
  address.sin_port = htons((uint16_t)port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) return -1;
  snprintf(text, sizeof(text),
           "%s %s HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
           method, target, port);
  if (write(fd, text, strlen(text)) != (ssize_t)strlen(text)) return -1;
  while (got + 1 < sizeof(answer) && (part = read(fd, answer + got, sizeof(answer) - 1 - got)) > 0) {
    got += (size_t)part;
  }
  close(fd);
  answer[got] = 0;
  *body = strstr(answer, "\r\n\r\n");
  if (*body == NULL || strncmp(answer, "HTTP/1.1 ", 9) != 0) return -1;
  *body += 4;
  *bytes = got - (size_t)(*body - answer);
  return atoi(answer + 9);
}

/* The text of a member of a JSON object; "" if it is not a text. */
static void member(const char *json, const char *name, char *text, size_t size) {
  char key[32];
  const char *at;
  size_t n = 0;
  snprintf(key, sizeof(key), "\"%s\": \"", name);
  at = strstr(json, key);
  if (at != NULL) {
    for (at += strlen(key); *at != 0 && *at != '"' && n + 1 < size; ++at) text[n++] = *at;
  }
  text[n] = 0;
}

/* A plan for `capacity` bytes, of malloc: 0. 3: the server has none, and `why` has the bytes
 * that suffice. 1: a failure. */
static int receive(const char *model, unsigned capacity, unsigned char **plan, size_t *plan_bytes,
                   char *why, size_t size) {
  char target[256], id[64], state[16];
  const char *body;
  size_t bytes;
  int i;
  snprintf(target, sizeof(target), "/v1/plans?name=net.tflite&binary=true&model=%s&budget=%u", model,
           capacity);
  if (request("POST", target, &body, &bytes) != 202) {
    fprintf(stderr, "the server refuses: %s", body);
    return 1;
  }
  member(body, "id", id, sizeof(id));
  snprintf(target, sizeof(target), "/v1/plans/%s", id);
  for (i = 0; i < TRIES; ++i) {
    if (request("GET", target, &body, &bytes) != 200) return 1;
    member(body, "state", state, sizeof(state));
    if (strcmp(state, "done") == 0 || strcmp(state, "failed") == 0) break;
    usleep(50000);
  }
  member(body, "error", why, size);
  if (strcmp(state, "done") != 0) return 1;
  snprintf(target, sizeof(target), "/v1/plans/%s/plan.bin", id);
  if (request("GET", target, &body, &bytes) != 200) return 3;
  *plan = (unsigned char *)malloc(bytes);
  if (*plan == NULL) return 1;
  memcpy(*plan, body, bytes);
  *plan_bytes = bytes;
  return 0;
}

/* Receives a plan, executes it in exactly `capacity` bytes. */
static int run(const char *model, unsigned capacity, const unsigned char *input, const char *path) {
  static void *work[(NET_WORK_BYTES + sizeof(void *) - 1) / sizeof(void *)];
  const void *inputs[NET_INPUTS];
  const void *outputs[NET_OUTPUTS];
  unsigned char *plan = NULL;
  char why[256];
  size_t bytes = 0;
  void *arena;
  FILE *file;
  int result = receive(model, capacity, &plan, &bytes, why, sizeof(why));
  if (result != 0) {
    printf("%u bytes: no plan: %s\n", capacity, why);
    return result;
  }
  arena = malloc(capacity);
  inputs[0] = input;
  result = net_apply(plan, (uint32_t)bytes, arena, capacity, work, inputs, outputs);
  printf("%u bytes: a plan of %u bytes: %d\n", capacity, (unsigned)bytes, result);
  if (result == 0) {
    file = fopen(path, "wb");
    if (file == NULL || fwrite(outputs[0], 1, NET_OUTPUT_BYTES, file) != NET_OUTPUT_BYTES) result = 1;
    if (file != NULL) fclose(file);
  }
  free(arena);
  free(plan);
  return result == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
  static unsigned char input[NET_INPUT_BYTES];
  char second[512];
  unsigned capacity;
  FILE *file;
  int result;
  if (argc != 6) {
    fprintf(stderr, "usage: device PORT MODEL-SHA-256 FREE-BYTES INPUT OUTPUT\n");
    return 2;
  }
  port = atoi(argv[1]);
  capacity = (unsigned)strtoul(argv[3], NULL, 10);
  file = fopen(argv[4], "rb");
  if (file == NULL || fread(input, 1, sizeof(input), file) != sizeof(input)) return 2;
  fclose(file);
  result = run(argv[2], capacity, input, argv[5]);
  if (result != 0) return result;
  /* Another task takes memory. */
  snprintf(second, sizeof(second), "%s.2", argv[5]);
  return run(argv[2], capacity / 10 * 7, input, second);
}
