/** The watches of all keys: a list, a page for each with its history, and the form that makes and changes them. */
import type { Child } from 'hono/jsx';
import type { ApiKey } from '../../capture/app-store.js';
import { CaptureError, type StoredError } from '../../contract/capture-error.js';
import { formatShare } from '../../contract/comparison.js';
import { isObject } from '../../contract/field-rules.js';
import { invalidField, type RequestIssue } from '../../contract/submission.js';
import type { WireRun } from '../../contract/watch.js';
import type { WireWatch } from '../../watch/watches.js';
import { noteError } from '../exchange.js';
import { capture } from './capture.js';
import { ErrorNotice, escaped, Facts, Field, Marked, SelectField, TextField } from './components.js';
import { type Form, formOf } from './form.js';
import { PostForm } from './layout.js';
import { instant, When } from './say.js';
import { BeforeAfter, pictureAt, pictureOf } from './viewer.js';
import type { Answer, FormVisit, Visit } from './visit.js';

const PER_PAGE = 50;
const RUNS_SHOWN = 50;
const STRIP = 12;
const TONES: Record<WireRun['state'], string> = {
  queued: '',
  running: 'busy',
  unchanged: 'good',
  changed: 'busy',
  reported: 'good',
  failed: 'bad',
  skipped: '',
};

export async function watchesPage({ services, c }: Visit): Promise<Answer> {
  const all = await services.watches();
  const { watches, next } = await all.list(null, { limit: PER_PAGE, before: c.req.query('cursor') ?? null });
  const strips = await Promise.all(watches.map(({ id }) => all.runs(null, id, { limit: STRIP, before: null })));
  const now = services.now();
  return {
    title: 'Watches',
    section: 'watches',
    body: (
      <>
        <p>
          <a class="button primary" href="watch-form">
            Watch a page
          </a>
        </p>
        {watches.length === 0 ? (
          <p class="card">No watches. A watch captures a page by a schedule, and reports what has changed.</p>
        ) : null}
        <ul class="watches">
          {watches.map((watch, i) => (
            <li class="card watch">
              <div>
                <RunThumb run={strips[i]?.runs.find(({ picture_url: url }) => url !== null) ?? null} />
              </div>
              <div>
                <h2>
                  <a href={`watch?id=${watch.id}`}>{watch.name}</a>
                </h2>
                <p>
                  <SayState watch={watch} now={now} />
                </p>
                <p class="hint">
                  <SayNext watch={watch} />
                </p>
                <Strip runs={strips[i]?.runs ?? []} />
              </div>
            </li>
          ))}
        </ul>
        {next === null ? null : (
          <p class="pages">
            <a href={`watches?cursor=${next}`}>Next page</a>
          </p>
        )}
      </>
    ),
  };
}

function SayState({ watch: { last_run: run, paused }, now }: { watch: WireWatch; now: number }) {
  if (run === null) return <span class="state">{paused ? 'paused, has not run' : 'has not run'}</span>;
  const share = run.state === 'changed' && run.share !== null ? `: ${formatShare(run.share)}` : '';
  return (
    <>
      <span class={`state ${TONES[run.state]}`}>
        {run.state} <When at={run.ended_at ?? run.due_at} now={now} />
        {share}
      </span>
      {paused ? <span class="state">paused</span> : null}
      {run.error === null ? null : (
        <>
          {' '}
          <Marked text={run.error.message} />
        </>
      )}
    </>
  );
}

function SayNext({ watch: { paused, next_run_at: at } }: { watch: WireWatch }) {
  return <>{paused ? 'Runs on request only' : at === null ? 'Runs no more' : `Next run: ${instant(at)}`}</>;
}

/** The latest runs, the newest last. */
function Strip({ runs }: { runs: readonly WireRun[] }) {
  return (
    <ol class="strip" aria-label="Recent runs">
      {[...runs].reverse().map((run) => (
        <li class={`state ${TONES[run.state]}`} title={`${run.state}, ${instant(run.due_at)}`}>
          <span class="unseen">{run.state}</span>
        </li>
      ))}
    </ol>
  );
}

