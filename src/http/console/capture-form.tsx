import type { ApiKey } from '../../capture/app-store.js';
import type { StoredError } from '../../contract/capture-error.js';
import { FIELD_GROUPS } from '../../contract/request-fields.js';
import type { RequestIssue } from '../../contract/submission.js';
import { ErrorNotice } from './error-page.js';
import { Field, idOf } from './field.js';
import type { Form } from './form.js';
import { FORM_FIELDS, type FormField } from './form-fields.js';
import { PostForm } from './layout.js';
import { Marked } from './marked.js';

interface CaptureFormProps {
  formToken: string;
  /** The keys that captures can be charged to. */
  keys: readonly ApiKey[];
  /** The form as it was sent; null for a new form. */
  form: Form | null;
  error: StoredError | null;
}

/** Beside the URL, as most pictures need no other options. */
const FIRST_FIELDS = FORM_FIELDS.filter(({ form }) => form === 'first');
const GROUPS = FIELD_GROUPS.map((heading) => ({
  heading,
  fields: FORM_FIELDS.filter(({ group, form }) => group === heading && form !== 'first'),
}));

export function CaptureForm({ formToken, keys, form, error }: CaptureFormProps) {
  const issues = issuesOf(error);
  if (keys.length === 0) return <NoKeys />;
  return (
    <PostForm action="capture" token={formToken} id="capture" class="capture" data-busy="Capturing…">
      {error === null ? null : <Problems error={error} issues={issues} />}
      <div class="card">
        <div class="row">
          {FIRST_FIELDS.map((field) => (
            <Field field={field} form={form} problem={problemOf(field.name, issues)} />
          ))}
          <KeyChoice keys={keys} form={form} problem={problemOf('key', issues)} />
          <button type="submit" class="primary">
            Take the picture
          </button>
        </div>
        <p role="status" data-busy-status />
      </div>
      {GROUPS.map(({ heading, fields }) => (
        <details class="card" open={isTouched(fields, form, issues)}>
          <summary>
            <h2>{heading}</h2>
          </summary>
          <div class="fields">
            {fields.map((field) => (
              <Field field={field} form={form} problem={problemOf(field.name, issues)} />
            ))}
          </div>
        </details>
      ))}
      <p>
        <button type="submit">Take the picture with these options</button>
      </p>
    </PostForm>
  );
}

function NoKeys() {
  return (
    <section class="card narrow">
      <p>
        Captures are charged to a key with the scope <code>screenshot:write</code>, and there is none. <a href="keys">Create a key</a>
      </p>
    </section>
  );
}

function KeyChoice({ keys, form, problem }: { keys: readonly ApiKey[]; form: Form | null; problem: string | null }) {
  const chosen = form?.value('key') ?? '';
  return (
    <div class="field">
      <label for="f-key">Charge to</label>
      <select
        id="f-key"
        name="key"
        aria-invalid={problem === null ? undefined : 'true'}
        aria-describedby={problem === null ? undefined : 'e-key'}
      >
        {keys.map(({ id, label, accountName }) => (
          <option value={id} selected={id === chosen}>
            {label} ({accountName})
          </option>
        ))}
      </select>
      {problem === null ? null : (
        <p class="problem" id="e-key">
          {problem}
        </p>
      )}
    </div>
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
        <strong>The request is not valid</strong> (<a href={`../docs#${error.code}`}>{error.code}</a>)
      </p>
      <ul>
        {placed.map(({ path, message, id }) => (
          <li>
            <a href={`#${id}`}>{path}</a> <Marked text={message} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function issuesOf(error: StoredError | null): RequestIssue[] {
  const issues = error?.details?.issues;
  return Array.isArray(issues) ? (issues as RequestIssue[]) : [];
}

function problemOf(name: string, issues: readonly RequestIssue[]): string | null {
  const own = issues.filter((issue) => (name === 'key' ? issue.path === name : isAbout(issue, name)));
  return own.length === 0 ? null : own.map(({ path, message }) => (path === name ? message : `${path} ${message}`)).join('; ');
}

/** An issue may be about an item of a field, or about the object that the field is in: then the first of its fields shows it. */
function isAbout({ path }: RequestIssue, name: string): boolean {
  if (path === name || path.startsWith(`${name}.`)) return true;
  return path !== '' && FORM_FIELDS.find((field) => field.name.startsWith(`${path}.`))?.name === name;
}

/** Whether a group is open: it has a value, or a problem; of a new form, the group that most pictures need. */
function isTouched(fields: readonly FormField[], form: Form | null, issues: readonly RequestIssue[]): boolean {
  if (form === null) return fields[0]?.group === 'Output';
  return fields.some(({ name, kind, defaultValue }) => {
    const isSet = kind === 'switch' ? form.has(name) !== (defaultValue ?? false) : form.value(name).trim() !== '';
    return isSet || problemOf(name, issues) !== null;
  });
}
