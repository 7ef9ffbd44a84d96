import { Pool } from 'undici';
import { signedLink } from '../../src/client/signatures.js';
import { startSite } from '../fixtures/site/site.js';
import { runCommand } from '../trials/server-process.js';
import { type Figure, ms, quantile } from './figure.js';
import { flood } from './loops.js';
import { addBenchPages } from './pages.js';
import { startServer } from './server.js';

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
  const send = async (
    method: 'GET' | 'POST',
    path: string,
    body: string | null,
    wanted: number,
    more: Record<string, string> = {},
  ) => {
    const answer = await pool.request({ method, path, headers: { ...headers, ...more }, body });
    await answer.body.dump({ limit: PICTURE_MAX_BYTES });
    if (answer.statusCode !== wanted) throw new Error(`${method} ${path} answered ${answer.statusCode}`);
    return answer.headers;
  };
  const post = (body: object, wanted: number, more = {}) =>
    send('POST', '/v1/screenshot', JSON.stringify(body), wanted, more);
  const rate = (work: (nth: number) => Promise<unknown>) => flood(WIDTH, FLOOD_MS, work);
  const page = { url: site.url('/bench/article') };
  const job = `/v1/jobs/${String((await server.post(page, '?mode=async')).data.job_id)}`;
  await server.post(page);
  const cached = await rate(() => post(page, 200));
  const lookUps = await rate(() => send('GET', job, null, 200));
  const pictures = await rate(() => post(page, 200, { accept: 'image/*' }));
  const keys = async (...args: string[]) =>
    JSON.parse((await runCommand(['keys', ...args, '--json', '--data-dir', server.dataDir])).out);
  const [{ id: keyId }] = await keys('list');
  const { signing_secret: signingSecret } = await keys('signing-secret', keyId);
  const { pathname, search } = new URL(
    await signedLink(page, { baseUrl: server.url, keyId, signingSecret, expiresIn: 3_600 }),
  );
  const link = pathname + search;
  const { etag } = await send('GET', link, null, 200);
  const conditional = await rate(() => send('GET', link, null, 304, { 'if-none-match': String(etag) }));
  const run = Date.now();
  const accepted = await rate((nth) =>
    post({ url: `${page.url}?${run}-${nth}`, cache_ttl: 0, delay: 30_000, sync: false }, 202),
  );
  await pool.close();
  const perSecond = ({ perSecond: found }: { perSecond: number }) => `${found.toFixed(0)} /s`;
  return [
    ['cached answers', perSecond(cached), '≥ 2,000'],
    ['cached answers, p99', ms(quantile(cached.times, 0.99), 1)],
    ['cached pictures themselves (Accept: image/*)', perSecond(pictures), '≥ 2,000'],
    ['signed links, conditional requests (304)', perSecond(conditional), '≥ 2,000'],
    ['job look-ups', perSecond(lookUps), '≥ 3,000'],
    ['async submissions accepted durably', perSecond(accepted), '≥ 1,000'],
  ];
}
