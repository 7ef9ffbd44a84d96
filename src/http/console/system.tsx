import type { NodeFacts, RecentJobs } from '../../capture/app-store.js';
import { isShortOfDescriptors, type WireHealth } from '../../contract/health.js';
import { invalidField } from '../../contract/submission.js';
import { type Column, Facts, LiveStatus, Table } from './components.js';
import { PostForm } from './layout.js';
import { amount, bytes, When } from './say.js';
import type { Answer, FormVisit, Visit } from './visit.js';

/** Health, queue, servers, and who else has the console open. */
export async function systemPage({ services, console, formToken }: Visit): Promise<Answer> {
  const { store, now } = services;
  const since = (Math.floor(now() / HOUR_MS) - HISTORY_HOURS + 1) * HOUR_MS;
  const [health, shared, sessions, use, recent] = await Promise.all([
    services.health(),
    store.nodes(),
    store.countConsoleSessions(now()),
    store.storageUse(),
    store.recentJobs(since),
  ]);
  const { data, ready } = health;
  const { queue, webhooks, settlement } = data;
  return {
    title: 'System',
    section: 'system',
    body: (
      <>
        <History recent={recent} since={since} />
        <LiveStatus />
        <div id="health" data-live="system" data-summary={ready ? 'The server is ready.' : 'The server is not ready.'}>
          <p class={`notice ${ready ? 'good' : 'bad'}`}>
            <strong>{ready ? 'Ready' : 'Not ready'}</strong>{' '}
            {ready ? 'The server accepts captures.' : reasonOf(data, services.draining())}
          </p>
          <div class="cards">
            <Card
              title="Jobs"
              of={[
                ['Running', amount(queue.active)],
                ['Waiting, synchronous', amount(queue.prioritized)],
                ['Waiting, asynchronous', amount(queue.waiting)],
                ['Waiting for a retry', amount(queue.delayed)],
                ['Completed', amount(queue.completed)],
                ['Failed', amount(queue.failed)],
              ]}
            />
            <Card
              title="Parts"
              of={[
                ['Database', data.database],
                ['Picture storage', data.storage],
                ['Browsers ready', amount(data.ready_workers)],
                ['Chromium sandbox', data.sandboxed ? 'on' : 'off'],
              ]}
            />
            <Card
              title="Disk use"
              of={[
                ['Pictures', bytes(use.pictures)],
                ['Database', `${bytes(use.database)}${use.free === 0 ? '' : `, ${bytes(use.free)} of it unused`}`],
                ['Limit', bytes(console.maxStorageBytes)],
              ]}
            />
            <Card
              title="Webhooks"
              of={[
                ['Delivered', amount(webhooks.delivered)],
                ['Failed for good', amount(webhooks.failed)],
                ['Attempts that failed', amount(webhooks.errors)],
                ['Sending', webhooks.active ? 'yes' : 'no'],
              ]}
            />
            <Card
              title="Credits"
              of={[
                ['Reservations open', amount(settlement.pending)],
                ['Oldest open', `${Math.round(settlement.oldest_pending_ms / 1_000)} s`],
                ['Charged', amount(settlement.settled)],
                ['Released', amount(settlement.released)],
              ]}
            />
          </div>
          <NodeTable nodes={shared.length > 0 ? shared : [console.ownNode()]} now={now()} />
        </div>
        <div class="cards">
          <section class="card">
            <h2>Queue</h2>
            <p>While the queue is paused, jobs are accepted and wait; running captures finish.</p>
            <PostForm action="queue" token={formToken}>
              <input type="hidden" name="paused" value={String(!queue.paused)} />
              <button type="submit">{queue.paused ? 'Resume the queue' : 'Pause the queue'}</button>
            </PostForm>
          </section>
          <section class="card">
            <h2>Console sessions</h2>
            <p>
              {sessions === 1 ? 'Only this session is open.' : `${amount(sessions)} sessions are open.`} Ending them
              also ends this one, and invalidates links that have not been used.
            </p>
            <PostForm action="end-sessions" token={formToken}>
              <button type="submit" class="danger">
                End all sessions
              </button>
            </PostForm>
          </section>
        </div>
      </>
    ),
  };
}

/** Pauses or resumes the queue. */
export async function setQueue({ services, console, form }: FormVisit): Promise<Answer> {
  const paused = form.value('paused');
  if (paused !== 'true' && paused !== 'false') throw invalidField('paused', 'must be true or false');
  await services.store.setQueuePaused(paused === 'true');
  console.onQueueChanged();
  return { to: 'system' };
}

