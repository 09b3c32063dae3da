// Translates with @browsermt/bergamot-translator, the engine in WebAssembly.
//
// node engine.mjs FOLDER: FOLDER holds a copy of the package's folder `worker`, the model, its
// vocabularies and perhaps a shortlist, request.json ({model, vocabularies, shortlist, config,
// lines}), and gets reply.json, the translations.
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {Worker} from 'node:worker_threads';

const folder = process.argv[2];
const request = JSON.parse(readFileSync(join(folder, 'request.json'), 'utf-8'));
const worker = new Worker(pathToFileURL(join(folder, 'worker', 'translator-worker.js')));
const waiting = new Map();

function fail(error) {
  console.error(error.message ?? String(error));
  process.exit(1);
}

worker.on('error', fail);
worker.on('message', ({id, result, error}) => {
  if (error) fail(error);
  waiting.get(id)(result);
});

function call(name, ...args) {
  return new Promise((resolve) => {
    const id = waiting.size + 1;
    waiting.set(id, resolve);
    worker.postMessage({id, name, args});
  });
}

function content(path) {
  const data = readFileSync(path);
  return data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
}

await call('initialize', {cacheSize: 0});
await call('loadTranslationModel', {from: 'source', to: 'target'}, {
  model: content(request.model),
  shortlist: request.shortlist ? content(request.shortlist) : new ArrayBuffer(0),
  vocabs: request.vocabularies.map(content),
  config: request.config,
});
const replies = await call('translate', {
  models: [{from: 'source', to: 'target'}],
  texts: request.lines.map((text) => ({text, html: false, qualityScores: false})),
});
writeFileSync(join(folder, 'reply.json'), JSON.stringify(replies.map((reply) => reply.target.text)));
process.exit(0);
