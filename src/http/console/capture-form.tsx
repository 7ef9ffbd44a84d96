import type { Child } from 'hono/jsx';
import type { ApiKey } from '../../capture/app-store.js';
import type { StoredError } from '../../contract/capture-error.js';
import { NO_LINK_FIELDS } from '../../contract/render-link.js';
import { FIELD_GROUPS } from '../../contract/request-fields.js';
import type { RequestIssue } from '../../contract/submission.js';
import { ErrorNotice, escaped, Field, type Labeled, Marked, Notes, Select, SelectField } from './components.js';
import type { Form } from './form.js';
import { FORM_FIELDS, type FormField, isOn } from './form-fields.js';
import { PostForm } from './layout.js';

/** Options that a kind of picture begins with, as the query of this page. */
const PRESETS: readonly (readonly [name: string, options: Record<string, string>])[] = [
  ['Phone', { device: 'iphone_15_pro' }],
  ['Full page', { full_page: 'on' }],
  ['PDF invoice', { format: 'pdf', 'pdf.paper': 'a4', 'pdf.margin': '15mm' }],
  [
    'E-paper',
    {
      format: 'png',
      'palette.colors': '2',
      'viewport.width': '800',
      'viewport.height': '480',
      'viewport.deviceScaleFactor': '1',
    },
  ],
  [
    'Open Graph card',
    { format: 'png', 'viewport.width': '1200', 'viewport.height': '630', 'viewport.deviceScaleFactor': '1' },
  ],
];

interface CaptureFormProps {
  formToken: string;
  /** The keys that captures can be charged to. */
  keys: readonly ApiKey[];
  /** The form as it was sent; null for a new form. */
  form: Form | null;
  error: StoredError | null;
  /** Stands beside the options. */
  aside: Child;
}

/** Beside the URL, as most pictures need no other options. */
const FIRST_FIELDS = FORM_FIELDS.filter(({ form }) => form === 'first');
const GROUPS = FIELD_GROUPS.map((heading) => ({
  heading,
  fields: FORM_FIELDS.filter(({ group, form }) => group === heading && form !== 'first'),
}));

export function CaptureForm({ formToken, keys, form, error, aside }: CaptureFormProps) {
  const issues = (error?.details?.issues ?? []) as RequestIssue[];
  if (keys.length === 0) return <NoKeys />;
  const fields = (list: readonly FormField[]) =>
    list.map((field) => <CaptureField {...{ field, form, problem: problemOf(field.name, issues) }} />);
  return (
    <PostForm
      action="capture"
      token={formToken}
      id="capture"
      class="capture"
      data-busy="Capturing…"
      data-fresh={form === null ? '' : undefined}
      data-private={NO_LINK_FIELDS.join(' ')}
    >
      {error === null ? null : <Problems error={error} issues={issues} />}
      <div class="card">
        <div class="go">
          {fields(FIRST_FIELDS.filter(({ name }) => name === 'url'))}
          <button type="submit" class="primary">
            Take the picture
          </button>
        </div>
        <div class="row first">
          {fields(FIRST_FIELDS.filter(({ kind, suggested }) => kind === 'choice' || suggested !== undefined))}
          <SelectField
            name="key"
            id={idOf('key')}
            label="Charge to"
            choices={keys.map(({ id, label, accountName }) => [id, `${label} (${accountName})`])}
            value={form?.value('key')}
            problem={problemOf('key', issues)}
          />
          {fields(FIRST_FIELDS.filter(({ kind }) => kind === 'switch'))}
        </div>
        <p class="presets">
          <span class="hint">Start from</span>
          {PRESETS.map(([name, options]) => (
            <a class="button quiet" data-preset href={`capture?${new URLSearchParams(options)}`}>
              {name}
            </a>
          ))}
          <a class="button quiet" data-preset href="capture">
            Defaults
          </a>
          <span class="hint" role="status" data-restored />
        </p>
        <p role="status" data-busy-status />
      </div>
      <div class="aside">{aside}</div>
      <div class="card options">
        <div class="options-head">
          <h2>Options</h2>
          <input
            type="search"
            data-find
            aria-label="Find an option"
            placeholder="Find an option, such as “margin”"
            hidden
          />
          <p class="hint" role="status" data-set>
            <SetOptions form={form} />
          </p>
        </div>
        {GROUPS.map((group) => (
          <details open={isOpen(group.fields, form, issues)}>
            <summary>
              <h3>{group.heading}</h3>
              <span class="state busy" data-count hidden />
              <span class="hint">{group.fields.map(({ label }) => label).join(', ')}</span>
            </summary>
            <div class="fields">{fields(group.fields)}</div>
          </details>
        ))}
      </div>
    </PostForm>
  );
}

function NoKeys() {
  return (
    <section class="card narrow">
      <p>
        Captures are charged to a key with the scope <code>screenshot:write</code>, and there is none.{' '}
        <a href="keys">Create a key</a>
      </p>
    </section>
  );
}

