import { issueKey, newSigningSecret } from '../../account/issue-key.js';
import type { Account, ApiKey } from '../../capture/app-store.js';
import { LINKS_SCOPE, SCOPES, type Scope } from '../../contract/api-key.js';
import { type CaptureError, notFound } from '../../contract/capture-error.js';
import { isId } from '../../contract/ids.js';
import { invalidField, type RequestIssue } from '../../contract/submission.js';
import { type Column, Copyable, pageOf, SelectField, Table, TextField } from './components.js';
import type { Form } from './form.js';
import { PostForm } from './layout.js';
import { amount, When } from './say.js';
import type { Answer, FormVisit, Visit } from './visit.js';

const LABEL_MAX_CHARS = 100;
const CHOICES: readonly Scope[] = [...SCOPES, LINKS_SCOPE];
const HOUR_MS = 3_600_000;
/** The choices of hours for which links that the previous signing secret has signed still work. */
const PREVIOUS_WORKS = { '0': 'no longer', '24': 'for 24 hours', '168': 'for 7 days', '720': 'for 30 days' };

/** API keys, newest first, and a form for a new one. */
export async function keysPage(visit: Visit): Promise<Answer> {
  return await show(visit, {});
}

/** Creates a key. Its secret is on the answer's page, and nowhere else. */
export async function createKey(visit: FormVisit): Promise<Answer> {
  const { services, form } = visit;
  const label = form.value('label').trim();
  const scopes = CHOICES.filter((scope) => form.values('scope').includes(scope));
  const issues = [
    ...(isLabel(label) ? [] : [{ path: 'label', message: `must be 1 to ${LABEL_MAX_CHARS} characters` }]),
    ...(scopes.length > 0 ? [] : [{ path: 'scope', message: 'must have at least one' }]),
  ];
  if (issues.length > 0) return await show(visit, { form, issues });
  const made = await issueKey(services.store, {
    accountName: form.value('account'),
    label,
    scopes,
    now: services.now(),
  });
  if (made === null)
    return await show(visit, { form, issues: [{ path: 'account', message: 'must be an account that exists' }] });
  const title = `Key “${made.label}” of the account ${made.accountName}. Keep its secret: it is not shown again.`;
  return await show(visit, { made: { title, secret: made.secret } });
}

/** Creates or replaces the secret that signs a key's links. It is on the answer's page, and nowhere else. */
export async function createSigningSecret(visit: FormVisit): Promise<Answer> {
  const { services, form } = visit;
  const hours = form.value('hours');
  if (!Object.hasOwn(PREVIOUS_WORKS, hours)) {
    throw invalidField('hours', `must be one of ${Object.keys(PREVIOUS_WORKS).join(', ')}`);
  }
  const key = await services.store.findKey(idOfKey(form));
  if (key === null || key.revokedAt !== null) throw noSuchKey();
  const secret = newSigningSecret();
  const previousUntil = services.now() + Number(hours) * HOUR_MS;
  if (!(await services.store.rotateSigningSecret(key.id, secret, previousUntil))) throw noSuchKey();
  const title = `Signing secret of the key “${key.label}” of the account ${key.accountName}. Keep it: it is not shown again.`;
  return await show(visit, { made: { title, secret } });
}

export async function revokeKey({ services, form }: FormVisit): Promise<Answer> {
  if (!('revoked' in (await services.store.revokeKey(idOfKey(form), services.now())))) throw noSuchKey();
  return { to: 'keys' };
}

function idOfKey(form: Form): string {
  const id = form.value('id');
  if (!isId('key', id)) throw invalidField('id', 'must be the id of a key');
  return id;
}

function noSuchKey(): CaptureError {
  return notFound('No such key');
}

/** Nothing that would confuse a list or a terminal. */
function isLabel(label: string): boolean {
  return label !== '' && label.length <= LABEL_MAX_CHARS && !/\p{Cc}|\p{Cs}/u.test(label);
}

interface Shown {
  form?: Form;
  issues?: RequestIssue[];
  made?: { title: string; secret: string };
}

async function show({ services, c, formToken }: Visit, { form, issues = [], made }: Shown): Promise<Answer> {
  const { store } = services;
  const now = services.now();
  const [keys, accounts, linkCredits] = await Promise.all([
    store.listKeys(),
    store.listAccounts(),
    store.linkCredits(now),
  ]);
  const page = pageOf([...keys].reverse(), 'keys', c.req.query('after'));
  return {
    title: 'Keys',
    section: 'keys',
    status: issues.length > 0 ? 400 : 200,
    body: (
      <>
        {made === undefined ? null : <NewSecret {...made} />}
        <NewKeyForm {...{ accounts, formToken, form, issues }} />
        <h2>All keys</h2>
        <KeyTable {...{ keys: page.items, linkCredits, formToken, now }} />
        {page.links}
      </>
    ),
  };
}

