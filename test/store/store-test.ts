import { test as base, onTestFinished } from 'vitest';
import { aCaller, aStore } from './factories.js';

/** A test with a store of its own, and with an account and its key, where it asks for them. */
export const test = base
  .extend('it', async () => {
    const it = await aStore();
    onTestFinished(() => it[Symbol.asyncDispose]());
    return it;
  })
  .extend('store', ({ it }) => it.store)
  .extend('user', ({ store }) => aCaller(store));
