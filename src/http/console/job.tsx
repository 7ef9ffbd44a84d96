import type { ApiKey } from '../../capture/app-store.js';
import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { isId } from '../../contract/ids.js';
import type { JobSnapshot } from '../../contract/job.js';
import { findDelivery } from '../../webhook/find-delivery.js';
import { redeliver } from '../../webhook/redeliver.js';
import { parseDeliveryEtag } from '../parse-delivery-etag.js';
import { Delivery } from './delivery.js';
import { Facts } from './facts.js';
import { givenOptions } from './given-options.js';
import { JobResult } from './job-result.js';
import { LiveStatus } from './live.js';
import { duration, instant } from './say.js';
import { Stages } from './stages.js';
import { State } from './state.js';
import type { Answer, FormVisit, Visit } from './visit.js';

/** One job's life: request, stages, picture or failure, and callback. */
export async function jobPage({ services, c, formToken }: Visit): Promise<Answer> {
  const { store } = services;
  const job = await findJob(services, c.req.query('id') ?? '');
  const [key, orders, delivery] = await Promise.all([
    store.findKey(job.keyId),
    store.findOrders(job.result === null ? [job.id] : []),
    job.webhookUrl === null ? null : findDelivery(store, job.id),
  ]);
  const isMoving = job.result === null || delivery?.state === 'pending';
  return {
    title: 'Job',
    section: 'jobs',
    body: (
      <>
        {isMoving ? <LiveStatus /> : null}
        <div class="taken">
          <JobResult job={job} baseUrl={services.places.baseUrl} aboveForm={c.req.query('form') !== undefined} />
          <div class="stack">
            <Life job={job} keyOf={key} timings={services.timingsOf?.(job.id) ?? null} />
            {delivery === null ? null : <Delivery {...{ delivery, formToken }} />}
            <Options job={job} options={orders.get(job.id)} />
          </div>
        </div>
      </>
    ),
  };
}

/** Sends the callback of a job again, if it has not changed since the page was made. */
export async function redeliverJob({ services, form }: FormVisit): Promise<Answer> {
  const job = await findJob(services, form.value('id'));
  await redeliver(services, job.id, parseDeliveryEtag(form.value('etag')));
  return { to: `job?id=${job.id}` };
}

async function findJob({ store }: Visit['services'], id: string): Promise<JobSnapshot> {
  const job = isId('job', id) ? await store.findJob(id) : null;
  if (job === null) throw new CaptureError({ code: 'invalid_request', status: 404, message: 'No such job' });
  return job;
}

interface LifeProps {
  job: JobSnapshot;
  keyOf: ApiKey | null;
  timings: Record<string, number> | null;
}

function Life({ job, keyOf, timings }: LifeProps) {
  const { result } = job;
  return (
    <section id="life" class="card" data-live={result === null ? `job?id=${job.id}` : undefined}>
      <h2>Life</h2>
      <Facts
        of={[
          ...(job.url === null ? [] : [['URL', job.url] as const]),
          ['State', <State job={job} />],
          ['Submitted', instant(job.enqueuedAt)],
          ...(result === null ? [] : [['Ended', instant(result.completedAt)] as const, ['Took', duration(result.durationMs)] as const]),
          ['Attempts', `${job.attemptsMade} of ${job.attemptBudget}`],
          ...(result === null || result.workerId === '' ? [] : [['Worker', result.workerId] as const]),
          ['Mode', job.mode],
          ['Key', keyOf === null ? job.keyId : `${keyOf.label} (${keyOf.accountName})`],
          ['Request', <code>{job.requestId}</code>],
          ['Job', <code>{job.id}</code>],
        ]}
      />
      {timings === null ? null : <Stages timings={timings} />}
      {timings === null && result?.outcome.ok === true && !result.outcome.data.cached ? (
        <p class="hint">The stages are known only to the server that took the picture, for its latest 1,000 jobs.</p>
      ) : null}
    </section>
  );
}

function Options({ job, options }: { job: JobSnapshot; options: CaptureOptions | undefined }) {
  if (options === undefined) {
    if (job.result === null) return null;
    return <p class="hint">The query of the URL and the options of a request are deleted when its job ends.</p>;
  }
  return (
    <section class="card">
      <h2>Request</h2>
      <Facts of={givenOptions(options).map(({ name, text }) => [<code>{name}</code>, text] as const)} />
    </section>
  );
}
