import { type PDF, PdfArray, PdfDict, PdfName, PdfNumber, PdfString } from '@libpdf/core';
import { CaptureError } from '../contract/capture-error.js';
import type { Conformance } from '../contract/document-schema.js';
import { makeAccessible } from './accessibility.js';
import { BrokenRule, checkArchive } from './archive-rules.js';
import { checkContents } from './check-contents.js';
import { Objects } from './contents.js';
import { packedStream } from './packed-stream.js';
import { srgbProfile } from './srgb-profile.js';
import type { XmpSchema } from './xmp.js';

/** Clauses of ISO 14289-1 that say the same as those of ISO 19005-2. */
const ACCESSIBLE: Record<string, string> = { '6.2.11.4': '7.21.4', '6.2.11.7.2': '7.21.7', '6.2.11.8': '7.21.8' };
const UNICODE = '6.2.11.7.2';

/**
 * Changes what a document needs to conform, but nothing that it shows or says.
 * @param all at most one level of PDF/A, and PDF/UA
 * @param options.field names the standards in errors
 * @throws CaptureError `invalid_request` with the rule that it breaks
 */
export function makeConform(
  pdf: PDF,
  all: readonly Conformance[],
  { info, field }: { info: PdfDict; field: string },
): void {
  if (all.length === 0) return;
  const objects = new Objects(pdf);
  const isAccessible = all.includes('pdf/ua-1');
  const level = all.find((one) => one !== 'pdf/ua-1');
  try {
    if (isAccessible) makeAccessible(objects, info.getString('Title')?.asString());
    if (level !== undefined) checkArchive(objects, level);
    const needsUnicode = isAccessible || level?.endsWith('u') === true;
    checkContents(objects, { isArchive: level !== undefined, needsUnicode, isAccessible });
  } catch (error) {
    throw error instanceof BrokenRule ? refusal(error, level, field) : error;
  }
  if (level !== undefined) addOutputIntent(pdf);
}

function refusal(error: BrokenRule, level: Conformance | undefined, field: string): CaptureError {
  const { clause, problem, remedy } = error;
  const isOfArchive = level !== undefined && clause.startsWith('6.') && (clause !== UNICODE || level.endsWith('u'));
  const [broken, standard, own] = isOfArchive
    ? [level, `ISO 19005-${level.slice(6, 7)}`, clause]
    : ['pdf/ua-1', 'ISO 14289-1', ACCESSIBLE[clause] ?? clause];
  const message = `cannot be ${broken}: ${problem} (${standard}, ${own}). ${remedy}`;
  return new CaptureError({
    code: 'invalid_request',
    message: `\`${field}\` ${message}`,
    details: { issues: [{ path: field, message }] },
    cause: error,
  });
}

/** The identifications of these standards in XMP. */
export function claims(all: readonly Conformance[]): XmpSchema[] {
  return all.map((one) => {
    const [, part = '', level] = /^pdf\/(?:a-|ua-)(\d)(\w)?$/.exec(one) ?? [];
    const partOf = { name: 'part', value: part, type: 'Integer', description: 'Part of the standard' } as const;
    if (level === undefined)
      return {
        name: 'PDF/UA identification schema',
        namespace: 'http://www.aiim.org/pdfua/ns/id/',
        prefix: 'pdfuaid',
        properties: [partOf],
      };
    const levelOf = { name: 'conformance', value: level.toUpperCase(), type: 'Text', description: 'Level' } as const;
    return {
      name: 'PDF/A identification schema',
      namespace: 'http://www.aiim.org/pdfa/ns/id/',
      prefix: 'pdfaid',
      properties: [partOf, levelOf],
    };
  });
}

function addOutputIntent(pdf: PDF): void {
  const profile = pdf.register(packedStream({ N: PdfNumber.of(3) }, srgbProfile()));
  const intent = PdfDict.of({
    Type: PdfName.of('OutputIntent'),
    S: PdfName.of('GTS_PDFA1'),
    OutputConditionIdentifier: PdfString.fromString('sRGB IEC61966-2.1'),
    Info: PdfString.fromString('sRGB IEC61966-2.1'),
    DestOutputProfile: profile,
  });
  pdf.getCatalog().set('OutputIntents', PdfArray.of(pdf.register(intent)));
}
