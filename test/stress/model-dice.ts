import type { AttemptOutcome, NewJob, Store } from '../../src/store/store.js';
import { aKey, aNewJob, NOON, someOptions } from '../store/factories.js';
import { seeded } from './seeded.js';

export interface ModelCaller {
  accountId: string;
  name: string;
  keyIds: string[];
}

/** An account with two keys. */
export async function aModelCaller(store: Store, name: string): Promise<ModelCaller> {
  const account = await store.createAccount(name, NOON);
  if (account === null) throw new Error('the name is taken');
  const keyIds = [(await aKey(store, account.id)).keyId, (await aKey(store, account.id)).keyId];
  return { accountId: account.id, name, keyIds };
}

export const SECRET = 's'.repeat(20);

/** All that is random in the model trial: the same seed, the same trial. */
export class Dice {
  /** In [0, 1). */
  readonly roll: () => number;

  constructor(seed: number) {
    this.roll = seeded(seed);
  }

  below(limit: number): number {
    return Math.floor(this.roll() * limit);
  }

  chance(probability: number): boolean {
    return this.roll() < probability;
  }

  anyOf<T>(items: readonly T[]): T | null {
    return items[this.below(items.length)] ?? null;
  }

  /** One of some rows, each as likely as its second column says. */
  byWeight<Row extends readonly [unknown, number, ...unknown[]]>(rows: readonly Row[]): Row {
    let rest = this.roll() * rows.reduce((sum, [, weight]) => sum + weight, 0);
    const picked = rows.find(([, weight]) => {
      rest -= weight;
      return rest < 0;
    });
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  }

  /** A submission that often equals an earlier one, in its idempotency key or its picture. */
  wish(callers: readonly ModelCaller[], now: number): NewJob {
    const caller = this.anyOf(callers);
    if (caller === null) throw new Error('no caller');
    return aNewJob(
      { accountId: caller.accountId, keyId: caller.keyIds[this.chance(0.9) ? 0 : 1] ?? '' },
      {
        mode: this.chance(0.5) ? 'sync' : 'async',
        idempotencyKey: this.chance(0.4) ? `k${this.below(200)}` : null,
        identity: `identity ${this.below(2)}`,
        cacheIdentity: this.chance(0.2) ? null : `page ${this.below(30)}`,
        cacheTtl: this.chance(0.2) ? 0 : 1 + this.below(20),
        options: someOptions({ timeout: 1_000 * (1 + this.below(4)) }),
        webhook: this.chance(0.4) ? { url: `https://r${this.below(5)}.example/`, secret: SECRET } : null,
        price: 1 + this.below(3),
        enqueuedAt: now,
      },
    );
  }

  outcome(now: number): AttemptOutcome {
    const roll = this.roll();
    if (roll < 0.6) return { kind: 'delivered', status: 200 };
    if (roll < 0.75) return { kind: 'failed', status: 400, error: 'answered 400' };
    return { kind: 'retry', status: null, error: 'reset', nextAttemptAt: now + this.below(1_000) };
  }
}
