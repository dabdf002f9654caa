// Writes basis_etc1s.ktx2 and basis_uastc.ktx2, gradients of 20 × 12 texels, red to the right and green downwards. Run it by
//     npm install ktx2-encoder
//     node make_basis.mjs .
import { writeFileSync } from 'node:fs';
import { encodeToKTX2 } from 'ktx2-encoder';
const [width, height] = [20, 12];
const data = new Uint8Array(4 * width * height);
for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) {
  data.set([Math.round(255 * x / (width - 1)), Math.round(255 * y / (height - 1)), 64, 255], 4 * (y * width + x));
}
const imageDecoder = async () => ({ data, width, height });
for (const [name, isUASTC] of [['etc1s', false], ['uastc', true]]) {
  const options = { isUASTC, needSupercompression: isUASTC, qualityLevel: 255, generateMipmap: false, imageDecoder };
  writeFileSync(`${process.argv[2]}/basis_${name}.ktx2`, await encodeToKTX2(new Uint8Array(1), options));
}
