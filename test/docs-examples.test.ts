import { execFile, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { signedLink, verifyWebhook } from '../src/client/client.js';
import { toWebhookPayload } from '../src/contract/delivery.js';
import { aFinishedJob } from './webhook/job-factory.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const WEBHOOKS = readFileSync(join(ROOT, 'docs/webhooks.md'), 'utf8');
const run = promisify(execFile);

/** The block of a document in a language that contains some words. */
function block(document: string, language: string, words: string): string {
  const blocks = [...document.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, code = '']) => code);
  const found = blocks.find((code) => code.includes(words));
  if (found === undefined) throw new Error(`No ${language} example has "${words}".`);
  return found;
}

const has = (program: string) => spawnSync(program, ['--version']).error === undefined;

it('the library example of the README takes a picture as written', async () => {
  const site = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<h1>Example Domain</h1>'));
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.2', resolve));
  const directory = await mkdtemp(join(tmpdir(), 'stillframe-docs-'));
  try {
    const { port } = site.address() as AddressInfo;
    const program = block(README, 'js', 'openStillframe')
      .replace('https://example.com', `http://127.0.0.2:${port}`)
      .replace("'page.png'", JSON.stringify(join(directory, 'page.png')));
    const env = {
      ...process.env,
      STILLFRAME_ALLOW_DESTINATIONS: '127.0.0.2',
      STILLFRAME_DATA_DIR: directory,
      STILLFRAME_LISTS: 'false',
    };
    // From here, the package finds itself by its name.
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: ROOT, env });
    expect(stdout).toBe('2560 × 1440 px\n');
    expect((await readFile(join(directory, 'page.png'))).subarray(1, 4).toString()).toBe('PNG');
  } finally {
    site.close();
    await rm(directory, { recursive: true, force: true });
  }
});

const FIELDS = { url: "https://example.com/a b?x=(1)*'!~", key: 'key_1', expires: 1_893_456_000, full_page: true };
const CALL = { base: 'https://shots.example.com', secret: 'sf_sign_x' };

/** The same link as the client makes. */
async function expectedLink(): Promise<string> {
  const { url, key, expires, full_page } = FIELDS;
  const expiresIn = expires - Date.now() / 1000 + 0.1;
  return await signedLink({ url, full_page }, { baseUrl: CALL.base, keyId: key, signingSecret: CALL.secret, expiresIn });
}

it('the JavaScript of the README signs links as the client does', async () => {
  const call = `console.log(signedLink(${JSON.stringify(CALL.base)}, ${JSON.stringify(CALL.secret)}, ${JSON.stringify(FIELDS)}))`;
  const program = `${block(README, 'js', 'createHmac')}${call}`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program]);
  expect(stdout.trim()).toBe(await expectedLink());
});

it.skipIf(!has('python3'))('the Python of the README signs links as the client does', async () => {
  const fields = JSON.stringify({ ...FIELDS, full_page: 'true' });
  const call = `print(signed_link(${JSON.stringify(CALL.base)}, ${JSON.stringify(CALL.secret)}, ${fields}))`;
  const { stdout } = await run('python3', ['-c', `${block(README, 'python', 'signed_link')}${call}`]);
  expect(stdout.trim()).toBe(await expectedLink());
});

const BODY = block(WEBHOOKS, 'json', 'delivery_id');
const SECRET = 'a secret of the receiver';

function signatureOf(body: string, { secret = SECRET, ageSeconds = 0 } = {}): string {
  const time = Math.floor(Date.now() / 1000) - ageSeconds;
  return `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`;
}

it('the sample payload of the documentation has the fields of an event', async () => {
  const event = await verifyWebhook({ body: BODY, headers: { 'x-service-signature': signatureOf(BODY) }, secret: SECRET });
  expect(event).toMatchObject({ event: 'capture.completed', ok: true, data: { cdn_url: expect.stringContaining('/artifacts/') } });
  const sent = toWebhookPayload(aFinishedJob(), { deliveryId: 'dlv_1', generation: 1 }, { baseUrl: 'https://shots.example.com' });
  expect(Object.keys(event).sort()).toEqual(Object.keys(sent).sort());
});

/** How each language is asked whether a request is genuine: the arguments are the header, the body and the secret. */
const LANGUAGES: [name: string, program: string, command: (code: string) => string[]][] = [
  ['js', process.execPath, (code) => ['--input-type=module', '-e', `${code}\nconsole.log(isGenuine(...process.argv.slice(1)))`, '--']],
  ['python', 'python3', (code) => ['-c', `${code}\nimport sys\nprint(is_genuine(sys.argv[1], sys.argv[2].encode(), sys.argv[3]))`]],
  ['php', 'php', (code) => ['-r', `${code.replace('<?php', '')}\necho is_genuine($argv[1], $argv[2], $argv[3]) ? 'true' : 'false';`, '--']],
];

it.each(LANGUAGES.filter(([, program]) => has(program)))(
  'the %s example tells genuine requests from others',
  async (language, program, command) => {
    const code = block(WEBHOOKS, language, 'enuine');
    const ask = async (header: string, body = BODY) => {
      const { stdout } = await run(program, [...command(code), header, body, SECRET]);
      return stdout.trim().toLowerCase();
    };
    expect(await ask(signatureOf(BODY))).toBe('true');
    expect(await ask(signatureOf(BODY), `${BODY} `)).toBe('false');
    expect(await ask(signatureOf(BODY, { secret: 'another secret' }))).toBe('false');
    expect(await ask(signatureOf(BODY, { ageSeconds: 400 }))).toBe('false');
    expect(await ask(signatureOf(BODY, { ageSeconds: -400 }))).toBe('false');
    expect(await ask(`x${signatureOf(BODY)}`)).toBe('false');
    expect(await ask('')).toBe('false');
  },
);
