// SPDX-License-Identifier: Apache-2.0
// An exported model in ONNX Runtime, for bench/onnxruntime_peer.py: it answers as bench/rounds.h does.
//
//   node onnxruntime_peer.js THREADS FOLDER      FOLDER: what bench_onnx_files wrote; node_modules is beside it
//
// Timed is the binding's own run: the promise and the turn of the event loop that onnxruntime-node puts round it are no
// part of what is compared. Input and output arrays are made once.
'use strict';
const fs = require('fs');
const path = require('path');
const readline = require('readline');

const [threads, folder] = process.argv.slice(2);
const node = path.join(path.resolve(folder), '..', 'node_modules');
const {binding, initOrt} = require(path.join(node, 'onnxruntime-node', 'dist', 'binding.js'));
const {Tensor} = require(path.join(node, 'onnxruntime-common'));

function read(name, type) {
  const bytes = fs.readFileSync(path.join(folder, name));
  return new type(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

const {dtype, dims} = JSON.parse(fs.readFileSync(path.join(folder, 'x.json'), 'utf8'));
const expected = read('logits.bin', Float32Array);
initOrt();
const session = new binding.InferenceSession();
session.loadModel(path.join(folder, 'model.onnx'), {
  intraOpNumThreads: Number(threads),
  interOpNumThreads: 1,
  executionMode: 'sequential',
  graphOptimizationLevel: 'all'
});
const feeds = {
  x: new Tensor(dtype, read('x.bin', dtype === 'int64' ? BigInt64Array : Float32Array), dims)
};
const first = session.run(feeds, {logits: null}, {}).logits;
const out = new Tensor('float32', new Float32Array(expected.length), first.dims);
const fetches = {
  logits: out
};
const step = () => session.run(feeds, fetches, {});

function check() {
  step();
  let largest = 0, worst = 0;
  for (let i = 0; i < expected.length; ++i) {
    largest = Math.max(largest, Math.abs(expected[i]));
    worst = Math.max(worst, Math.abs(expected[i] - out.data[i]));
  }
  if (!(worst <= 1e-4 * largest)) throw new Error(`the logits differ by ${worst} of ${largest}`);
}

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const now = () => Number(process.hrtime.bigint()) / 1e3;
const cpu = () => {
  const used = process.cpuUsage();
  return used.user + used.system;
};

function round(seconds, steps) {
  const elapsed = [], used = [], end = now() + seconds * 1e6;
  do {
    const start = now(), cpuStart = cpu();
    for (let i = 0; i < steps; ++i) step();
    elapsed.push((now() - start) / steps);
    used.push((cpu() - cpuStart) / steps);
  } while (now() < end);
  const maxRss = process.resourceUsage().maxRSS / 1024;
  console.log(JSON.stringify({us: median(elapsed), cpu_us: median(used), max_rss_mib: maxRss}));
}

check();
for (let i = 0; i < 5; ++i) step();
readline.createInterface({input: process.stdin}).on('line', (line) => {
  const start = now();
  step();
  const one = Math.max(now() - start, 0.1);
  round(Number(line), Math.floor(Math.min(Math.max(Number(line) * 1e6 / 20 / one, 1), 1e6)));
});
