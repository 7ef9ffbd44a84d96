import { type Command, InvalidArgumentError } from 'commander';
import { ACCOUNT_NAME_PATTERN, ACCOUNT_NAME_RULE } from '../contract/pricing.js';
import { credits } from './credits.js';
import { OperatorError } from './operator-error.js';
import { addSettings } from './settings-flags.js';
import { table } from './table.js';
import { ensureDefaultAccount, print, withStore } from './with-store.js';

interface Json {
  json?: boolean;
}

/** Adds `stillframe accounts create | list | quota | usage`. */
export function addAccountsCommand(program: Command): void {
  const accounts = program.command('accounts').description('manage accounts, their credit quotas and usage');
  addCreate(accounts);
  addList(accounts);
  addQuota(accounts);
  addUsage(accounts);
}

function addCreate(accounts: Command): void {
  const create = accounts
    .command('create')
    .description('create an account')
    .argument('<name>', 'letters, digits, dot, underscore, hyphen', accountName)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  stillframe accounts create marketing');
  addSettings(create, ['dataDir']).action((name: string, options: Json, command: Command) =>
    withStore(
      command,
      async (store) => {
        await ensureDefaultAccount(store);
        const account = await store.createAccount(name, Date.now());
        if (account === null) throw new OperatorError(`An account "${name}" already exists.`);
        print(
          options.json,
          { id: account.id, name, quota: account.quota, created_at: account.createdAt },
          () => `Created ${name} (${account.id}).`,
        );
      },
      { creates: true },
    ),
  );
}

function addList(accounts: Command): void {
  const list = accounts
    .command('list')
    .description('list accounts')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  stillframe accounts list');
  addSettings(list, ['dataDir']).action((options: Json, command: Command) =>
    withStore(command, async (store) => {
      await ensureDefaultAccount(store);
      const all = await store.listAccounts();
      const rows = all.map((account) => ({ id: account.id, name: account.name, quota: account.quota, created_at: account.createdAt }));
      print(options.json, rows, () =>
        table(
          ['name', 'id', 'monthly credits'],
          rows.map((row) => [row.name, row.id, row.quota === null ? 'no limit' : String(row.quota)]),
        ),
      );
    }),
  );
}

function addQuota(accounts: Command): void {
  const quota = accounts
    .command('quota')
    .description("set an account's monthly credits")
    .argument('<name>', 'name of the account')
    .argument('<credits|none>', 'monthly credits, or none for no limit', credits)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  stillframe accounts quota marketing 5000');
  addSettings(quota, ['dataDir']).action((name: string, amount: number | 'none', options: Json, command: Command) =>
    withStore(command, async (store) => {
      await ensureDefaultAccount(store);
      const limit = amount === 'none' ? null : amount;
      if (!(await store.setQuota(name, limit))) throw unknownAccount(name);
      print(options.json, { account: name, quota: limit }, () => `${name}: ${limit === null ? 'no limit' : `${limit} credits a month`}.`);
    }),
  );
}

function addUsage(accounts: Command): void {
  const usage = accounts
    .command('usage')
    .description("show an account's credits of this month")
    .argument('<name>', 'name of the account')
    .option('--json', 'print {account, period, credits, reserved, quota}')
    .addHelpText('after', '\nExample:\n  stillframe accounts usage default --json');
  addSettings(usage, ['dataDir']).action((name: string, options: Json, command: Command) =>
    withStore(command, async (store) => {
      await ensureDefaultAccount(store);
      const account = await store.findAccount(name);
      if (account === null) throw unknownAccount(name);
      const used = await store.usage(account.id, Date.now());
      print(options.json, used, () => {
        const limit = used.quota === null ? 'no limit' : `of ${used.quota}`;
        return `${used.account}, ${used.period}: ${used.credits} credits used, ${used.reserved} reserved, ${limit}.`;
      });
    }),
  );
}

function unknownAccount(name: string): OperatorError {
  return new OperatorError(`There is no account "${name}". See: stillframe accounts list`);
}

function accountName(value: string): string {
  if (!ACCOUNT_NAME_PATTERN.test(value)) throw new InvalidArgumentError(`It must be ${ACCOUNT_NAME_RULE}.`);
  return value;
}
