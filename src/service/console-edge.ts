import { endConsoleSession, findConsoleSession, openConsoleSession } from '../account/console-access.js';
import { issueKey } from '../account/issue-key.js';
import { newSigningSecret } from '../account/signing-secret.js';
import { readUsage } from '../capture/read-usage.js';
import type { ConsoleEdge } from '../http/console-edge.js';
import type { NodeFacts, Store } from '../store/store.js';

export interface ConsoleEdgeParts {
  store: Store;
  loopbackOnly: boolean;
  maxStorageBytes: number;
  /** Of this server. */
  facts(): NodeFacts;
  startedAt: number;
  /** Called when the queue was paused or resumed. */
  onQueueChanged(): void;
  now(): number;
}

/** Implements what the console needs with the store. */
export function consoleEdge({
  store,
  loopbackOnly,
  maxStorageBytes,
  facts,
  startedAt,
  onQueueChanged,
  now,
}: ConsoleEdgeParts): ConsoleEdge {
  return {
    loopbackOnly,
    now,
    openSession: (linkSecret) => openConsoleSession(store, linkSecret, now()),
    findSession: (secret) => findConsoleSession(store, secret, now()),
    endSession: (secret) => endConsoleSession(store, secret),
    endAllSessions: async () => void (await store.endConsoleAccess()),
    countSessions: () => store.countConsoleSessions(now()),
    listJobs: ({ keyId, ...page }) => (keyId === null ? store.listAllJobs(page) : store.listJobs(keyId, page)),
    findJob: (id) => store.findJob(id),
    findOrders: (jobIds) => store.findOrders(jobIds),
    listKeys: () => store.listKeys(),
    linkCredits: () => store.linkCredits(now()),
    findKey: (id) => store.findKey(id),
    createKey: (wish) => issueKey(store, { ...wish, now: now() }),
    async newSigningSecret(keyId, previousUntil) {
      const secret = newSigningSecret();
      return (await store.rotateSigningSecret(keyId, secret, previousUntil)) ? secret : null;
    },
    revokeKey: async (id) => 'revoked' in (await store.revokeKey(id, now())),
    listAccounts: () => store.listAccounts(),
    createAccount: async (name) => (await store.createAccount(name, now())) !== null,
    setQuota: (name, quota) => store.setQuota(name, quota),
    readUsage: (accountId) => readUsage(store, accountId, now()),
    async setQueuePaused(paused) {
      await store.setQueuePaused(paused);
      onQueueChanged();
    },
    storageUse: async () => ({ ...(await store.storageUse()), max: maxStorageBytes }),
    async nodes() {
      const shared = await store.nodes();
      return shared.length > 0 ? shared : [{ id: 'this', startedAt, facts: facts() }];
    },
  };
}
