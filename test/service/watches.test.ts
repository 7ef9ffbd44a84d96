import { describe, expect, it } from 'vitest';
import { ofFile } from '../fixtures/of-file.js';
import { html } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { startService } from '../fixtures/start-service.js';
import { hasValidSignature, startReceiver } from '../fixtures/webhook-receiver.js';
import { callApi } from '../trials/call-api.js';

const SECRET = 'a signing secret of a watch';
const SMALL = { viewport: { width: 400, height: 320, deviceScaleFactor: 1 } };
const RARELY = { cron: '0 0 1 1 *' };

const receiver = await ofFile(startReceiver());
const [site, service] = await Promise.all([
  ofFile(startSite({ host: '127.0.0.2' })),
  ofFile(startService({ webhookAllow: [receiver.origin], webhookBackoffMs: [50] })),
]);
const page = { body: '<h1>One</h1>', status: 200 };
site.route('/watched', (_request, response) => html(response, page.body, { status: page.status }));

const call = (method: string, path: string, body?: unknown) =>
  callApi(service.url + path, service.key, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });

async function aWatch(fields: Record<string, unknown> = {}) {
  const { status, body } = await call('POST', '/v1/watches', {
    name: 'A page',
    request: { ...SMALL, url: site.url('/watched') },
    schedule: RARELY,
    send: [{ webhook: { url: receiver.url(), secret: SECRET } }],
    ...fields,
  });
  expect([status, body]).toEqual([201, expect.objectContaining({ ok: true })]);
  return body.data;
}

async function run(id: string) {
  const started = await call('POST', `/v1/watches/${id}/run`);
  expect(started.status).toBe(202);
  for (;;) {
    const { body } = await call('GET', `/v1/watches/${id}/runs/${started.body.data.id}`);
    if (body.data.ended_at !== null && body.data.messages.every(({ state }: { state: string }) => state !== 'pending')) return body.data;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('a watch', () => {
  it('tells a change by a signed webhook, once, and nothing where nothing has changed', async () => {
    const watch = await aWatch();
    const first = await run(watch.id);
    expect(first).toMatchObject({ state: 'unchanged', share: null, error: null, messages: [], approved: true });
    expect((await run(watch.id)).state).toBe('unchanged');
    page.body = '<h1>Two</h1>';
    const changed = await run(watch.id);
    expect(changed).toMatchObject({
      state: 'changed',
      messages: [{ kind: 'webhook', event: 'watch.changed', state: 'delivered', attempts: 1, last_status: 204 }],
    });
    expect(changed.share).toBeGreaterThan(0);
    const [told] = await receiver.received(1);
    expect(told?.payload).toMatchObject({
      event: 'watch.changed',
      watch: { id: watch.id, name: 'A page' },
      run: { id: changed.id, state: 'changed', picture_url: changed.picture_url, changes_url: changed.changes_url },
      delivery_id: changed.messages[0].id,
      delivery_generation: 1,
    });
    expect(told !== undefined && hasValidSignature(told, SECRET)).toBe(true);
    for (const url of [changed.picture_url, changed.changes_url]) expect((await fetch(url)).status).toBe(200);
    expect((await run(watch.id)).state).toBe('unchanged');
    expect(receiver.requests).toHaveLength(1);
  });
});
