import { CaptureError, type StoredError } from '../../contract/capture-error.js';
import type { WireComparison } from '../../contract/comparison.js';
import { isId } from '../../contract/ids.js';
import type { RequestIssue } from '../../contract/submission.js';
import { noteError } from '../envelope.js';
import { compareFor } from '../routes/compare-pictures.js';
import { capturingKeys, chargeToKey } from './capture.js';
import { type Column, ErrorNotice, Facts, SelectField, Table, TextField } from './components.js';
import type { Form } from './form.js';
import { PostForm } from './layout.js';
import { amount } from './say.js';
import type { Answer, FormVisit, Visit } from './visit.js';

const REGIONS_SHOWN = 10;
const FORMS = { overlay: 'the later picture, changes in red', side_by_side: 'side by side' };

/** The form; `?before=` fills in the job that a later picture is compared with. */
export async function comparePage(visit: Visit): Promise<Answer> {
  return await show(visit, { before: visit.c.req.query('before') ?? '' });
}

/** Compares two pictures as POST /v1/compare does, with a key that the operator picks. */
export async function compareTwo(visit: FormVisit): Promise<Answer> {
  const { form, services, c } = visit;
  try {
    return await show(visit, { form, comparison: await compare(visit) });
  } catch (thrown) {
    if (!(thrown instanceof CaptureError)) throw thrown;
    return await show(visit, { form, error: noteError(services, c.var.exchange, thrown) });
  }
}

async function compare(visit: FormVisit): Promise<WireComparison> {
  const { services, c, form } = visit;
  const principal = await chargeToKey(visit);
  using _place = services.comparisons.enter(principal.accountId);
  const body = { before: sourceOf(form.value('before')), after: sourceOf(form.value('after')), picture: form.value('picture') };
  return await compareFor(services, c, { body, idempotencyKey: null });
}

/** A job and an artifact are stored pictures; everything else is the address of a page, which is captured. */
function sourceOf(text: string): unknown {
  const given = text.trim();
  return isId('job', given) || /\/artifacts\/[\w-]+\.\w+$/.test(given) ? given : { url: given };
}

interface Shown {
  before?: string;
  form?: Form;
  comparison?: WireComparison;
  error?: StoredError;
}

async function show({ services, formToken }: Visit, { before = '', form, comparison, error }: Shown): Promise<Answer> {
  const keys = await capturingKeys(services);
  const issues = (error?.details?.issues ?? []) as RequestIssue[];
  const problem = (name: string) => issues.find(({ path }) => path === name || path.startsWith(`${name}.`))?.message ?? null;
  const hint = 'Id of a job of the key, address of a picture, or address of a page, which is captured';
  return {
    title: 'Compare',
    section: 'compare',
    status: error?.status,
    body: (
      <>
        {comparison === undefined ? null : <Result comparison={comparison} />}
        {error === undefined ? null : <ErrorNotice error={error} />}
        <PostForm action="compare" token={formToken} class="card" data-busy="Comparing…">
          <TextField name="before" label="Before" value={form?.value('before') ?? before} problem={problem('before')} hint={hint} />
          <TextField name="after" label="After" value={form?.value('after') ?? ''} problem={problem('after')} />
          <div class="row">
            <SelectField name="picture" label="Picture of the changes" choices={Object.entries(FORMS)} value={form?.value('picture')} />
            <SelectField
              name="key"
              label="Charge to"
              choices={keys.map(({ id, label, accountName }) => [id, `${label} (${accountName})`])}
              value={form?.value('key')}
              problem={problem('key')}
            />
            <button type="submit" class="primary">
              Compare
            </button>
          </div>
          <p role="status" data-busy-status />
        </PostForm>
      </>
    ),
  };
}

const COLUMNS: readonly Column[] = [{ name: 'Position' }, { name: 'Size', number: true }];

function Result({ comparison }: { comparison: WireComparison }) {
  const { same, share, pixels, regions, before, after, picture_url: url } = comparison;
  const picture = url === null ? null : `pictures/${url.split('/').at(-1)}`;
  const size = ({ width, height }: WireComparison['before']) => `${amount(width)} × ${amount(height)} px`;
  return (
    <section class="card result" aria-label="Result">
      <h2>{same ? 'The pictures are the same' : `${(share * 100).toFixed(2)} % of the pixels have changed`}</h2>
      {picture === null ? null : (
        <a class="picture" href={picture}>
          <img src={picture} alt="What has changed" />
        </a>
      )}
      <Facts
        of={[
          ['Changed pixels', amount(pixels)],
          ['Size', size(before) === size(after) ? size(after) : `${size(before)}, now ${size(after)}`],
        ]}
      />
      {regions.length === 0 ? null : (
        <Table
          columns={COLUMNS}
          rows={regions
            .slice(0, REGIONS_SHOWN)
            .map(({ x, y, width, height }) => [`${amount(x)}, ${amount(y)}`, `${amount(width)} × ${amount(height)} px`])}
        />
      )}
    </section>
  );
}
