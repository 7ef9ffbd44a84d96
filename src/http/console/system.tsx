import type { NodeFacts } from '../../capture/app-store.js';
import { isShortOfDescriptors, type WireHealth } from '../../contract/health.js';
import { invalidRequest } from '../../contract/submission.js';
import { Facts } from './facts.js';
import { PostForm } from './layout.js';
import { LiveStatus } from './live.js';
import { amount, bytes, When } from './say.js';
import type { Answer, FormVisit, Visit } from './visit.js';

/** Health, queue, servers, and who else has the console open. */
export async function systemPage({ services, console, formToken }: Visit): Promise<Answer> {
  const { store, now } = services;
  const [health, shared, sessions, use] = await Promise.all([
    services.health(),
    store.nodes(),
    store.countConsoleSessions(now()),
    store.storageUse(),
  ]);
  const { data, ready } = health;
  return {
    title: 'System',
    section: 'system',
    body: (
      <>
        <LiveStatus />
        <div id="health" data-live="system" data-summary={ready ? 'The server is ready.' : 'The server is not ready.'}>
          <p class={`notice ${ready ? 'good' : 'bad'}`}>
            <strong>{ready ? 'Ready' : 'Not ready'}</strong> {ready ? 'The server accepts captures.' : reasonOf(data, services.draining())}
          </p>
          <div class="cards">
            <QueueCard queue={data.queue} />
            <section class="card">
              <h2>Parts</h2>
              <Facts
                of={[
                  ['Database', data.database],
                  ['Picture storage', data.storage],
                  ['Browsers ready', amount(data.ready_workers)],
                  ['Chromium sandbox', data.sandboxed ? 'on' : 'off'],
                ]}
              />
            </section>
            <section class="card">
              <h2>Disk use</h2>
              <Facts
                of={[
                  ['Pictures', bytes(use.pictures)],
                  ['Database', `${bytes(use.database)}${use.free === 0 ? '' : `, ${bytes(use.free)} of it unused`}`],
                  ['Limit', bytes(console.maxStorageBytes)],
                ]}
              />
            </section>
            <section class="card">
              <h2>Webhooks</h2>
              <Facts
                of={[
                  ['Delivered', amount(data.webhooks.delivered)],
                  ['Failed for good', amount(data.webhooks.failed)],
                  ['Attempts that failed', amount(data.webhooks.errors)],
                  ['Sending', data.webhooks.active ? 'yes' : 'no'],
                ]}
              />
            </section>
            <section class="card">
              <h2>Credits</h2>
              <Facts
                of={[
                  ['Reservations open', amount(data.settlement.pending)],
                  ['Oldest open', `${Math.round(data.settlement.oldest_pending_ms / 1_000)} s`],
                  ['Charged', amount(data.settlement.settled)],
                  ['Released', amount(data.settlement.released)],
                ]}
              />
            </section>
          </div>
          <NodeTable nodes={shared.length > 0 ? shared : [console.ownNode()]} now={now()} />
        </div>
        <div class="cards">
          <section class="card">
            <h2>Queue</h2>
            <p>While the queue is paused, jobs are accepted and wait; running captures finish.</p>
            <PostForm action="queue" token={formToken}>
              <input type="hidden" name="paused" value={String(!data.queue.paused)} />
              <button type="submit">{data.queue.paused ? 'Resume the queue' : 'Pause the queue'}</button>
            </PostForm>
          </section>
          <section class="card">
            <h2>Console sessions</h2>
            <p>
              {sessions === 1 ? 'Only this session is open.' : `${amount(sessions)} sessions are open.`} Ending them also ends this one, and
              invalidates links that have not been used.
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
  if (paused !== 'true' && paused !== 'false') throw invalidRequest([{ path: 'paused', message: 'must be true or false' }]);
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

function QueueCard({ queue }: { queue: WireHealth['queue'] }) {
  return (
    <section class="card">
      <h2>Jobs</h2>
      <Facts
        of={[
          ['Running', amount(queue.active)],
          ['Waiting, synchronous', amount(queue.prioritized)],
          ['Waiting, asynchronous', amount(queue.waiting)],
          ['Waiting for a retry', amount(queue.delayed)],
          ['Completed', amount(queue.completed)],
          ['Failed', amount(queue.failed)],
        ]}
      />
    </section>
  );
}

function NodeTable({ nodes, now }: { nodes: readonly { startedAt: number; facts: NodeFacts }[]; now: number }) {
  return (
    <section>
      <h2>Servers</h2>
      <div class="table">
        <table class="stacked">
          <thead>
            <tr>
              <th scope="col">Server</th>
              <th scope="col">Version</th>
              <th scope="col">Work</th>
              <th scope="col" class="number">
                Browsers
              </th>
              <th scope="col" class="number">
                Captures
              </th>
              <th scope="col">Started</th>
            </tr>
          </thead>
          <tbody>
            {nodes.map(({ facts, startedAt }) => (
              <tr>
                <th scope="row">{facts.name}</th>
                <td data-name="Version">{facts.version}</td>
                <td data-name="Work">{facts.roles.join(', ')}</td>
                <td data-name="Browsers" class="number">
                  {facts.readyBrowsers}
                </td>
                <td data-name="Captures" class="number">
                  {facts.running} of {facts.concurrency}
                </td>
                <td data-name="Started">
                  <When at={startedAt} now={now} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
