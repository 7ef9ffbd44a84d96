import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Vault } from '../vault.js';
import { accountsTable } from './accounts.js';
import { apiKeysTable } from './api-keys.js';
import { artifactsTable } from './artifacts.js';
import type { Db, Orm } from './connect.js';
import { consoleAccessTable } from './console-access.js';
import { countersTable } from './counters.js';
import { deliveriesTable } from './deliveries.js';
import { jobsTable } from './jobs.js';
import { linkCreditsTable } from './link-credits.js';
import { marksTable } from './marks.js';
import { ordersTable } from './orders.js';
import { outcomesTable } from './outcomes.js';
import { receiversTable } from './receivers.js';
import { removalsTable } from './removals.js';
import { reservationsTable } from './reservations.js';
import { signingSecretsTable } from './signing-secrets.js';
import { turnsTable } from './turns.js';

export type Tables = ReturnType<typeof prepareTables>;

/** Every statement of the store, prepared once. */
export function prepareTables(db: Db, vault: Vault) {
  const orm: Orm = drizzle(db);
  const counters = countersTable(orm);
  const linkCredits = linkCreditsTable(orm);
  const receivers = receiversTable(orm);
  return {
    accounts: accountsTable(orm),
    apiKeys: apiKeysTable(orm),
    artifacts: artifactsTable(orm),
    consoleAccess: consoleAccessTable(orm),
    counters,
    deliveries: deliveriesTable(orm, vault, receivers),
    jobs: jobsTable(orm),
    linkCredits,
    marks: marksTable(orm),
    orders: ordersTable(orm, vault),
    receivers,
    outcomes: outcomesTable(orm),
    removals: removalsTable(orm),
    reservations: reservationsTable(orm, { counters, linkCredits }),
    signingSecrets: signingSecretsTable(orm, vault),
    turns: turnsTable(orm, counters),
  };
}
