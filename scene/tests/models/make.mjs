// Writes a bent strip of quads with normals and texture coordinates, plain and compressed. Run it by
//     npm install @gltf-transform/core @gltf-transform/extensions @gltf-transform/functions draco3dgltf meshoptimizer
//     node make.mjs .
import { Document, NodeIO, Logger } from '@gltf-transform/core';
import { ALL_EXTENSIONS, KHRDracoMeshCompression } from '@gltf-transform/extensions';
import { draco, meshopt } from '@gltf-transform/functions';
import draco3d from 'draco3dgltf';
import { MeshoptEncoder, MeshoptDecoder } from 'meshoptimizer';
await MeshoptEncoder.ready; await MeshoptDecoder.ready;
const io = new NodeIO().registerExtensions(ALL_EXTENSIONS).registerDependencies({
  'draco3d.encoder': await draco3d.createEncoderModule(), 'draco3d.decoder': await draco3d.createDecoderModule(),
  'meshopt.encoder': MeshoptEncoder, 'meshopt.decoder': MeshoptDecoder });
function strip() {
  const doc = new Document(); doc.setLogger(new Logger(Logger.Verbosity.ERROR));
  const buffer = doc.createBuffer(); const N = 12;
  const p = [], n = [], t = [], ix = [];
  for (let i = 0; i <= N; i++) for (let j = 0; j <= N; j++) {
    const u = i / N, v = j / N, a = (u - 0.5) * 2;
    p.push(Math.sin(a), v, Math.cos(a)); n.push(Math.sin(a), 0, Math.cos(a)); t.push(u, v);
    if (i < N && j < N) { const k = i * (N + 1) + j; ix.push(k, k + N + 1, k + N + 2, k, k + N + 2, k + 1); }
  }
  const acc = (type, array) => doc.createAccessor().setType(type).setArray(array).setBuffer(buffer);
  const prim = doc.createPrimitive().setAttribute('POSITION', acc('VEC3', new Float32Array(p)))
    .setAttribute('NORMAL', acc('VEC3', new Float32Array(n))).setAttribute('TEXCOORD_0', acc('VEC2', new Float32Array(t)))
    .setIndices(acc('SCALAR', new Uint16Array(ix)));
  doc.createScene().addChild(doc.createNode('strip').setMesh(doc.createMesh().addPrimitive(prim)));
  return doc;
}
const out = process.argv[2];
await io.write(`${out}/strip.glb`, strip());
const d = strip(); await d.transform(draco({ method: 'edgebreaker' })); await io.write(`${out}/strip_draco.glb`, d);
const s = strip(); await s.transform(draco({ method: 'sequential' })); await io.write(`${out}/strip_draco_sequential.glb`, s);
const m = strip(); await m.transform(meshopt({ encoder: MeshoptEncoder, level: 'high' })); await io.write(`${out}/strip_meshopt.glb`, m);
