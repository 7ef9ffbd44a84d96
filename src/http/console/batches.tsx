import { type BatchCapture, type BatchSnapshot, cursorOf, placeOfCursor } from '../../contract/batch.js';
import { notFound } from '../../contract/capture-error.js';
import { isId } from '../../contract/ids.js';
import { Facts, LiveStatus, Marked, State } from './components.js';
import { PostForm } from './layout.js';
import { amount, instant, When } from './say.js';
import { ShotHead } from './viewer.js';
import type { Answer, FormVisit, Visit } from './visit.js';

const LISTED = 50;
const SHOWN = 100;

/** The batches of all keys, newest first. */
export async function batchesPage({ services, c }: Visit): Promise<Answer> {
  const before = c.req.query('before');
  const page = { before: before !== undefined && isId('batch', before) ? before : null, limit: LISTED };
  const batches = await services.store.listBatches(page);
  const now = services.now();
  return {
    title: 'Batches',
    section: 'batches',
    body: (
      <>
        <LiveStatus />
        <div id="batches" class="stack" data-live={page.before === null ? 'batches' : `batches?before=${page.before}`}>
          {batches.length === 0 ? (
            <p class="card">
              <Marked text="No batches. `POST /v1/batches` and `stillframe batch submit` make one." />
            </p>
          ) : null}
          {batches.map((batch) => (
            <section class="card">
              <h2>
                <a href={`batch?id=${batch.id}`}>{amount(batch.total)} captures</a>,{' '}
                <When at={batch.createdAt} now={now} />
              </h2>
              <Progress batch={batch} />
            </section>
          ))}
          {batches.length < LISTED ? null : (
            <p class="pages">
              <a href={`batches?before=${batches.at(-1)?.id}`}>Older batches</a>
            </p>
          )}
        </div>
      </>
    ),
  };
}

/** A batch as a contact sheet, with its failures first. */
export async function batchPage({ services, c, formToken }: Visit): Promise<Answer> {
  const batch = await findBatch(services, c.req.query('id') ?? '');
  const cursor = /^[01]\.\d{1,4}$/.exec(c.req.query('cursor') ?? '')?.[0];
  const [captures, key] = await Promise.all([
    services.store.batchCaptures(batch.id, {
      after: cursor === undefined ? null : placeOfCursor(cursor),
      limit: SHOWN,
    }),
    services.store.findKey(batch.keyId),
  ]);
  const last = captures.at(-1);
  const here = `batch?id=${batch.id}`;
  return {
    title: `Batch of ${amount(batch.total)} captures`,
    section: 'batches',
    body: (
      <>
        {batch.completedAt === null ? <LiveStatus /> : null}
        <div
          id="batch"
          class="stack"
          data-live={
            batch.completedAt === null ? (cursor === undefined ? here : `${here}&cursor=${cursor}`) : undefined
          }
        >
          <section class="card">
            <Progress batch={batch} />
            <Facts
              wide
              of={[
                ['Submitted', instant(batch.createdAt)],
                ['Ended', batch.completedAt === null ? null : instant(batch.completedAt)],
                ['Charged to', key === null ? batch.keyId : `${key.label} (${key.accountName})`],
                ['Callback', batch.webhookUrl],
                ['Batch', <code>{batch.id}</code>],
              ]}
            />
          </section>
          <ul class="gallery">
            {captures.map((capture) => (
              <Frame capture={capture} />
            ))}
          </ul>
          <p class="pages">
            {cursor === undefined ? null : <a href={here}>First captures</a>}
            {last === undefined || captures.length < SHOWN ? null : (
              <a href={`${here}&cursor=${cursorOf(last)}`}>Further captures</a>
            )}
          </p>
        </div>
        <details class="confirm">
          <summary>{batch.completedAt === null ? 'Cancel this batch' : 'Delete this batch'}</summary>
          <PostForm action="remove-batch" token={formToken}>
            <input type="hidden" name="id" value={batch.id} />
            <p class="hint">Captures that have not ended cost nothing, and the pictures of the others are deleted.</p>
            <button type="submit" class="danger">
              {batch.completedAt === null ? 'Cancel this batch' : 'Delete this batch'}
            </button>
          </PostForm>
        </details>
      </>
    ),
  };
}

/** Cancels or deletes a batch of any key. */
export async function removeBatchOfForm({ services, form }: FormVisit): Promise<Answer> {
  const batch = await findBatch(services, form.value('id'));
  await services.batches.remove(batch.id, null);
  return { to: 'batches' };
}

async function findBatch({ store }: Visit['services'], id: string): Promise<BatchSnapshot> {
  const batch = isId('batch', id) ? await store.findBatch(id) : null;
  if (batch === null) throw notFound('No such batch');
  return batch;
}

function Progress({ batch: { total, counts, completedAt } }: { batch: BatchSnapshot }) {
  const phrases = Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [`${amount(count)} ${name}`]));
  const ended = total - counts.waiting - counts.active;
  return (
    <p class="meta">
      <span class={`state ${completedAt === null ? 'busy' : counts.failed > 0 ? 'bad' : 'good'}`}>
        {completedAt === null ? 'active' : 'completed'}
      </span>
      <progress max={total} value={ended} aria-label="Captures that have ended" />
      <span>{phrases.join(', ')}</span>
    </p>
  );
}

function Frame({ capture: { index, job } }: { capture: BatchCapture }) {
  return (
    <li class="card shot">
      <ShotHead job={job} prefix={`${amount(index + 1)}. `} />
      <p class="meta">
        <State job={job} />
      </p>
    </li>
  );
}
