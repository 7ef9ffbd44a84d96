import type { ApiKey } from '../../capture/app-store.js';
import type { CaptureData } from '../../contract/capture-data.js';
import { JOB_STATES, type JobSnapshot, type JobState } from '../../contract/job.js';
import { nextCursor, readPage } from '../jobs-page.js';
import { Field, LiveStatus, SelectField, State } from './components.js';
import { amount, duration, When } from './say.js';
import { ShotHead } from './viewer.js';
import type { Answer, Visit } from './visit.js';

const ADDRESS_MAX_CHARS = 200;
const ALL = ['', 'all'] as const;
/** The states that a list can show. */
const STATES = JOB_STATES.filter((state) => state !== 'unknown');

/** Jobs of all keys or of one, newest first; the list follows the server. */
export async function jobsPage({ services, c }: Visit): Promise<Answer> {
  const address = (c.req.query('address') ?? '').replaceAll('\0', '').trim().slice(0, ADDRESS_MAX_CHARS);
  const query = {
    state: nonEmpty(c.req.query('state')),
    limit: nonEmpty(c.req.query('limit')),
    cursor: nonEmpty(c.req.query('cursor')),
  };
  const page = readPage(query);
  const { store } = services;
  const keys = await store.listKeys();
  const key = keys.find(({ id }) => id === c.req.query('key')) ?? null;
  const { jobs, next } =
    key !== null && address === ''
      ? await store.listJobs(key.id, page)
      : await store.listAllJobs({ ...page, found: { address, keyId: key?.id ?? null } });
  const chosen = { address: nonEmpty(address), state: query.state, key: key?.id, limit: query.limit };
  const cursor = nextCursor(next);
  return {
    title: 'Jobs',
    section: 'jobs',
    body: (
      <>
        <Filter keys={keys} state={page.state} keyId={key?.id ?? null} address={address} />
        <LiveStatus />
        <div id="jobs" data-live={linkTo({ ...chosen, cursor: query.cursor })} data-summary={summaryOf(jobs)}>
          {jobs.length === 0 ? (
            <NoJobs isFiltered={page.state !== null || key !== null || address !== ''} isEnd={next === null} />
          ) : (
            <Gallery jobs={jobs} keys={keys} now={services.now()} />
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

function NoJobs({ isFiltered, isEnd }: { isFiltered: boolean; isEnd: boolean }) {
  if (!isEnd) return <p class="card">None among the jobs that this page has looked at.</p>;
  return (
    <div class="card empty">
      <h2>{isFiltered ? 'No such jobs' : 'No captures yet'}</h2>
      <p>{isFiltered ? <a href="jobs">Show all jobs</a> : <a href="capture">Take the first picture</a>}</p>
    </div>
  );
}

/** Forms send empty fields. */
function nonEmpty(value: string | undefined): string | undefined {
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

interface FilterProps {
  keys: readonly ApiKey[];
  state: JobState | null;
  keyId: string | null;
  address: string;
}

function Filter({ keys, state, keyId, address }: FilterProps) {
  return (
    <form method="get" action="jobs" class="filter">
      <Field
        name="address"
        label="Address"
        class="address"
        control={(labeled) => <input type="search" value={address} placeholder="Any part of it" {...labeled} />}
      />
      <SelectField
        name="state"
        label="State"
        choices={[ALL, ...STATES.map((each) => [each, each] as const)]}
        value={state}
      />
      <SelectField
        name="key"
        label="Key"
        choices={[ALL, ...keys.map(({ id, label, accountName }) => [id, `${label} (${accountName})`] as const)]}
        value={keyId}
      />
      <button type="submit">Show</button>
    </form>
  );
}

interface GalleryProps {
  jobs: readonly JobSnapshot[];
  keys: readonly ApiKey[];
  now: number;
}

function Gallery({ jobs, keys, now }: GalleryProps) {
  const labels = new Map(keys.map(({ id, label }) => [id, label]));
  return (
    <ul class="gallery">
      {identical(jobs).map(([job, ...others]) =>
        job === undefined ? null : <Shot {...{ job, others, now }} label={labels.get(job.keyId) ?? job.keyId} />,
      )}
    </ul>
  );
}

/** Jobs with the same picture, or with the same failure at the same address, newest first. */
function identical(jobs: readonly JobSnapshot[]): JobSnapshot[][] {
  const groups = new Map<string, JobSnapshot[]>();
  for (const job of jobs) {
    const { outcome } = job.result ?? {};
    const same =
      outcome === undefined
        ? job.id
        : outcome.ok
          ? outcome.data.artifact
          : `${job.url} ${job.keyId} ${outcome.error.code}`;
    groups.set(same, [...(groups.get(same) ?? []), job]);
  }
  return [...groups.values()];
}

interface ShotProps {
  job: JobSnapshot;
  /** Identical ones before it. */
  others: readonly JobSnapshot[];
  label: string;
  now: number;
}

function Shot({ job, others, label, now }: ShotProps) {
  const { outcome, durationMs } = job.result ?? {};
  return (
    <li class="card shot">
      <ShotHead job={job} />
      <p class="meta">
        {outcome?.ok === true && outcome.data.cached ? (
          <span class="state good">from the cache</span>
        ) : (
          <State job={job} />
        )}
        {outcome?.ok === true ? <span class="size">{sizeOf(outcome.data)}</span> : null}
      </p>
      <p class="meta hint">
        <span>
          <When at={job.enqueuedAt} now={now} />
          {durationMs === undefined || (outcome?.ok === true && outcome.data.cached)
            ? ''
            : `, took ${duration(durationMs)}`}
        </span>
        <span>{label}</span>
      </p>
      {others.length === 0 ? null : (
        <details class="others">
          <summary>{others.length === 1 ? '1 more like it' : `${others.length} more like it`}</summary>
          <ul>
            {others.map(({ id, enqueuedAt, result }) => (
              <li>
                <a href={`job?id=${id}`}>
                  <When at={enqueuedAt} now={now} />
                </a>
                {result?.outcome.ok === true && result.outcome.data.cached ? ', from the cache' : ''}
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}

function sizeOf({ format, width, height }: CaptureData): string {
  return format === 'pdf' ? 'pdf' : `${amount(width)} × ${amount(height)}`;
}
