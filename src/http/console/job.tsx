import type { ApiKey } from '../../capture/app-store.js';
import { notFound } from '../../contract/capture-error.js';
import { type CaptureOptions, defaultOptions, HTML_JOB_URL, shownUrl } from '../../contract/capture-request.js';
import { type DeliveryStatus, deliveryEtag } from '../../contract/delivery.js';
import { FIELD_LABELS } from '../../contract/field-labels.js';
import { isId } from '../../contract/ids.js';
import type { JobSnapshot } from '../../contract/job.js';
import { isLinkField } from '../../contract/render-link.js';
import { findDelivery, redeliver } from '../../webhook/redeliver.js';
import { Facts, LiveStatus, State } from './components.js';
import { JobResult } from './job-result.js';
import { PostForm } from './layout.js';
import { amount, duration, instant, When } from './say.js';
import { BeforeAfter, pictureOf, titleOf } from './viewer.js';
import type { Answer, FormVisit, Visit } from './visit.js';

/** One job: its picture or failure, its course, stages, callback and request. */
export async function jobPage({ services, c, formToken }: Visit): Promise<Answer> {
  const { store } = services;
  const job = await findJob(services, c.req.query('id') ?? '');
  const [key, orders, delivery, previous] = await Promise.all([
    store.findKey(job.keyId),
    store.findOrders(job.result === null ? [job.id] : []),
    job.webhookUrl === null ? null : findDelivery(store, job.id),
    findPrevious(services, job),
  ]);
  const isMoving = job.result === null || delivery?.state === 'pending';
  return {
    title: titleOf(job),
    section: 'jobs',
    body: (
      <>
        {isMoving ? <LiveStatus /> : null}
        <div class="stack">
          <JobResult job={job} baseUrl={services.places.baseUrl} aboveForm={c.req.query('form') !== undefined} />
          {previous === null ? null : <Previous {...{ job, previous }} now={services.now()} />}
          <Course job={job} keyOf={key} />
          <Remove job={job} formToken={formToken} />
          <div class="cards wide-cards">
            <Stages timings={services.timingsOf(job.id)} />
            {delivery === null ? null : <Delivery {...{ delivery, formToken }} />}
            <Options options={orders.get(job.id)} />
          </div>
          {job.result === null ? null : (
            <p class="hint">The query of the URL and the options of a request are deleted when its job ends.</p>
          )}
        </div>
      </>
    ),
  };
}

/** Sends the callback of a job again, if it has not changed since the page was made. */
export async function redeliverJob({ services, form }: FormVisit): Promise<Answer> {
  const job = await findJob(services, form.value('id'));
  await redeliver(services, job.id, form.value('etag'));
  return { to: `job?id=${job.id}` };
}

/** Cancels or deletes a job of any key. */
export async function removeJobOfForm({ services, form }: FormVisit): Promise<Answer> {
  const job = await findJob(services, form.value('id'));
  await services.removeJob(job.id, null);
  return { to: 'jobs' };
}

async function findJob({ store }: Visit['services'], id: string): Promise<JobSnapshot> {
  const job = isId('job', id) ? await store.findJob(id) : null;
  if (job === null) throw notFound('No such job');
  return job;
}

interface Earlier {
  id: string;
  artifact: string;
  at: number;
}

/** The picture before this one of the same address and width, whose account is the same; null if none is stored, or this is no picture. */
async function findPrevious({ store }: Visit['services'], job: JobSnapshot): Promise<Earlier | null> {
  const own = pictureOf(job);
  if (own === null) return null;
  for (const earlier of await store.earlierPictures(job.id)) {
    const data = pictureOf(earlier);
    if (data === null || data.artifact === own.artifact || data.url !== own.url || data.width !== own.width) continue;
    return { id: earlier.id, artifact: data.artifact, at: earlier.enqueuedAt };
  }
  return null;
}

/** Both pictures load when this is opened. */
function Previous({ job, previous, now }: { job: JobSnapshot; previous: Earlier; now: number }) {
  const own = pictureOf(job);
  if (own === null) return null;
  return (
    <details class="card">
      <summary>
        <h2>
          Before and after: the previous capture, <When at={previous.at} now={now} />
        </h2>
      </summary>
      <BeforeAfter before={previous.artifact} after={own.artifact} />
      <p class="pages">
        <a class="button" href={`compare?before=${previous.id}&after=${job.id}`}>
          Compare with the previous capture
        </a>
        <a href={`job?id=${previous.id}`}>Show the previous job</a>
      </p>
    </details>
  );
}

/** The history of a job, from its submission to its end. */
function Course({ job, keyOf }: { job: JobSnapshot; keyOf: ApiKey | null }) {
  const { result, url } = job;
  return (
    <section id="course" class="card" data-live={result === null ? `job?id=${job.id}` : undefined}>
      <h2>The job</h2>
      <Facts
        wide
        of={[
          ['State', <State job={job} />],
          ['Page asked for', url === HTML_JOB_URL ? 'HTML from the request' : url],
          ['Submitted', instant(job.enqueuedAt)],
          ['Ended', result && `${instant(result.completedAt)}, after ${duration(result.durationMs)}`],
          ['Attempts', attemptsOf(job)],
          ['The caller', job.mode === 'sync' ? 'waited for the result' : 'did not wait'],
          ['Charged to', keyOf === null ? job.keyId : `${keyOf.label} (${keyOf.accountName})`],
          ['Captured by', result?.workerId || null],
          ['Job', <code>{job.id}</code>],
          ['Request', <code>{job.requestId}</code>],
        ]}
      />
    </section>
  );
}