const nameIn = (url: string | null) => url?.slice(url.lastIndexOf('/') + 1) ?? null;
const artifactOf = (run: WireRun) => nameIn(run.picture_url);
const changesOf = (run: WireRun) => nameIn(run.changes_url);

function RunThumb({ run }: { run: WireRun | null }) {
  const artifact = run === null ? null : artifactOf(run);
  if (artifact === null || artifact.endsWith('.pdf'))
    return <span class="thumb none pdf">{artifact === null ? '…' : 'PDF'}</span>;
  return <img src={`thumbnails/${artifact}`} alt="" loading="lazy" decoding="async" width="160" />;
}

/** One watch; `?before=` and `?after=` name runs to be shown on top of each other, the latest two with a picture by default. */
export async function watchPage({ services, c, formToken }: Visit, notice: Child = null): Promise<Answer> {
  const all = await services.watches();
  const id = c.req.query('id') ?? '';
  const watch = await all.read(null, id);
  const { runs, next } = await all.runs(null, id, { limit: RUNS_SHOWN, before: c.req.query('cursor') ?? null });
  const pictured = runs.filter((run) => artifactOf(run)?.endsWith('.pdf') === false);
  const chosen = (name: string, or: WireRun | undefined) => pictured.find((run) => run.id === c.req.query(name)) ?? or;
  const after = chosen('after', pictured[0]);
  const before = chosen('before', pictured[1]);
  const latest = runs[0];
  const { words, times } = all.upcoming(watch);
  const now = services.now();
  return {
    title: watch.name,
    section: 'watches',
    body: (
      <div class="stack">
        {notice}
        <section class="card">
          <p>
            <SayState watch={watch} now={now} />
          </p>
          <Facts
            wide
            of={[
              ['Page', String(watch.request.url ?? 'HTML document')],
              ['Runs', words],
              ['Next times', watch.paused ? 'none, it is paused' : times.map(instant).join('; ')],
              ['Tells', watch.report === 'always' ? 'every run' : `changes against the ${watch.against} run`],
              ['Sends to', watch.send.map((one) => Object.keys(one)[0]).join(', ') || 'nobody'],
              ['Feed', <a href={watch.feed_url}>Atom</a>],
              ['Id', <code>{watch.id}</code>],
            ]}
          />
          <div class="use">
            <Act id={id} token={formToken} does="run" label="Run now" />
            <Act
              id={id}
              token={formToken}
              does={watch.paused ? 'resume' : 'pause'}
              label={watch.paused ? 'Resume' : 'Pause'}
            />
            <Act id={id} token={formToken} does="test" label="Send a test message" />
            <a class="button" href={`watch-form?id=${id}`}>
              Change
            </a>
            <details class="confirm">
              <summary>Remove</summary>
              <p>The watch is removed with its history and pictures.</p>
              <Act id={id} token={formToken} does="remove" label="Remove the watch" />
            </details>
          </div>
        </section>
        {before === undefined || after === undefined ? null : (
          <section class="card">
            <h2>
              {instant(before.due_at)} and {instant(after.due_at)}
            </h2>
            <BeforeAfter before={artifactOf(before) ?? ''} after={artifactOf(after) ?? ''} />
          </section>
        )}
        {latest?.diff ? (
          <section class="card">
            <h2>What has changed in the text</h2>
            <pre>{escaped(latest.diff)}</pre>
          </section>
        ) : null}
        <section class="card">
          <h2>History</h2>
          {runs.length === 0 ? <p>No run yet.</p> : null}
          <ol class="film">
            {runs.map((run, i) => (
              <li>
                <RunThumb run={run} />
                <p>
                  <span class={`state ${TONES[run.state]}`}>{run.state}</span>{' '}
                  {run.share !== null && run.state === 'changed' ? formatShare(run.share) : ''}{' '}
                  {run.approved ? <span class="state good">baseline</span> : null}
                </p>
                <p class="hint">
                  <When at={run.due_at} now={now} />
                  {run.error === null ? null : (
                    <>
                      : <Marked text={run.error.message} />
                    </>
                  )}
                </p>
                <p class="use">
                  {artifactOf(run) === null ? null : <a href={pictureAt(artifactOf(run) ?? '')}>Picture</a>}
                  {changesOf(run) === null ? null : <a href={pictureAt(changesOf(run) ?? '')}>Changes</a>}
                  {artifactOf(run) === null || runs[i + 1] === undefined ? null : (
                    <a
                      href={`watch?id=${id}&after=${run.id}&before=${before?.id === run.id ? runs[i + 1]?.id : (before?.id ?? '')}`}
                    >
                      Show with the slider
                    </a>
                  )}
                </p>
                {artifactOf(run) === null || run.approved || run.state === 'failed' ? null : (
                  <Act id={id} token={formToken} does="approve" label="Approve" run={run.id} />
                )}
              </li>
            ))}
          </ol>
          {next === null ? null : <a href={`watch?id=${id}&cursor=${next}`}>Earlier runs</a>}
        </section>
      </div>
    ),
  };
}

