/** Makes the document of a capture from a template. Runs in the thread of `TemplateRenderer`. */
import { Liquid, LiquidError } from 'liquidjs';
import { CaptureError, refusedField } from '../contract/capture-error.js';
import { INDEX_FILE } from '../contract/page-files.js';
import { placeValues } from './place-values.js';
import { Unplaceable } from './unplaceable.js';
import { MarkedValues, TooLarge } from './values.js';

export interface TemplateTask {
  /** The page and its partials, by name. */
  sources: Readonly<Record<string, string>>;
  data: Readonly<Record<string, unknown>>;
  /** Whether names that the page uses, and that `data` lacks, are looked for in all of its branches. */
  isChecked?: boolean;
}

/** Liquid's own limits, which it checks between steps; the thread has harder ones. */
const LIMITS = { parseLimit: 1_000_000, renderLimit: 1_000, memoryLimit: 20_000_000 };
/** The document, without and with its values. */
const DOCUMENT_MAX_CHARS = 5_000_000;
/** Layouts are left out. */
const TAGS =
  '# assign break capture case comment continue cycle decrement echo for if include increment liquid raw render tablerow unless'.split(
    ' ',
  );

/** @throws CaptureError `invalid_request` that names the page */
export async function renderTemplate({ sources, data, isChecked = false }: TemplateTask): Promise<string> {
  const values = new MarkedValues(DOCUMENT_MAX_CHARS);
  const html = await rendered({ sources, data, isChecked }, values).catch(refuseEngineError);
  try {
    if (html.length > DOCUMENT_MAX_CHARS) throw new TooLarge();
    const document = placeValues(html, values);
    if (document.length > 2 * DOCUMENT_MAX_CHARS) throw new TooLarge();
    return document;
  } catch (error) {
    if (error instanceof Unplaceable) throw refused(error.message);
    throw refusedSize(error) ?? error;
  }
}

/** Renders the page with marks in place of its values. */
async function rendered({ sources, data, isChecked }: TemplateTask, values: MarkedValues): Promise<string> {
  const engine = engineOf(sources, values);
  const page = engine.parse(sources[INDEX_FILE] ?? '', INDEX_FILE);
  if (isChecked === true) {
    const unknown = (await engine.globalVariables(page)).find((name) => !Object.hasOwn(data, name));
    if (unknown !== undefined) throw refused(`uses \`${unknown}\`, which template.json does not list`);
  }
  return String(await engine.render(page, data));
}

function engineOf(sources: TemplateTask['sources'], values: MarkedValues): Liquid {
  const partials = Object.entries(sources).filter(([name]) => name !== INDEX_FILE);
  const engine = new Liquid({
    templates: Object.fromEntries(partials),
    extname: '.liquid',
    strictFilters: true,
    strictVariables: true,
    ownPropertyOnly: true,
    outputEscape: (value) => values.mark(value),
    ...LIMITS,
  });
  for (const name of Object.keys(engine.tags)) if (!TAGS.includes(name)) delete engine.tags[name];
  delete engine.filters.raw;
  return engine;
}

/** Any error of the engine is one of the template: some are plain errors without a place, such as that of a missing file. */
function refuseEngineError(error: unknown): never {
  if (error instanceof CaptureError) throw error;
  const cause = LiquidError.is(error) ? (error.originalError ?? error) : error;
  const size = refusedSize(cause);
  if (size !== null) throw size;
  // The other lines show the source.
  const [firstLine = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1);
  const [, missing] = /^ENOENT: Failed to lookup "([^"]{1,200})"/.exec(firstLine) ?? [];
  const problem =
    missing === undefined ? firstLine.slice(0, 300) : `\`${missing}\` is not a .liquid file of the template`;
  throw refused(`cannot be rendered: ${problem}`);
}

function refusedSize(error: unknown): CaptureError | null {
  if (error instanceof TooLarge) return refused('becomes too large');
  return error instanceof RangeError ? refused('is nested too deeply') : null;
}

function refused(message: string): CaptureError {
  return refusedField(INDEX_FILE, message);
}
