/** The rules of PDF/A-2 and PDF/A-3 (ISO 19005-2 and 19005-3) about what Chromium writes. What it never writes is refused. */
import { PdfArray, PdfBool, PdfDict, PdfName, PdfNumber, type PdfObject, PdfStream, PdfString } from '@libpdf/core';
import type { Objects } from './contents.js';

/** A rule that a document breaks, and what its author can do. */
export class BrokenRule extends Error {
  /** @param clause such as `6.2.11.8` */
  constructor(
    readonly clause: string,
    readonly problem: string,
    readonly remedy: string,
  ) {
    super(`${problem} (${clause}).`);
  }
}

export const PRINT_AGAIN = 'Print the page with this server, and change nothing in the file before.';
const FILTERS = new Set(['FlateDecode', 'DCTDecode']);
const BLEND_MODES = new Set([
  ...['Normal', 'Compatible', 'Multiply', 'Screen', 'Overlay', 'Darken', 'Lighten', 'ColorDodge', 'ColorBurn'],
  ...['HardLight', 'SoftLight', 'Difference', 'Exclusion', 'Hue', 'Saturation', 'Color', 'Luminosity'],
]);
const COLOR_SPACES = new Set(['DeviceRGB', 'DeviceGray', 'ICCBased', 'Indexed', 'Pattern', 'CalRGB', 'CalGray', 'Lab']);
const NAME_MAX_BYTES = 127;
const STRING_MAX_BYTES = 32_767;
const PAGE_SIDES = { min: 3, max: 14_400 };
/** `Print`, without Invisible, Hidden, NoView and ToggleNoView. */
const PRINTED = 4;
const NOT_SHOWN = 1 | 2 | 32 | 256;

/**
 * Checks all that a document consists of, except for what its pages draw, and removes what PDF/A forbids and a reader does not see: scripts,
 * and actions other than links.
 * @throws BrokenRule
 */
export function checkArchive(objects: Objects, level: string): void {
  const { pdf, resolve } = objects;
  if (pdf.isEncrypted) throw new BrokenRule('6.1.3', 'it is encrypted', 'Leave the password out.');
  for (const key of ['JavaScript', 'AlternatePresentations']) pdf.getCatalog().getDict('Names', resolve)?.delete(key);
  for (const dict of objects.all()) {
    removeActions(dict, resolve);
    checkDict(objects, dict, level);
  }
}

function removeActions(dict: PdfDict, resolve: Objects['resolve']): void {
  dict.delete('AA');
  for (const key of ['A', 'OpenAction']) {
    const action = dict.get(key, resolve);
    const kind = action instanceof PdfDict ? action.getName('S')?.value : undefined;
    if (action instanceof PdfDict && kind !== undefined && (!['URI', 'GoTo'].includes(kind) || action.has('Next')))
      dict.delete(key);
  }
  if (dict.getName('Subtype')?.value === 'Link') dict.set('F', PdfNumber.of(PRINTED));
}

