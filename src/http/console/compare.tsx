import type { FoundPicture, Side } from '../../capture/compare.js';
import { CaptureError, type StoredError } from '../../contract/capture-error.js';
import type { WireComparison } from '../../contract/comparison.js';
import { isId } from '../../contract/ids.js';
import type { RequestIssue } from '../../contract/submission.js';
import type { AppServices } from '../app-services.js';
import { noteError } from '../exchange.js';
import { compareFor } from '../routes/compare-pictures.js';
import { capturingKeys, chargeToKey } from './capture.js';
import { type Column, ErrorNotice, Facts, SelectField, Table, TextField } from './components.js';
import { type Form, formOf } from './form.js';
import { PostForm } from './layout.js';
import { amount } from './say.js';
import { BeforeAfter, pictureAt, pictureOf, Viewer } from './viewer.js';
import type { Answer, FormVisit, Visit } from './visit.js';

const REGIONS_SHOWN = 10;
const FORMS = { overlay: 'as an overlay', side_by_side: 'side by side' };

/** The form; `?before=` and `?after=` fill in jobs, whose pictures are shown on top of each other without being compared. */
export async function comparePage(visit: Visit): Promise<Answer> {
  return await show(visit, { form: formOf(['before', 'after'].map((side) => [side, visit.c.req.query(side) ?? ''])) });
}

/** Compares two pictures as POST /v1/compare does, with a key that the operator picks; jobs may be those of any key. */
export async function compareTwo(visit: FormVisit): Promise<Answer> {
  const { form, services, c } = visit;
  try {
    return await show(visit, { form, ...(await compare(visit)) });
  } catch (thrown) {
    if (!(thrown instanceof CaptureError)) throw thrown;
    return await show(visit, { form, error: noteError(services, c.var.exchange, thrown) });
  }
}

async function compare(visit: FormVisit): Promise<Required<Pick<Shown, 'comparison' | 'pictures'>>> {
  const { services, c, form } = visit;
  const principal = await chargeToKey(visit);
  using _place = services.comparisons.enter(principal.accountId);
  const [before, after] = await Promise.all([
    sourceOf(services, form.value('before')),
    sourceOf(services, form.value('after')),
  ]);
  const body = { before, after, picture: form.value('picture') };
  const { comparison, pictures } = await compareFor(services, c, { body, idempotencyKey: null });
  return { comparison, pictures: { before: nameOf(pictures.before), after: nameOf(pictures.after) } };
}

/** The form has no field for a picture itself, so each is a stored one. */
function nameOf(picture: FoundPicture): string {
  return picture.kind === 'artifact' ? picture.name : '';
}

/** A job and an artifact are stored pictures; everything else is the address of a page, which is captured. */
async function sourceOf({ store }: AppServices, text: string): Promise<unknown> {
  const trimmed = text.trim();
  if (/\/artifacts\/[\w-]+\.\w+$/.test(trimmed)) return trimmed;
  if (!isId('job', trimmed)) return { url: trimmed };
  const job = await store.findJob(trimmed);
  return job?.result?.outcome.ok === true ? `/artifacts/${job.result.outcome.data.artifact}` : trimmed;
}

/** The pictures of two jobs; null unless both have one. */
async function picturesOf({ store }: AppServices, form: Form): Promise<Record<Side, string> | null> {
  const ids = ['before', 'after'].map((side) => form.value(side).trim());
  if (!ids.every((id) => isId('job', id))) return null;
  const [before = null, after = null] = await Promise.all(ids.map((id) => store.findJob(id)));
  const [one, other] = [before && pictureOf(before), after && pictureOf(after)];
  return one === null || other === null ? null : { before: one.artifact, after: other.artifact };
}

interface Shown {
  form: Form;
  comparison?: WireComparison;
  /** Names of the compared artifacts. */
  pictures?: Record<Side, string>;
  error?: StoredError;
}

async function show({ services, formToken }: Visit, { form, comparison, pictures, error }: Shown): Promise<Answer> {
  const [keys, shown] = await Promise.all([capturingKeys(services), pictures ?? picturesOf(services, form)]);
  const issues = (error?.details?.issues ?? []) as RequestIssue[];
  const problem = (name: string) =>
    issues.find(({ path }) => path === name || path.startsWith(`${name}.`))?.message ?? null;
  return {
    title: 'Compare',
    section: 'compare',
    status: error?.status,
    body: (
      <div class="stack">
        {error === undefined ? null : <ErrorNotice error={error} />}
        <PostForm action="compare" token={formToken} class="card" data-busy="Comparing…">
          <p class="hint">
            Each side is the id of a job, the address of a stored picture, or the address of a page. Stored pictures
            cost nothing to compare; a page is captured first, and charged as usual.
          </p>
          <div class="pair">
            <TextField name="before" label="Before" value={form.value('before')} problem={problem('before')} />
            <TextField name="after" label="After" value={form.value('after')} problem={problem('after')} />
          </div>
          <div class="row">
            <SelectField
              name="picture"
              label="Show changes"
              choices={Object.entries(FORMS)}
              value={form.value('picture')}
            />
            <SelectField
              name="key"
              label="Charge to"
              choices={keys.map(({ id, label, accountName }) => [id, `${label} (${accountName})`])}
              value={form.value('key')}
              problem={problem('key')}
            />
            <button type="submit" class="primary">
              Compare
            </button>
          </div>
          <p role="status" data-busy-status />
        </PostForm>
        {comparison === undefined ? null : <Result comparison={comparison} />}
        {shown === null ? null : (
          <section class="card">
            <h2>Before and after</h2>
            <BeforeAfter {...shown} />
          </section>
        )}
      </div>
    ),
  };
}

const COLUMNS: readonly Column[] = [{ name: 'Changed area' }, { name: 'Size', number: true }];

function Result({ comparison }: { comparison: WireComparison }) {
  const { same, share, pixels, regions, before, after, picture_url: url } = comparison;
  const size = ({ width, height }: WireComparison['before']) => `${amount(width)} × ${amount(height)} px`;
  const rows = regions.map(({ x, y, width, height }) => [
    `${amount(x)}, ${amount(y)}`,
    `${amount(width)} × ${amount(height)} px`,
  ]);
  return (
    <section class="card result" aria-label="Result">
      <h2>{same ? 'The pictures are the same' : `${shareOf(share)} of the pixels have changed`}</h2>
      {url === null ? null : <Viewer src={pictureAt(url.split('/').at(-1) ?? '')} alt="What has changed" density={1} />}
      <Facts
        of={[
          ['Changed pixels', amount(pixels)],
          ['Size', size(before) === size(after) ? size(after) : `${size(before)}, now ${size(after)}`],
          ['Changed areas', regions.length === 0 ? null : amount(regions.length)],
        ]}
      />
      {regions.length === 0 ? null : (
        <details>
          <summary>
            {regions.length > REGIONS_SHOWN ? `The ${REGIONS_SHOWN} largest changed areas` : 'Where the changes are'}
          </summary>
          <Table columns={COLUMNS} rows={rows.slice(0, REGIONS_SHOWN)} />
        </details>
      )}
    </section>
  );
}

/** A tiny share must not be shown as 0 %. */
function shareOf(share: number): string {
  return share > 0 && share < 0.0001 ? 'Less than 0.01 %' : `${(share * 100).toFixed(2)} %`;
}
