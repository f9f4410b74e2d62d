// SPDX-License-Identifier: Apache-2.0
//
// Runs of the program in workers. The program is unpacked and compiled once; every run has a worker of its
// own, so that a run can be ended and leaves no memory behind.
"use strict";

const runner = (() => {
  // The contents of a data block of the page: gzip in base64.
  async function unpack(id) {
    const packed = atob(document.getElementById(id).textContent.trim());
    const bytes = new Uint8Array(packed.length);
    for (let i = 0; i < packed.length; ++i) bytes[i] = packed.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  let loaded = null;
  function load() {
    loaded ??= (async () => {
      const [script, wasm] = await Promise.all([unpack("neap-worker"), unpack("neap-wasm")]);
      return {
        wasm: await WebAssembly.compile(wasm),
        url: URL.createObjectURL(new Blob([script], {type: "text/javascript"})),
      };
    })();
    return loaded;
  }

  const CANCELLED = {cancelled: true};

  // Starts `neap ARGS` with the files `inputs`. {done, cancel}: `done` resolves to {code, out, err, files},
  // or to CANCELLED once cancel() has been called.
  function run(args, inputs, onProgress = () => {}) {
    let worker = null, stop = null, stopped = false;
    const done = new Promise((resolve, reject) => {
      stop = () => {
        stopped = true;
        if (worker) worker.terminate();
        resolve(CANCELLED);
      };
      load().then(({wasm, url}) => {
        if (stopped) return;
        worker = new Worker(url);
        const end = () => worker.terminate();
        worker.onmessage = ({data}) => {
          if (data.progress !== undefined) return onProgress(data.progress);
          end();
          return data.result ? resolve(data.result) : reject(new Error(data.error));
        };
        worker.onerror = event => {
          end();
          reject(new Error(event.message || "the worker failed"));
        };
        worker.postMessage({wasm, args, inputs});
      }, reject);
    });
    return {done, cancel: () => stop()};
  }

  return {run, load, CANCELLED};
})();
