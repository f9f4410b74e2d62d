// SPDX-License-Identifier: Apache-2.0
//
// The worker: one request, one run, one answer. The page ends it to cancel, and starts another one for
// the next request. Messages to it: {wasm, args, inputs}. Messages from it: {progress: text}, then
// {result: {code, out, err, files}} or {error: text}.
"use strict";

onmessage = async ({data}) => {
  try {
    const result = await runNeap(createNeap, data.wasm, data.args, data.inputs,
                                 text => postMessage({progress: text}));
    postMessage({result}, Object.values(result.files).map(bytes => bytes.buffer));
  } catch (error) {
    postMessage({error: String(error)});
  }
};