function Remove({ job, formToken }: { job: JobSnapshot; formToken: string }) {
  const [label, hint] =
    job.result === null
      ? ['Cancel this job', 'It costs nothing, and its caller and its callback are notified.']
      : ['Delete this job', 'The pictures that no other job has are deleted.'];
  return (
    <div id="remove" data-live={job.result === null ? `job?id=${job.id}` : undefined}>
      <details class="confirm">
        <summary>{label}</summary>
        <PostForm action="remove-job" token={formToken}>
          <input type="hidden" name="id" value={job.id} />
          <p class="hint">{hint} It can no longer be looked up.</p>
          <button type="submit" class="danger">
            {label}
          </button>
        </PostForm>
      </details>
    </div>
  );
}

function attemptsOf({ attemptsMade, attemptBudget, result }: JobSnapshot): string {
  const allowed = attemptBudget === 1 ? '1 attempt allowed' : `${attemptBudget} attempts allowed`;
  if (attemptsMade === 0) return result === null ? allowed : 'none needed: another capture gave the picture';
  if (attemptsMade > 1) return `${allowed}, ${attemptsMade} made`;
  return `${allowed}, ${result?.outcome.ok === true ? 'none needed again' : '1 made'}`;
}

/** As they follow each other; those that are not named come last. */
const ORDER = ['store', 'encode', 'shoot', 'stop', 'scroll', 'settle', 'run', 'steps', 'navigate', 'open', 'queue'];

const STAGES: Record<string, string> = {
  queue: 'Waiting in the queue',
  open: 'Opening a page',
  navigate: 'Loading the page',
  steps: 'Steps',
  run: 'Running the page ahead',
  settle: 'Waiting until it settles',
  scroll: 'Scrolling',
  stop: 'Stopping the page',
  shoot: 'Taking the picture',
  encode: 'Encoding',
  store: 'Storing',
};

/** Shows how long each stage of a capture took, which only the server that took it knows. The bars repeat what the table says. */
function Stages({ timings }: { timings: Record<string, number> | null }) {
  if (timings === null) return null;
  const stages = Object.entries(timings)
    .filter(([name]) => name !== 'total')
    .sort(([one], [other]) => ORDER.indexOf(other) - ORDER.indexOf(one));
  const total = stages.reduce((sum, [, ms]) => sum + ms, 0);
  if (total === 0) return null;
  return (
    <section class="card">
      <h2>Where the time went</h2>
      <table class="stages">
        <tbody>
          {stages.map(([name, ms]) => (
            <tr>
              <th scope="row">{STAGES[name] ?? name}</th>
              <td class="number">{duration(ms)}</td>
              <td>
                <progress max={total} value={ms} aria-hidden="true" />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const TONES = { delivered: 'good', failed: 'bad', pending: 'busy' };

/** The callback of a job, and a button that sends it again. */
function Delivery({ delivery, formToken }: { delivery: DeliveryStatus; formToken: string }) {
  const { state, lastStatus, lastAttemptAt, nextAttemptAt, deliveredAt } = delivery;
  const timeOf = (at: number | null) => (at === null ? null : instant(at));
  return (
    <section id="delivery" class="card" data-live={state === 'pending' ? `job?id=${delivery.jobId}` : undefined}>
      <h2>Callback</h2>
      <Facts
        wide
        of={[
          ['State', <span class={`state ${TONES[state]}`}>{state}</span>],
          ['To', delivery.url],
          ['Attempts', `${delivery.attempts} of ${delivery.maxAttempts}`],
          ['Sent again', delivery.generation === 1 ? 'never' : amount(delivery.generation - 1)],
          ['Last status', lastStatus && String(lastStatus)],
          ['Last error', delivery.lastError],
          ['Last attempt', timeOf(lastAttemptAt)],
          ['Next attempt', timeOf(nextAttemptAt)],
          ['Delivered', timeOf(deliveredAt)],
        ]}
      />
      {state === 'pending' ? null : (
        <PostForm action="redeliver" token={formToken}>
          <input type="hidden" name="id" value={delivery.jobId} />
          <input type="hidden" name="etag" value={deliveryEtag(delivery)} />
          <button type="submit">Send again</button>
        </PostForm>
      )}
    </section>
  );
}

function Options({ options }: { options: CaptureOptions | undefined }) {
  if (options === undefined) return null;
  return (
    <section class="card">
      <h2>Request</h2>
      <Facts wide of={changedOptions(options)} />
    </section>
  );
}

const LONGEST_CHARS = 500;

/** The password of a PDF is the only secret among options that links may have. */
function withoutSecrets(name: string, value: unknown): unknown {
  return name === 'password' ? 'set, not shown' : value;
}

/** The options that differ from the defaults; of private ones, only that they are set. */
function changedOptions(options: CaptureOptions): [label: string, text: string][] {
  const defaults = Object.entries({ ...options, ...defaultOptions() });
  const changed = defaults.flatMap(([name, byDefault]): [string, string][] => {
    const value = options[name as keyof CaptureOptions];
    if (name === 'url' || JSON.stringify(value) === JSON.stringify(byDefault)) return [];
    const wire = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const text = typeof value === 'string' ? value : JSON.stringify(value, withoutSecrets);
    return [[FIELD_LABELS[wire] ?? wire, isLinkField(wire) ? text.slice(0, LONGEST_CHARS) : 'set, not shown']];
  });
  return [['Address', shownUrl(options)], ...changed];
}
