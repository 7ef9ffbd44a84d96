import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { egressLock } from '../../src/cli/doctor.js';
import { unprivilegedUser } from '../../src/render/launch/launch-mode.js';
import { runProgram } from '../fixtures/run-program.js';

const USER = { uid: 60_911, gid: 60_911 };
const root = process.getuid?.() === 0;
/** Whether this process may ask the kernel to check a ruleset. */
const nft = spawnSync('nft', ['-c', '-f', '-'], { input: 'table inet stillframe_test\n' }).status === 0;
const namespaces = nft && spawnSync('unshare', ['-n', 'ip', 'link', 'set', 'lo', 'up']).status === 0;

/** Connects as the user of the first argument to each address, and prints the results. */
const CONNECT = `
const { connect, createServer } = require('node:net');
const server = createServer().listen(9, '0.0.0.0', () => {
  process.setgid(Number(process.argv[1]));
  process.setuid(Number(process.argv[1]));
  const [address] = process.argv.slice(2);
  const end = (said) => { console.log(said); process.exit(); };
  connect(9, address).on('connect', () => end('connected')).on('error', (error) => end(error.code));
});`;

describe('the egress rules for the browser', () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'stillframe-lock-'));
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it('name the browser’s user, do not affect others, and end with a rejection', () => {
    const rules = egressLock(USER).split('\n');
    const chain = rules.slice(rules.findIndex((line) => line.includes('hook output')) + 1).map((line) => line.trim());
    expect(chain).toEqual([
      'meta skuid 60911 ip daddr 127.0.0.1 meta l4proto tcp accept',
      'meta skuid 60911 counter reject',
      '}',
      '}',
    ]);
    expect(rules.join('').match(/\{/g)).toHaveLength(rules.join('').match(/\}/g)?.length ?? 0);
  });

  it.runIf(nft)('are valid to nft', () => {
    const { status, stderr } = spawnSync('nft', ['-c', '-f', '-'], { input: egressLock(USER), encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it.runIf(root && namespaces)('restrict that user to 127.0.0.1, and nobody else', () => {
    const tried = (uid: number, address: string) => {
      const lines = `ip link set lo up\nnft -f - <<'END'\n${egressLock(USER)}\n${egressLock(USER)}\nEND\nexec "$0" -e "$1" ${uid} ${address}`;
      return execFileSync('unshare', ['-n', 'sh', '-ec', lines, process.execPath, CONNECT], {
        encoding: 'utf8',
      }).trim();
    };
    expect([tried(60_911, '127.0.0.1'), tried(60_911, '127.0.0.2')]).toEqual(['connected', 'ECONNREFUSED']);
    expect(tried(60_912, '127.0.0.2')).toBe('connected');
  });

  it('are not printed if the browser has no user of its own, with advice instead', () => {
    expect(() => egressLock(null)).toThrow(
      /only a server that is started as root.*sudo stillframe doctor --egress-lock/,
    );
  });

  it('are printed by `doctor --egress-lock` as root; for others it fails', async () => {
    const { status, stdout, stderr } = await runProgram(['doctor', '--egress-lock'], { cwd: dir });
    const expected = root
      ? { status: 0, stdout: `${egressLock(unprivilegedUser())}\n`, stderr: '' }
      : { status: 1, stdout: '' };
    expect({ status, stdout, stderr }).toMatchObject(expected);
  });
});
