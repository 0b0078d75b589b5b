// SPDX-License-Identifier: Apache-2.0
// Computes a model with ONNX Runtime: onnxruntime_run.js MODEL FOLDER NAME INPUT TYPE DIMS [NAME INPUT TYPE DIMS...]
//
// INPUT is a file with the raw elements of the model's input NAME, of TYPE (float32, int32, int64) and with DIMS such as
// "10000,784". Each output becomes FOLDER/NAME.bin.
'use strict';
const fs = require('fs');
const runtime = require('onnxruntime-node');

const arrays = {float32: Float32Array, int32: Int32Array, int64: BigInt64Array};

async function main([model, folder, ...inputs]) {
  const session = await runtime.InferenceSession.create(model);
  const feeds = {};
  for (let i = 0; i + 3 < inputs.length; i += 4) {
    const [name, input, type, dims] = inputs.slice(i, i + 4);
    const bytes = fs.readFileSync(input);
    const elements = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    feeds[name] = new runtime.Tensor(type, new arrays[type](elements), dims.split(',').map(Number));
  }
  const results = await session.run(feeds);
  for (const name of session.outputNames) {
    const out = results[name].data;
    fs.writeFileSync(`${folder}/${name}.bin`, Buffer.from(out.buffer, out.byteOffset, out.byteLength));
  }
}
main(process.argv.slice(2)).catch((error) => {
  console.error(String(error));
  process.exit(1);
});
