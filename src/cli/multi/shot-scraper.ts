import { readFileSync } from 'node:fs';
import type { CaptureFormat } from '../../contract/capture-request.js';
import { isObject } from '../../contract/field-rules.js';

type Fields = Record<string, unknown>;

/** Its view, in CSS px. */
const VIEW = { width: 1_280, height: 780 };
/** Its fields, and those of a capture request that mean the same. */
export const ITS_NAMES: Readonly<Record<string, string>> = {
  wait: 'delay',
  wait_for: 'wait_for_function',
  javascript: 'custom_js',
  js_file: 'custom_js',
  selector_all: 'selector_union',
};
/** Fields for what is not captured here, and the line to write instead. */
const INSTEAD: Readonly<Record<string, string>> = {
  selectors: 'write `selector_union: "…"`, which shows all matches together',
  ...Object.fromEntries(
    ['js_selectors', 'js_selector_all', 'js_selectors_all'].map((name) => [
      name,
      'write `selector_union: "[data-shot]"`, and `custom_js: "…"` that sets this attribute',
    ]),
  ),
  sh: 'write the command as `server: "…"`, or run it before',
  python: 'write the program as `server: "python …"`, or run it before',
  skip: 'write `fail: true`: the other shots are taken, and the exit code is 1',
};

/**
 * A shot with the fields of shot-scraper's files as one with those of a capture request. A shot with its `width` or `height` has its
 * density of 1, and without a `height` shows the full page.
 * @param note adds a problem of a field
 */
export function fromShotScraper(shot: Fields, defaults: Fields, note: (path: string, message: string) => void): Fields {
  const { width, height, skip, fail, selectors, selectors_all: all, js_selector: filter, ...fields } = shot;
  if (Array.isArray(all)) fields.selector_all ??= all.join(', ');
  if (typeof filter === 'string')
    fields.selector_function ??= `[...document.querySelectorAll('*')].find((el) => (${filter}))`;
  if (Array.isArray(selectors) && selectors.length === 1) fields.selector ??= selectors[0];
  else if (selectors !== undefined) fields.selectors = selectors;
  if (skip !== undefined && skip !== false) fields.skip = skip;
  for (const [name, instead] of Object.entries(INSTEAD)) {
    if (!(name in fields)) continue;
    note(name, `is not supported here: ${instead}`);
    delete fields[name];
  }
  if (fail === false) fields.tolerate ??= ['target_error', 'blocked_by_target'];
  else if (fail !== undefined && fail !== true) note('fail', 'must be true or false');
  if (typeof fields.js_file === 'string') fields.js_file = textOf(fields.js_file, note);
  for (const [name, ours] of Object.entries(ITS_NAMES)) {
    if (!(name in fields) || ours in fields) continue;
    fields[ours] = fields[name];
    delete fields[name];
  }
  if ((width === undefined && height === undefined) || 'viewport' in fields)
    return { ...fields, ...defined({ width, height }) };
  const density =
    isObject(defaults.viewport) && 'deviceScaleFactor' in defaults.viewport ? {} : { deviceScaleFactor: 1 };
  fields.viewport = { ...VIEW, ...density, ...defined({ width, height }) };
  const isElement = ['selector', 'selector_union', 'selector_function'].some((name) => fields[name] !== undefined);
  if (height === undefined && !isElement) fields.full_page ??= true;
  return fields;
}

function defined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function textOf(path: string, note: (path: string, message: string) => void): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    note('js_file', `names the file "${path}", which cannot be read: ${(error as Error).message}`);
    return undefined;
  }
}

/** The name that shot-scraper gives to the picture of a page, such as `www-example-com.png`. */
export function itsName(url: string, format: CaptureFormat): string {
  const [place = ''] = url.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').split(/[?#]/, 1);
  const stem = place.replace(/[./]/g, '-').replace(/[^\w-]/g, '');
  const name = stem.replace(/^-+/, '').replace(/(?<!-)-+$/, '') || 'shot';
  return `${name.slice(0, NAME_MAX_CHARS)}.${format}`;
}

const NAME_MAX_CHARS = 200;