function checkDict(objects: Objects, dict: PdfDict, level: string): void {
  const name = (key: string) => dict.getName(key, objects.resolve)?.value;
  const no = (clause: string, isBroken: boolean, problem: string, remedy = PRINT_AGAIN) => {
    if (isBroken) throw new BrokenRule(clause, problem, remedy);
  };
  for (const [key, value] of dict) checkLimits(key, value, no);
  if (dict instanceof PdfStream) {
    no(
      '6.1.7.1',
      ['F', 'FFilter', 'FDecodeParms'].some((key) => dict.has(key)),
      'a stream is in another file',
    );
    const filters = objects.valuesOf(dict, 'Filter');
    no(
      '6.1.7.2',
      filters.some((one) => !(one instanceof PdfName && FILTERS.has(one.value))),
      'a stream is packed in a way that is not allowed, or not checked here',
    );
  }
  const subtype = name('Subtype');
  if (subtype === 'Image') {
    no('6.2.8', dict.get('Interpolate', objects.resolve) === PdfBool.TRUE, 'an image is interpolated');
    no('6.2.8', dict.has('Alternates') || dict.has('OPI'), 'an image has alternates');
    no('6.2.4', !isAllowedColor(objects, dict.get('ColorSpace')), 'an image has colors other than RGB and gray');
  }
  no(
    '6.2.9',
    subtype === 'PS' || (subtype === 'Form' && (dict.has('Ref') || dict.has('OPI') || dict.has('PS'))),
    'it draws PostScript, or pages of other files',
  );
  if (name('Type') === 'ExtGState') {
    no(
      '6.2.5',
      ['TR', 'TR2', 'HTP', 'HT', 'Font'].some((key) => dict.has(key)),
      'it has transfer functions or halftones',
    );
    const modes = objects.valuesOf(dict, 'BM');
    no(
      '6.2.10',
      modes.some((mode) => !(mode instanceof PdfName && BLEND_MODES.has(mode.value))),
      'it has an unknown blend mode',
    );
  }
  for (const key of ['ColorSpace', 'CS']) if (dict.has(key) && subtype !== 'Image') checkColors(objects, dict, key, no);
  if (dict.has('Rect') && subtype !== undefined) {
    const flags = dict.getNumber('F', objects.resolve)?.value ?? 0;
    no(
      '6.3.1',
      subtype !== 'Link',
      `it has an annotation of the type ${subtype}`,
      'Flatten forms and remove comments.',
    );
    no('6.3.2', (flags & PRINTED) === 0 || (flags & NOT_SHOWN) !== 0, 'a link is hidden');
    no('6.3.3', dict.has('AP'), 'a link has an appearance of its own');
  }
  if (name('Type') === 'Page') {
    const [left, bottom, right, top] = objects
      .valuesOf(dict, 'MediaBox')
      .map((one) => (one instanceof PdfNumber ? one.value : 0));
    const sides = [(right ?? 0) - (left ?? 0), (top ?? 0) - (bottom ?? 0)];
    no(
      '6.1.13',
      dict.has('MediaBox') && sides.some((side) => side < PAGE_SIDES.min || side > PAGE_SIDES.max),
      'a page is too large',
      'Print on smaller paper.',
    );
    no('6.10', dict.has('PresSteps'), 'it has presentation steps');
  }
  if (name('Type') === 'Catalog') {
    for (const key of ['AcroForm', 'OCProperties', 'Requirements', 'NeedsRendering', 'Perms'])
      no('6.4', dict.has(key), `it has forms, layers or signatures (${key})`, 'Flatten it first.');
  }
  if (name('Type') === 'Filespec' || dict.has('EF')) {
    const isWhole = ['F', 'UF', 'EF', 'AFRelationship'].every((key) => dict.has(key));
    no('6.8', level.startsWith('pdf/a-2'), 'it has attachments that are not known to be PDF/A', 'Use `pdf/a-3b`.');
    no('6.8', !isWhole, 'an attachment lacks its relationship', 'Attach the file anew.');
  }
}

type No = (clause: string, isBroken: boolean, problem: string, remedy?: string) => void;

function checkLimits(key: PdfName, value: PdfObject, no: No): void {
  const names = value instanceof PdfName ? [key, value] : [key];
  no(
    '6.1.13',
    names.some((name) => Buffer.byteLength(name.value) > NAME_MAX_BYTES),
    'a name is longer than 127 bytes, such as that of a long `id` that a link leads to',
    'Use shorter ids.',
  );
  no(
    '6.1.13',
    value instanceof PdfString && value.bytes.length > STRING_MAX_BYTES,
    'a text is longer than 32,767 bytes, such as the address of a link',
    'Use shorter addresses.',
  );
}

function checkColors(objects: Objects, dict: PdfDict, key: string, no: No): void {
  const value = dict.get(key, objects.resolve);
  const spaces =
    value instanceof PdfDict && !(value instanceof PdfStream) ? [...value].map(([, space]) => space) : [value];
  no(
    '6.2.4',
    spaces.some((space) => !isAllowedColor(objects, space)),
    'it has colors other than RGB and gray',
  );
}

function isAllowedColor(objects: Objects, color: PdfObject | undefined): boolean {
  const space = objects.at(color);
  if (space === undefined) return true;
  if (space instanceof PdfName) return COLOR_SPACES.has(space.value);
  if (!(space instanceof PdfArray)) return false;
  const [kind, base] = space.toArray().map((one) => objects.at(one));
  if (!(kind instanceof PdfName) || !COLOR_SPACES.has(kind.value)) return false;
  if (kind.value === 'ICCBased') return base instanceof PdfStream && [1, 3].includes(base.getNumber('N')?.value ?? 0);
  return (kind.value !== 'Indexed' && kind.value !== 'Pattern') || isAllowedColor(objects, base);
}