function Act({
  id,
  token,
  does,
  label,
  run,
}: {
  id: string;
  token: string;
  does: string;
  label: string;
  run?: string;
}) {
  return (
    <PostForm action={`watch?id=${id}`} token={token}>
      <input type="hidden" name="do" value={does} />
      {run === undefined ? null : <input type="hidden" name="run" value={run} />}
      <button type="submit" class={does === 'remove' ? 'danger' : 'quiet'}>
        {label}
      </button>
    </PostForm>
  );
}

/** Carries out the button that was pressed on the page of a watch. */
export async function actOnWatch(visit: FormVisit): Promise<Answer> {
  const { services, form, c } = visit;
  const watches = await services.watches();
  const id = c.req.query('id') ?? '';
  switch (form.value('do')) {
    case 'run':
      await watches.run(null, id);
      break;
    case 'pause':
    case 'resume':
      await watches.change(null, id, { paused: form.value('do') === 'pause' });
      break;
    case 'approve':
      await watches.approve(null, id, form.value('run'));
      break;
    case 'remove':
      await watches.remove(null, id);
      return { to: 'watches' };
    case 'test': {
      const outcome = await watches.test(null, id);
      const lines = outcome.map(({ kind, error }) => `${kind}: ${error ?? 'sent'}`);
      return await watchPage(
        visit,
        <p class={`notice ${outcome.every(({ error }) => error === null) ? 'good' : 'bad'}`} role="status">
          {lines.join('; ') || 'This watch sends to nobody.'}
        </p>,
      );
    }
  }
  return { to: `watch?id=${id}` };
}

/** The form of a new watch, or of the one that `?id=` names. */
export async function watchFormPage(visit: Visit): Promise<Answer> {
  const id = visit.c.req.query('id') ?? '';
  const watch = id === '' ? null : await (await visit.services.watches()).read(null, id);
  return await showForm(visit, { id, form: watch === null ? formOf([]) : formOfWatch(watch), isNew: watch === null });
}

/** Checks the form, or makes or changes a watch. */
export async function sendWatchForm(visit: FormVisit): Promise<Answer> {
  const { services, form, c } = visit;
  const id = c.req.query('id') ?? '';
  const isNew = id === '';
  try {
    const watches = await services.watches();
    const body = bodyOf(form, isNew ? null : await watches.read(null, id));
    if (form.value('do') === 'check') {
      const explained = watches.explain(body.schedule as Parameters<typeof watches.explain>[0]);
      const { url } = body.request as { url?: string };
      const preview =
        isNew && url
          ? await capture(visit, { ...(body.request as object), format: 'webp', resize: { width: 640 } })
          : null;
      return await showForm(visit, {
        id,
        form,
        isNew,
        explained,
        preview: preview === null ? null : (pictureOf(preview)?.artifact ?? null),
      });
    }
    const key = isNew ? await services.store.findKey(form.value('key')) : null;
    if (isNew && key === null) throw invalidField('key', 'must be a key with the scope watches:write');
    const watch =
      key === null
        ? await watches.change(null, id, body)
        : await watches.create({ keyId: key.id, accountId: key.accountId }, body);
    return { to: `watch?id=${watch.id}` };
  } catch (thrown) {
    if (!(thrown instanceof CaptureError)) throw thrown;
    return await showForm(visit, { id, form, isNew, error: noteError(services, c.var.exchange, thrown) });
  }
}

