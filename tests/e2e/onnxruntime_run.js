// SPDX-License-Identifier: Apache-2.0
// Computes a model with ONNX Runtime: onnxruntime_run.js MODEL INPUT TYPE DIMS FOLDER
//
// INPUT is a file of raw elements of TYPE (float32, int32), DIMS "10000,784". Each output becomes FOLDER/NAME.bin.
'use strict';
const fs = require('fs');
const runtime = require('onnxruntime-node');

async function main([model, input, type, dims, folder]) {
  const session = await runtime.InferenceSession.create(model);
  const bytes = fs.readFileSync(input);
  const elements = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const data = type === 'float32' ? new Float32Array(elements) : new Int32Array(elements);
  const tensor = new runtime.Tensor(type, data, dims.split(',').map(Number));
  const results = await session.run({[session.inputNames[0]]: tensor});
  for (const name of session.outputNames) {
    const out = results[name].data;
    fs.writeFileSync(`${folder}/${name}.bin`, Buffer.from(out.buffer, out.byteOffset, out.byteLength));
  }
}
main(process.argv.slice(2)).catch((error) => {
  console.error(String(error));
  process.exit(1);
});
