import { CaptureError } from '../contract/capture-error.js';
import type { Log } from '../log.js';
import type { AccountStore } from '../store/store.js';
import { quotaExceeded } from './submit.js';

export interface ChargeDeps {
  store: Pick<AccountStore, 'charge'>;
  log: Log;
  now(): number;
}

/**
 * Charges credits for work without a job before it begins, so that concurrent requests do not exceed the quota of the account.
 * @returns what gives the credits back
 * @throws CaptureError `quota_exceeded`
 */
export async function charge(
  { store, log, now }: ChargeDeps,
  order: { accountId: string; price: number },
): Promise<() => Promise<void>> {
  const charged = { ...order, enqueuedAt: now() };
  const refusal = await store.charge(charged);
  if (refusal !== null) throw quotaExceeded(refusal, charged.enqueuedAt);
  return async () => {
    try {
      await store.charge({ ...charged, price: -charged.price });
    } catch (error) {
      log.error(
        { account_id: order.accountId, err: error },
        'the credits of a request that failed were not given back',
      );
    }
  };
}

const MEMORY_WAIT_MS = 20_000;

/** Waits for a share of the memory of captures; null where none are made. */
export type ReserveMemory = ((bytes: number, signal: AbortSignal) => Promise<Disposable>) | null;

/**
 * Waits for memory that captures leave, for a while.
 * @param options.consumer needs it, such as `a comparison`
 * @throws CaptureError `rate_limited`; the signal's reason
 */
export async function reserve(
  reserveMemory: ReserveMemory,
  { bytes, consumer, signal }: { bytes: number; consumer: string; signal: AbortSignal },
): Promise<Disposable | null> {
  try {
    return reserveMemory === null
      ? null
      : await reserveMemory(bytes, AbortSignal.any([signal, AbortSignal.timeout(MEMORY_WAIT_MS)]));
  } catch (cause) {
    signal.throwIfAborted();
    const message = `The captures that are running leave no memory for ${consumer}. Try again shortly.`;
    throw new CaptureError({ code: 'rate_limited', message, retryAfterSeconds: 5, cause });
  }
}
