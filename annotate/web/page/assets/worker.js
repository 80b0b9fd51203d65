// Behind wasm_exec.js, in a worker of its own for each report: it has Go's program make the report, and posts what came of it. What
// the program leaves behind goes with the worker.
"use strict";

onmessage = async ({ data: { module, job } }) => {
  const said = []; // by Go's runtime, if the program fails
  const decoder = new TextDecoder();
  globalThis.fs.writeSync = (fd, bytes) => {
    said.push(decoder.decode(bytes, { stream: true }));
    return bytes.length;
  };
  const go = new Go();
  go.exit = () => {};
  globalThis.cgemuJob = job;
  try {
    await go.run(await WebAssembly.instantiate(module, go.importObject));
  } catch (e) {
    said.push(`fatal error: ${e.message}`);
  }
  const result = globalThis.cgemuResult;
  if (result) postMessage(result, result.output ? [result.output.buffer] : []);
  else postMessage({ error: `the report could not be made: ${said.join("").match(/^(?:fatal error|panic|runtime): .*$/m)?.[0] ?? "the program ended"}` });
};
