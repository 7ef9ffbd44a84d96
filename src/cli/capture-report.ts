import { type CaptureData, type Inspection, toWireCaptureData } from '../contract/capture-data.js';
import type { Extraction } from '../contract/extract.js';
import type { PageElement, PageFacts } from '../contract/page-facts.js';
import { printable } from './operator-error.js';
import { pathOfHtml, pathOfPicture } from './picture-file.js';

export interface Captured {
  /** Path of the written file; null for standard output. */
  file: string | null;
  /** Whether the HTML of the document was written beside it. */
  hasHtml: boolean;
  data: Omit<CaptureData, 'artifact'>;
}

/** Builds the JSON that `--json` prints: the API's CaptureData with `file` in place of `cdn_url`. */
export function toJsonReport({ file, hasHtml, data }: Captured): Record<string, unknown> {
  const { cdn_url: _none, captures, ...facts } = toWireCaptureData({ ...data, artifact: '' }, '');
  const files = captures?.map((one, index) => ({
    ...one,
    file: file === null ? null : pathOfPicture(file, one, index),
  }));
  return {
    ok: true,
    file,
    ...facts,
    ...(files === undefined ? {} : { captures: files }),
    ...(hasHtml && file !== null ? { html_file: pathOfHtml(file) } : {}),
  };
}

/** Describes the capture in one line of text, with a further line for each warning, and one if the picture is truncated. */
export function describeCapture({ file, hasHtml, data }: Captured): string {
  const { format, bytes, durationMs, diagnostics, notes } = data;
  const line = `${file ?? 'standard output'}: ${format}, ${describeExtent(data)}, ${describeBytes(bytes)}, ${(durationMs / 1_000).toFixed(1)} s`;
  const cut = diagnostics.truncated ? [`The page is longer than the picture (${diagnostics.stoppedReason}).`] : [];
  return [
    line,
    ...cut,
    ...(notes?.warnings ?? []).map(({ message }) => message),
    ...describeFurther({ file, data }),
    ...(hasHtml && file !== null ? [`${pathOfHtml(file)}: the HTML of the document`] : []),
  ].join('\n');
}

/** The pictures after the first, one per line. */
function describeFurther({ file, data }: Pick<Captured, 'file' | 'data'>): string[] {
  return (data.captures ?? []).flatMap((one, index) => {
    if (index === 0 || file === null) return [];
    const extent = `${one.width}×${one.height} ${one.format === 'pdf' ? 'CSS px' : 'px'}`;
    return [`${pathOfPicture(file, one, index)}: ${one.format}, ${extent}, ${describeBytes(one.bytes)}`];
  });
}

function describeExtent({
  format,
  width,
  height,
  diagnostics: { algorithm, sections, scrollHeight },
}: Captured['data']): string {
  if (format !== 'pdf') return `${width}×${height} px`;
  // The sections of a rasterised PDF are not its pages, which all have the height of the first.
  const pages = algorithm === 'native' ? sections : Math.max(1, Math.ceil((scrollHeight - 1) / height));
  return `${pages} ${pages === 1 ? 'page' : 'pages'} of ${width}×${height} px`;
}

/** The extracted values as JSON. */
export function describeExtraction({ values }: Extraction): string {
  return printable(`${JSON.stringify(values, null, 2)}\n`);
}

/** Formats the inspection as plain text. `--json` has all of it. */
export function describeInspection({ markdown, accessibleTree, facts, elements }: Inspection): string {
  const parts = [`${markdown.trim()}\n`, `--- Accessibility tree ---\n\n${accessibleTree.trim()}\n`];
  if (facts !== undefined) parts.push(`--- Facts ---\n\n${describeFacts(facts)}\n`);
  if (elements) parts.push(`--- Elements ---\n\n${elements.map(describeElement).join('\n')}\n`);
  return printable(parts.join('\n'));
}

function describeFacts(facts: PageFacts): string {
  const { requests, layout_shift: shift, largest_contentful_paint: paint } = facts;
  const rows: [string, string | number | undefined][] = [
    ['Title', facts.title],
    ['Description', facts.description],
    ['Language', facts.language],
    ['Canonical', facts.canonical],
    ['Status', facts.status],
    ...facts.redirects.map(({ url, status }): [string, string] => ['Redirect', `${status ?? ''} ${url}`.trim()]),
    ['Requests', `${requests.count}, ${describeBytes(requests.bytes)}`],
    ['Largest Contentful Paint', paint && `${paint.ms} ms ${paint.element ?? ''}`.trim()],
    ['Layout shift', shift?.score],
    ['Links', facts.links.length],
    ...requests.failed.map(({ url, status, error }): [string, string] => [
      'Failed',
      `${status ?? error ?? ''} ${url}`.trim(),
    ]),
    ...facts.console_errors.map(({ text, url, line }): [string, string] => [
      'Console',
      url === undefined ? text : `${text} (${url}:${line})`,
    ]),
  ];
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`])).join('\n');
}

function describeElement({ ref, role, name }: PageElement, index: number): string {
  return `${index + 1} ${role} ${JSON.stringify(name)} ${ref}`;
}

function describeBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
