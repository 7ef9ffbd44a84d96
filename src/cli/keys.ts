import { type Command, InvalidArgumentError, Option } from 'commander';
import { issueKey, newSigningSecret } from '../account/issue-key.js';
import { LINKS_SCOPE, SCOPES, type Scope } from '../contract/api-key.js';
import { credits } from './credits.js';
import { OperatorError, printable } from './operator-error.js';
import { addSettings } from './settings-flags.js';
import { table } from './table.js';
import { DEFAULT_ACCOUNT, ensureDefaultAccount, print, withStore } from './with-store.js';

interface CreateOptions {
  label: string;
  scope?: Scope[];
  linksOnly?: boolean;
  account: string;
  json?: boolean;
}

/**
 * Adds `stillframe keys create | list | revoke | signing-secret | links-limit`, which work while a server runs on the same data directory.
 */
export function addKeysCommand(program: Command): void {
  const keys = program.command('keys').description('create, list and revoke API keys, and limit what their links cost');
  addCreate(keys);
  addList(keys);
  addRevoke(keys);
  addSigningSecret(keys);
  addLinksLimit(keys);
}

function addCreate(keys: Command): void {
  const create = keys
    .command('create')
    .description('create a key and print its secret, which is shown only once')
    .requiredOption('--label <text>', 'what the key is used for, shown in lists')
    .option('--scope <scope>', `scope of the key: ${SCOPES.join(', ')}; repeat for more (default: all)`, collectScope)
    .addOption(new Option('--links-only', 'the key can sign links and do nothing else').conflicts('scope'))
    .option('--account <name>', 'account that the key belongs to', DEFAULT_ACCOUNT)
    .option('--json', 'print {id, label, account, scopes, secret, created_at}')
    .addHelpText('after', '\nExample:\n  stillframe keys create --label website --scope screenshot:write');
  addSettings(create, ['dataDir']).action((options: CreateOptions, command: Command) =>
    withStore(
      command,
      async (store) => {
        await ensureDefaultAccount(store);
        const key = await issueKey(store, {
          accountName: options.account,
          label: options.label,
          scopes: options.linksOnly === true ? [LINKS_SCOPE] : (options.scope ?? [...SCOPES]),
          now: Date.now(),
        });
        if (key === null) {
          throw new OperatorError(
            `There is no account "${options.account}". Create it with: stillframe accounts create ${options.account}`,
          );
        }
        const { id, label, accountName, scopes, secret, createdAt } = key;
        print(options.json, { id, label, account: accountName, scopes, secret, created_at: createdAt }, () => secret);
        if (!options.json)
          process.stderr.write(`Key ${id} (${label}, account ${accountName}). Keep the secret above: it is not shown again.\n`);
      },
      { creates: true },
    ),
  );
}

function addList(keys: Command): void {
  const list = keys
    .command('list')
    .description('list keys, without their secrets')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  stillframe keys list --json');
  addSettings(list, ['dataDir']).action((options: { json?: boolean }, command: Command) =>
    withStore(command, async (store) => {
      const [all, spent] = await Promise.all([store.listKeys(), store.linkCredits(Date.now())]);
      const rows = all.map((key) => ({
        id: key.id,
        label: key.label,
        account: key.accountName,
        scopes: key.scopes,
        prefix: key.prefix,
        created_at: key.createdAt,
        revoked_at: key.revokedAt,
        links_limit: key.linksLimit,
        link_credits: spent.get(key.id) ?? 0,
      }));
      print(options.json, rows, () => {
        const state = (revokedAt: number | null) => (revokedAt === null ? 'active' : 'revoked');
        return table(
          ['id', 'label', 'account', 'scopes', 'secret', 'state', 'links this month'],
          rows.map((row) => [
            ...[row.id, printable(row.label), row.account, row.scopes.join(' '), `${row.prefix}…`, state(row.revoked_at)],
            row.links_limit === null ? String(row.link_credits) : `${row.link_credits} of ${row.links_limit}`,
          ]),
        );
      });
    }),
  );
}

function addRevoke(keys: Command): void {
  const revoke = keys
    .command('revoke')
    .description('revoke a key: its next request is refused')
    .argument('<id-or-prefix>', 'id (key_…) or secret of the key, or at least the first 12 characters of either')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  stillframe keys revoke key_01JD3V8RZ0000000000000000');
  addSettings(revoke, ['dataDir']).action((idOrPrefix: string, options: { json?: boolean }, command: Command) =>
    withStore(command, async (store) => {
      const outcome = await store.revokeKey(idOrPrefix, Date.now());
      if ('problem' in outcome) {
        throw new OperatorError(
          outcome.problem === 'ambiguous'
            ? `More than one key begins with "${idOrPrefix}". Give a longer prefix, or the id from: stillframe keys list`
            : `No key has the id or prefix "${idOrPrefix}". See: stillframe keys list`,
        );
      }
      const { id, label } = outcome.revoked;
      print(options.json, { id, label, revoked: true }, () => `Revoked ${id} (${label}).`);
    }),
  );
}

function addSigningSecret(keys: Command): void {
  const signing = keys
    .command('signing-secret')
    .description("create or rotate a key's signing secret, which signs links; it is shown only once")
    .argument('<id>', 'key_… id')
    .option('--old-until <time>', 'when links signed with the previous secret stop working, ISO 8601 (default: at once)', instant)
    .option('--json', 'print {signing_secret}')
    .addHelpText('after', '\nExample:\n  stillframe keys signing-secret key_01K9Z8Y7X6W5V4T3S2R1Q0P9N8 --old-until 2030-01-31T00:00:00Z');
  addSettings(signing, ['dataDir']).action((id: string, options: { json?: boolean; oldUntil?: number }, command: Command) =>
    withStore(command, async (store) => {
      const secret = newSigningSecret();
      if (!(await store.rotateSigningSecret(id, secret, options.oldUntil ?? 0))) {
        throw new OperatorError(`No key has the id "${id}". See: stillframe keys list`);
      }
      print(options.json, { signing_secret: secret }, () => secret);
      if (!options.json) process.stderr.write('Keep the signing secret above: it is not shown again.\n');
    }),
  );
}

function addLinksLimit(keys: Command): void {
  const limit = keys
    .command('links-limit')
    .description("set the monthly credits that a key's links may cost, besides the quota of its account")
    .argument('<id>', 'key_… id')
    .argument('<credits>', 'monthly credits, or none for no limit', credits)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  stillframe keys links-limit key_01K9Z8Y7X6W5V4T3S2R1Q0P9N8 500');
  addSettings(limit, ['dataDir']).action((id: string, amount: number | 'none', options: { json?: boolean }, command: Command) =>
    withStore(command, async (store) => {
      const given = amount === 'none' ? null : amount;
      if (!(await store.setLinksLimit(id, given))) throw new OperatorError(`No key has the id "${id}". See: stillframe keys list`);
      print(
        options.json,
        { id, links_limit: given },
        () => `${id}: ${given === null ? 'no limit' : `${given} credits a month`} for links.`,
      );
    }),
  );
}

/** Parses a time to Unix ms. */
function instant(text: string): number {
  const time = Date.parse(text);
  if (!Number.isFinite(time)) throw new InvalidArgumentError('It must be a time such as 2030-01-31T00:00:00Z.');
  return time;
}

function collectScope(value: string, previous: Scope[] | undefined): Scope[] {
  const scope = SCOPES.find((known) => known === value);
  if (scope === undefined) throw new InvalidArgumentError(`It must be one of ${SCOPES.join(', ')}.`);
  return [...new Set([...(previous ?? []), scope])];
}
