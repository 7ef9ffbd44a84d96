import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, it } from 'vitest';
import { exampleWith, readDocument } from '../fixtures/documents.js';
import { ofFile } from '../fixtures/of-file.js';
import { startSite } from '../fixtures/site/site.js';
import { folderOfFile } from '../fixtures/temporary-folder.js';
import { connected, insideOf, type McpClient } from '../http/mcp/mcp-client.js';
import { ANY_BROWSER, rememberBrowsers } from '../render/install/any-browser.js';

const PROGRAM = resolve(import.meta.dirname, '../../dist/main.js');
const CLIENT = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
const INITIALIZE = { jsonrpc: '2.0', id: 1, method: 'initialize', params: CLIENT };

const site = await ofFile(startSite({ host: '127.0.0.2' }));
const dataDir = folderOfFile();
rememberBrowsers(dataDir);
const ENV = {
  PATH: process.env.PATH ?? '',
  TMPDIR: tmpdir(),
  STILLFRAME_DATA_DIR: dataDir,
  STILLFRAME_CHROMIUM: ANY_BROWSER.path,
  STILLFRAME_LISTS: 'false',
  STILLFRAME_BROWSER_INSTALL: 'false',
};

function connect(flags: string[] = [], env = {}): Promise<McpClient> {
  const program = { command: process.execPath, args: [PROGRAM, 'mcp', ...flags], env: { ...ENV, ...env } };
  return connected(new StdioClientTransport({ ...program, stderr: 'ignore' }));
}

const mcp = await ofFile(connect(['--allow-destinations', '127.0.0.2']));

describe('stillframe mcp', () => {
  it('captures pages for the official client, without a key or a server', async () => {
    const { facts, images, isError } = await mcp.call('capture_page', { url: site.url('/article') });
    expect({ isError, facts }).toMatchObject({
      isError: false,
      facts: { state: 'completed', width: 1280, height: 720 },
    });
    expect(facts).not.toHaveProperty('cdn_url');
    expect(images).toHaveLength(1);

    const form = await mcp.call('capture_page', { url: site.url('/static') });
    expect((await mcp.call('get_job', { job_id: form.facts.job_id })).images).toHaveLength(1);
    const words = await mcp.call('capture_page', { url: site.url('/article'), view: 'markdown' });
    expect(words.texts[0]).toMatch(/<<<page-content [0-9a-f]{24}\n/);
    const { jobs } = (await mcp.call('list_jobs', { limit: 2 })).facts;
    expect(jobs.map((job: { job_id: string }) => job.job_id)).toEqual([words.facts.job_id, form.facts.job_id]);
  });

  it('is started by the configuration in the documentation', async () => {
    const [example = '', other] = ['README.md', 'docs/mcp.md'].map((file) =>
      exampleWith(readDocument(file), 'json', 'mcpServers'),
    );
    expect(other).toBe(example);
    const { command, args } = JSON.parse(example).mcpServers.stillframe as { command: string; args: string[] };
    expect([command, ...args.slice(0, 3)]).toEqual(['npx', '-y', 'stillframe', 'mcp']);
    await using own = await startSite();
    await using mcp = await connect(args.slice(3));
    expect((await mcp.call('capture_page', { url: `http://localhost:${own.port}/static` })).facts.ok).toBe(true);
  });

  it('rejects the requests that a server rejects, private addresses included', async () => {
    const before = site.hits.length;
    const refused = await mcp.call('capture_page', { url: site.url('/article').replace('127.0.0.2', '127.0.0.3') });
    expect(refused).toMatchObject({ isError: true, facts: { error: { code: 'invalid_request' } } });
    expect(JSON.parse(insideOf(refused.texts[0])).details).toMatchObject({ reason: 'blocked_destination' });
    expect(refused.facts.error).not.toHaveProperty('docs_url');
    expect(site.hits.length).toBe(before);
  });

  it('returns the first capture for a repeated idempotency key', async () => {
    const call = { url: site.url('/static'), idempotency_key: 'k-1' };
    const [first, again] = await Promise.all([mcp.call('capture_page', call), mcp.call('capture_page', call)]);
    expect(again.facts.job_id).toBe(first.facts.job_id);
    expect((await mcp.call('capture_page', { ...call, dark_mode: true })).facts.error.code).toBe(
      'idempotency_conflict',
    );
  });

  it('continues in get_job when a capture takes long', async () => {
    await using mcp = await connect(['--allow-destinations', '127.0.0.2', '--sync-wait-ms', '0']);
    const { facts, texts } = await mcp.call('capture_page', { url: site.url('/static') });
    expect(facts.state).toBe('active');
    expect(texts[0]).toContain('Call get_job');
    const look = async () => (await mcp.call('get_job', { job_id: facts.job_id })).facts.state;
    await expect.poll(look, { timeout: 60_000 }).toBe('completed');
  });

  it('reports why there is no browser', async () => {
    await using mcp = await connect([], { STILLFRAME_CHROMIUM: join(dataDir, 'no-browser') });
    const { facts, texts } = await mcp.call('capture_page', { url: 'https://example.com' });
    expect(facts.error.code).toBe('internal_error');
    expect(insideOf(texts[0])).toContain('no-browser');
  });

  it.each(['end of input', 'SIGTERM'])('stops at the %s, with nothing but messages on standard output', async (how) => {
    const child = spawn(process.execPath, [PROGRAM, 'mcp'], { env: ENV, stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.write('this is no message\n');
    child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
    const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
    expect(JSON.parse(chunk.toString())).toMatchObject({
      jsonrpc: '2.0',
      id: 1,
      result: { serverInfo: { name: 'stillframe' } },
    });
    const exited = once(child, 'exit');
    if (how === 'SIGTERM') child.kill('SIGTERM');
    else child.stdin.end();
    expect(await exited).toEqual([0, null]);
  });
});
