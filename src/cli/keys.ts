import { type Command, InvalidArgumentError, Option } from 'commander';
import { issueKey, newSigningSecret } from '../account/issue-key.js';
import { LINKS_SCOPE, SCOPES, type Scope } from '../contract/api-key.js';
import { OperatorError, printable, printLine, UsageError } from './operator-error.js';
import {
  addStoreCommand,
  credits,
  DEFAULT_ACCOUNT,
  describeCredits,
  ensureDefaultAccount,
  type Json,
  onStore,
  print,
  table,
} from './with-store.js';

interface CreateOptions extends Json {
  label: string;
  scope?: Scope[];
  linksOnly?: boolean;
  account: string;
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
  addStoreCommand(keys, {
    name: 'create',
    description: 'create a key and print its secret, which is shown only once',
    json: 'print {id, label, account, scopes, secret, created_at}',
    example: 'keys create --label website --scope screenshot:write',
  })
    .requiredOption('--label <text>', 'what the key is used for, shown in lists')
    .option('--scope <scope>', `scope of the key: ${SCOPES.join(', ')}; repeat for more (default: all)`, collectScope)
    .addOption(new Option('--links-only', 'the key can sign links and do nothing else').conflicts('scope'))
    .option('--account <name>', 'account that the key belongs to', DEFAULT_ACCOUNT)
    .action(
      onStore(
        async (store, { label, scope = [...SCOPES], linksOnly, account: accountName, json }: CreateOptions) => {
          await ensureDefaultAccount(store);
          const key = await issueKey(store, {
            accountName,
            label,
            scopes: linksOnly ? [LINKS_SCOPE] : scope,
            now: Date.now(),
          });
          if (key === null) {
            throw new OperatorError(
              `There is no account "${accountName}". Create it with: stillframe accounts create ${accountName}`,
            );
          }
          const { id, scopes, secret, createdAt } = key;
          print(
            json,
            { id, label: key.label, account: key.accountName, scopes, secret, created_at: createdAt },
            () => secret,
          );
          if (!json)
            printLine(`Key ${id} (${label}, account ${accountName}). Keep the secret above: it is not shown again.`);
        },
        { creates: true },
      ),
    );
}

function addList(keys: Command): void {
  addStoreCommand(keys, {
    name: 'list',
    description: 'list keys, without their secrets',
    example: 'keys list --json',
  }).action(
    onStore(async (store, { json }: Json) => {
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
      print(json, rows, () =>
        table(
          ['id', 'label', 'account', 'scopes', 'secret', 'state', 'links this month'],
          rows.map((row) => [
            row.id,
            printable(row.label),
            row.account,
            row.scopes.join(' '),
            `${row.prefix}…`,
            row.revoked_at === null ? 'active' : 'revoked',
            row.links_limit === null ? String(row.link_credits) : `${row.link_credits} of ${row.links_limit}`,
          ]),
        ),
      );
    }),
  );
}

function addRevoke(keys: Command): void {
  addStoreCommand(keys, {
    name: 'revoke',
    description: 'revoke a key: its next request is refused',
    example: 'keys revoke key_01JD3V8RZ0000000000000000',
  })
    .argument('<id-or-prefix>', 'id (key_…) or secret of the key, or at least the first 12 characters of either')
    .action(
      onStore(async (store, idOrPrefix: string, { json }: Json) => {
        const outcome = await store.revokeKey(idOrPrefix, Date.now());
        if ('problem' in outcome) {
          throw new OperatorError(
            outcome.problem === 'ambiguous'
              ? `More than one key begins with "${idOrPrefix}". Give a longer prefix, or the id from: stillframe keys list`
              : `No key has the id or prefix "${idOrPrefix}". See: stillframe keys list`,
          );
        }
        const { id, label } = outcome.revoked;
        print(json, { id, label, revoked: true }, () => `Revoked ${id} (${label}).`);
      }),
    );
}

interface SigningOptions extends Json {
  rotate?: boolean;
  oldUntil?: number;
  endOlder?: boolean;
}

