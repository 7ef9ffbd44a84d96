/**
 * Trial "redirects": chains of 1 to 20 redirects of every kind, from an allowed page and from documents of the caller's, logged in, into
 * every class of forbidden destination, by literal and by name. The last hop is never dialled: the gate refuses it, and nothing arrives at the canaries. With `every` n, every nth of all cases.
 *
 * Sabotage that turns it red: let egress/judge-address call every address public, whatever its range.
 */
import { inLanes } from '../egress/in-lanes.js';
import { openBrowser, type TestBrowser } from '../egress/open-browser.js';
import { type Captures, openCaptures } from '../egress/open-captures.js';
import { openTestEgress } from '../egress/open-test-egress.js';
import { startPlainSite, startPlainSites } from '../egress/plain-site.js';
import { answerRedirect, REDIRECT_KINDS, type RedirectKind, redirectPath } from '../egress/redirect-site.js';
import { ANY_BROWSER } from '../render/install/any-browser.js';
import { firstOf, type TrialResult } from './trial-result.js';

const PLACES = [
  // Loopback and what stands for it, private, metadata (encoded), carrier-grade NAT, multicast, reserved.
  '127.0.0.1',
  '127.0.0.3',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '0.0.0.0',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '2852039166',
  '100.64.0.1',
  '224.0.0.1',
  '240.0.0.1',
  // Unique local, link-local, NAT64.
  '[fd00::1]',
  '[fe80::1]',
  '[64:ff9b::7f00:1]',
  // Names: reserved ones, one that is private by look-up, one that does not exist.
  'localhost',
  'db.internal',
  'canary.example.net',
  'nowhere.example.net',
];
const DOCUMENTS = [
  (end: string) => `<meta http-equiv="refresh" content="0;url=SITE${redirectPath('302', 1, end)}"><p>words</p>`,
  (end: string) => `<p>words</p><script>location.href = 'SITE${redirectPath('307', 2, end)}'</script>`,
  (end: string) =>
    `<p>words</p><img src="SITE${redirectPath('301', 1, end)}"><iframe src="SITE${redirectPath('303', 1, end)}"></iframe>`,
  (end: string) => `<p>words</p><img src="${end}">`,
];
const LONGEST = 20;
const AT_ONCE = 4;
const PATIENCE_MS = 60_000;

export async function run({ hops = LONGEST, every = 1 } = {}): Promise<TrialResult> {
  await using canaries = await startPlainSites({ address: '127.0.0.1' }, { address: '127.0.0.3' });
  const [canary, other] = canaries;
  await using site = await startPlainSite({ answer: answerRedirect });
  await using gate = await openTestEgress({ 'canary.example.net': ['127.0.0.3'] });
  await using browser = await openBrowser(gate, ANY_BROWSER, AT_ONCE);
  const some = <Case>(all: Case[]): Case[] => all.filter((_, index) => index % every === 0);
  const cases = some(
    PLACES.flatMap((place) =>
      REDIRECT_KINDS.flatMap((kind) => firstOf(hops).map((before) => ({ kind, hops: before + 1, place }))),
    ),
  );
  const problems: string[] = [];
  await inLanes(cases, AT_ONCE, async (one) => {
    const problem = await follow(browser, one, { port: site.port, forbiddenPort: canary.port });
    if (problem !== null) problems.push(`${one.kind} × ${one.hops} to ${one.place}: ${problem}`);
  });
  const documents = some(PLACES.flatMap((place) => DOCUMENTS.map((document) => ({ document, place }))));
  await using captures = await openCaptures(gate);
  for (const { document, place } of documents) {
    const refused = await lead(captures, document(`http://${place}:${canary.port}/end`), site.port);
    if (!refused.includes(canary.port)) problems.push(`a document to ${place}: it was not refused`);
  }
  const dials = canary.connections + other.connections;
  if (dials > 0) problems.push(`${dials} connections went to a forbidden address`);
  const chosen = { chains: cases.length, documents: documents.length };
  return { figures: { ...chosen, kinds: REDIRECT_KINDS.length, places: PLACES.length, dials }, problems };
}

/** A caller's document that leads to the allowed site, which redirects to the forbidden place. @returns the ports that were refused */
async function lead(captures: Captures, html: string, port: number): Promise<number[]> {
  const base = `http://stub.example.com:${port}`;
  const wish = {
    html: html.replaceAll('SITE', base),
    base_url: `${base}/document`,
    cookies: [{ name: 'session', value: 'x' }],
  };
  const viewport = { width: 320, height: 240, deviceScaleFactor: 1 };
  const before = captures.proxies.map((captureProxy) => captureProxy.refusedCount);
  // Where it ends is another trial's matter: a refused navigation may leave the document as it was.
  await captures.capture({ ...wish, viewport, timeout: 10_000, delay: 300 }).catch(() => undefined);
  return captures.proxies.flatMap((captureProxy, index) =>
    captureProxy.refusals.slice(before[index] ?? 0).map((refusal) => refusal.port),
  );
}

async function follow(
  browser: TestBrowser,
  { kind, hops, place }: { kind: RedirectKind; hops: number; place: string },
  at: { port: number; forbiddenPort: number },
) {
  return browser.visit(async ({ page, captureProxy }) => {
    const end = `http://${place}:${at.forbiddenPort}/end`;
    const left = performance.now() + PATIENCE_MS;
    const arrival = await page
      .goto(`http://stub.example.com:${at.port}${redirectPath(kind, hops, end)}`)
      .catch((error: Error) => error);
    // Chromium itself follows twenty in a row, and asks no one about the last.
    const gaveUp = arrival instanceof Error && arrival.message.includes('ERR_TOO_MANY_REDIRECTS');
    if (gaveUp) return hops === LONGEST && captureProxy.failures.length === 0 ? null : 'the browser gave up early';
    const ended = () =>
      captureProxy.refusedCount > 0 ||
      captureProxy.failures.length > 0 ||
      page.url() === end ||
      performance.now() > left;
    while (!ended()) await page.waitForTimeout(5).catch(() => null);
    const [refusal] = captureProxy.refusals;
    if (refusal === undefined) return 'it was not refused';
    if (refusal.port !== at.forbiddenPort) return `${refusal.host}:${refusal.port} was refused instead`;
    return captureProxy.failures.length === 0 ? null : `it was tried: ${JSON.stringify(captureProxy.failures[0])}`;
  });
}
