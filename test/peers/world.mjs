/** The parts that the suites share: a name server, a server of this project with a key, and directories. Everything is on loopback. */
import { spawn, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import dgram from 'node:dgram';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
export const PROJECT = process.env.PROJECT ?? path.resolve(import.meta.dirname, '../..');
export const BIN = path.join(PROJECT, 'dist/main.js');
/** Returns the value of an option of the command line, or `otherwise`. */
export function opt(name, otherwise) {
  const at = process.argv.indexOf(name);
  return at < 0 ? otherwise : process.argv[at + 1];
}
export const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
export async function startDns(zone) {
  const sock = dgram.createSocket('udp4');
  sock.on('message', (q, peer) => {
    let o = 12;
    const labels = [];
    while (q[o]) {
      labels.push(
        q
          .subarray(o + 1, o + 1 + q[o])
          .toString()
          .toLowerCase(),
      );
      o += q[o] + 1;
    }
    o += 1;
    const type = q.readUInt16BE(o);
    const question = q.subarray(12, o + 4);
    const ips = zone(labels.join('.'));
    const h = Buffer.alloc(12);
    q.copy(h, 0, 0, 2);
    if (!ips) {
      h.writeUInt16BE(0x8183, 2);
      h.writeUInt16BE(1, 4);
      return sock.send(Buffer.concat([h, question]), peer.port, peer.address);
    }
    const answers =
      type === 1
        ? ips.map((ip) => Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...ip.split('.').map(Number)]))
        : [];
    h.writeUInt16BE(0x8180, 2);
    h.writeUInt16BE(1, 4);
    h.writeUInt16BE(answers.length, 6);
    sock.send(Buffer.concat([h, question, ...answers]), peer.port, peer.address);
  });
  sock.bind(0, '127.0.0.1');
  await once(sock, 'listening');
  return { port: sock.address().port, close: () => sock.close() };
}
export function newKey(dataDir, env = {}) {
  const r = spawnSync(process.execPath, [BIN, 'keys', 'create', '--label', 'peer', '--json'], {
    encoding: 'utf8',
    timeout: 60000,
    env: { ...process.env, STILLFRAME_DATA_DIR: dataDir, ...env },
  });
  return JSON.parse(r.stdout).secret;
}
export const tempDir = (p = 'ps-') => fs.mkdtempSync(path.join(os.tmpdir(), p));
export async function startProduct({ env = {}, compatibleApisKey = true } = {}) {
  const dataDir = tempDir('ps-data-');
  const key = newKey(dataDir);
  const port = 20000 + crypto.randomInt(20000);
  const e = {
    ...process.env,
    STILLFRAME_DATA_DIR: dataDir,
    STILLFRAME_LOG_FORMAT: 'json',
    STILLFRAME_SUBMIT_RATE: '0',
    STILLFRAME_READ_RATE: '0',
    ...env,
  };
  if (compatibleApisKey) e.STILLFRAME_COMPATIBLE_APIS_KEY = key;
  const child = spawn(process.execPath, [BIN, 'serve', '--port', String(port)], {
    env: e,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  child.stdout.on('data', (d) => (log += d));
  child.stderr.on('data', (d) => (log += d));
  const base = `http://127.0.0.1:${port}`;
  const t0 = Date.now();
  let ready = false;
  while (Date.now() - t0 < 300000 && child.exitCode === null) {
    try {
      if ((await fetch(`${base}/v1/health`)).status === 200) {
        ready = true;
        break;
      }
    } catch {}
    await sleep(100);
  }
  if (!ready) {
    child.kill('SIGKILL');
    throw new Error(`not ready: ${log.slice(-2000)}`);
  }
  return {
    base,
    port,
    key,
    dataDir,
    log: () => log,
    async stop() {
      if (child.exitCode !== null) return;
      child.kill('SIGTERM');
      await Promise.race([once(child, 'exit'), sleep(20000)]);
      if (child.exitCode === null) child.kill('SIGKILL');
      fs.rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
