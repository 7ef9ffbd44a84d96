import { Writable } from 'node:stream';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { openCaptures } from '../../egress/open-captures.js';
import { openTestEgress } from '../../egress/open-test-egress.js';
import { startPlainSite } from '../../egress/plain-site.js';

const BANNER = `<!doctype html><h1>Bread</h1><p>Flour, water, salt and time.</p>
<div id="b" style="position:fixed;left:0;right:0;bottom:0;background:#eee"><p>We use cookies to make this site better.</p>
<button>Accept all</button><button onclick="document.getElementById('b').remove()">Reject all</button></div>`;

it('the log contains the outcome for a banner, and its job', async () => {
  const lines: { job_id?: string; banner?: unknown }[] = [];
  const sink = new Writable({ write: (line, _encoding, done) => done(void lines.push(JSON.parse(String(line)))) });
  await using site = await startPlainSite({ answer: (_request, response) => response.setHeader('content-type', 'text/html').end(BANNER) });
  await using gate = await openTestEgress();
  await using captures = await openCaptures(gate, { log: pino({ level: 'info' }, sink) });
  await captures.capture({ url: `http://stub.example.com:${site.port}/`, format: 'jpeg' });
  expect(lines.filter(({ banner }) => banner !== undefined)).toEqual([
    expect.objectContaining({ job_id: 'trial', banner: expect.objectContaining({ outcome: 'rejected', platform: null }) }),
  ]);
});
