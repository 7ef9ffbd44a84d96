import type { Child } from 'hono/jsx';
import type { Form } from './form.js';
import type { FormField } from './form-fields.js';
import { Marked } from './marked.js';

interface FieldProps {
  field: FormField;
  /** The form as it was sent; null for a new form. */
  form: Form | null;
  problem: string | null;
}

/** One field of a capture request, with its description and what is wrong with it. */
export function Field({ field, form, problem }: FieldProps) {
  const { name, kind } = field;
  const id = idOf(name);
  const described = [...(field.description === '' ? [] : [`h-${id}`]), ...(problem === null ? [] : [`e-${id}`])].join(' ');
  const shared = {
    id,
    name,
    'aria-describedby': described === '' ? undefined : described,
    'aria-invalid': problem === null ? undefined : 'true',
  };
  const notes = (
    <>
      {field.description === '' ? null : (
        <p class="hint" id={`h-${id}`}>
          <Marked text={field.description} />
        </p>
      )}
      {problem === null ? null : (
        <p class="problem" id={`e-${id}`}>
          <Marked text={problem} />
        </p>
      )}
    </>
  );
  if (kind === 'choices') return <Choices {...{ field, form, described, notes }} />;
  if (kind === 'switch') {
    const on = form === null || isPrefilled(form) ? field.defaultValue === true : form.has(name);
    return (
      <div class="field switch">
        <input type="checkbox" value="on" checked={on} {...shared} />
        <label for={id}>{name}</label>
        {notes}
      </div>
    );
  }
  return (
    <div class={`field ${isWide(field) ? 'wide' : ''}`}>
      <label for={id}>{name}</label>
      <Control field={field} text={form?.value(name) ?? ''} shared={shared} />
      {notes}
    </div>
  );
}

export function idOf(name: string): string {
  return `f-${name.replaceAll('.', '-')}`;
}

/** A form that was not sent, but filled in from a link, has the defaults of its switches. */
function isPrefilled(form: Form): boolean {
  return !form.has('key');
}

function isWide({ kind, name }: FormField): boolean {
  return kind === 'long' || kind === 'json' || kind === 'pairs' || kind === 'lines' || name === 'url';
}

function Control({ field, text, shared }: { field: FormField; text: string; shared: Record<string, string | undefined> }) {
  const { kind } = field;
  const placeholder = placeholderOf(field);
  if (kind === 'choice') {
    const { defaultValue, choices } = field;
    return (
      <select {...shared}>
        <option value="">{defaultValue === undefined ? 'not set' : `${String(defaultValue)} (default)`}</option>
        {choices
          .filter((choice) => choice !== defaultValue)
          .map((choice) => (
            <option value={choice} selected={choice === text}>
              {choice}
            </option>
          ))}
      </select>
    );
  }
  if (isWide(field) && field.name !== 'url') {
    return (
      <textarea rows={kind === 'long' ? 3 : 2} placeholder={placeholder} spellcheck={false} {...shared}>
        {text}
      </textarea>
    );
  }
  if (kind === 'secret') return <input type="password" autocomplete="new-password" {...shared} />;
  const inputmode = kind === 'number' ? 'decimal' : field.name.endsWith('url') ? 'url' : undefined;
  return (
    <input type="text" inputmode={inputmode} value={text} placeholder={placeholder} autocomplete="off" spellcheck={false} {...shared} />
  );
}

function Choices({ field, form, described, notes }: { field: FormField; form: Form | null; described: string; notes: Child }) {
  const { name, choices } = field;
  return (
    <fieldset class="field" id={idOf(name)} aria-describedby={described}>
      <legend>{name}</legend>
      {choices.map((choice) => (
        <span class="choice">
          <input type="checkbox" id={`${idOf(name)}-${choice}`} name={name} value={choice} checked={form?.values(name).includes(choice)} />
          <label for={`${idOf(name)}-${choice}`}>{choice}</label>
        </span>
      ))}
      {notes}
    </fieldset>
  );
}

function placeholderOf({ name, kind, defaultValue, example }: FormField): string | undefined {
  // contract/paper-default.ts
  if (name === 'pdf.paper') return 'default: a4, or letter in the US and Canada';
  if (typeof defaultValue === 'number' || typeof defaultValue === 'string') return `default: ${defaultValue}`;
  switch (kind) {
    case 'lines':
      return 'one per line';
    case 'pairs':
      return 'X-Name: value';
    case 'json':
      return 'JSON';
    default:
      return typeof example === 'string' || typeof example === 'number' ? `such as ${example}` : undefined;
  }
}
