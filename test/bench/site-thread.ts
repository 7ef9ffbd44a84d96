import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { BenchPage } from './pages.js';

/** Runs in the thread. */
const PROGRAM = `
const { createServer } = require('node:http');
const { parentPort, workerData } = require('node:worker_threads');
createServer((request, response) => {
  const page = workerData.pages[request.url.split('?', 1)[0]];
  if (page === undefined) response.writeHead(404).end();
  else response.writeHead(200, { 'content-type': page.type }).end(page.body);
}).listen(0, workerData.host, function () { parentPort.postMessage(this.address().port); });`;

/** A site on a thread of its own: what is measured does not wait for it, as it would not for one elsewhere. */
export async function startSiteThread(host: string, pages: Record<string, BenchPage>): Promise<AsyncDisposable & { origin: string }> {
  const worker = new Worker(PROGRAM, { eval: true, workerData: { host, pages } });
  const [port] = (await once(worker, 'message')) as [number];
  return {
    origin: `http://${host}:${port}`,
    async [Symbol.asyncDispose]() {
      await worker.terminate();
    },
  };
}
