import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { CaptureError } from '../../src/contract/capture-error.js';
import { aJob, fakeServices, gate, KEYS, serveApp } from './fake-services.js';
import { RawClient } from './raw-client.js';

const PICTURE = 'abcdefghijklmnopqrstuvwxyz234567.png';
/** How long the rest of a body is on its way. */
const SLOW_MS = 1_500;
const PATIENT = { timeout: 4_000, interval: 5 };

const head = (path: string, extra = '') => `GET ${path} HTTP/1.1\r\nhost: x\r\n${extra}\r\n`;

describe('startHttp', () => {
  it('names the setting when the port is taken', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as { port: number };
    await expect(serveApp(fakeServices(), { port })).rejects.toThrow(/already in use.*STILLFRAME_PORT/);
    other.close();
    await expect(serveApp(fakeServices(), { host: '203.0.113.7' })).rejects.toThrow(/STILLFRAME_HOST/);
  });

  it.each([
    ['no HTTP at all', 'HELO there\r\n\r\n', 400],
    ['no Host', 'GET /livez HTTP/1.1\r\n\r\n', 400],
    ['an expectation that nobody knows', 'GET /nowhere HTTP/1.1\r\nhost: x\r\nexpect: wonders\r\n\r\n', 404],
    [
      'length and chunks',
      'POST /v1/screenshot HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
      400,
    ],
    ['too much header', `GET /livez HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['a backslash in the path', 'GET /\\livez HTTP/1.1\r\nhost: x\r\n\r\n', 400],
  ])('answers %s in the envelope', async (_name, text, status) => {
    await using served = await serveApp(fakeServices());
    const client = new RawClient(served.port).send(text);
    const answer = await client.answer();
    expect(answer.status).toBe(status);
    const envelope = { ok: false, request_id: answer.headers['x-request-id'], error: { code: 'invalid_request' } };
    expect(JSON.parse(answer.body)).toMatchObject(envelope);
    client.socket.destroy();
  });

  it('receives all of a large body that it refuses at its first byte, so that the client can read the answer', async () => {
    const services = fakeServices();
    services.comparisons.enter = () => {
      throw new CaptureError({ code: 'internal_error', status: 503, message: 'The disk is full.' });
    };
    await using served = await serveApp(services);
    const half = 'x'.repeat(11_000_000);
    const lines = [
      `content-length: ${2 * half.length}`,
      'content-type: application/json',
      `authorization: Bearer ${KEYS.full}`,
    ];
    const client = new RawClient(served.port);
    client.send(`POST /v1/compare HTTP/1.1\r\nhost: x\r\n${lines.join('\r\n')}\r\n\r\n${half}`);
    expect((await client.answer()).status).toBe(503);
    await pause(SLOW_MS);
    client.send(`${half}${head('/livez', 'connection: close\r\n')}`);
    // A connection that was closed before its end would answer nothing further.
    expect((await client.closed).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 503', 'HTTP/1.1 200']);
  });

  it('cuts off who sends nothing, or headers or a body too slowly', async () => {
    await using served = await serveApp(fakeServices(), { headersTimeoutMs: 200, requestTimeoutMs: 400 });
    const silent = new RawClient(served.port);
    const slowHead = new RawClient(served.port).send('GET /livez HTTP/1.1\r\nhost: x\r\n');
    const slowBody = new RawClient(served.port).send(
      `POST /v1/screenshot HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEYS.full}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
    );
    for (const client of [slowHead, slowBody]) {
      const answer = await client.answer();
      expect(answer.status).toBe(408);
      expect(JSON.parse(answer.body).error.code).toBe('invalid_request');
      await client.closed;
    }
    await silent.closed;
  });

  it('lets an answer take longer than a request may', async () => {
    const waitForJob = (job: ReturnType<typeof aJob>) =>
      new Promise<typeof job>((resolve) => setTimeout(() => resolve(job), 700));
    const services = fakeServices({ submit: async () => aJob(), waitForJob });
    await using served = await serveApp(services, { headersTimeoutMs: 100, requestTimeoutMs: 200 });
    const headers = { authorization: `Bearer ${KEYS.full}`, 'content-type': 'application/json' };
    const answer = await fetch(`${served.url}/v1/screenshot`, {
      method: 'POST',
      headers,
      body: '{"url":"example.com"}',
    });
    expect(answer.status).toBe(202);
  });

  it('stops: running requests end, idle connections are closed, nobody new is let in', async () => {
    const job = aJob();
    const [running, found] = [gate(), gate()];
    const findJob = () => {
      running.open();
      return found.opened.then(() => job);
    };
    await using served = await serveApp(fakeServices({ store: { findJob } }));
    const idle = await idleClient(served.port);
    const busy = new RawClient(served.port).send(lookup(job.id));
    await running.opened;
    const stopped = served.server.stop(60_000);
    expect(served.server.stop(1)).toBe(stopped);
    await idle.closed;
    const late = new RawClient(served.port);
    expect(await late.closed).toBe('');
    found.open();
    expect((await busy.answer()).status).toBe(200);
    await stopped;
    await busy.closed;
  });

  it('answers connections that wait to be accepted when it stops', async () => {
    await using served = await serveApp(fakeServices());
    const clients = Array.from({ length: 20 }, () => new RawClient(served.port).send(head('/livez')));
    await connected();
    const stopped = served.server.stop(60_000);
    // Longer than it waits for a quiet moment.
    keepBusy(1_100);
    const answers = await Promise.all(clients.map((client) => client.answer()));
    expect(answers.map(({ status }) => status)).toEqual(clients.map(() => 200));
    await stopped;
  });

  it('answers a connection that comes while it is busy, after it last looked whether one waits', async () => {
    await using served = await serveApp(fakeServices());
    // Asked for before the server does, so that each of these turns of the event loop comes here first.
    const turn = new Promise((resolve) => setImmediate(resolve));
    const stopped = served.server.stop(60_000);
    await turn;
    await new Promise((resolve) => setImmediate(resolve));
    const client = new RawClient(served.port).send(head('/livez'));
    await connected();
    keepBusy(5);
    expect((await client.answer()).status).toBe(200);
    await stopped;
  });

  it('closes its socket in the end, although a connection comes in each turn of the event loop', async () => {
    await using served = await serveApp(fakeServices());
    const [now, began] = [performance.now.bind(performance), performance.now()];
    using _clock = vi.spyOn(performance, 'now').mockImplementation(() => began + 10 * (now() - began));
    let hasStopped = false;
    void served.server.stop(0).finally(() => {
      hasStopped = true;
    });
    while (!hasStopped) {
      new RawClient(served.port).send(head('/livez'));
      await new Promise<void>((resolve) => setImmediate(resolve));
      keepBusy(2);
    }
  });

  it('answers a request that has arrived on an idle connection when it is about to close it', async () => {
    await using served = await serveApp(fakeServices());
    const idle = await idleClient(served.port);
    const stopped = served.server.stop(60_000);
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    idle.send(head('/v1/nowhere', 'connection: close\r\n'));
    // Until the connection is due to be closed, which the event loop finds before it reads.
    keepBusy(150);
    expect(await idle.closed).toContain('HTTP/1.1 404');
    await stopped;
  });

  it('cuts what does not end within the grace', async () => {
    const { services, running } = withEndlessLookups();
    const served = await serveApp(services);
    const busy = new RawClient(served.port).send(lookup());
    await vi.waitFor(() => expect(running).toHaveLength(1), PATIENT);
    await served.server.stop(50);
    await busy.closed;
  });

  it('answers pipelined requests one after the other, in their order', async () => {
    const job = aJob();
    const asked: string[] = [];
    const finish: (() => void)[] = [];
    const findJob = (id: string) => {
      asked.push(id);
      return new Promise<typeof job>((resolve) => finish.push(() => resolve({ ...job, id })));
    };
    const services = fakeServices({ store: { findJob } });
    await using served = await serveApp(services);
    const ids = [aJob().id, aJob().id, aJob().id];
    const client = new RawClient(served.port).send(ids.map(lookup).join(''));
    for (const [nth] of ids.entries()) {
      await vi.waitFor(() => expect(asked).toHaveLength(nth + 1), PATIENT);
      expect((await fetch(`${served.url}/livez`)).status).toBe(200);
      expect(asked).toEqual(ids.slice(0, nth + 1));
      finish[nth]?.();
    }
    client.send(head('/livez', 'connection: close\r\n'));
    expect([...new Set((await client.closed).match(/job_\w+|"alive"/g))]).toEqual([...ids, '"alive"']);
  });

  it('closes a connection with more than four requests pending, without answering the others', async () => {
    const { services, running } = withEndlessLookups();
    await using served = await serveApp(services);
    const patient = new RawClient(served.port).send(lookup().repeat(4));
    expect(await new RawClient(served.port).send(lookup().repeat(5_000)).closed).toBe('');
    expect(running).toHaveLength(2);
    expect(patient.socket.destroyed).toBe(false);
    patient.socket.destroy();
  });

  it('ends every stream of a client that hangs up on pipelined requests for a picture', async () => {
    const services = fakeServices();
    services.files.set(PICTURE, Buffer.alloc(8_000_000));
    await using served = await serveApp(services);
    for (let nth = 0; nth < 5; nth++) {
      const client = new RawClient(served.port).send(head(`/artifacts/${PICTURE}`).repeat(4));
      await client.firstBytes;
      client.socket.destroy();
      await client.closed;
    }
    await vi.waitFor(() => expect(services.openStreams).toBe(0), PATIENT);
    expect(services.streams).toBe(5);
  });

  it('makes room for a new client: the address with the most connections loses the one that has been idle the longest', async () => {
    await using served = await serveApp(fakeServices(), { maxConnections: 4 });
    const other = await idleClient(served.port, '127.0.0.3');
    const many = [];
    for (let nth = 0; nth < 3; nth++) many.push(await idleClient(served.port));
    const [oldest, ...younger] = many;
    expect((await fetch(`${served.url}/livez`, { headers: { connection: 'close' } })).status).toBe(200);
    await oldest?.closed;
    for (const client of [other, ...younger]) {
      expect(client.socket.destroyed).toBe(false);
      client.send(head('/livez', 'connection: close\r\n'));
      expect(await client.closed).toMatch(/"alive":true.*"alive":true/s);
    }
  });

  it('makes room by closing the connection of a slow reader, and none that waits for its answer', async () => {
    const { services, running } = withEndlessLookups();
    services.files.set(PICTURE, Buffer.alloc(30_000_000));
    await using served = await serveApp(services, { maxConnections: 3 });
    const waiting = new RawClient(served.port).send(lookup());
    await vi.waitFor(() => expect(running).toHaveLength(1), PATIENT);
    const readers = await slowReaders(2, served.port);
    expect(services.openStreams).toBe(2);
    expect((await fetch(`${served.url}/livez`)).status).toBe(200);
    await vi.waitFor(() => expect(services.openStreams).toBe(1), PATIENT);
    expect(waiting.socket.destroyed).toBe(false);
    for (const { socket } of [waiting, ...readers]) socket.destroy();
  });

  it('streams a limited number of pictures at once: the client that has taken nothing for the longest loses its connection', async () => {
    const services = fakeServices();
    services.files.set(PICTURE, Buffer.alloc(30_000_000));
    await using served = await serveApp(services, { maxStreams: 6 });
    const readers = await slowReaders(9, served.port);
    await vi.waitFor(() => expect(services.openStreams).toBe(6), PATIENT);
    for (const { socket } of readers) socket.destroy();
    await vi.waitFor(() => expect(services.openStreams).toBe(0), PATIENT);
  });

  it('does not count the streams of clients that had left before these began', async () => {
    let began = 0;
    const gone: Promise<string>[] = [];
    const picture = fakeServices();
    picture.files.set(PICTURE, Buffer.alloc(30_000_000));
    const services = fakeServices({
      openPicture: async (name) => {
        const found = await picture.openPicture(name);
        if (found === null || found === 'deleted') return found;
        return {
          ...found,
          read: async () => {
            began++;
            await Promise.all(gone);
            // Requests on a later connection are answered after the server has seen the clients leave.
            if (gone.length > 0) await fetch(`${served.url}/livez`);
            return await found.read();
          },
        };
      },
    });
    await using served = await serveApp(services, { maxStreams: 6 });
    const leaving = Array.from({ length: 9 }, () => new RawClient(served.port).send(head(`/artifacts/${PICTURE}`)));
    gone.push(...leaving.map(({ closed }) => closed));
    await vi.waitFor(() => expect(began).toBe(leaving.length), PATIENT);
    for (const { socket } of leaving) socket.destroy();
    await vi.waitFor(() => expect(picture.streams).toBe(leaving.length), PATIENT);
    gone.length = 0;
    const readers = await slowReaders(2, served.port);
    expect(picture.openStreams).toBe(2);
    for (const { socket } of readers) socket.destroy();
  });

  it('serves the next request of a connection after refusing one with a body', async () => {
    await using served = await serveApp(fakeServices());
    const body = 'x'.repeat(1000);
    const client = new RawClient(served.port).send(
      `POST /v1/screenshot HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n${body}`,
    );
    expect((await client.answer()).status).toBe(401);
    client.send(head('/livez', 'connection: close\r\n'));
    expect(await client.closed).toContain('"alive":true');
  });
});

const lookup = (id = aJob().id) => head(`/v1/jobs/${id}`, `authorization: Bearer ${KEYS.full}\r\n`);

/** Once the system has connected the clients that have been started. */
const connected = () => new Promise<void>((resolve) => process.nextTick(resolve));

/** Keeps the server, which is in this process, from doing anything. */
const keepBusy = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Clients that have asked for the picture and do not take it. */
async function slowReaders(count: number, port: number): Promise<RawClient[]> {
  const readers = Array.from({ length: count }, () => new RawClient(port));
  for (const reader of readers) {
    await reader.send(head(`/artifacts/${PICTURE}`)).firstBytes;
    reader.socket.pause();
  }
  return readers;
}

/** Services whose look-ups of jobs never end, and the jobs that were looked up. */
function withEndlessLookups() {
  const running: string[] = [];
  const findJob = (id: string) => {
    running.push(id);
    return new Promise<never>(() => {});
  };
  return { services: fakeServices({ store: { findJob } }), running };
}

/** A client that has had an answer and keeps its connection. */
async function idleClient(port: number, localAddress?: string): Promise<RawClient> {
  const client = new RawClient(port, localAddress).send(head('/livez'));
  await client.answer();
  return client;
}
