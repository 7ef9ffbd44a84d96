import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readConfig } from '../../src/config.js';
import { Service } from '../../src/service/service.js';
import { readableLog } from '../fixtures/readable-log.js';
import { startService } from '../fixtures/start-service.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';

it('a failed start uses up no first key, which the next start shows', async () => {
  const dataDir = folderOfTest();
  const { server, port } = await takenPort();
  await expect(startService({ port }, dataDir)).rejects.toThrow(/already in use/);
  server.close();
  await using service = await startService({}, dataDir);
  expect(service.service.firstKey).toMatch(/^sf_live_/);
});

it('an invalid setting creates no database', async () => {
  const dataDir = folderOfTest();
  const starting = startService({ allowDestinations: ['10.0.0.0/99'] }, dataDir);
  await expect(starting).rejects.toThrow('STILLFRAME_ALLOW_DESTINATIONS has "10.0.0.0/99"');
  expect(existsSync(join(dataDir, 'stillframe.db'))).toBe(false);
});

it('a start on a taken port reports only that', async () => {
  const dataDir = folderOfTest();
  const { server, port } = await takenPort();
  const { lines: said, log } = readableLog();
  const config = { ...readConfig({}, {}), dataDir, port };
  await expect(Service.start(config, { log, print: (line) => void said.push({ line }) })).rejects.toThrow(
    /already in use/,
  );
  server.close();
  expect(said).toEqual([]);
});

async function takenPort(): Promise<{ server: Server; port: number }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as AddressInfo).port };
}