export async function endSessions({ services }: FormVisit): Promise<Answer> {
  await services.store.endConsoleAccess();
  return { to: 'enter' };
}

function reasonOf(data: WireHealth, draining: boolean): string {
  if (draining) return 'The server is shutting down.';
  if (data.database !== 'ready') return 'The database cannot be used, or its disk is full.';
  if (data.storage !== 'ready') return 'Pictures cannot be stored.';
  if (data.queue.paused) return 'The queue is paused.';
  if (isShortOfDescriptors(data)) return 'Almost all file descriptors are in use.';
  return 'No browser is ready.';
}

function Card({ title, of }: { title: string; of: readonly (readonly [string, string])[] }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <Facts of={of} />
    </section>
  );
}

const HOUR_MS = 3_600_000;
const HISTORY_HOURS = 24;
/** The parts of a bar, from below. */
const KINDS = [
  ['taken', 'taken'],
  ['shared', 'from the cache'],
  ['failed', 'failed'],
] as const;
/** Units of the drawing. */
const BAR = { width: 26, gap: 4, height: 120 };

/** The jobs of the last day by hour, as a drawing and as a table. */
function History({ recent, since }: { recent: readonly RecentJobs[]; since: number }) {
  const hours = Array.from({ length: HISTORY_HOURS }, (_, hour) => {
    const of = (fits: (each: RecentJobs) => boolean) =>
      recent.filter((each) => each.hour === hour && fits(each)).reduce((sum, { jobs }) => sum + jobs, 0);
    return {
      at: new Date(since + hour * HOUR_MS).toISOString().slice(11, 16),
      taken: of(({ state, shared }) => state === 'completed' && !shared),
      shared: of(({ state, shared }) => state === 'completed' && shared),
      failed: of(({ state }) => state === 'failed'),
    };
  });
  const most = Math.max(1, ...hours.map(({ taken, shared, failed }) => taken + shared + failed));
  const sums = KINDS.map(([kind, text]) => `${amount(hours.reduce((sum, hour) => sum + hour[kind], 0))} ${text}`);
  const scale = BAR.height / most;
  return (
    <section class="card history">
      <h2>The last {HISTORY_HOURS} hours</h2>
      <p class="legend">
        {KINDS.map(([kind], i) => (
          <span class={kind}>{sums[i]}</span>
        ))}
      </p>
      <svg
        viewBox={`0 0 ${HISTORY_HOURS * (BAR.width + BAR.gap)} ${BAR.height + 1}`}
        aria-hidden="true"
        preserveAspectRatio="none"
      >
        {hours.map((hour, i) => {
          let top = BAR.height;
          return KINDS.map(([kind]) => {
            top -= hour[kind] * scale;
            return (
              <rect class={kind} x={i * (BAR.width + BAR.gap)} y={top} width={BAR.width} height={hour[kind] * scale} />
            );
          });
        })}
      </svg>
      <p class="axis hint" aria-hidden="true">
        {hours.map(({ at }, i) => (i % 6 === 0 ? <span>{at}</span> : null))}
        <span>now</span>
      </p>
      <details>
        <summary>As a table</summary>
        <Table
          columns={[{ name: 'Hour (UTC)' }, ...KINDS.map(([, text]) => ({ name: text, number: true as const }))]}
          rows={hours.map((hour) => [hour.at, ...KINDS.map(([kind]) => amount(hour[kind]))])}
        />
      </details>
    </section>
  );
}

const COLUMNS: readonly Column[] = [
  { name: 'Server' },
  { name: 'Version' },
  { name: 'Work' },
  { name: 'Browsers', number: true },
  { name: 'Captures', number: true },
  { name: 'Started' },
];

function NodeTable({ nodes, now }: { nodes: readonly { startedAt: number; facts: NodeFacts }[]; now: number }) {
  const rows = nodes.map(({ facts, startedAt }) => [
    facts.name,
    facts.version,
    facts.roles.join(', '),
    facts.readyBrowsers,
    `${facts.running} of ${facts.concurrency}`,
    <When at={startedAt} now={now} />,
  ]);
  return (
    <section>
      <h2>Servers</h2>
      <Table columns={COLUMNS} rows={rows} />
    </section>
  );
}
