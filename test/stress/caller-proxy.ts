/**
 * Trial "caller proxy": whole captures through callers' proxies of every kind and in every mood. A proxy that refuses, redirects,
 * talks nonsense or is silent is `egress_unavailable`, and nothing goes another way; one that works is given names and credentials,
 * which nobody else sees: not the target, the log, an error, the browser's command line or its profile.
 *
 * Sabotage that turns it red: let egress/outbound-route go direct when the tunnel fails.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { processesNaming } from '../../src/render/launch/process-table.js';
import { type Captures, openCaptures } from '../egress/open-captures.js';
import { openTestEgress } from '../egress/open-test-egress.js';
import { type PlainSite, startPlainSite } from '../egress/plain-site.js';
import { type CallerProxyOptions, type ProxyMood, startCallerProxy } from '../fixtures/caller-proxy.js';
import type { TrialResult } from './trial-result.js';

export interface CallerProxyTrialOptions {
  /** Rounds of all kinds and moods. */
  rounds?: number;
  /** 0 leaves out what waits for a time limit. */
  silence?: number;
  /** Comma list of the kinds of proxies; all when absent. */
  kinds?: string;
}

const KINDS: CallerProxyOptions['kind'][] = ['http', 'https', 'socks5'];
const CREDENTIALS = { username: 'us er', password: 'pä:ss-S3CRET' };
const SECRETS = ['S3CRET', Buffer.from(`${CREDENTIALS.username}:${CREDENTIALS.password}`).toString('base64')];
const SMALL = { viewport: { width: 320, height: 240, deviceScaleFactor: 1 }, cache_ttl: 0 };

interface Meeting {
  mood: ProxyMood | 'other credentials' | 'nobody there' | 'private address';
  /** `null`: a picture. */
  expect: string | null;
  kinds?: CallerProxyOptions['kind'][];
  /** ms; the default of the interface when absent. */
  timeout?: number;
}

/** An HTTP proxy answers other credentials with 407. */
const MEETINGS: Meeting[] = [
  { mood: 'well', expect: null },
  { mood: 'no tunnels', expect: null, kinds: ['http'] },
  { mood: 'deaf to CONNECT', expect: null, kinds: ['http'] },
  { mood: 'other credentials', expect: 'egress_unavailable' },
  // For plain http it looks like the target's own redirect, which leads to a forbidden place.
  { mood: '302', expect: 'navigation_failed', kinds: ['http'] },
  { mood: 'garbage', expect: 'egress_unavailable' },
  { mood: 'hang up', expect: 'egress_unavailable' },
  { mood: 'nobody there', expect: 'egress_unavailable' },
  { mood: 'dead targets', expect: 'egress_unavailable', kinds: ['http', 'https'] },
  { mood: 'dead targets', expect: 'navigation_failed', kinds: ['socks5'] },
  { mood: 'private address', expect: 'egress_unavailable' },
];
/** The capture's time is up before the proxy's. */
const HURRIED: Meeting[] = [
  { mood: 'silence', expect: 'egress_unavailable', timeout: 1_500 },
  { mood: 'drip', expect: 'egress_unavailable', timeout: 1_500 },
];
const UNHURRIED: Meeting[] = [
  { mood: 'silence', expect: 'egress_unavailable' },
  { mood: 'drip', expect: 'egress_unavailable' },
];

