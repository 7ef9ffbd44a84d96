import { mkdtempSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startService } from '../fixtures/start-service.js';

it('a start that fails spends no first key: the next one tells of it', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'stillframe-service-'));
  const { server, port } = await takenPort();
  await expect(startService({ port }, dataDir)).rejects.toThrow(/already in use/);
  server.close();
  await using service = await startService({}, dataDir);
  expect(service.service.firstKey).toMatch(/^sf_live_/);
});

async function takenPort(): Promise<{ server: Server; port: number }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as AddressInfo).port };
}
