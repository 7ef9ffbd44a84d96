import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { COMPATIBLE_APIS } from '../src/contract/compatible-apis.js';
import { DOCUMENTS, examplesOf, exampleWith, ROOT, readDocument } from './fixtures/documents.js';
import { startService, type TestService } from './fixtures/start-service.js';
import { startUploadReceiver } from './fixtures/upload-receiver.js';
import { startReceiver } from './fixtures/webhook-receiver.js';

const PROGRAM = exampleWith(readDocument('docs/library.md'), 'js', 'stillframe/client');
const EXAMPLES = DOCUMENTS.flatMap((document) =>
  examplesOf(document, 'sh')
    .filter((example) => example.startsWith('curl '))
    .map((example) => ({ file: document.file, example })),
);
/** How a file of each type begins. */
const BEGINS: Record<string, string> = { pdf: '%PDF-', png: '\u0089PNG', bmp: 'BM', zip: 'PK' };

let site: Server;
let service: TestService;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let bucket: Awaited<ReturnType<typeof startUploadReceiver>>;
let directory: string;
/** Jobs: one whose PDF has two pages, one with a picture, and one that is removed. */
let jobIds: Record<'pdf' | 'picture' | 'spare', string>;
let batchId: string;

beforeAll(async () => {
  // Stands in for example.com, with the elements that its page has.
  site = createServer((_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(
      '<!doctype html><title>Example Domain</title><div><h1>Example Domain</h1><p>For use in examples.</p></div>',
    );
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.2', resolve));
  receiver = await startReceiver();
  bucket = await startUploadReceiver('127.0.0.2');
  service = await startService({
    smtpUrl: 'smtp://127.0.0.1:9',
    mailFrom: 'stillframe@example.com',
    compatibleApis: [...COMPATIBLE_APIS],
    webhookAllow: [receiver.origin, bucket.origin],
  });
  directory = await mkdtemp(join(tmpdir(), 'readme-'));
  // The page and the request that docs/html-files.md sends.
  await writeFile(
    join(directory, 'request.json'),
    exampleWith(readDocument('docs/html-files.md'), 'json', 'full_page'),
  );
  // The PDFs that docs/documents.md merges and turns.
  const post = (path: string, body: object, accept = 'application/json') =>
    fetch(`${service.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json', accept },
      body: JSON.stringify(body),
    });
  const jobOf = (answer: Response) => answer.headers.get('x-job-id') ?? '';
  const printed = await post(
    '/v1/screenshot',
    { html: '<p>One<p style="break-before:page">Two', format: 'pdf', pdf: {} },
    'application/pdf',
  );
  const [picture, spare] = await Promise.all(
    ['A picture', 'Another one'].map((html) => post('/v1/screenshot', { html })),
  );
  jobIds = { pdf: jobOf(printed), picture: jobOf(picture as Response), spare: jobOf(spare as Response) };
  const batch = await post('/v1/batches', { requests: [{ html: 'A picture' }] });
  batchId = ((await batch.json()) as { data: { id: string } }).data.id;
  const pdf = Buffer.from(await printed.arrayBuffer());
  await mkdir(join(directory, 'og-card'));
  const templates = readDocument('docs/templates.md');
  await writeFile(join(directory, 'og-card', 'index.html'), exampleWith(templates, 'html', '{{ title }}'));
  await writeFile(join(directory, 'og-card', 'template.json'), exampleWith(templates, 'json', '"parameters"'));
  await writeFile(join(directory, 'og-card', 'card.css'), 'h1 { color: teal }');
  for (const month of ['january', 'february']) await writeFile(join(directory, `${month}.pdf`), pdf);
  await mkdir(join(directory, 'report', 'img'), { recursive: true });
  for (const file of ['index.html', 'style.css', 'img/logo.png'])
    await writeFile(join(directory, 'report', file), 'p { color: teal }');
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  await bucket[Symbol.asyncDispose]();
  site.close();
  await rm(directory, { recursive: true, force: true });
});

function againstStandIns(example: string): string {
  const { port } = site.address() as AddressInfo;
  return example
    .replaceAll('http://127.0.0.1:3000', service.url)
    .replace(/job_\w{26}|\$JOB_ID/, jobIds[jobOfExample(example)])
    .replace(/bat_\w{26}/, batchId)
    .replaceAll('https://hooks.example.com', receiver.origin)
    .replaceAll('https://bucket.example.com', bucket.origin)
    .replaceAll(/https:\/\/example\.(com|org)/g, `http://127.0.0.2:${port}`);
}

function jobOfExample(example: string): keyof typeof jobIds {
  if (example.includes('-X DELETE')) return 'spare';
  return example.includes('/tiles') ? 'picture' : 'pdf';
}

it.each(EXAMPLES)('an example of $file works as written: $example', async ({ example }) => {
  const env = { ...process.env, STILLFRAME_KEY: service.key };
  const { stdout } = await promisify(execFile)('bash', ['-c', againstStandIns(example)], { cwd: directory, env });
  const [, file, type = ''] = / -o (\S+\.(\w+))/.exec(example) ?? [];
  if (file === undefined) expect(JSON.parse(stdout)).toMatchObject({ ok: true });
  else expect((await readFile(join(directory, file))).toString('latin1')).toMatch(new RegExp(`^${BEGINS[type]}`));
});

it('the program for the client takes a picture as written', async () => {
  const file = join(directory, 'example.webp');
  const program = againstStandIns(PROGRAM).replace("'example.webp'", JSON.stringify(file));
  const env = { ...process.env, STILLFRAME_KEY: service.key };
  // From here, the package finds itself by its name.
  const printed = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    cwd: ROOT,
    env,
  });
  expect(printed).toEqual({ stdout: '', stderr: '' });
  expect((await readFile(file)).subarray(8, 12).toString()).toBe('WEBP');
});
