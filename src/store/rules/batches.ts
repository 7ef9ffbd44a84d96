/** Decisions about batches. */
import { BATCH_CAPTURES_MAX, BATCH_CAPTURES_OF_ACCOUNT_MAX } from '../../contract/limits.js';
import { type BatchRow, toBatch } from '../batches.js';
import type { BatchAcceptance, NewBatch } from '../store.js';
import type { Vault } from '../vault.js';

/** Answers a batch whose idempotency key belongs to a known one. */
export function answerKnownBatch(vault: Vault, batch: NewBatch, known: BatchRow): BatchAcceptance {
  const sameKey = known.keyId === batch.keyId;
  const isRemoved = known.removedAt !== null;
  if (!sameKey || isRemoved || !vault.matches('identity', batch.identity, known.identityDigest))
    return { kind: 'conflict', sameKey, isRemoved };
  return { kind: 'replayed', batch: toBatch(known) };
}

/** Whether so many more captures of batches would be too many, beside those that have not ended. */
export function isTooMuch(more: number, { all, ofAccount }: { all: number; ofAccount: number }): boolean {
  return all + more > BATCH_CAPTURES_MAX || ofAccount + more > BATCH_CAPTURES_OF_ACCOUNT_MAX;
}
