// SPDX-License-Identifier: Apache-2.0
//
// Files compressed with gzip, by the browser. The program reads their contents as if it had expanded them
// itself: the native one does.
"use strict";

// Beside the model, the program needs memory in the same 4 GiB.
const MAX_EXPANDED_BYTES = 2 ** 30;

// The contents of a gzip file; other bytes as they are. So are files that cannot be expanded, which the
// program refuses.
async function expanded(bytes) {
  if (bytes.length < 2 || bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const parts = [];
  let size = 0;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      parts.push(part.value);
      size += part.value.length;
      if (size > MAX_EXPANDED_BYTES) {
        reader.cancel().catch(() => {});
        return bytes;
      }
    }
  } catch {
    return bytes;
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
