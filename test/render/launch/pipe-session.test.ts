import { PassThrough } from 'node:stream';
import type { CDPSession } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { CdpMessage } from '../../../src/render/launch/cdp-pipe.js';
import { PipeSession } from '../../../src/render/launch/pipe-session.js';
import { TargetPolicy } from '../../../src/render/launch/target-policy.js';

const SESSION = 'AB'.repeat(16);
const turns = async (count = 6) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

function aSession() {
  const posted: [string, object][] = [];
  const failures: string[] = [];
  const pipeSession = new PipeSession({
    post: (method, params) => posted.push([method, params]),
    failed: (why) => failures.push(why),
  });
  return { pipeSession, cdp: pipeSession.asCdpSession(), posted, failures };
}

describe('a session on the pipe', () => {
  it('resolves each command with its own answer', async () => {
    const { pipeSession, cdp, posted } = aSession();
    const [one, other] = [cdp.send('Page.enable'), cdp.send('Page.navigate', { url: 'x:' })];
    pipeSession.receive({ id: 2, error: { code: -32000, message: 'Cannot navigate to invalid URL' } });
    pipeSession.receive({ id: 1, result: { done: true } });
    pipeSession.receive({ id: 3, result: {} });
    await expect(other).rejects.toThrow('Page.navigate: Cannot navigate to invalid URL');
    expect(await one).toEqual({ done: true });
    expect(Object.fromEntries(posted)).toEqual({ 'Page.enable': {}, 'Page.navigate': { url: 'x:' } });
  });

  it('delivers events and answers in order, after those that Playwright got before them', async () => {
    const { pipeSession, cdp } = aSession();
    const order: string[] = [];
    cdp.on('Page.loadEventFired', () => order.push('event'));
    cdp.on('event', ({ method }) => order.push(method));
    void cdp.send('Page.enable').then(() => order.push('answer'));
    setImmediate(() => order.push("Playwright's"));
    pipeSession.receive({ method: 'Page.loadEventFired', params: { timestamp: 1 } });
    pipeSession.receive({ id: 1, result: {} });
    expect(order).toEqual([]);
    await turns(1);
    expect(order).toEqual(["Playwright's", 'event', 'Page.loadEventFired', 'answer']);
  });

  it('rejects pending and later commands once it is closed', async () => {
    const { pipeSession, cdp, posted } = aSession();
    const pending = cdp.send('Page.enable');
    pipeSession.close();
    await expect(pending).rejects.toThrow('Page.enable: Target closed');
    await expect(cdp.send('Page.disable')).rejects.toThrow('Target closed');
    expect(posted).toHaveLength(1);
  });
});

describe('a session taken over from Playwright', () => {
  const attached = (sessionId: string, type: string, parent?: string, browserContextId = 'context'): CdpMessage => ({
    method: 'Target.attachedToTarget',
    params: { sessionId, targetInfo: { targetId: type, type, url: '', browserContextId } },
    ...(parent === undefined ? {} : { sessionId: parent }),
  });

  /** A policy between a fake Playwright, which has a further session on a page, and a fake browser. */
  async function aPolicy(others: CdpMessage[] = []) {
    const [output, input] = [new PassThrough(), new PassThrough()];
    const [sent, forPlaywright]: [CdpMessage[], CdpMessage[]] = [[], []];
    output.on('data', (chunk: Buffer) => {
      for (const text of String(chunk).split('\0')) if (text !== '') sent.push(JSON.parse(text));
    });
    const policy = new TargetPolicy(output, input, { drawsOnDemand: false, onFailure() {} });
    policy.onmessage = (message) => forPlaywright.push(message as CdpMessage);
    const playwrights = { send: async () => ({ targetInfo: { targetId: 'page' } }) } as unknown as CDPSession;
    const say = async (message: CdpMessage) => {
      input.write(`${JSON.stringify(message)}\0`);
      await turns();
    };
    policy.send({ id: 6, method: 'Target.createTarget', params: { browserContextId: 'context' } });
    for (const message of [attached('A1', 'page'), attached(SESSION, 'page', 'A1'), ...others]) await say(message);
    const { cdp } = await policy.takeOver(playwrights);
    await turns();
    sent.length = 0;
    return { cdp, sent, forPlaywright, say, input };
  }

  it('gets its events and answers, which Playwright does not', async () => {
    const { cdp, sent, forPlaywright, say } = await aPolicy();
    const before = forPlaywright.length;
    const events: unknown[] = [];
    cdp.on('Fetch.requestPaused', (params) => events.push(params.requestId));
    const answer = cdp.send('Page.enable');
    await turns();
    expect(sent).toMatchObject([{ method: 'Page.enable', sessionId: SESSION }]);
    await say({ method: 'Fetch.requestPaused', params: { requestId: 'r1' }, sessionId: SESSION });
    await say({ id: sent[0]?.id ?? 0, result: {}, sessionId: SESSION });
    await answer;
    expect(events).toEqual(['r1']);
    expect(forPlaywright).toHaveLength(before);
    await say({ method: 'Page.loadEventFired', params: {}, sessionId: 'CD'.repeat(16) });
    expect(forPlaywright).toHaveLength(before + 1);
  });

  it("gets the network events of its context's pages, frames and workers, which Playwright does not", async () => {
    const [page, frame, worker, service, other] = ['A1', 'A2', 'A3', 'A4', 'A5'];
    const { cdp, forPlaywright, say } = await aPolicy([
      attached(frame, 'iframe', page),
      attached(worker, 'worker', page),
      attached(service, 'service_worker'),
      attached(other, 'iframe', 'B1', 'another context'),
    ]);
    const before = forPlaywright.length;
    const ended: string[] = [];
    cdp.on('Network.loadingFinished', ({ requestId }) => ended.push(requestId));
    for (const sessionId of [page, frame, worker, service, other])
      await say({ method: 'Network.loadingFinished', params: { requestId: sessionId }, sessionId });
    expect(ended).toEqual([page, frame, worker]);
    expect(forPlaywright.slice(before).map(({ sessionId }) => sessionId)).toEqual([service, other]);
    await say({ method: 'Target.detachedFromTarget', params: { sessionId: SESSION } });
    await say({ method: 'Network.loadingFinished', params: { requestId: 'late' }, sessionId: page });
    expect(ended).toHaveLength(3);
  });

  it.each([
    ['its target has gone', { method: 'Target.detachedFromTarget', params: { sessionId: SESSION } }],
    ['the browser has gone', null],
  ])('is closed when %s', async (_when, message) => {
    const { cdp, say, input } = await aPolicy();
    const pending = cdp.send('Page.enable');
    pending.catch(() => {});
    if (message === null) input.destroy();
    else await say(message);
    await expect(pending).rejects.toThrow('Target closed');
  });
});
