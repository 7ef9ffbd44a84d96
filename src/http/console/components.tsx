/** Parts of pages that several pages have. */

import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import type { StoredError } from '../../contract/capture-error.js';
import type { JobSnapshot } from '../../contract/job.js';
import { escapeMarkup } from '../../contract/markup.js';

/** Names and values, as a description list, without those whose value is null. @param wide in two columns where there is room */
export function Facts({
  of,
  wide = false,
}: {
  of: readonly (readonly [name: Child, value: Child | null])[];
  wide?: boolean;
}) {
  return (
    <dl class={wide ? 'facts wide-facts' : 'facts'}>
      {of
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export interface Column {
  name: string;
  number?: true;
  /** On a phone, its cells stand without its name. */
  unnamed?: true;
}

/** A table whose first column names the rows. */
export function Table({ columns, rows }: { columns: readonly Column[]; rows: readonly (readonly Child[])[] }) {
  const classOf = (column: Column | undefined) => (column?.number ? 'number' : undefined);
  return (
    <div class="table">
      <table class="stacked">
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" class={classOf(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, ...cells]) => (
            <tr>
              <th scope="row">{name}</th>
              {cells.map((cell, i) => {
                const column = columns[i + 1];
                return (
                  <td data-name={column?.unnamed ? undefined : column?.name} class={classOf(column)}>
                    {cell}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Attributes that tie a control to its label and its notes. */
export interface Labeled {
  id: string;
  name: string;
  'aria-describedby': string | undefined;
  'aria-invalid': 'true' | undefined;
}

interface FieldProps {
  name: string;
  /** Apart from others of the same name on the page. Default: the name. */
  id?: string;
  label: string;
  /** Name of the field in requests, which stands beside the label. */
  wire?: string;
  hint?: string | undefined;
  /** The problem of the value. */
  problem?: string | null | undefined;
  class?: string;
  /** Whether the control stands before its label. */
  labelLast?: boolean;
  control(labeled: Labeled): Child;
}

/** A control with its label and its notes. */
export function Field({
  name,
  id = name,
  label,
  wire = '',
  hint = '',
  problem = null,
  class: look = '',
  labelLast = false,
  control,
}: FieldProps) {
  const ids = [...(hint === '' ? [] : [`h-${id}`]), ...(problem === null ? [] : [`e-${id}`])].join(' ');
  const shown = control({
    id,
    name,
    'aria-describedby': ids === '' ? undefined : ids,
    'aria-invalid': problem === null ? undefined : 'true',
  });
  return (
    <div class={`field ${look}`}>
      {labelLast ? shown : null}
      <label for={id}>{label}</label>
      {wire === '' ? null : <code class="wire">{wire}</code>}
      {labelLast ? null : shown}
      <Notes {...{ id, hint, problem }} />
    </div>
  );
}

/** The description of a field, and what is wrong with it. */
export function Notes({ id, hint, problem }: { id: string; hint: string; problem: string | null }) {
  return (
    <>
      {hint === '' ? null : (
        <p class="hint" id={`h-${id}`}>
          <Marked text={hint} />
        </p>
      )}
      {problem === null ? null : (
        <p class="problem" id={`e-${id}`}>
          <Marked text={problem} />
        </p>
      )}
    </>
  );
}

/** A field of a short text. */
export function TextField({ value, ...field }: Omit<FieldProps, 'control'> & { value: string }) {
  return (
    <Field
      {...field}
      control={(labeled) => <input type="text" value={escaped(value)} autocomplete="off" {...labeled} />}
    />
  );
}

/** A field of one of several values. */
export function SelectField({ choices, value = null, ...field }: Omit<FieldProps, 'control'> & ChoicesProps) {
  return <Field {...field} control={(labeled) => <Select {...{ choices, value, labeled }} />} />;
}

interface ChoicesProps {
  /** Their values, and how they are shown. */
  choices: readonly (readonly [value: string, text: string])[];
  value?: string | null | undefined;
}

export function Select({ choices, value, labeled }: ChoicesProps & { labeled: Labeled }) {
  return (
    <select {...labeled}>
      {choices.map(([choice, text]) => (
        <option value={choice} selected={choice === value}>
          {text}
        </option>
      ))}
    </select>
  );
}

/**
 * Announces changes of the parts of a page that follow the server, and lets the reader stop them. Such a part is an element with an id
 * and `data-live`, the page that it is read from again (in-browser/islands.ts).
 */
export function LiveStatus() {
  return (
    <div class="live">
      <p role="status" data-live-status />
      <button type="button" class="quiet" data-live-switch hidden>
        Pause updates
      </button>
    </div>
  );
}

/** A text that can be copied. */
export function Copyable({ id, text }: { id: string; text: string }) {
  return (
    <>
      <pre>
        <code id={id}>{escaped(text)}</code>
      </pre>
      <button type="button" class="quiet" data-copy={id} hidden>
        Copy
      </button>
    </>
  );
}

/**
 * A text that may be long, escaped for an element or an attribute. hono/jsx escapes one character at a time, which takes 100 ms for 100 KB
 * of quotes.
 */
export function escaped(text: string) {
  return raw(escapeMarkup(text));
}

/** A text with the names of fields between backticks, which become code. */
export function Marked({ text }: { text: string }) {
  return <>{text.split('`').map((part, i) => (i % 2 === 1 ? <code>{part}</code> : part))}</>;
}

/** A job's state, in words and with a color. */
export function State({ job }: { job: Pick<JobSnapshot, 'state' | 'progress' | 'result'> }) {
  const { state, progress, result } = job;
  if (result?.outcome.ok === false) {
    return (
      <>
        <span class="state bad">failed</span> <code>{result.outcome.error.code}</code>
      </>
    );
  }
  const tone = state === 'completed' ? 'good' : state === 'active' ? 'busy' : '';
  return (
    <span class={`state ${tone}`}>
      {state}
      {state === 'active' ? ` ${progress} %` : ''}
    </span>
  );
}

export function ErrorNotice({ error }: { error: Pick<StoredError, 'code' | 'message'> }) {
  return (
    <div class="notice bad" role="alert">
      <p>
        <strong>
          <Marked text={error.message} />
        </strong>
      </p>
      <p>
        Error <a href={`../docs/errors#${error.code}`}>{error.code}</a>
      </p>
    </div>
  );
}

const PER_PAGE = 50;

/** A page of a list, with links to the others. @param after an id that the page begins after; an unknown one is the beginning */
export function pageOf<Item extends { id: string }>(all: readonly Item[], path: string, after = '') {
  const start = all.findIndex(({ id }) => id === after) + 1;
  const items = all.slice(start, start + PER_PAGE);
  const links = (
    <p class="pages">
      {start === 0 ? null : <a href={path}>First page</a>}
      {start + PER_PAGE < all.length ? <a href={`${path}?after=${items.at(-1)?.id}`}>Next page</a> : null}
    </p>
  );
  return { items, links: all.length > PER_PAGE ? links : null };
}
