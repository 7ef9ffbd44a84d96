import { type Command, InvalidArgumentError } from 'commander';
import { ACCOUNT_NAME_PATTERN, ACCOUNT_NAME_RULE } from '../contract/pricing.js';
import { OperatorError } from './operator-error.js';
import {
  addStoreCommand,
  credits,
  describeCredits,
  ensureDefaultAccount,
  type Json,
  onStore,
  print,
  table,
} from './with-store.js';

/** Adds `stillframe accounts create | list | quota | usage`. */
export function addAccountsCommand(program: Command): void {
  const accounts = program.command('accounts').description('manage accounts, their credit quotas and usage');
  addStoreCommand(accounts, { name: 'create', description: 'create an account', example: 'accounts create marketing' })
    .argument('<name>', 'letters, digits, dot, underscore, hyphen', accountName)
    .action(
      onStore(
        async (store, name: string, { json }: Json) => {
          await ensureDefaultAccount(store);
          const account = await store.createAccount(name, Date.now());
          if (account === null) throw new OperatorError(`An account "${name}" already exists.`);
          const { id, quota, createdAt } = account;
          print(json, { id, name, quota, created_at: createdAt }, () => `Created ${name} (${id}).`);
        },
        { creates: true },
      ),
    );
  addStoreCommand(accounts, { name: 'list', description: 'list accounts', example: 'accounts list' }).action(
    onStore(async (store, { json }: Json) => {
      await ensureDefaultAccount(store);
      const all = await store.listAccounts();
      const rows = all.map(({ id, name, quota, createdAt }) => ({ id, name, quota, created_at: createdAt }));
      print(json, rows, () =>
        table(
          ['name', 'id', 'monthly credits'],
          rows.map(({ name, id, quota }) => [name, id, quota === null ? 'no limit' : String(quota)]),
        ),
      );
    }),
  );
  addStoreCommand(accounts, {
    name: 'quota',
    description: "set an account's monthly credits",
    example: 'accounts quota marketing 5000',
  })
    .argument('<name>', 'name of the account')
    .argument('<credits|none>', 'monthly credits, or none for no limit', credits)
    .action(
      onStore(async (store, name: string, quota: number | null, { json }: Json) => {
        await ensureDefaultAccount(store);
        if (!(await store.setQuota(name, quota))) throw unknownAccount(name);
        print(json, { account: name, quota }, () => `${name}: ${describeCredits(quota)}.`);
      }),
    );
  addStoreCommand(accounts, {
    name: 'usage',
    description: "show an account's credits of this month",
    json: 'print {account, period, credits, reserved, quota}',
    example: 'accounts usage default --json',
  })
    .argument('<name>', 'name of the account')
    .action(
      onStore(async (store, name: string, { json }: Json) => {
        await ensureDefaultAccount(store);
        const account = await store.findAccount(name);
        if (account === null) throw unknownAccount(name);
        const used = await store.usage(account.id, Date.now());
        print(json, used, () => {
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
