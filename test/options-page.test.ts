import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { optionsPage } from '../scripts/write-options.js';

const page = readFileSync(new URL('../docs/options.md', import.meta.url), 'utf8');

it('is up to date: run `node scripts/run-ts.mjs scripts/write-options.ts` after a change of a request field', () => {
  expect(page).toBe(optionsPage());
});
