import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { aTrialDir, startServerProcess } from '../trials/server-process.js';

/** An address of this test's own: on 127.0.0.1, another test's server could take the free port before this one does, and answer for it. */
const HOST = '127.0.0.9';

/** A browser that never comes up: the server listens, and is not ready. */
function aBrowserThatHangs(dir: string): string {
  // Not named like a distribution's wrapper script, whose program would be run instead.
  const path = join(dir, 'hanging-browser');
  writeFileSync(path, '#!/bin/sh\ncase "$*" in *--version*) echo "Chromium 156.0.0.0" ;; *) exec sleep 60 ;; esac\n');
  chmodSync(path, 0o755);
  return path;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, HOST, done));
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return port;
}

const isAlive = async (port: number) => (await fetch(`http://${HOST}:${port}/livez`).catch(() => null))?.status;

it.each(['SIGTERM', 'SIGINT'] as const)(
  'a server ends with 0 and leaves nothing behind when %s arrives before it is ready',
  async (signal) => {
    using dir = aTrialDir();
    // With a path so short that profiles are created in it, and open to the browser's user.
    const temporary = mkdtempSync('/tmp/s');
    onTestFinished(() => rmSync(temporary, { recursive: true, force: true }));
    chmodSync(temporary, 0o1777);
    chmodSync(dir.dataDir, 0o755);
    const port = await freePort();
    const env = { STILLFRAME_HOST: HOST, STILLFRAME_CHROMIUM: aBrowserThatHangs(dir.dataDir), TMPDIR: temporary };
    const server = startServerProcess({ dataDir: dir.dataDir, port, env });
    await expect.poll(() => isAlive(port), { timeout: 60_000, interval: 20 }).toBe(200);
    server.kill(signal);
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(server.said.join('\n')).toContain('draining');
    expect(readdirSync(temporary)).toEqual([]);
  },
);
