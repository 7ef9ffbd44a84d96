import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { clientTypes } from '../../scripts/client-types.js';

it("the client's types match the contract: run `node scripts/run-ts.mjs scripts/write-client-types.ts` after a change of a schema", async () => {
  expect(readFileSync(new URL('../../src/client/wire.ts', import.meta.url), 'utf8')).toBe(await clientTypes());
});
