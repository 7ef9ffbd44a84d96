import { rmSync } from 'node:fs';
import { startSite } from '../fixtures/site/site.js';
import { type Figure, quantile } from './figure.js';
import { addBenchPages } from './pages.js';
import { startServer } from './server.js';

const STARTS = 5;

/** From the command to the ready line on a prepared machine, and from there to the first picture. */
export async function benchStart(): Promise<Figure[]> {
  await using site = await startSite({ host: '127.0.0.2' });
  addBenchPages(site);
  const first = await startServer();
  await first.stop();
  const ready: number[] = [];
  const picture: number[] = [];
  const memory: number[] = [];
  for (let nth = 0; nth < STARTS; nth++) {
    const server = await startServer({}, first.dataDir);
    ready.push(server.readyMs);
    memory.push(server.memoryBytes());
    const from = performance.now();
    await fetch(`${server.url}/v1/screenshot`, {
      method: 'POST',
      headers: { authorization: `Bearer ${first.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: site.url('/bench/article'), cache_ttl: 0 }),
    });
    picture.push(performance.now() - from);
    await server.stop();
  }
  rmSync(first.dataDir, { recursive: true, force: true });
  return [
    { what: 'ready on a prepared machine, median', value: `${quantile(ready, 0.5).toFixed(0)} ms`, goal: '≤ 1,500' },
    { what: 'first capture after that, median', value: `${quantile(picture, 0.5).toFixed(0)} ms`, goal: '≤ 500' },
    { what: 'server memory at ready, median', value: `${(quantile(memory, 0.5) / 1e6).toFixed(0)} MB`, goal: '≤ 200' },
  ];
}
