/**
 * Trial "isolation": pairs of captures of one origin, interleaved. Each looks for what any other has left or was given (cookies, local and session storage,
 * IndexedDB, Cache API, service workers, HTTP cache, auth cache, window name, broadcasts, shared workers) and leaves its own. And pairs of
 * accounts that ask for the same picture: each gets its own, and neither finds the other's job. And captures of a host that pledges HSTS.
 *
 * Sabotage that turns it red: let /trace lead to itself with another token at its end, so that each visitor follows one in the same context
 * (traces, in all channels that outlive a page), let the page of isolation-hsts lead to itself at its end (HSTS), or drop `account_id` from NEWEST_PICTURE in store/rows.ts (results).
 */
import { randomBytes } from 'node:crypto';
import sharp from 'sharp';
import { startServer } from '../bench/server.js';
import { inLanes } from '../egress/in-lanes.js';
import { html } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { callApi, postCapture } from './call-api.js';
import { visitByHsts } from './isolation-hsts.js';
import { CHANNELS, isolationPages, type Report } from './isolation-page.js';
import { anotherKey } from './server-process.js';
import { firstOf, type TrialResult } from './trial-result.js';

const VIEW = { viewport: { width: 400, height: 300, deviceScaleFactor: 1 }, format: 'png' };

export async function run({ pairs = 1_000, atOnce = 4 }): Promise<TrialResult> {
  const problems: string[] = [];
  const reports: Report[] = [];
  await using site = await startSite({ host: '127.0.0.2' });
  await using server = await startServer({ STILLFRAME_CONCURRENCY: String(atOnce) });
  for (const [path, handler] of isolationPages((report) => reports.push(report))) site.route(path, handler);
  await inLanes(firstOf(pairs * 2), atOnce, async (nth) => {
    const url = site.url(`/trace?token=visitor${nth}x`);
    const login = nth % 2 === 0 ? aLogin(site.origin, `visitor${nth}x`) : {};
    const answer = await server.post({
      ...VIEW,
      url,
      ...login,
      cache_ttl: 0,
      wait_until: 'domcontentloaded',
      wait_for_selector: '#done',
    });
    if (answer.status !== 200) problems.push(`visit ${nth} ended ${answer.status} ${JSON.stringify(answer.data)}`);
  });
  for (const { token, found } of reports)
    for (const [channel, trace] of Object.entries(found)) problems.push(`${token} found in ${channel}: ${trace}`);
  const unproven = CHANNELS.filter(
    (channel) => channel !== 'broadcast' && !reports.every(({ left }) => left.includes(channel)),
  );
  for (const channel of unproven) problems.push(`not every visit could leave a trace in ${channel}: it proves nothing`);
  if (reports.length !== pairs * 2) problems.push(`${reports.length} of ${pairs * 2} visits came to their end`);

  // Two accounts, one request: a page that is of another color each time it is asked for.
  const colors = new Map<string, string[]>();
  site.route('/one-color', (_request, response, url) => {
    const color = randomBytes(3).toString('hex');
    const pair = url.searchParams.get('pair') ?? '';
    colors.set(pair, [...(colors.get(pair) ?? []), color]);
    html(
      response,
      `<!doctype html><body style="margin:0;background:#${color}"><h1 style="margin-top:200px">${pair}</h1>`,
    );
  });
  const second = await anotherKey(server.dataDir, 'isolation-second');
  const shared = Math.ceil(pairs / 4);
  await inLanes(firstOf(shared), Math.max(1, atOnce / 2), async (nth) => {
    const body = { ...VIEW, url: site.url(`/one-color?pair=${nth}`) };
    const ask = (key: string) => postCapture({ url: server.url, key }, body, { idempotencyKey: `pair-${nth}` });
    const answers =
      nth % 2 === 0 ? await Promise.all([ask(server.key), ask(second)]) : [await ask(server.key), await ask(second)];
    if (answers.some(({ status, body: { data } }) => status !== 200 || data.cached))
      return void problems.push(
        `pair ${nth}: not two renders, but ${answers.map(({ status }) => status).join(' and ')}`,
      );
    const seen = await Promise.all(answers.map(({ body: { data } }) => topColor(data.cdn_url)));
    if (seen[0] === seen[1] || !seen.every((color) => colors.get(String(nth))?.includes(color)))
      problems.push(`pair ${nth}: pictures ${seen}, pages ${colors.get(String(nth))}`);
    const job = answers[0]?.headers.get('x-job-id') ?? null;
    for (const path of [`/v1/requests/pair-${nth}`, ...(job === null ? [] : [`/v1/jobs/${job}`])]) {
      const [first, other] = await Promise.all([
        callApi(server.url + path, server.key),
        callApi(server.url + path, second),
      ]);
      const isTold = other.status === 200 && JSON.stringify(first.body).includes(other.body.data.job_id);
      if (isTold) problems.push(`pair ${nth}: ${path} is told to another account`);
    }
  });

  const hsts = await visitByHsts((visit) => inLanes(firstOf(Math.max(2, shared)), atOnce, visit));
  problems.push(...hsts.problems);
  const figures = {
    visits: reports.length,
    channels: CHANNELS.length,
    'pairs of accounts': shared,
    'HSTS visits': hsts.visits,
  };
  return { figures: { ...figures, traces: problems.length }, problems };
}

function aLogin(origin: string, token: string): Record<string, unknown> {
  const localStorage = [{ name: 'given', value: token }];
  return {
    cookies: [{ name: 'given', value: token }],
    storage_state: { cookies: [], origins: [{ origin, localStorage }] },
  };
}

async function topColor(url: string): Promise<string> {
  const content = Buffer.from(await (await fetch(url)).arrayBuffer());
  return (
    await sharp(content).removeAlpha().extract({ left: 5, top: 5, width: 1, height: 1 }).raw().toBuffer()
  ).toString('hex');
}
