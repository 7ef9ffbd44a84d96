import { rmSync } from 'node:fs';
import { startSite } from '../fixtures/site/site.js';
import { postCapture } from '../trials/call-api.js';
import { type Figure, median, ms } from './figure.js';
import { addBenchPages } from './pages.js';
import { startServer } from './server.js';

const STARTS = 5;

/** From the command to the ready line on a prepared machine, and from there to the first picture. */
export async function benchStart(): Promise<Figure[]> {
  await using site = await startSite({ host: '127.0.0.2' });
  addBenchPages(site);
  const first = await startServer();
  await first.stop();
  const seen = { ready: [] as number[], picture: [] as number[], memory: [] as number[] };
  for (let nth = 0; nth < STARTS; nth++) {
    const server = await startServer({}, first.dataDir);
    seen.ready.push(server.readyMs);
    seen.memory.push(server.memoryBytes() / 1e6);
    seen.picture.push(
      (await postCapture({ ...server, key: first.key }, { url: site.url('/bench/article'), cache_ttl: 0 })).ms,
    );
    await server.stop();
  }
  rmSync(first.dataDir, { recursive: true, force: true });
  return [
    ['ready on a prepared machine, median', ms(median(seen.ready)), '≤ 1,500'],
    ['first capture after that, median', ms(median(seen.picture)), '≤ 500'],
    ['server memory at ready, median', `${median(seen.memory).toFixed(0)} MB`, '≤ 200'],
  ];
}