/**
 * Mail is the last entry of `send`, so that the others keep their places, and with them their secrets.
 * @param before the watch that is changed, which keeps what the form has no field for
 */
function bodyOf(form: Form, before: WireWatch | null): Record<string, unknown> {
  const mailBefore = before === null ? undefined : mailOf(before);
  const [cron, every, timezone] = ['cron', 'every', 'timezone'].map((name) => form.value(name).trim());
  const mail = form
    .value('mail')
    .split(/[\s,;]+/)
    .filter((address) => address !== '');
  const above = form.value('above').trim();
  return {
    name: form.value('name').trim() || form.value('url').trim().slice(0, 100),
    request: {
      ...objectOf(form, 'request'),
      ...(form.value('url').trim() === '' ? {} : { url: form.value('url').trim() }),
    },
    schedule: cron === '' ? { every } : { cron, ...(timezone === '' ? {} : { timezone }) },
    report: form.value('report') || 'changed',
    against: form.value('against') || 'previous',
    text: form.has('text'),
    compare: above === '' ? null : { ...before?.compare, above: Number(above) },
    send: [
      ...listOf(form, 'send'),
      ...(mail.length === 0 ? [] : [{ email: { ...mailBefore, to: mail, attach: form.value('attach') || 'none' } }]),
    ],
  };
}

function jsonOf(form: Form, name: string): unknown {
  const text = form.value(name).trim();
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    throw invalidField(name, 'must be JSON');
  }
}

function objectOf(form: Form, name: string): Record<string, unknown> {
  const value = jsonOf(form, name) ?? {};
  if (!isObject(value)) throw invalidField(name, 'must be a JSON object');
  return value;
}

function listOf(form: Form, name: string): unknown[] {
  const value = jsonOf(form, name) ?? [];
  if (!Array.isArray(value)) throw invalidField(name, 'must be a JSON list');
  return value;
}

function mailOf({ send }: WireWatch): { to: string[]; attach: string } | undefined {
  return (send.at(-1) as { email?: { to: string[]; attach: string } } | undefined)?.email;
}

function formOfWatch(watch: WireWatch): Form {
  const { url, ...request } = watch.request;
  const mail = mailOf(watch);
  const others = mail === undefined ? watch.send : watch.send.slice(0, -1);
  const json = (value: object) => (Object.keys(value).length === 0 ? '' : JSON.stringify(value, null, 2));
  const { cron = '', every = '', timezone = '' } = watch.schedule;
  return formOf([
    ['name', watch.name],
    ['url', typeof url === 'string' ? url : ''],
    ['cron', cron],
    ['every', every],
    ['timezone', timezone],
    ['report', watch.report],
    ['against', watch.against],
    ...(watch.text ? ([['text', 'on']] as [string, string][]) : []),
    ['above', watch.compare === null ? '' : String(watch.compare.above)],
    ['mail', mail?.to.join(', ') ?? ''],
    ['attach', mail?.attach ?? 'none'],
    ['request', json(request)],
    ['send', json(others)],
  ]);
}

interface ShownForm {
  id: string;
  form: Form;
  isNew: boolean;
  error?: StoredError;
  explained?: { words: string; times: number[] };
  /** Name of the artifact of a preview. */
  preview?: string | null;
}

