import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { folderOfTest } from '../fixtures/temporary-folder.js';

const ROOT = resolve(import.meta.dirname, '../..');

it('npm start prints the first key once, apart from the log, and forwards the signal that ends it', async () => {
  const settings = { STILLFRAME_PORT: '0', STILLFRAME_LISTS: 'false', STILLFRAME_LOG_FORMAT: 'json' };
  const env = { ...process.env, STILLFRAME_DATA_DIR: folderOfTest(), ...settings };
  const npm = spawn('npm', ['start', '--silent'], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    const said: string[] = [];
    let result = '';
    npm.stdout.setEncoding('utf8').on('data', (chunk) => {
      result += chunk;
    });
    const url = await new Promise<string>((found, fail) => {
      npm.once('exit', () => fail(new Error(said.join('\n'))));
      createInterface({ input: npm.stderr }).on('line', (line) => {
        said.push(line);
        if (line.includes('"msg":"ready"')) found((JSON.parse(line) as { url: string }).url);
      });
    });
    expect((await fetch(`${url}/v1/health`)).status).toBe(200);
    npm.kill('SIGTERM');
    await once(npm, 'close');
    // Its pipes are closed: no process that held them is left.
    await expect(fetch(`${url}/v1/health`)).rejects.toThrow();
    expect(said.some((line) => line.includes('draining'))).toBe(true);
    expect(result.match(/sf_live_[0-9A-Za-z]{38}/g)).toHaveLength(1);
    expect(said.join('\n')).not.toContain('sf_live_');
    const log = said.filter((line) => line.includes('"level"'));
    expect(log.length).toBeGreaterThan(0);
    for (const line of log) expect(() => JSON.parse(line), line).not.toThrow();
  } finally {
    npm.kill('SIGKILL');
  }
});
