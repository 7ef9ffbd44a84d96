import type { Account } from '../../capture/app-store.js';
import { readUsage } from '../../capture/lookup.js';
import { notFound } from '../../contract/capture-error.js';
import { ACCOUNT_NAME_PATTERN, ACCOUNT_NAME_RULE, CREDITS_PATTERN, type WireUsage } from '../../contract/pricing.js';
import { invalidField } from '../../contract/submission.js';
import { pageOf, TextField } from './components.js';
import { PostForm } from './layout.js';
import { amount, instant } from './say.js';
import type { Answer, FormVisit, Visit } from './visit.js';

/** Accounts with this month's credits and jobs. */
export async function accountsPage(visit: Visit): Promise<Answer> {
  return await show(visit);
}

export async function createAccount(visit: FormVisit): Promise<Answer> {
  const { services, form } = visit;
  const name = form.value('name').trim();
  if (!ACCOUNT_NAME_PATTERN.test(name)) return await show(visit, { name, problem: `must be ${ACCOUNT_NAME_RULE}` });
  if ((await services.store.createAccount(name, services.now())) !== null) return { to: 'accounts' };
  return await show(visit, { name, problem: 'is taken by another account' });
}

/** An empty field lifts the quota. */
export async function setQuota({ services, form }: FormVisit): Promise<Answer> {
  const text = form.value('quota').trim();
  if (text !== '' && !CREDITS_PATTERN.test(text)) {
    throw invalidField('quota', 'must be a whole number of credits, or empty for no limit');
  }
  if (!(await services.store.setQuota(form.value('name'), text === '' ? null : Number(text))))
    throw notFound('No such account');
  return { to: 'accounts' };
}

async function show({ services, c, formToken }: Visit, refused?: { name: string; problem: string }): Promise<Answer> {
  const page = pageOf(await services.store.listAccounts(), 'accounts', c.req.query('after'));
  const usages = await Promise.all(page.items.map(({ id }) => readUsage(services.store, id, services.now())));
  return {
    title: 'Accounts',
    section: 'accounts',
    status: refused === undefined ? 200 : 400,
    body: (
      <>
        <PostForm action="accounts" token={formToken} class="card row">
          <TextField
            name="name"
            label="Name of a new account"
            value={refused?.name ?? ''}
            problem={refused?.problem}
            hint="Letters, digits, dots, underscores, hyphens"
          />
          <button type="submit" class="primary">
            Create an account
          </button>
        </PostForm>
        <h2>All accounts</h2>
        <div class="cards wide-cards">
          {page.items.map((account, i) => {
            const usage = usages[i];
            return usage === undefined ? null : <AccountCard {...{ account, usage, formToken }} />;
          })}
        </div>
        {page.links}
      </>
    ),
  };
}

function AccountCard({ account, usage, formToken }: { account: Account; usage: WireUsage; formToken: string }) {
  const { name, id, quota } = account;
  const ended = Object.entries(usage.errors);
  return (
    <section class="card">
      <h3>{name}</h3>
      <p>
        {amount(usage.credits)} {quota === null ? 'credits' : `of ${amount(quota)} credits`} in {usage.period}
        {usage.reserved === 0 ? '' : `, ${amount(usage.reserved)} reserved`}
      </p>
      {quota === null ? null : (
        <progress max={Math.max(1, quota)} value={Math.min(quota, usage.credits)} aria-label={`Credits of ${name}`} />
      )}
      <p class="hint">
        {amount(usage.jobs.completed)} completed, {amount(usage.jobs.failed)} failed, {amount(usage.jobs.active)}{' '}
        running. Starts anew on {instant(usage.resets_at)}.
      </p>
      {ended.length === 0 ? null : (
        <details>
          <summary>Failures by code</summary>
          <ul>
            {ended.map(([code, count]) => (
              <li>
                <code>{code}</code> {amount(count)}
              </li>
            ))}
          </ul>
        </details>
      )}
      <PostForm action="quota" token={formToken} class="row">
        <input type="hidden" name="name" value={name} />
        <TextField
          id={`quota-${id}`}
          name="quota"
          label="Credits per month"
          value={quota === null ? '' : String(quota)}
          hint="Empty: no limit"
        />
        <button type="submit">
          Set<span class="unseen"> the quota of {name}</span>
        </button>
      </PostForm>
    </section>
  );
}
