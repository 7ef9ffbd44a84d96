import type { ApiKey } from '../../capture/app-store.js';
import { JOB_STATES, type JobSnapshot, type JobState } from '../../contract/job.js';
import { nextCursor, readPage } from '../jobs-page.js';
import { LiveStatus } from './live.js';
import { duration, When } from './say.js';
import { State } from './state.js';
import type { Answer, Visit } from './visit.js';

/** The states that a list can show. */
const STATES = JOB_STATES.filter((state) => state !== 'unknown');

/** Jobs of all keys or of one, newest first; the list follows the server. */
export async function jobsPage({ services, c }: Visit): Promise<Answer> {
  const query = { state: given(c.req.query('state')), limit: given(c.req.query('limit')), cursor: given(c.req.query('cursor')) };
  const page = readPage(query);
  const { store } = services;
  const keys = await store.listKeys();
  const key = keys.find(({ id }) => id === c.req.query('key')) ?? null;
  const { jobs, next } = key === null ? await store.listAllJobs(page) : await store.listJobs(key.id, page);
  const chosen = { state: query.state, key: key?.id, limit: query.limit };
  const cursor = nextCursor(next);
  return {
    title: 'Jobs',
    section: 'jobs',
    body: (
      <>
        <Filter keys={keys} state={page.state} keyId={key?.id ?? null} />
        <LiveStatus />
        <div id="jobs" data-live={linkTo({ ...chosen, cursor: query.cursor })} data-summary={summaryOf(jobs)}>
          {jobs.length === 0 ? (
            <p class="card">{next === null ? 'No jobs.' : 'None among the jobs that this page has looked at.'}</p>
          ) : (
            <JobTable jobs={jobs} keys={keys} now={services.now()} />
          )}
          <p class="pages">
            {query.cursor === undefined ? null : <a href={linkTo(chosen)}>Newest jobs</a>}
            {cursor === null ? null : <a href={linkTo({ ...chosen, cursor })}>Older jobs</a>}
          </p>
        </div>
      </>
    ),
  };
}

/** Forms send empty fields. */
function given(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}

function linkTo(query: Record<string, string | undefined>): string {
  const pairs = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return pairs.length === 0 ? 'jobs' : `jobs?${new URLSearchParams(pairs)}`;
}

function summaryOf(jobs: readonly JobSnapshot[]): string {
  const running = jobs.filter(({ state }) => state === 'active').length;
  const waiting = jobs.filter(({ state, result }) => result === null && state !== 'active').length;
  return `${running} running, ${waiting} waiting on this page.`;
}

function Filter({ keys, state, keyId }: { keys: readonly ApiKey[]; state: JobState | null; keyId: string | null }) {
  return (
    <form method="get" action="jobs" class="filter">
      <div class="field">
        <label for="state">State</label>
        <select id="state" name="state">
          <option value="">all</option>
          {STATES.map((each) => (
            <option value={each} selected={each === state}>
              {each}
            </option>
          ))}
        </select>
      </div>
      <div class="field">
        <label for="key">Key</label>
        <select id="key" name="key">
          <option value="">all</option>
          {keys.map(({ id, label, accountName }) => (
            <option value={id} selected={id === keyId}>
              {label} ({accountName})
            </option>
          ))}
        </select>
      </div>
      <button type="submit">Show</button>
    </form>
  );
}

interface JobTableProps {
  jobs: readonly JobSnapshot[];
  keys: readonly ApiKey[];
  now: number;
}

function JobTable({ jobs, keys, now }: JobTableProps) {
  const labels = new Map(keys.map(({ id, label }) => [id, label]));
  return (
    <div class="table">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Job</th>
            <th scope="col">State</th>
            <th scope="col">Key</th>
            <th scope="col">Submitted</th>
            <th scope="col" class="number">
              Took
            </th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <tr>
              <th scope="row">
                <a href={`job?id=${job.id}`}>{job.result?.outcome.ok === true ? job.result.outcome.data.url : (job.url ?? job.id)}</a>
                {job.result?.outcome.ok === false ? <div class="hint">{job.result.outcome.error.message}</div> : null}
              </th>
              <td>
                <State job={job} />
              </td>
              <td data-name="Key">{labels.get(job.keyId) ?? job.keyId}</td>
              <td data-name="Submitted">
                <When at={job.enqueuedAt} now={now} />
              </td>
              <td data-name="Took" class="number">
                {job.result === null ? '–' : duration(job.result.durationMs)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
