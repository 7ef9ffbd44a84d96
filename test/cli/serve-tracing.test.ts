import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startCollector } from '../fixtures/otlp-collector.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';
import { rememberBrowsers } from '../render/install/any-browser.js';
import { postCapture } from '../trials/call-api.js';
import { aTrialDir, runCommand, startServerProcess } from '../trials/server-process.js';

/** Without the API alone, which does nothing and which prom-client loads for exemplars. */
const OPEN_TELEMETRY = /opentelemetry(?!\/api\/)|otlp/;

/** V8's list of the scripts that a server has loaded, which the server writes when it ends. */
function aCoverage() {
  const path = folderOfTest();
  const urlsOf = (name: string) =>
    JSON.parse(readFileSync(join(path, name), 'utf8')).result.map(({ url }: { url: string }) => url);
  return { env: { NODE_V8_COVERAGE: path }, scripts: (): string[] => readdirSync(path).flatMap(urlsOf) };
}

it('a server loads nothing of OpenTelemetry without an endpoint', async () => {
  using dir = aTrialDir();
  rememberBrowsers(dir.dataDir);
  const coverage = aCoverage();
  const server = startServerProcess({ ...dir, env: { OTEL_EXPORTER_OTLP_ENDPOINT: '', ...coverage.env } });
  await server.ready;
  await server[Symbol.asyncDispose]();
  expect(coverage.scripts().some((url) => url.endsWith('/dist/main.js'))).toBe(true);
  expect(coverage.scripts().filter((url) => OPEN_TELEMETRY.test(url))).toEqual([]);
});

it('a server continues a trace after a crash, since the job carries it', async () => {
  using dir = aTrialDir();
  rememberBrowsers(dir.dataDir);
  const coverage = aCoverage();
  await using collector = await startCollector();
  const { env } = collector;
  const first = startServerProcess({ ...dir, env });
  const { url, firstKey } = await first.ready;
  await runCommand(['queue', 'pause', '--data-dir', dir.dataDir]);
  const at = { url, key: firstKey ?? '' };
  const { status, body } = await postCapture(at, { html: '<h1>Later</h1>', sync: false });
  expect(status).toBe(202);
  const [submission] = await collector.until('POST /v1/screenshot');
  first.kill('SIGKILL');
  await first.exited;
  const second = startServerProcess({ ...dir, env: { ...env, ...coverage.env } });
  await second.ready;
  await runCommand(['queue', 'resume', '--data-dir', dir.dataDir]);
  const [attempt] = await collector.until('capture');
  await second[Symbol.asyncDispose]();
  expect(attempt).toMatchObject({ traceId: submission?.traceId, parentSpanId: submission?.spanId });
  expect(attempt?.attributes).toMatchObject({ 'stillframe.job_id': body.data.job_id, 'stillframe.mode': 'async' });
  expect(attempt?.attributes).not.toHaveProperty('stillframe.target_host');
  expect(attempt?.resource['service.instance.id']).not.toBe(submission?.resource['service.instance.id']);
  expect(coverage.scripts().filter((loaded) => OPEN_TELEMETRY.test(loaded))).not.toEqual([]);
});
