import type { StoredJobState } from '../../src/contract/job.js';
import type { NewJob } from '../../src/store/store.js';

/** What the model holds; see model-state.ts. */

export interface ModelDelivery {
  event: string | null;
  state: 'pending' | 'delivered' | 'failed';
  generation: number;
  attempts: number;
  dueAt: number | null;
  claimedUntil: number | null;
  origin: string;
}

export interface ModelJob {
  order: number;
  wish: NewJob;
  state: StoredJobState;
  lane: 'prioritized' | 'waiting';
  leader: string | null;
  attempts: number;
  dueAt: number;
  leaseUntil: number;
  worker: string | null;
  firstClaimedAt: number | null;
  claimedAt: number;
  bookedMs: number;
  endedAt: number | null;
  renderedAt: number | null;
  artifact: string | null;
  cached: boolean;
  error: string | null;
  credits: 'pending' | 'settled' | 'released';
  delivery: ModelDelivery | null;
}

export interface ModelArtifact {
  bytes: number;
  createdAt: number;
  accountId: string;
  gone: boolean;
}