/** Lists the problems of a form, with links to the fields. */
function Problems({ error, issues }: { error: StoredError; issues: readonly RequestIssue[] }) {
  const placed = issues.flatMap((issue) => {
    const name = issue.path === 'key' ? 'key' : FORM_FIELDS.find((field) => isAbout(issue, field.name))?.name;
    return name === undefined ? [] : [{ ...issue, id: idOf(name) }];
  });
  if (placed.length === 0) return <ErrorNotice error={error} />;
  return (
    <div class="notice bad" role="alert">
      <p>
        <strong>The request is not valid</strong> (<a href={`../docs/errors#${error.code}`}>{error.code}</a>)
      </p>
      <ul>
        {placed.map(({ path, message, id }) => (
          <li>
            <a href={`#${id}`}>{labelOf(path)}</a> <Marked text={message} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function problemOf(name: string, issues: readonly RequestIssue[]): string | null {
  const own = issues.filter((issue) => isAbout(issue, name));
  return own.length === 0
    ? null
    : own.map(({ path, message }) => (path === name ? message : `${path} ${message}`)).join('; ');
}

/** An issue may be about an item of a field, or about the object that the field is in: then the first of its fields shows it. */
function isAbout({ path }: RequestIssue, name: string): boolean {
  if (path === name || path.startsWith(`${name}.`)) return true;
  return path !== '' && FORM_FIELDS.find((field) => field.name.startsWith(`${path}.`))?.name === name;
}

/** Whether a group is open: it has a value, or a problem. */
function isOpen(fields: readonly FormField[], form: Form | null, issues: readonly RequestIssue[]): boolean {
  return fields.some((field) => isSet(field, form) || problemOf(field.name, issues) !== null);
}

function isSet(field: FormField, form: Form | null): boolean {
  if (field.kind === 'switch') return isOn(field, form) !== (field.defaultValue ?? false);
  return form !== null && form.value(field.name).trim() !== '';
}

/** Counts the options that are set, with links to them. Scripts keep it up to date (in-browser/capture-page.ts). */
function SetOptions({ form }: { form: Form | null }) {
  const set = FORM_FIELDS.filter((field) => field.name !== 'url' && isSet(field, form));
  if (set.length === 0) return <>No options set</>;
  return (
    <>
      {set.length === 1 ? '1 option set: ' : `${set.length} options set: `}
      {set.map(({ name, label }) => (
        <a href={`#${idOf(name)}`}>{label}</a>
      ))}
    </>
  );
}

/** `viewport.width` is the viewport width, `fail_if_content_missing.0` a text of that field. */
function labelOf(path: string): string {
  return FORM_FIELDS.find(({ name }) => path === name || path.startsWith(`${name}.`))?.label ?? path;
}

function idOf(name: string): string {
  return `f-${name.replaceAll('.', '-')}`;
}

/** One field of a capture request, with its description and what is wrong with it. */
function CaptureField({ field, form, problem }: { field: FormField; form: Form | null; problem: string | null }) {
  const { name, label, kind, description, defaultValue, choices } = field;
  const id = idOf(name);
  if (kind === 'choices') {
    return (
      <fieldset class="field" id={id} aria-describedby={`h-${id}${problem === null ? '' : ` e-${id}`}`}>
        <legend>{label}</legend>
        <code class="wire">{name}</code>
        {choices.map((choice) => (
          <span class="choice">
            <input
              type="checkbox"
              id={`${id}-${choice}`}
              name={name}
              value={choice}
              checked={form?.values(name).includes(choice)}
            />
            <label for={`${id}-${choice}`}>{choice}</label>
          </span>
        ))}
        <Notes id={id} hint={description} problem={problem} />
      </fieldset>
    );
  }
  const isFirst = field.form === 'first';
  const shared = { name, id, label, wire: isFirst ? '' : name, hint: isFirst ? '' : description, problem };
  if (kind === 'switch') {
    const box = (labeled: Labeled) => (
      <input
        type="checkbox"
        value="on"
        data-default={defaultValue === true ? 'on' : undefined}
        checked={isOn(field, form)}
        {...labeled}
      />
    );
    return <Field {...shared} class="switch" labelLast control={box} />;
  }
  const control = (labeled: Labeled) => <Control field={field} text={form?.value(name) ?? ''} labeled={labeled} />;
  return <Field {...shared} class={isLarge(field) || name === 'url' ? 'wide' : ''} control={control} />;
}

/** Whether it takes several lines. */
function isLarge({ kind }: FormField): boolean {
  return kind === 'long' || kind === 'json' || kind === 'pairs' || kind === 'lines';
}

function Control({ field, text, labeled }: { field: FormField; text: string; labeled: Labeled }) {
  const { kind, name, defaultValue, choices, suggested } = field;
  const placeholder = placeholderOf(field);
  if (kind === 'choice') {
    const byDefault = defaultValue === undefined ? 'not set' : `${String(defaultValue)} (default)`;
    const others = choices.filter((choice) => choice !== defaultValue).map((choice) => [choice, choice] as const);
    return <Select choices={[['', byDefault], ...others]} value={text} labeled={labeled} />;
  }
  if (isLarge(field)) {
    return (
      <textarea rows={kind === 'long' ? 3 : 2} placeholder={placeholder} spellcheck={false} {...labeled}>
        {escaped(text)}
      </textarea>
    );
  }
  if (kind === 'secret') return <input type="password" autocomplete="new-password" {...labeled} />;
  const inputmode = kind === 'number' ? 'decimal' : name.endsWith('url') ? 'url' : undefined;
  const listId = suggested === undefined ? undefined : `l-${idOf(name)}`;
  return (
    <>
      <input
        type="text"
        inputmode={inputmode}
        list={listId}
        value={escaped(text)}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        {...labeled}
      />
      {suggested === undefined ? null : (
        <datalist id={listId}>
          {suggested.map((value) => (
            <option value={value} />
          ))}
        </datalist>
      )}
    </>
  );
}

function placeholderOf({ kind, defaultValue, example }: FormField): string | undefined {
  if (typeof defaultValue === 'number' || typeof defaultValue === 'string') return `default: ${defaultValue}`;
  if (kind === 'lines') return 'one per line';
  if (kind === 'number or list') return `such as ${example}, or a list with commas`;
  if (kind === 'pairs') return 'X-Name: value';
  if (kind === 'json') return 'JSON';
  return typeof example === 'string' || typeof example === 'number' ? `such as ${example}` : undefined;
}
