import type { Store } from '../store/store.js';

export type { Account, ApiKey, NodeFacts, RecentJobs } from '../store/store.js';

/** The part of the store that the HTTP layer uses, directly or through functions of account/, capture/ and webhook/. */
export type AppStore = Pick<
  Store,
  | 'batchCaptures'
  | 'charge'
  | 'createAccount'
  | 'countConsoleSessions'
  | 'endConsoleAccess'
  | 'endConsoleSession'
  | 'exchangeConsoleLink'
  | 'earlierPictures'
  | 'findAccount'
  | 'findBatch'
  | 'findConsoleSession'
  | 'findDelivery'
  | 'findJob'
  | 'findJobByIdempotencyKey'
  | 'findKey'
  | 'findKeyByHash'
  | 'findOrders'
  | 'insertKey'
  | 'jobCounts'
  | 'linkCredits'
  | 'listAccounts'
  | 'listAllJobs'
  | 'listBatches'
  | 'listJobs'
  | 'listKeys'
  | 'nodes'
  | 'recentJobs'
  | 'redeliver'
  | 'revokeKey'
  | 'rotateSigningSecret'
  | 'setQueuePaused'
  | 'setQuota'
  | 'signingSecrets'
  | 'storageUse'
  | 'usage'
>;
