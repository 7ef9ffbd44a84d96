import { execFile, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { signedLink, verifyWebhook } from '../src/client/client.js';
import { toWebhookPayload } from '../src/contract/delivery.js';
import { exampleWith, ROOT, readDocument } from './fixtures/documents.js';
import { aCompletedJob } from './http/fake-services.js';
import { rememberBrowsers } from './render/install/any-browser.js';

const API = readDocument('docs/api.md');
const WEBHOOKS = readDocument('docs/webhooks.md');
const run = promisify(execFile);

const has = (program: string) => spawnSync(program, ['--version']).error === undefined;

it('the example of captures in your own process takes a picture as written', async () => {
  const site = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<h1>Example Domain</h1>'),
  );
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.2', resolve));
  const directory = await mkdtemp(join(tmpdir(), 'stillframe-docs-'));
  rememberBrowsers(directory);
  try {
    const { port } = site.address() as AddressInfo;
    const program = exampleWith(readDocument('docs/library.md'), 'js', 'openStillframe')
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
  return await signedLink(
    { url, full_page },
    { baseUrl: CALL.base, keyId: key, signingSecret: CALL.secret, expiresIn },
  );
}

it('the JavaScript of the documentation signs links as the client does', async () => {
  const call = `console.log(signedLink(${JSON.stringify(CALL.base)}, ${JSON.stringify(CALL.secret)}, ${JSON.stringify(FIELDS)}))`;
  const program = `${exampleWith(API, 'js', 'createHmac')}${call}`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program]);
  expect(stdout.trim()).toBe(await expectedLink());
});

it.skipIf(!has('python3'))('the Python of the documentation signs links as the client does', async () => {
  const fields = JSON.stringify({ ...FIELDS, full_page: 'true' });
  const call = `print(signed_link(${JSON.stringify(CALL.base)}, ${JSON.stringify(CALL.secret)}, ${fields}))`;
  const { stdout } = await run('python3', ['-c', `${exampleWith(API, 'python', 'signed_link')}${call}`]);
  expect(stdout.trim()).toBe(await expectedLink());
});

const BODY = exampleWith(WEBHOOKS, 'json', 'delivery_id');
const SECRET = 'a secret of the receiver';

function signatureOf(body: string, { secret = SECRET, ageSeconds = 0 } = {}): string {
  const time = Math.floor(Date.now() / 1000) - ageSeconds;
  return `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`;
}

it('the sample payload of the documentation has the fields of an event', async () => {
  const event = await verifyWebhook({
    body: BODY,
    headers: { 'x-service-signature': signatureOf(BODY) },
    secret: SECRET,
  });
  expect(event).toMatchObject({
    event: 'capture.completed',
    ok: true,
    data: { cdn_url: expect.stringContaining('/artifacts/') },
  });
  const sent = toWebhookPayload(
    aCompletedJob(),
    { deliveryId: 'dlv_1', generation: 1 },
    { baseUrl: 'https://shots.example.com' },
  );
  expect(Object.keys(event).sort()).toEqual(Object.keys(sent).sort());
});

const ASK_JS = `for (let given = process.argv.slice(1); given.length > 0; ) console.log(isGenuine(...given.splice(0, 3)));`;
const ASK_PYTHON = `import sys
given = sys.argv[1:]
for at in range(0, len(given), 3):
    print(is_genuine(given[at], given[at + 1].encode(), given[at + 2]))`;
const ASK_PHP = `foreach (array_chunk(array_slice($argv, 1), 3) as $given) echo is_genuine(...$given) ? 'true' : 'false', "\n";`;

/** How each language is asked whether requests are genuine: the arguments are the header, the body and the secret of each. */
const LANGUAGES: [name: string, program: string, command: (code: string) => string[]][] = [
  ['js', process.execPath, (code) => ['--input-type=module', '-e', `${code}\n${ASK_JS}`, '--']],
  ['python', 'python3', (code) => ['-c', `${code}\n${ASK_PYTHON}`]],
  ['php', 'php', (code) => ['-r', `${code.replace('<?php', '')}\n${ASK_PHP}`, '--']],
];

it.each(LANGUAGES.filter(([, program]) => has(program)))(
  'the %s example distinguishes genuine requests from others',
  async (language, program, command) => {
    const code = exampleWith(WEBHOOKS, language, 'enuine');
    const requests: [header: string, body: string, isGenuine: string][] = [
      [signatureOf(BODY), BODY, 'true'],
      [signatureOf(BODY), `${BODY} `, 'false'],
      [signatureOf(BODY, { secret: 'another secret' }), BODY, 'false'],
      [signatureOf(BODY, { ageSeconds: 400 }), BODY, 'false'],
      [signatureOf(BODY, { ageSeconds: -400 }), BODY, 'false'],
      [`x${signatureOf(BODY)}`, BODY, 'false'],
      ['', BODY, 'false'],
    ];
    const given = requests.flatMap(([header, body]) => [header, body, SECRET]);
    const { stdout } = await run(program, [...command(code), ...given]);
    expect(stdout.trim().toLowerCase().split('\n')).toEqual(requests.map(([, , isGenuine]) => isGenuine));
  },
);