export async function run({ rounds = 5, silence = 1, kinds }: CallerProxyTrialOptions = {}): Promise<TrialResult> {
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, new Writable({ write: (line, _encoding, done) => done(void lines.push(String(line))) }));
  await using site = await startPlainSite({
    answer: (_request, response) => response.setHeader('content-type', 'text/html').end('<h1>Words</h1>'),
  });
  await using canary = await startPlainSite({ address: '127.0.0.1' });
  await using gate = await openTestEgress({ 'private.example.net': ['127.0.0.3'] }, { log });
  await using captures = await openCaptures(gate, { log });
  const problems: string[] = [];
  const figures = { captures: 0, pictures: 0, egress_unavailable: 0, went_another_way: 0, secrets_found: 0 };
  const leaks = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    for (const meeting of [...MEETINGS, ...(silence > 0 ? HURRIED : []), ...(silence > 0 && round === 0 ? UNHURRIED : [])]) {
      for (const kind of (meeting.kinds ?? KINDS).filter((one) => kinds?.split(',').includes(one) ?? true)) {
        const met = await meet({ captures, site, canary }, meeting, kind);
        problems.push(...met.problems.map((problem) => `${kind}, ${meeting.mood}: ${problem}`));
        figures.captures++;
        if (met.code === null) figures.pictures++;
        if (met.code === 'egress_unavailable') figures.egress_unavailable++;
        figures.went_another_way += met.past;
        if (holdsSecret(met.told)) leaks.add('an error');
      }
    }
    if (SECRETS.some((secret) => processesNaming(secret).length > 0)) leaks.add('a command line');
    if (SECRETS.some((secret) => directoryNames(captures.dataDir, secret))) leaks.add('the data directory');
  }
  if (holdsSecret(lines.join(''))) leaks.add('the log');
  if (holdsSecret(JSON.stringify(site.requests))) leaks.add('what the target saw');
  figures.secrets_found = leaks.size;
  problems.push(...[...leaks].map((place) => `a secret is in ${place}`));
  if (lines.length === 0) problems.push('nothing was logged');
  if (canary.connections > 0) problems.push(`${canary.connections} connections went to the canary`);
  return { figures, problems };
}

interface Met {
  code: string | null;
  /** All that the caller learns. */
  told: string;
  /** Connections of the site that did not come through the proxy. */
  past: number;
  problems: string[];
}

interface World {
  captures: Captures;
  site: PlainSite;
  canary: PlainSite;
}

async function meet(
  { captures, site, canary }: World,
  { mood, expect, timeout = 30_000 }: Meeting,
  kind: CallerProxyOptions['kind'],
): Promise<Met> {
  const credentials = mood === 'other credentials' ? { ...CREDENTIALS, password: 'another' } : CREDENTIALS;
  const scripted = mood === 'other credentials' || mood === 'nobody there' || mood === 'private address' ? 'well' : mood;
  await using proxy = await startCallerProxy({ kind, mood: scripted, credentials });
  const nobody = await startCallerProxy({ kind });
  await nobody[Symbol.asyncDispose]();
  const servers: Partial<Record<Meeting['mood'], string>> = {
    'nobody there': nobody.server,
    'private address': `${kind}://private.example.net:${proxy.port}`,
  };
  const before = site.connections;
  const wish = { url: `http://www.stub.example.com:${site.port}/`, ...SMALL, timeout };
  const bypass = `127.0.0.1:${canary.port}`;
  const failure = await captures.capture({ ...wish, proxy: { server: servers[mood] ?? proxy.server, bypass, ...CREDENTIALS } }).then(
    () => null,
    (error: Error & { code?: string; details?: unknown }) => error,
  );
  const code = failure === null ? null : String(failure.code);
  const told = failure === null ? '' : JSON.stringify([failure.message, failure.details]);
  const problems: string[] = [];
  if (code !== expect) problems.push(`${code} ${told}, not ${expect}`);
  if (expect === null && !proxy.credentials.includes(`${CREDENTIALS.username}:${CREDENTIALS.password}`))
    problems.push('no credentials came');
  if (expect === null && !proxy.asked.some((asked) => asked.includes('www.stub.example.com'))) problems.push('it was not given the name');
  const past = Math.max(0, site.connections - before - (expect === null ? proxy.asked.length : 0));
  if (past > 0) problems.push(`${past} connections went another way`);
  return { code, told, past, problems };
}

function holdsSecret(text: string): boolean {
  return SECRETS.some((secret) => text.includes(secret));
}

function directoryNames(dir: string, secret: string): boolean {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.some((entry) => readIfThere(join(entry.parentPath, entry.name)).includes(secret));
}

/** A browser's files come and go while they are looked at. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
