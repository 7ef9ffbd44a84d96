import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { AwsV4Signer } from 'aws4fetch';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService, type TestService } from '../fixtures/start-service.js';
import { type ReceivedRequest, type Receiver, startReceiver } from '../fixtures/webhook-receiver.js';

const EXAMPLES = resolve(import.meta.dirname, '../../examples');
const MISSING = { curl: !has('curl'), python3: !has('python3') };
const LIMIT_MS = 60_000;

let site: Server;
let color = 'green';
let url: string;
let service: TestService;
let outside: Receiver;
let dir: string;

beforeAll(async () => {
  site = createServer((_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(
      `<title>Prices</title><body style="background:${color}"><h1>Prices</h1><p>The small plan costs 7 pounds a month.</p>`,
    );
  });
  await new Promise<void>((done) => site.listen(0, '127.0.0.2', done));
  url = `http://127.0.0.2:${(site.address() as AddressInfo).port}/`;
  service = await startService();
  const answer = JSON.stringify({ choices: [{ message: { content: 'Seven pounds.' } }] });
  outside = await startReceiver({
    script: [{ status: 200, headers: { 'content-type': 'application/json' }, body: answer }],
  });
  dir = mkdtempSync(join(tmpdir(), 'stillframe-examples-'));
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await outside[Symbol.asyncDispose]();
  site.close();
  rmSync(dir, { recursive: true, force: true });
});

function has(command: string): boolean {
  return spawnSync(command, ['--version']).error === undefined;
}

