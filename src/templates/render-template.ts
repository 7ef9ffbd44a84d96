/** Makes the document of a capture from a template. Runs in the thread of `TemplateRenderer`. */
import { Liquid, LiquidError } from 'liquidjs';
import { type CaptureError, refusedField } from '../contract/capture-error.js';
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
  const engine = engineOf(sources, values);
  try {
    const page = engine.parse(sources[INDEX_FILE] ?? '', INDEX_FILE);
    if (isChecked) {
      const unknown = (await engine.globalVariables(page)).find((name) => !Object.hasOwn(data, name));
      if (unknown !== undefined) throw refused(`uses \`${unknown}\`, which template.json does not list`);
    }
    const html = String(await engine.render(page, data));
    if (html.length > DOCUMENT_MAX_CHARS) throw new TooLarge();
    const document = placeValues(html, values);
    if (document.length > 2 * DOCUMENT_MAX_CHARS) throw new TooLarge();
    return document;
  } catch (error) {
    throw translated(error);
  }
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

function translated(error: unknown): unknown {
  if (error instanceof Unplaceable) return refused(error.message);
  if (error instanceof TooLarge) return refused('becomes too large');
  if (error instanceof RangeError) return refused('is nested too deeply');
  if (!LiquidError.is(error)) return error;
  // The first line; the others show the source.
  const [said = ''] = error.message.split('\n', 1);
  return refused(`cannot be rendered: ${said.slice(0, 300)}`);
}

function refused(message: string): CaptureError {
  return refusedField(INDEX_FILE, message);
}