function addSigningSecret(keys: Command): void {
  addStoreCommand(keys, {
    name: 'signing-secret',
    description: "create a key's signing secret, which signs links, or replace it with --rotate; it is shown only once",
    json: 'print {signing_secret, old_until}',
    example: 'keys signing-secret key_01K9Z8Y7X6W5V4T3S2R1Q0P9N8 --rotate --old-until 2030-01-31T00:00:00Z',
  })
    .argument('<id>', 'key_… id')
    .option('--rotate', 'replace the signing secret that the key has')
    .option(
      '--old-until <time>',
      'with --rotate, when links signed with the old secret stop working: ISO 8601, or now (default: in 30 days)',
      instant,
    )
    .option('--end-older', 'with --rotate, also end the links of an even older secret that is still valid')
    .action(
      onStore(async (store, id: string, { json, rotate, oldUntil, endOlder }: SigningOptions) => {
        if (!rotate && (oldUntil !== undefined || endOlder))
          throw new UsageError('--old-until and --end-older need --rotate.');
        const now = Date.now();
        const key = await store.findKey(id);
        if (key === null) throw unknownKey(id);
        if (key.revokedAt !== null)
          throw new OperatorError(`The key ${id} is revoked, so its links do not work. Use another key.`);
        const [current, older] = await store.signingSecrets(id, now);
        if (current !== undefined && !rotate) throw new OperatorError(HAS_SECRET);
        if (older !== undefined && !endOlder) throw new OperatorError(HAS_OLDER_SECRET);
        const secret = newSigningSecret();
        // Links of a secret that another command makes at this moment stay valid too.
        const until = oldUntil ?? now + OLD_SECRET_MS;
        if (!(await store.rotateSigningSecret(id, secret, until))) throw unknownKey(id);
        print(json, { signing_secret: secret, old_until: current === undefined ? null : until }, () => secret);
        if (json) return;
        printLine('Keep the signing secret above: it is not shown again.');
        if (current !== undefined) printLine(describeOld(until, now));
      }),
    );
}

const OLD_SECRET_MS = 30 * 86_400_000;

const HAS_SECRET =
  'The key has a signing secret already, and keeps it. To replace it, add --rotate: links signed with the old one then work for 30 more days, or until the time of --old-until.';
const HAS_OLDER_SECRET =
  'Links of the secret before the current one still work, and would stop working now: a key has at most two valid secrets. Rotate later, or add --end-older.';

function describeOld(until: number, now: number): string {
  if (until <= now) return 'Links signed with the old secret do not work any longer.';
  return `Links signed with the old secret work until ${new Date(until).toISOString()}. Sign them again before then.`;
}

function addLinksLimit(keys: Command): void {
  addStoreCommand(keys, {
    name: 'links-limit',
    description: "set the monthly credits that a key's links may cost, besides the quota of its account",
    example: 'keys links-limit key_01K9Z8Y7X6W5V4T3S2R1Q0P9N8 500',
  })
    .argument('<id>', 'key_… id')
    .argument('<credits>', 'monthly credits, or none for no limit', credits)
    .action(
      onStore(async (store, id: string, limit: number | null, { json }: Json) => {
        if (!(await store.setLinksLimit(id, limit))) throw unknownKey(id);
        print(json, { id, links_limit: limit }, () => `${id}: ${describeCredits(limit)} for links.`);
      }),
    );
}

function unknownKey(id: string): OperatorError {
  return new OperatorError(`No key has the id "${id}". See: stillframe keys list`);
}

/** Parses a time to Unix ms. */
function instant(text: string): number {
  const time = text === 'now' ? Date.now() : Date.parse(text);
  if (!Number.isFinite(time)) throw new InvalidArgumentError('It must be a time such as 2030-01-31T00:00:00Z, or now.');
  return time;
}

function collectScope(value: string, previous: Scope[] | undefined): Scope[] {
  const scope = SCOPES.find((known) => known === value);
  if (scope === undefined) throw new InvalidArgumentError(`It must be one of ${SCOPES.join(', ')}.`);
  return [...new Set([...(previous ?? []), scope])];
}
