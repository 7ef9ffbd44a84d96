import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { makeProgram } from '../../src/cli/program.js';
import { CHAT_FORMS } from '../../src/contract/watch.js';
import { ofFile } from '../fixtures/of-file.js';
import { html } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { startService } from '../fixtures/start-service.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';
import { startUploadReceiver } from '../fixtures/upload-receiver.js';
import { hasValidSignature, startReceiver } from '../fixtures/webhook-receiver.js';
import { callApi } from '../trials/call-api.js';

const SECRET = 'a signing secret of a watch';
const SMALL = { viewport: { width: 400, height: 320, deviceScaleFactor: 1 } };
const RARELY = { cron: '0 0 1 1 *' };

const [receiver, chats, bucket] = await Promise.all([
  ofFile(startReceiver()),
  ofFile(startReceiver()),
  ofFile(startUploadReceiver('127.0.0.2')),
]);
const [site, service] = await Promise.all([
  ofFile(startSite({ host: '127.0.0.2' })),
  ofFile(startService({ webhookAllow: [receiver.origin, chats.origin, bucket.origin], webhookBackoffMs: [50] })),
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
    if (body.data.ended_at !== null && body.data.messages.every(({ state }: { state: string }) => state !== 'pending'))
      return body.data;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('a watch', () => {
  it('reports a change by a signed webhook, once, and nothing if nothing has changed', async () => {
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
    page.body = `<h1>Two</h1><i style="position:fixed;top:200px;left:200px;width:1px;height:1px;background:#000">`;
    const pixel = await run(watch.id);
    expect([pixel.state, pixel.share * 400 * 320]).toEqual(['changed', 1]);
    expect(receiver.requests).toHaveLength(2);
  });

  it('sends a message to each chat in its own form and limits, without mentions, and uploads the picture', async () => {
    page.body = `<p>${'before '.repeat(9)}</p>`;
    const watch = await aWatch({
      name: `Prices <!channel> @everyone ${'x'.repeat(60)}`,
      text: true,
      send: [
        ...CHAT_FORMS.map((form) => ({ slack: { url: chats.url(`/${form}`), form } })),
        { upload: { url_template: `${bucket.origin}/{date}/{watch}-{run}.{format}?signature=1` } },
      ],
    });
    await run(watch.id);
    page.body = `<p>@everyone &lt;!channel&gt; \`\`\` ${'&amp;'.repeat(1500)}</p>`;
    const changed = await run(watch.id);
    const messages: { kind: string; state: string }[] = changed.messages;
    expect(messages.map(({ kind, state }) => [kind, state])).toEqual([
      ...CHAT_FORMS.map(() => ['slack', 'delivered']),
      ['upload', 'delivered'],
    ]);
    const bodyOf = (form: string) => chats.requests.find(({ path }) => path === `/${form}`)?.payload as never;
    expect(chats.requests.map(({ headers }) => headers['content-type'])).toEqual(
      CHAT_FORMS.map(() => 'application/json'),
    );
    const { text, blocks } = bodyOf('slack') as { text: string; blocks: { text?: { text: string } }[] };
    const [section = ''] = blocks.map((block) => block.text?.text ?? '');
    expect([text, section].filter((one) => /<!channel>|&(?!amp;|lt;|gt;)/.test(one))).toEqual([]);
    expect([section.length > 2_500, section.length <= 3_000, section.endsWith('```')]).toEqual([true, true, true]);
    const { attachments } = bodyOf('mattermost') as {
      attachments: { title: string; text: string; fallback: string }[];
    };
    expect(
      Object.values(attachments[0] ?? {}).filter((one) => one.includes('@everyone') && !one.includes('```diff')),
    ).toEqual([]);
    const { embeds, allowed_mentions } = bodyOf('discord') as {
      embeds: { title: string; description: string }[];
      allowed_mentions: object;
    };
    expect([allowed_mentions, (embeds[0]?.description.length ?? 9e9) <= 4_096]).toEqual([{ parse: [] }, true]);
    const { type, attachments: cards } = bodyOf('teams') as {
      type: string;
      attachments: { contentType: string; content: { type: string } }[];
    };
    expect([type, cards[0]?.contentType, cards[0]?.content.type]).toEqual([
      'message',
      'application/vnd.microsoft.card.adaptive',
      'AdaptiveCard',
    ]);
    const [put] = bucket.uploads;
    const name = `/${new Date(changed.due_at).toISOString().slice(0, 10)}/${watch.id}-${changed.id}.png?signature=1`;
    expect([put?.method, put?.path, put?.headers['content-type'], put?.content.subarray(1, 4).toString()]).toEqual([
      'PUT',
      name,
      'image/png',
      'PNG',
    ]);
    page.body = '<h1>One</h1>';
  });

  it('fails for an error page, and is removed with its feed', async () => {
    page.status = 404;
    const watch = await aWatch();
    const failed = await run(watch.id);
    page.status = 200;
    expect(failed).toMatchObject({ state: 'failed', error: { code: 'target_error' }, picture_url: null, messages: [] });
    const feed = await fetch(watch.feed_url);
    expect([feed.status, feed.headers.get('content-type')]).toEqual([200, 'application/atom+xml; charset=utf-8']);
    expect(await feed.text()).toContain(`<id>urn:stillframe:${failed.id}</id><title>Failed</title>`);
    expect((await fetch(watch.feed_url.replace(/=.*/, '=x'))).status).toBe(403);
    expect((await fetch(watch.feed_url.replace(/\?.*/, ''))).status).toBe(401);
    expect((await call('DELETE', `/v1/watches/${watch.id}`)).body.data).toEqual({ id: watch.id, removed: true });
    expect((await call('GET', `/v1/watches/${watch.id}`)).status).toBe(404);
  });

  it.each([
    [{ request: { url: 'http://10.0.0.1/' } }, 400, 'url', 'is not a public destination'],
    [{ request: { url: 'https://example.com/', format: 'pdf' } }, 400, 'request.format', 'must be png'],
    [{ request: { url: 'https://example.com/', fullpage: true } }, 400, 'request.fullpage', 'full_page'],
    [{ send: [{ webhook: { url: 'https://10.0.0.1/', secret: SECRET } }] }, 400, 'send.0.webhook.url', 'public'],
    [{ send: [{ slack: { url: 'http://hooks.example.com/' } }] }, 400, 'send.0.slack.url', 'must be HTTPS'],
    [{ send: [{ email: { to: 'ada@example.com' } }] }, 400, 'send.0.email', 'STILLFRAME_SMTP_URL'],
    [
      { send: [{ email: { to: 'ada@example.com\r\nbcc: eve@example.com' } }] },
      400,
      'send.0.email.to',
      'e-mail address',
    ],
    [{ schedule: { cron: '*/30 * * * * *' } }, 400, 'schedule.cron', 'five fields'],
    [{ schedule: { cron: '0 0 30 2 *' } }, 400, 'schedule', 'no time'],
    [{ schedule: { every: '30s' } }, 400, 'schedule.every', 'at least 1 min'],
    [{ schedule: { every: '1h', cron: '@daily' } }, 400, 'schedule', 'exactly one'],
    [{ names: 'x' }, 400, 'names', 'Did you mean `name`'],
  ])('is refused with its field: %o', async (fields, status, path, words) => {
    const { status: answered, body } = await call('POST', '/v1/watches', {
      name: 'A page',
      request: { url: 'https://example.com/' },
      schedule: RARELY,
      ...fields,
    });
    expect([answered, JSON.stringify(body.error.details.issues)]).toEqual([status, expect.stringContaining(words)]);
    expect(body.error.details.issues.map((issue: { path: string }) => issue.path)).toContain(path);
  });
});

describe('the command', () => {
  /** What `stillframe watch …` prints with --json. */
  async function watch(...words: string[]) {
    const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    vi.stubEnv('STILLFRAME_KEY', service.key);
    try {
      const program = await makeProgram('watch');
      const [verb = '', ...rest] = words;
      await program.parseAsync(['watch', verb, '--server', service.url, '--json', ...rest], { from: 'user' });
      return JSON.parse(String(printed.mock.calls.at(-1)?.[0]));
    } finally {
      printed.mockRestore();
      vi.unstubAllEnvs();
    }
  }

  it('adds, runs, lists, pauses, exports, applies and removes watches', async () => {
    const folder = folderOfTest();
    const added = await watch(
      'add',
      site.url('/watched'),
      '--name',
      'By command',
      '--cron',
      '@yearly',
      '--viewport-width',
      '400',
    );
    expect(added).toMatchObject({
      name: 'By command',
      request: { viewport: { width: 400 } },
      schedule: { cron: '@yearly' },
    });
    expect(await watch('run', 'By command')).toMatchObject({ watch_id: added.id, state: 'unchanged' });
    expect((await watch('pause', added.id)).paused).toBe(true);
    expect((await watch('history', added.id)).length).toBe(1);
    for (const name of ['history.webp', 'history.pdf']) {
      const output = join(folder, name);
      expect(await watch('export', 'By command', '-o', output)).toEqual({ output, pictures: 1 });
      expect(readFileSync(output).subarray(0, 4).toString()).toBe(name.endsWith('pdf') ? '%PDF' : 'RIFF');
    }
    const file = join(folder, 'watches.yml');
    const definition = {
      name: 'By command',
      request: { url: site.url('/watched') },
      schedule: { every: '1d' },
      paused: true,
    };
    writeFileSync(file, JSON.stringify({ watches: [definition, { ...definition, name: 'By file' }] }));
    expect(await watch('apply', file)).toMatchObject({ added: ['By file'], changed: ['By command'], removed: [] });
    expect(await watch('apply', file)).toMatchObject({ added: [], changed: [], unchanged: ['By command', 'By file'] });
    writeFileSync(file, JSON.stringify({ watches: [definition] }));
    expect((await watch('apply', file, '--prune')).removed).toContain('By file');
    expect((await watch('list')).map(({ name }: { name: string }) => name)).toEqual(['By command']);
    await watch('remove', 'By command');
    expect(await watch('list')).toEqual([]);
  });
});
