import { Readable } from 'node:stream';
import sharp from 'sharp';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { WatchDefinition, WatchEvent, WatchMessage, WatchRun } from '../../src/contract/watch.js';
import { parseWatch } from '../../src/contract/watch.js';
import { silentLog } from '../../src/log.js';
import { checkMail, openMailer } from '../../src/watch/mail.js';
import { type SendDeps, sendMessage } from '../../src/watch/send-message.js';
import { startSmtpServer } from '../fixtures/smtp-server.js';

const NOW = Date.UTC(2026, 10, 30, 8);
const places = { baseUrl: 'https://shots.example' };
const picture = await sharp({ create: { width: 1_600, height: 900, channels: 3, background: '#3366cc' } })
  .png()
  .toBuffer();

const RUN: WatchRun = {
  id: 'run_1',
  watchId: 'wat_1',
  accountId: 'acc_1',
  dueAt: NOW,
  cause: 'schedule',
  state: 'changed',
  attempt: 1,
  jobId: 'job_1',
  startedAt: NOW,
  endedAt: NOW + 900,
  share: 0.031,
  picture: 'a.png',
  changes: 'b.webp',
  error: null,
  data: {
    format: 'png',
    width: 1_600,
    height: 900,
    finalUrl: 'https://example.com/?a=1&b=<2>',
    sha256: '',
    pictures: [],
    text: null,
    diff: '-10 €\n+12 €',
  },
};

function aDefinition(email: object): WatchDefinition {
  const send = [{ email: { to: ['ada@example.com', 'bob@example.com'], ...email } }];
  return parseWatch(
    { name: 'Sales <b>&', request: { url: 'example.com' }, schedule: { every: '1h' }, send },
    { webhookAllow: [] },
  );
}

async function aSender(given: { email?: object; refuse?: () => number | null } = {}) {
  const smtp = await startSmtpServer(given.refuse === undefined ? {} : { refuse: given.refuse });
  onTestFinished(() => smtp[Symbol.asyncDispose]());
  const signLink = (text: string) => text;
  const mailer = openMailer(
    { smtpUrl: smtp.url, mailFrom: 'Watches <watches@stillframe.example>' },
    { places, signLink },
  );
  onTestFinished(() => mailer.close());
  const definition = aDefinition(given.email ?? {});
  const watch = {
    id: 'wat_1',
    accountId: 'acc_1',
    keyId: 'key_1',
    definition,
    nextAt: null,
    createdAt: 1,
    updatedAt: 1,
  };
  const deps: SendDeps = {
    places,
    mailer,
    log: silentLog(),
    now: () => NOW,
    wallNow: () => NOW,
    random: () => 0.5,
    version: '1',
    maxAttempts: 5,
    allowedOrigins: [],
    backoffMs: [5_000],
    timeoutMs: 1_000,
    egress: { fetch: () => Promise.reject(new Error('nothing else is sent')) },
    upload: () => Promise.reject(new Error('nothing is uploaded')),
    openPicture: async () => ({
      bytes: picture.length,
      modifiedAt: 1,
      read: async () => Readable.from([picture]),
      lend: () => null,
      link: null,
    }),
    store: {
      signLink,
      findWatch: async () => ({ ...watch, failures: 3, alarm: null, previousRun: null, approvedRun: null }),
      findRun: async () => RUN,
    },
  };
  const tell = (event: WatchEvent, more: Partial<WatchMessage> = {}) =>
    sendMessage(
      deps,
      {
        id: `dlv_${event}`,
        watchId: 'wat_1',
        runId: 'run_1',
        accountId: 'acc_1',
        target: 0,
        recipient: 'place email ada@example.com',
        kind: 'email',
        event,
        state: 'pending',
        attempts: 0,
        generation: 1,
        dueAt: NOW,
        lastStatus: null,
        lastError: null,
        lastAttemptAt: null,
        deliveredAt: null,
        ...more,
      },
      new AbortController().signal,
    );
  return { smtp, tell };
}

describe('the mail of a watch', () => {
  it('shows the change inline, has a text part, and is answered in its thread', async () => {
    const { smtp, tell } = await aSender({ email: { attach: 'pdf' } });
    expect(await tell('watch.changed')).toEqual({ kind: 'delivered', status: 250 });
    const [{ from, to, mail, raw } = {} as never] = smtp.mails;
    expect([from, to]).toEqual(['watches@stillframe.example', ['ada@example.com']]);
    expect(mail.subject).toBe('Changed: Sales <b>&');
    expect([mail.messageId, mail.inReplyTo, mail.references]).toEqual([
      '<dlv_watch.changed@stillframe.example>',
      '<wat_1@stillframe.example>',
      '<wat_1@stillframe.example>',
    ]);
    expect(raw).toMatch(
      /^List-Unsubscribe: <https:\/\/shots\.example\/v1\/watches\/wat_1\/unsubscribe\?to=ada%40example\.com&signature=/m,
    );
    expect(raw).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click/m);
    expect(mail.text).toContain('“Sales <b>&” has changed: 3.1 % of its pixels.');
    expect(mail.text).toContain('History: https://shots.example/console/watch?id=wat_1');
    expect(mail.html).toContain('“Sales &lt;b&gt;&amp;” has changed');
    const [inline, pdf] = mail.attachments;
    expect([inline?.contentType, inline?.related, pdf?.contentType, pdf?.filename]).toEqual([
      'image/jpeg',
      true,
      'application/pdf',
      'picture.pdf',
    ]);
    expect(await sharp(inline?.content).metadata()).toMatchObject({ format: 'jpeg', width: 1_200, height: 675 });
    expect(pdf?.content.subarray(0, 5).toString()).toBe('%PDF-');
  });

  it('goes to each recipient alone, with a subject of its own for trouble', async () => {
    const { smtp, tell } = await aSender({ email: { subject: 'The sales', attach: 'picture' } });
    await tell('watch.report', { recipient: 'place email bob@example.com' });
    await tell('watch.failed');
    expect(smtp.mails.map(({ to, mail }) => [to, mail.subject])).toEqual([
      [['bob@example.com'], 'The sales'],
      [['ada@example.com'], 'Failing: Sales <b>&'],
    ]);
    expect(smtp.mails[0]?.mail.attachments.map(({ filename }) => filename)).toEqual(['picture.jpg', 'picture.png']);
  });

  it('is tried again after a passing refusal, and not after a final one or for a recipient who has left', async () => {
    let status = 451;
    const { tell } = await aSender({ refuse: () => status });
    expect(await tell('watch.changed')).toEqual({
      kind: 'retry',
      status: 451,
      error: 'The SMTP server answered 451.',
      nextAttemptAt: NOW + 5_000,
    });
    status = 550;
    expect(await tell('watch.changed')).toMatchObject({ kind: 'failed', status: 550 });
    expect(await tell('watch.changed', { recipient: 'place email eve@example.com' })).toMatchObject({ kind: 'failed' });
  });

  it('needs a server that takes the password', async () => {
    const smtp = await startSmtpServer({ password: 'right' });
    onTestFinished(() => smtp[Symbol.asyncDispose]());
    await checkMail({ smtpUrl: smtp.url });
    await expect(checkMail({ smtpUrl: smtp.url.replace('right', 'wrong') })).rejects.toThrow(/wrong password|535/);
  });
});
