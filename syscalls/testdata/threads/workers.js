// Workers that share memory, and send messages.
const { Worker, isMainThread, workerData, parentPort } = require('worker_threads');

if (isMainThread) {
  const shared = new SharedArrayBuffer(8);
  const words = new Int32Array(shared);
  const sums = [];
  let left = 3;
  for (let i = 0; i < 3; i++) {
    const w = new Worker(__filename, { workerData: { shared, i } });
    w.on('message', (m) => (sums[i] = m));
    w.on('exit', () => {
      if (--left === 0) console.log(words[0], words[1], sums.join(' '));
    });
  }
} else {
  const words = new Int32Array(workerData.shared);
  for (let j = 0; j < 200; j++) Atomics.add(words, 0, 1);
  for (let j = 0; j < 10; j++) {
    let now;
    while ((now = Atomics.load(words, 1)) % 3 !== workerData.i) Atomics.wait(words, 1, now);
    Atomics.add(words, 1, 1);
    Atomics.notify(words, 1);
  }
  let sum = 0;
  for (let j = 0; j < 1000; j++) sum += j * (workerData.i + 1);
  parentPort.postMessage(sum);
}