async function showForm(
  { services, formToken }: Visit,
  { id, form, isNew, error, explained, preview }: ShownForm,
): Promise<Answer> {
  const keys = (await services.store.listKeys()).filter(
    (key: ApiKey) => key.revokedAt === null && key.scopes.includes('watches:write'),
  );
  const issues = (error?.details?.issues ?? []) as RequestIssue[];
  const problem = (...paths: string[]) =>
    issues
      .filter(({ path }) => paths.some((one) => path === one || path.startsWith(`${one}.`)))
      .map(({ path, message }) => `${path} ${message}`)
      .join('; ') || null;
  const text = (name: string, label: string, hint: string, ...paths: string[]) => (
    <TextField
      name={name}
      label={label}
      hint={hint}
      value={form.value(name)}
      problem={problem(...(paths.length === 0 ? [name] : paths))}
      class="wide"
    />
  );
  const long = (name: string, label: string, hint: string) => (
    <Field
      name={name}
      label={label}
      hint={hint}
      problem={problem(name)}
      class="wide"
      control={(labeled) => (
        <textarea rows={4} spellcheck={false} {...labeled}>
          {escaped(form.value(name))}
        </textarea>
      )}
    />
  );
  return {
    title: isNew ? 'Watch a page' : 'Change a watch',
    section: 'watches',
    status: error?.status,
    body: (
      <PostForm action={`watch-form${isNew ? '' : `?id=${id}`}`} token={formToken} class="stack">
        {error === undefined ? null : <ErrorNotice error={error} />}
        {explained === undefined ? null : (
          <section class="notice good" role="status">
            <p>
              It runs <strong>{explained.words}</strong>.
            </p>
            <p>Next: {explained.times.map(instant).join('; ')}</p>
            {preview ? <img src={pictureAt(preview)} alt="Preview of the page" width="320" /> : null}
          </section>
        )}
        <div class="card row">
          {text('url', 'Page', 'The address of the page', 'request.url')}
          {text('name', 'Name', 'Stands in every message; the address if it is left empty')}
          {isNew ? (
            <SelectField
              name="key"
              label="Charge to"
              choices={keys.map((key) => [key.id, `${key.label} (${key.accountName})`])}
              value={form.value('key')}
              problem={problem('key')}
            />
          ) : null}
        </div>
        <div class="card row">
          {text('every', 'Every', 'Such as `15m`, `6h` or `1d`', 'schedule', 'schedule.every')}
          {text('cron', 'Or at the times of', 'Five fields, such as `0 8 * * MON`, or `@daily`', 'schedule.cron')}
          {text('timezone', 'Time zone', 'Of these times; UTC if it is left empty', 'schedule.timezone')}
        </div>
        <div class="card row">
          <SelectField
            name="report"
            label="Tell"
            choices={[
              ['changed', 'changes'],
              ['always', 'every run'],
            ]}
            value={form.value('report')}
          />
          <SelectField
            name="against"
            label="Compare with"
            choices={[
              ['previous', 'the run before'],
              ['approved', 'the approved run'],
            ]}
            value={form.value('against')}
          />
          {text('above', 'Share that may change', 'From 0 to 1; 0 if it is left empty', 'compare')}
          <Field
            name="text"
            label="Compare the text instead of pixels"
            class="switch"
            labelLast
            control={(labeled) => <input type="checkbox" value="on" checked={form.has('text')} {...labeled} />}
          />
        </div>
        <div class="card row">
          {text('mail', 'Mail to', 'Addresses, separated by commas', 'send')}
          <SelectField
            name="attach"
            label="Attach"
            choices={[
              ['none', 'nothing'],
              ['picture', 'the picture'],
              ['pdf', 'a PDF of it'],
            ]}
            value={form.value('attach')}
          />
        </div>
        <details
          class="card"
          open={form.value('send') !== '' || form.value('request') !== '' || problem('send', 'request') !== null}
        >
          <summary>More options</summary>
          {long(
            'send',
            'Other receivers',
            'A JSON list, such as `[{"slack": {"url": "https://hooks.slack.com/…"}}]`. `***` stands for a stored secret',
          )}
          {long(
            'request',
            'Options of the capture',
            'A JSON object with fields of a capture request, such as `{"full_page": true}`',
          )}
        </details>
        <p class="use">
          <button type="submit" name="do" value="save" class="primary">
            {isNew ? 'Watch the page' : 'Save'}
          </button>
          <button type="submit" name="do" value="check">
            {isNew ? 'Check and preview (1 credit)' : 'Check the times'}
          </button>
        </p>
      </PostForm>
    ),
  };
}
