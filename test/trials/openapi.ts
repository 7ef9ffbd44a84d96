/**
 * Trial "openapi": schemathesis sends requests to every endpoint, as openapi.json allows them and as it does not. Every answer must be one
 * that the document describes: its status, content type, headers and body. Needs Python with pip, which gets schemathesis once.
 *
 * Sabotage that turns it red: remove an entry of `failures` or a field of a schema that has none in contract/.
 */
import { type ExecFileOptions, execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startDnsServer } from '../fixtures/dns-server.js';
import { installPython } from '../fixtures/python-packages.js';
import { startSite } from '../fixtures/site/site.js';
import { startService, type TestService } from '../fixtures/start-service.js';
import { aTrialDir } from './server-process.js';
import type { TrialResult } from './trial-result.js';

export const SCHEMATHESIS = 'schemathesis==4.32.5';

/**
 * @param examples generated requests of each operation in each phase
 * @param phases of schemathesis; `coverage` sends about a thousand requests for each operation with a large body
 * @param without checks of schemathesis
 * @param only a regular expression for ids of operations
 * @param seconds after which schemathesis ends, if not 0; it repeats its phases until then
 */
export async function run({
  examples = 600,
  phases = 'examples,coverage,fuzzing,stateful',
  seed = 1,
  without = 'positive_data_acceptance',
  only = '',
  seconds: maxSeconds = 0,
}): Promise<TrialResult> {
  const installed = installPython(SCHEMATHESIS);
  if ('missing' in installed) return { figures: {}, problems: [installed.missing] };
  using dir = aTrialDir();
  await using site = await startSite({ host: '127.0.0.2' });
  site.route('/hook', (_, response) => void response.end());
  await using names = await startDnsServer({ '*': ['127.0.0.2'] });
  await using service = await startService({
    dnsServers: [names.address],
    webhookAllow: [site.origin],
    // Captures are few and nobody waits for them long.
    maxQueue: 20,
    syncWaitMs: 1_000,
  });
  const parameters = await seedsOf(service, site.url('/plain'), site.url('/hook'));
  const report = join(dir.dataDir, 'report.json');
  const args = [
    ...['-m', 'schemathesis.cli', 'run', `${service.url}/openapi.json`, '--url', service.url],
    ...['--header', `Authorization: Bearer ${service.key}`, '--seed', String(seed), '--no-color'],
    ...['--max-examples', String(examples), '--phases', phases, '--continue-on-failure', '--request-timeout', '60'],
    ...['--suppress-health-check', 'all', '--generation-database', 'none', '--warnings', 'off', '--max-redirects', '0'],
    ...['--report', 'json', '--report-json-path', report, '--exclude-checks', without],
    ...(only === '' ? [] : ['--include-operation-id-regex', only]),
    ...(maxSeconds === 0 ? [] : ['--max-time', String(maxSeconds)]),
  ];
  const env = {
    PYTHONPATH: [installed.target, import.meta.dirname].join(delimiter),
    PYTHONDONTWRITEBYTECODE: '1',
    SCHEMATHESIS_HOOKS: 'openapi_hooks',
    TRIAL_PARAMETERS: JSON.stringify(parameters),
    TRIAL_SITE: site.url('/plain'),
  };
  const output = await execute(args, { cwd: dir.dataDir, env: { ...process.env, ...env }, maxBuffer: 1 << 28 });
  if (!existsSync(report)) return { figures: {}, problems: [output] };
  const { running_time: seconds, test_cases: cases, operations } = JSON.parse(readFileSync(report, 'utf8'));
  const [, failures = ''] = /^=+ (?:FAILURES|ERRORS) =+$(.*?)^=+ SUMMARY =+$/ms.exec(output) ?? [];
  return {
    figures: { operations: operations.tested, requests: cases.generated, seconds: Math.round(seconds) },
    problems: failures.split(/^(?=_+ [A-Z]+ \S+ _+$)/m).filter((text) => text.trim() !== ''),
  };
}

/** Makes one of everything that an operation can name. @returns values of parameters by path */
async function seedsOf(
  service: TestService,
  page: string,
  hook: string,
): Promise<Record<string, Record<string, string>>> {
  // biome-ignore lint/suspicious/noExplicitAny: a client's view of JSON
  const call = async (method: string, path: string, body?: unknown, headers = {}): Promise<any> => {
    const isForm = body instanceof FormData;
    const response = await fetch(service.url + path, {
      method,
      headers: {
        authorization: `Bearer ${service.key}`,
        ...(isForm ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
    const answer = JSON.parse(await response.text());
    if (!response.ok) throw new Error(JSON.stringify(answer));
    return answer.data;
  };
  const html = '<title>Hello</title><h1>Hello';
  const webhook = { url: hook, secret: 'sixteen characters' };
  const { job_id: id } = await call(
    'POST',
    '/v1/screenshot?mode=async',
    { html, webhook },
    { 'idempotency-key': 'seed' },
  );
  const batch = await call('POST', '/v1/batches', { requests: [{ html }, { url: page }] });
  const form = new FormData();
  form.append('files', new Blob(['<h1>Hello</h1>']), 'index.html');
  await call('PUT', '/v1/templates/seed', form);
  const watch = await call('POST', '/v1/watches', { name: 'seed', request: { url: page }, schedule: { every: '1h' } });
  const runs = async () => (await call('GET', `/v1/watches/${watch.id}/runs`)).runs;
  for (; (await runs())[0]?.ended_at == null; await pause(50));
  const [{ id: run }] = await runs();
  const { body: job } = await service.untilEnded(id);
  return {
    '/v1/jobs': { id },
    '/v1/requests': { key: 'seed' },
    '/v1/batches': { id: batch.id },
    '/v1/templates': { name: 'seed' },
    '/v1/watches': { id: watch.id, run },
    '/artifacts': { name: new URL(job.data.result.data.cdn_url).pathname.split('/').at(-1) ?? '' },
  };
}

function execute(args: string[], options: ExecFileOptions): Promise<string> {
  return new Promise((done) => {
    execFile('python3', args, { ...options, encoding: 'utf8' }, (_, stdout, stderr) => done(stdout + stderr));
  });
}
