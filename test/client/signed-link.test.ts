import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { signedLink } from '../../src/client/client.js';
import { canonicalQuery, sign } from '../../src/client/signatures.js';
import { NO_LINK_FIELDS } from '../../src/client/wire.js';
import { isLinkField, isSignedBy, readQuery, readSignedQuery } from '../../src/contract/render-link.js';
import { requestFields } from '../../src/contract/request-fields.js';

const { secret, vectors } = JSON.parse(readFileSync('docs/render-links.json', 'utf8')) as {
  secret: string;
  vectors: { name: string; query: string; canonical: string; signature: string }[];
};
const SIGNING = { baseUrl: 'https://shots.example.com/', keyId: 'key_1', signingSecret: 'sf_sign_x', expiresIn: 60 };

it.each(vectors)('a link is signed as the service signs it: $name', async ({ query, canonical, signature }) => {
  expect(canonicalQuery(readQuery(query) ?? [])).toBe(canonical);
  expect(await sign(secret, canonical)).toBe(signature);
});

it('a link of nested fields and lists is accepted by the service', async () => {
  const fields = {
    viewport: { width: 800 },
    hide_selectors: ['.b', '.a'],
    full_page: true,
    resize: { width: 640 },
    clip: undefined,
  };
  const link = await signedLink({ url: "https://münchen.example/a b?x=1&y=(2)*'!~", ...fields }, SIGNING);
  const { origin, pathname, search } = new URL(link);
  expect([origin, pathname]).toEqual(['https://shots.example.com', '/v1/render']);
  const pairs = readQuery(search.slice(1)) ?? [];
  expect(isSignedBy(readSignedQuery(search.slice(1)), ['sf_sign_x'])).toBe(true);
  expect(pairs.filter(([name]) => /width|hide|clip/.test(name))).toEqual([
    ['hide_selectors', '.b'],
    ['hide_selectors', '.a'],
    ['resize.width', '640'],
    ['viewport.width', '800'],
  ]);
  const expires = Number(pairs.find(([name]) => name === 'expires')?.[1]);
  expect(Math.abs(expires - Date.now() / 1000 - 60)).toBeLessThan(25);
});

it('refuses what a link must not have, the same as the service does', async () => {
  expect(NO_LINK_FIELDS).toEqual(Object.keys(requestFields).filter((name) => !isLinkField(name)));
  const careless = { url: 'https://example.com', headers: { authorization: 'x' } };
  const told = { code: 'invalid_request', message: expect.stringContaining('headers') };
  await expect(signedLink(careless, SIGNING)).rejects.toMatchObject(told);
  for (const speakers of [[{ name: 'Ada' }], ['Ada', { name: 'Bob' }], [['Ada']]])
    await expect(signedLink({ template: 'card', data: { speakers } }, SIGNING)).rejects.toMatchObject({
      code: 'invalid_request',
      message: '`data.speakers` is a list of objects, which a link cannot have.',
    });
  await expect(signedLink({ url: 'https://example.com' }, { ...SIGNING, expiresIn: Number.NaN })).rejects.toThrow(
    /expiresIn/,
  );
});
