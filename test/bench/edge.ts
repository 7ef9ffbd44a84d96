import { execFileSync } from 'node:child_process';
import { Pool } from 'undici';
import { startSite } from '../fixtures/site/site.js';
import { type Figure, quantile } from './figure.js';
import { addBenchPages } from './pages.js';
import { type BenchServer, flood, MAIN, startServer } from './server.js';

const FLOOD_MS = 5_000;
const WIDTH = 32;
const PICTURE_MAX_BYTES = 10_000_000;

/** Answers that need no browser: cached captures, durable acceptances, look-ups; the generator runs on the same machine. */
export async function benchEdge(): Promise<Figure[]> {
  await using site = await startSite({ host: '127.0.0.2' });
  addBenchPages(site);
  await using server = await startServer({ STILLFRAME_MAX_QUEUE: '1000000' });
  const pool = new Pool(server.url, { connections: WIDTH, pipelining: 1 });
  const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' };
  const send = async (method: 'GET' | 'POST', path: string, body: string | null, wanted: number, more: Record<string, string> = {}) => {
    const answer = await pool.request({ method, path, headers: { ...headers, ...more }, body });
    await answer.body.dump({ limit: PICTURE_MAX_BYTES });
    if (answer.statusCode !== wanted) throw new Error(`${method} ${path} answered ${answer.statusCode}`);
    return answer.headers;
  };
  const page = { url: site.url('/bench/article') };
  const first = await server.post(page, '?mode=async');
  const jobId = String(first.data.job_id);
  const url = `/v1/jobs/${jobId}`;
  await server.post(page);
  const cached = await flood(WIDTH, FLOOD_MS, () => send('POST', '/v1/screenshot', JSON.stringify(page), 200));
  const lookUps = await flood(WIDTH, FLOOD_MS, () => send('GET', url, null, 200));
  const picture = () => send('POST', '/v1/screenshot', JSON.stringify(page), 200, { accept: 'image/*' });
  const pictures = await flood(WIDTH, FLOOD_MS, picture);
  const link = signedLink(server, page.url);
  const { etag } = await send('GET', link, null, 200);
  const conditional = await flood(WIDTH, FLOOD_MS, () => send('GET', link, null, 304, { 'if-none-match': String(etag) }));
  const run = Date.now();
  const accepted = await flood(WIDTH, FLOOD_MS, (nth) =>
    send('POST', '/v1/screenshot?mode=async', JSON.stringify({ url: `${page.url}?${run}-${nth}`, cache_ttl: 0, delay: 30_000 }), 202),
  );
  await pool.close();
  return [
    { what: 'cached answers', value: `${cached.perSecond.toFixed(0)} /s`, goal: '≥ 2,000' },
    { what: 'cached answers, p99', value: `${quantile(cached.times, 0.99).toFixed(1)} ms`, goal: '' },
    { what: 'cached pictures themselves (Accept: image/*)', value: `${pictures.perSecond.toFixed(0)} /s`, goal: '≥ 2,000' },
    { what: 'signed links, conditional requests (304)', value: `${conditional.perSecond.toFixed(0)} /s`, goal: '≥ 2,000' },
    { what: 'job look-ups', value: `${lookUps.perSecond.toFixed(0)} /s`, goal: '≥ 3,000' },
    { what: 'async submissions accepted durably', value: `${accepted.perSecond.toFixed(0)} /s`, goal: '≥ 1,000' },
  ];
}

/** @returns path and query of a link to the picture of this address */
function signedLink(server: BenchServer, url: string): string {
  const [key] = command<{ id: string }[]>(server, ['keys', 'list']);
  if (key === undefined) throw new Error('the server has no key');
  command(server, ['keys', 'signing-secret', key.id]);
  const { pathname, search } = new URL(command<{ url: string }>(server, ['sign', url, '--key', key.id]).url);
  return `${pathname}${search}`;
}

function command<Answer>(server: BenchServer, words: string[]): Answer {
  return JSON.parse(
    execFileSync(process.execPath, [MAIN, ...words, '--json', '--data-dir', server.dataDir], { encoding: 'utf8' }),
  ) as Answer;
}
