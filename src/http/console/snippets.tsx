/** A capture request as code that the reader can take elsewhere. */

import { FIELD_LIST, flagNameOf } from '../../contract/field-list.js';
import { isObject } from '../../contract/field-rules.js';
import { Copyable, Marked } from './components.js';
import { SECRET_FIELDS } from './form-fields.js';

export interface SnippetsProps {
  body: Record<string, unknown>;
  baseUrl: string;
  /** The language whose snippet is shown. */
  chosen?: string;
  /** The reason why the request would be refused. */
  problem?: string | null;
}

/** Longer values of JSON are left out: four copies of a document, with their escapes, would hold the event loop. */
const VALUE_MAX_CHARS = 4_000;

const LANGUAGES = { curl: curlLine, javascript: javascriptCode, python: pythonCode, cli: cliLine } as const;
const NAMES: Record<keyof typeof LANGUAGES, string> = {
  curl: 'curl',
  javascript: 'JavaScript',
  python: 'Python',
  cli: 'CLI',
};

/** The same request in four languages, one of them shown. Secrets and long values are left for the reader to fill in. */
export function Snippets({ body, baseUrl, chosen = '', problem = null }: SnippetsProps) {
  const excerpt = shortened(body);
  const first = Object.hasOwn(LANGUAGES, chosen) ? chosen : 'curl';
  return (
    <section class="card snippets" id="snippets" aria-label="The same request as code">
      <h2>The same request</h2>
      <fieldset class="tabs">
        <legend class="unseen">Language</legend>
        {Object.entries(NAMES).map(([language, name]) => (
          <>
            <input type="radio" name="snippet" id={`in-${language}`} value={language} checked={language === first} />
            <label for={`in-${language}`}>{name}</label>
          </>
        ))}
      </fieldset>
      {Object.entries(LANGUAGES).map(([language, write]) => (
        <div class="snippet" data-language={language}>
          <Copyable id={language} text={write(excerpt, baseUrl)} />
        </div>
      ))}
      <p class="hint" id="snippet-problem" role="status">
        {problem === null ? '' : <Marked text={problem} />}
      </p>
    </section>
  );
}

function shortened(body: object, prefix = ''): Record<string, unknown> {
  const pairs = Object.entries(body).map(([name, value]: [string, unknown]) => {
    if (SECRET_FIELDS.has(prefix + name)) return [name, '…'];
    const shown = isObject(value) ? shortened(value, `${prefix}${name}.`) : value;
    return [name, JSON.stringify(shown).length > VALUE_MAX_CHARS ? '…' : shown];
  });
  return Object.fromEntries(pairs);
}

function curlLine(body: object, baseUrl: string): string {
  return [
    `curl ${baseUrl}/v1/screenshot \\`,
    '  -H "Authorization: Bearer $STILLFRAME_KEY" \\',
    "  -H 'Content-Type: application/json' \\",
    `  -d ${quoted(JSON.stringify(body, null, 1).replaceAll(/\n */g, ' '))}`,
  ].join('\n');
}

function javascriptCode(body: object, baseUrl: string): string {
  return [
    "import { env } from 'node:process';",
    "import { Stillframe } from 'stillframe/client';",
    '',
    'const stillframe = new Stillframe({',
    `  baseUrl: ${JSON.stringify(baseUrl)},`,
    '  apiKey: env.STILLFRAME_KEY,',
    '});',
    `const picture = await stillframe.capture(${JSON.stringify(body, null, 2)});`,
    'const file = await stillframe.download(picture);',
  ].join('\n');
}

function pythonCode(body: object, baseUrl: string): string {
  return [
    'import os, requests',
    '',
    'response = requests.post(',
    `    ${JSON.stringify(`${baseUrl}/v1/screenshot`)},`,
    '    headers={"Authorization": f"Bearer {os.environ[\'STILLFRAME_KEY\']}"},',
    `    json=${inPython(body, '    ')},`,
    '    timeout=60,',
    ')',
    'response.raise_for_status()',
    'print(response.json()["data"])',
  ].join('\n');
}

/** A value of JSON as a Python literal; the escapes of JSON strings are those of Python, too. */
function inPython(value: unknown, indent: string): string {
  const deeper = `${indent}    `;
  const list = (items: string[], [open, close]: readonly [string, string]) =>
    items.length === 0
      ? open + close
      : `${open}\n${items.map((item) => `${deeper}${item},\n`).join('')}${indent}${close}`;
  if (Array.isArray(value))
    return list(
      value.map((item) => inPython(item, deeper)),
      ['[', ']'],
    );
  if (isObject(value)) {
    return list(
      Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${inPython(item, deeper)}`),
      ['{', '}'],
    );
  }
  if (value === true) return 'True';
  if (value === false) return 'False';
  return value === null ? 'None' : JSON.stringify(value);
}

/** The command that captures without a server, with what it has flags for. */
function cliLine(body: Record<string, unknown>): string {
  const { url = '' } = body;
  const target = typeof body.html === 'string' ? [] : [quoted(String(url))];
  const flags = FIELD_LIST.flatMap((field) => {
    if (field.cli === false) return [];
    if (field.cli !== 'members') return flagsOf(field, body[field.name]);
    const value = body[field.name];
    return isObject(value)
      ? field.members.flatMap((member) => flagsOf(member, value[member.name.split('.')[1] ?? '']))
      : [];
  });
  return [`stillframe capture ${target.join('')}`.trim(), ...flags].join(' \\\n  ');
}

function flagsOf(field: (typeof FIELD_LIST)[number], value: unknown): string[] {
  const { type, item, cli, writeOnly } = field;
  if (value === undefined || writeOnly) return [];
  const flag = flagNameOf(field);
  if (type === 'boolean') return [value === true ? flag : flag.replace('--', '--no-')];
  if (type === 'record' && item === null && isObject(value)) {
    const short = typeof cli === 'object' ? cli.short : undefined;
    return Object.entries(value).map(([header, text]) => `${short ?? flag} ${quoted(`${header}: ${text}`)}`);
  }
  if (Array.isArray(value) && type === 'union') return [`${flag} ${quoted(value.join(','))}`];
  if (Array.isArray(value) && item?.members.length === 0) return value.map((one) => `${flag} ${quoted(String(one))}`);
  return [`${flag} ${quoted(typeof value === 'object' ? JSON.stringify(value) : String(value))}`];
}

/** A word of a POSIX shell. */
function quoted(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