function NewSecret({ title, secret }: { title: string; secret: string }) {
  return (
    <section class="notice good" role="status">
      <p>
        <strong>{title}</strong>
      </p>
      <Copyable id="secret" text={secret} />
    </section>
  );
}

interface NewKeyProps {
  accounts: readonly Account[];
  formToken: string;
  form: Form | undefined;
  issues: readonly RequestIssue[];
}

function NewKeyForm({ accounts, formToken, form, issues }: NewKeyProps) {
  const problem = (path: string) => issues.find((issue) => issue.path === path)?.message ?? null;
  const chosen: readonly string[] = form?.values('scope') ?? SCOPES;
  return (
    <PostForm action="keys" token={formToken} class="card row">
      <TextField
        name="label"
        label="Label"
        value={form?.value('label') ?? ''}
        problem={problem('label')}
        hint="What the key is for"
      />
      <SelectField
        name="account"
        label="Account"
        choices={accounts.map(({ name }) => [name, name])}
        value={form?.value('account')}
        problem={problem('account')}
      />
      <fieldset class="field">
        <legend>Scopes</legend>
        {CHOICES.map((scope) => (
          <span class="choice">
            <input type="checkbox" id={scope} name="scope" value={scope} checked={chosen.includes(scope)} />
            <label for={scope}>{scope === LINKS_SCOPE ? `${scope} (signed links only)` : scope}</label>
          </span>
        ))}
        {problem('scope') === null ? null : <p class="problem">{problem('scope')}</p>}
      </fieldset>
      <button type="submit" class="primary">
        Create a key
      </button>
    </PostForm>
  );
}

const COLUMNS: readonly Column[] = [
  { name: 'Label' },
  { name: 'Account' },
  { name: 'Scopes' },
  { name: 'Secret' },
  { name: 'Use', unnamed: true },
];

interface KeyTableProps {
  keys: readonly ApiKey[];
  linkCredits: ReadonlyMap<string, number>;
  formToken: string;
  now: number;
}

function KeyTable({ keys, linkCredits, formToken, now }: KeyTableProps) {
  if (keys.length === 0) return <p class="card">No keys.</p>;
  const rows = keys.map((key) => [
    <>
      {key.label}
      <div class="hint">
        <code>{key.id}</code>, <When at={key.createdAt} now={now} />
      </div>
    </>,
    key.accountName,
    <>
      {key.scopes.join(', ')}
      <LinkCredits limit={key.linksLimit} used={linkCredits.get(key.id) ?? 0} />
    </>,
    <code>{key.prefix}…</code>,
    <Use {...{ apiKey: key, formToken, now }} />,
  ]);
  return <Table columns={COLUMNS} rows={rows} />;
}

/** Shows the cost of the links of a key, unless there is neither a limit nor a cost. */
function LinkCredits({ limit, used }: { limit: number | null; used: number }) {
  if (limit === null && used === 0) return null;
  return (
    <div class="hint">
      Links: {amount(used)} {limit === null ? 'credits' : `of ${amount(limit)} credits`} this month
    </div>
  );
}

/** Revoking takes two steps, since it cannot be undone. */
function Use({ apiKey, formToken, now }: { apiKey: ApiKey; formToken: string; now: number }) {
  if (apiKey.revokedAt !== null) {
    return (
      <>
        <span class="state">revoked</span> <When at={apiKey.revokedAt} now={now} />
      </>
    );
  }
  return (
    <div class="use">
      <a href={`jobs?key=${apiKey.id}`}>Jobs</a>
      <details>
        <summary>
          Signing secret<span class="unseen"> of {apiKey.label}</span>
        </summary>
        <PostForm action="signing-secret" token={formToken}>
          <input type="hidden" name="id" value={apiKey.id} />
          <SelectField
            name="hours"
            id={`hours-${apiKey.id}`}
            label="Links of the previous one, if any, work"
            choices={Object.entries(PREVIOUS_WORKS).reverse()}
          />
          <button type="submit">
            Create a signing secret<span class="unseen"> for {apiKey.label}</span>
          </button>
        </PostForm>
      </details>
      <details class="confirm">
        <summary>
          Revoke<span class="unseen"> {apiKey.label}</span>
        </summary>
        <PostForm action="revoke-key" token={formToken}>
          <input type="hidden" name="id" value={apiKey.id} />
          <button type="submit" class="danger">
            Revoke {apiKey.label} for good
          </button>
        </PostForm>
      </details>
    </div>
  );
}
