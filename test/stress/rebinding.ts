/**
 * Trial "rebinding": captures of a name whose server answers in turns with the allowed address and with one of the canary's. A
 * connection goes to the very address that was judged: none may reach the canary, and there is one look-up for each capture, never one
 * to judge and another to connect.
 *
 * Sabotage that turns it red: in egress/outbound-route, look the name up once more when it is judged, and connect to that answer.
 */
import { inLanes } from '../egress/in-lanes.js';
import { openCaptures } from '../egress/open-captures.js';
import { ALLOWED, openTestEgress } from '../egress/open-test-egress.js';
import { type PlainSiteOptions, startPlainSites } from '../egress/plain-site.js';
import type { TrialResult } from './trial-result.js';

const NAME = 'rebind.example.net';
const FORBIDDEN = '127.0.0.3';
const AT_ONCE = 4;
const PICTURES_A_PAGE = 3;

export async function run({ captures = 1_000 } = {}): Promise<TrialResult> {
  // Each answer on a connection of its own, so that each is a chance to be led astray.
  const page = (port: number, secure: number) =>
    `<!doctype html><title>page</title><h1>Words</h1><img src="https://${NAME}:${secure}/">${Array.from({ length: PICTURES_A_PAGE }, (_, index) => `<img src="http://${NAME}:${port}/${index}">`).join('')}`;
  const answer: PlainSiteOptions['answer'] = (request, response) => {
    response.writeHead(200, { connection: 'close', 'content-type': 'text/html' });
    response.end(request.url === '/' ? page(site.port, secure.port) : 'x');
  };
  await using secured = await startPlainSites({ secure: true }, { address: FORBIDDEN });
  await using plain = await startPlainSites({ answer }, { address: FORBIDDEN });
  const [secure, other] = secured;
  const [site, canary] = plain;
  await using gate = await openTestEgress({ [NAME]: ({ type, nth }) => (type === 'A' ? [nth % 2 === 0 ? ALLOWED : FORBIDDEN] : []) });
  await using captured = await openCaptures(gate, { concurrency: AT_ONCE, browsers: 2 });
  const ends = { pictures: 0, refused: 0 };
  const problems: string[] = [];
  await inLanes(Array(captures).fill(0), AT_ONCE, async () => {
    const wish = { url: `http://${NAME}:${site.port}/`, format: 'jpeg', viewport: { width: 320, height: 240, deviceScaleFactor: 1 } };
    try {
      await captured.capture(wish);
      ends.pictures++;
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      if (code === 'navigation_failed' && /resolved to a public address/.test(message)) ends.refused++;
      else problems.push(`a capture ended in ${code}: ${message}`);
    }
  });
  const refusals = captured.proxies.reduce((sum, captureProxy) => sum + captureProxy.refusedCount, 0);
  const figures = {
    captures,
    ...ends,
    connections: site.connections + secure.connections,
    refusals,
    lookups: gate.dns.count(NAME, 'A'),
    canary_connections: canary.connections + other.connections,
  };
  if (figures.canary_connections > 0) problems.push(`${figures.canary_connections} connections went to the forbidden address`);
  if (figures.lookups !== captures) problems.push(`${figures.lookups} look-ups for ${captures} captures`);
  if (captures > 1 && (ends.pictures === 0 || ends.refused === 0)) problems.push('not both answers were met with');
  return { figures, problems };
}