function run(name: string, args: string[], env: Record<string, string> = {}) {
  const [command = '', ...first] =
    { mjs: [process.execPath], py: ['python3'], sh: ['sh'] }[name.split('.')[1] ?? ''] ?? [];
  const all = { ...process.env, STILLFRAME_URL: service.url, STILLFRAME_KEY: service.key, TMPDIR: dir, ...env };
  return new Promise<{ status: number; stdout: string; stderr: string }>((done) => {
    execFile(
      command,
      [...first, join(EXAMPLES, name), ...args],
      { cwd: dir, env: all, timeout: LIMIT_MS },
      (error, stdout, stderr) => {
        done({ status: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
  });
}

/** The part of an Authorization header that S3 would accept for the request. */
async function signatureOf(
  { method, path, headers }: ReceivedRequest,
  secretAccessKey: string,
): Promise<string | null> {
  const [, names = ''] = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '') ?? [];
  const signed = names
    .split(';')
    .flatMap((name) => (/^(host|x-amz-date)$/.test(name) ? [] : [[name, String(headers[name])] as [string, string]]));
  const given = { service: 's3', region: 'eu-west-1', datetime: String(headers['x-amz-date']), allHeaders: true };
  const signer = new AwsV4Signer({
    method,
    url: outside.origin + path,
    headers: signed,
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey,
    ...given,
  });
  return (await signer.sign()).headers.get('authorization');
}

const DONE = { status: 0, stderr: '' };

describe('the examples', () => {
  it.each(
    readdirSync(EXAMPLES).filter((name) => /\.(mjs|py|sh)$/.test(name) && !(name.endsWith('.py') && MISSING.python3)),
  )('%s prints its usage without arguments, and without the variables that it needs', async (name) => {
    for (const given of [run(name, []), run(name, ['https://example.com', 'x.png'], { STILLFRAME_KEY: '' })]) {
      const { status, stdout, stderr } = await given;
      expect({ isDone: status === 0, stdout }).toEqual({ isDone: false, stdout: '' });
      expect(stderr).toMatch(/^Usage: .*STILLFRAME_KEY.*\n$/);
    }
  });

  it('og-image.mjs makes a card of the title', async () => {
    expect(await run('og-image.mjs', ['Ends & <means>', 'card.png'])).toMatchObject(DONE);
    const card = sharp(join(dir, 'card.png'));
    expect(await card.metadata()).toMatchObject({ format: 'png', width: 1200, height: 630 });
    const { channels } = await card.stats();
    // White letters on the dark card.
    expect([channels[0]?.min, channels[0]?.max]).toEqual([0x11, 255]);
  });

  it.skipIf(MISSING.curl)(
    'nightly-archive.sh puts a PDF of each page into the bucket, in a request that S3 would accept',
    async () => {
      const secret = 'a-secret/of+the-bucket';
      const login = { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: secret };
      const s3 = { S3_ENDPOINT: outside.origin, S3_BUCKET: 'archive', ...login };
      const before = outside.requests.length;
      expect(await run('nightly-archive.sh', [url, `${url}prices?plan=small`], s3)).toMatchObject(DONE);
      const puts = outside.requests.slice(before);
      const host = new URL(url).host.replace(':', '_');
      const day = new Date().toISOString().slice(0, 8);
      expect(puts.map(({ method, path }) => `${method} ${path.replace(/-\d\d\//, '-DD/')}`)).toEqual([
        `PUT /archive/${day}DD/${host}_.pdf`,
        `PUT /archive/${day}DD/${host}_prices_plan_small.pdf`,
      ]);
      for (const put of puts) {
        expect(put.rawBody.subarray(0, 5).toString()).toBe('%PDF-');
        expect(put.headers['content-type']).toBe('application/pdf');
        expect(put.headers.authorization).toBe(await signatureOf(put, secret));
      }
      expect(readdirSync(dir).filter((name) => name.startsWith('tmp.'))).toEqual([]);
    },
  );

  it.skipIf(MISSING.curl)('nightly-archive.sh fails with the error of a page that cannot be captured', async () => {
    const failed = await run('nightly-archive.sh', ['http://10.0.0.1/'], {
      S3_ENDPOINT: outside.origin,
      S3_BUCKET: 'archive',
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
      AWS_SECRET_ACCESS_KEY: 'secret',
    });
    expect(failed.status).toBe(1);
    expect(failed.stderr).toContain('blocked_destination');
  });

  it('visual-check.mjs fails when the page has changed, and passes otherwise', async () => {
    expect(await run('visual-check.mjs', [url, 'home.png'])).toMatchObject({
      ...DONE,
      stdout: `${url} looks as before\n`,
    });
    expect(existsSync(join(dir, 'home.png'))).toBe(true);
    expect(await run('visual-check.mjs', [url, 'home.png'])).toMatchObject(DONE);
    color = 'teal';
    const changed = await run('visual-check.mjs', [url, 'home.png']);
    expect(changed).toMatchObject({ status: 1, stderr: '' });
    expect(changed.stdout).toMatch(/has changed: http:\/\/127\.0\.0\.1:\d+\/artifacts\//);
  });

  it.skipIf(MISSING.python3)('unfurl.py posts the picture as a block', async () => {
    const before = outside.requests.length;
    expect(await run('unfurl.py', [url], { SLACK_WEBHOOK_URL: outside.url('/services/T0/B0/x') })).toMatchObject(DONE);
    const [message] = outside.requests.slice(before);
    const payload = { text: url, blocks: [{ type: 'section' }, { type: 'image' }] };
    expect(message).toMatchObject({ method: 'POST', path: '/services/T0/B0/x', payload });
    const blocks = message?.payload.blocks as { image_url: string }[] | undefined;
    expect((await fetch(blocks?.[1]?.image_url ?? '')).headers.get('content-type')).toBe('image/png');
    // The API key stays with the server.
    expect(message?.headers.authorization).toBeUndefined();
  });

  it('agent.mjs shows the model the page, as text and as a picture, and prints its answer', async () => {
    const before = outside.requests.length;
    const model = { MODEL_URL: outside.url('/v1'), MODEL: 'a-model' };
    expect(await run('agent.mjs', [url, 'What does the small plan cost?'], model)).toEqual({
      ...DONE,
      stdout: 'Seven pounds.\n',
    });
    const [asked] = outside.requests.slice(before);
    const payload = { model: 'a-model', messages: [{ role: 'system' }, { role: 'user' }] };
    expect(asked).toMatchObject({ path: '/v1/chat/completions', payload });
    const { messages } = (asked?.payload ?? {}) as {
      messages: [object, { content: [{ text: string }, { image_url: { url: string } }] }];
    };
    const [text, image] = messages[1].content;
    expect(text.text).toContain('The small plan costs 7 pounds a month.');
    const [, base64 = ''] = image.image_url.url.split('base64,');
    expect(await sharp(Buffer.from(base64, 'base64')).metadata()).toMatchObject({
      format: 'jpeg',
      width: 1280,
      height: 720,
    });
  });

  it('are all listed in their README, and run here', () => {
    const [readme, tests] = [join(EXAMPLES, 'README.md'), import.meta.filename].map((file) =>
      readFileSync(file, 'utf8'),
    );
    for (const name of readdirSync(EXAMPLES).filter((file) => !['README.md', 'ci'].includes(file))) {
      expect(readme).toMatch(new RegExp(`\\(${name}[/)]`));
      // Templates and the examples for Python's frameworks have tests of their own.
      if (name.includes('.')) expect(tests).toContain(`run('${name}'`);
    }
    // ci-files.test.ts runs those.
    for (const name of readdirSync(join(EXAMPLES, 'ci'))) expect(readme).toContain(`(ci/${name})`);
  });
});
