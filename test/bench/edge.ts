import { Pool } from 'undici';
import { startSite } from '../fixtures/site/site.js';
import { type Figure, quantile } from './figure.js';
import { addBenchPages } from './pages.js';
import { flood, startServer } from './server.js';

const FLOOD_MS = 5_000;
const WIDTH = 32;

/** Answers that need no browser: cached captures, durable acceptances, look-ups; the generator runs on the same machine. */
export async function benchEdge(): Promise<Figure[]> {
  await using site = await startSite({ host: '127.0.0.2' });
  addBenchPages(site);
  await using server = await startServer({ STILLFRAME_MAX_QUEUE: '1000000' });
  const pool = new Pool(server.url, { connections: WIDTH, pipelining: 1 });
  const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' };
  const send = async (method: 'GET' | 'POST', path: string, body: string | null, wanted: number) => {
    const answer = await pool.request({ method, path, headers, body });
    await answer.body.dump();
    if (answer.statusCode !== wanted) throw new Error(`${method} ${path} answered ${answer.statusCode}`);
  };
  const page = { url: site.url('/bench/article') };
  const first = await server.post(page, '?mode=async');
  const jobId = String(first.data.job_id);
  const url = `/v1/jobs/${jobId}`;
  await server.post(page);
  const cached = await flood(WIDTH, FLOOD_MS, () => send('POST', '/v1/screenshot', JSON.stringify(page), 200));
  const lookUps = await flood(WIDTH, FLOOD_MS, () => send('GET', url, null, 200));
  const run = Date.now();
  const accepted = await flood(WIDTH, FLOOD_MS, (nth) =>
    send('POST', '/v1/screenshot?mode=async', JSON.stringify({ url: `${page.url}?${run}-${nth}`, cache_ttl: 0, delay: 30_000 }), 202),
  );
  await pool.close();
  return [
    { what: 'cached answers', value: `${cached.perSecond.toFixed(0)} /s`, goal: '≥ 2,000' },
    { what: 'cached answers, p99', value: `${quantile(cached.times, 0.99).toFixed(1)} ms`, goal: '' },
    { what: 'job look-ups', value: `${lookUps.perSecond.toFixed(0)} /s`, goal: '≥ 3,000' },
    { what: 'async submissions accepted durably', value: `${accepted.perSecond.toFixed(0)} /s`, goal: '≥ 1,000' },
  ];
}
