import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { BenchPage } from './pages.js';

/** Runs in the thread. */
const PROGRAM = `
const { createServer } = require('node:http');
const { createReadStream, statSync } = require('node:fs');
const { extname, join, normalize } = require('node:path');
const { parentPort, workerData } = require('node:worker_threads');
createServer((request, response) => {
  const path = normalize(decodeURIComponent(request.url.split('?', 1)[0]));
  const page = workerData.pages[path];
  const [, name, ...rest] = path.split('/');
  const file = workerData.directories[name] && join(workerData.directories[name], ...rest);
  if (page !== undefined) response.writeHead(200, { 'content-type': page.type }).end(page.body);
  else if (file === undefined || !statSync(file, { throwIfNoEntry: false })?.isFile()) response.writeHead(404).end();
  else createReadStream(file).pipe(response.writeHead(200, { 'content-type': workerData.types[extname(file)] ?? 'application/octet-stream' }));
}).listen(0, workerData.host, function () { parentPort.postMessage(this.address().port); });`;

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.ttf': 'font/ttf',
};

/** A site on a thread of its own: what is measured does not wait for it, as it would not for one elsewhere. */
export async function startSiteThread(
  host: string,
  pages: Record<string, BenchPage>,
  directories: Record<string, string> = {},
) {
  const worker = new Worker(PROGRAM, { eval: true, workerData: { host, pages, directories, types: TYPES } });
  const [port] = (await once(worker, 'message')) as [number];
  return {
    origin: `http://${host}:${port}`,
    async [Symbol.asyncDispose]() {
      await worker.terminate();
    },
  };
}
