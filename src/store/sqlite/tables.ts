import { accountsTable } from './accounts.js';
import { apiKeysTable } from './api-keys.js';
import { artifactsTable } from './artifacts.js';
import type { Db } from './connect.js';
import { countersTable } from './counters.js';
import { deliveriesTable } from './deliveries.js';
import { jobsTable } from './jobs.js';
import { marksTable } from './marks.js';
import { ordersTable } from './orders.js';
import { outcomesTable } from './outcomes.js';
import { receiversTable } from './receivers.js';
import { reservationsTable } from './reservations.js';
import { signingSecretsTable } from './signing-secrets.js';
import { turnsTable } from './turns.js';
import type { Vault } from './vault.js';

export type Tables = ReturnType<typeof prepareTables>;

/** Every statement of the store, prepared once. */
export function prepareTables(db: Db, vault: Vault) {
  const counters = countersTable(db);
  const receivers = receiversTable(db);
  return {
    accounts: accountsTable(db),
    apiKeys: apiKeysTable(db),
    artifacts: artifactsTable(db),
    counters,
    deliveries: deliveriesTable(db, vault, receivers),
    jobs: jobsTable(db),
    marks: marksTable(db),
    orders: ordersTable(db, vault),
    receivers,
    outcomes: outcomesTable(db),
    reservations: reservationsTable(db, counters),
    signingSecrets: signingSecretsTable(db, vault),
    turns: turnsTable(db, counters),
  };
}
