/** The XML of an electronic invoice: whether it is well-formed, and which kind of invoice it is. */
import { SaxesParser } from 'saxes';

/** Profiles of Factur-X 1.0, which is ZUGFeRD 2. */
export const FACTURX_PROFILES = ['minimum', 'basic_wl', 'basic', 'en16931', 'extended', 'xrechnung'] as const;
type FacturxProfile = (typeof FACTURX_PROFILES)[number];

export interface Invoice {
  profile: FacturxProfile;
  /** The name that the file must have in the PDF. */
  fileName: string;
  /** The names by which XMP knows the profile, and the version of its standard. */
  level: string;
  version: string;
  /** `AFRelationship`: an invoice of the two smallest profiles lacks what the paper says. */
  relationship: 'data' | 'alternative';
}

const ROOT = 'urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100';
const GUIDELINE = [
  'CrossIndustryInvoice',
  'ExchangedDocumentContext',
  'GuidelineSpecifiedDocumentContextParameter',
  'ID',
];
const GUIDELINE_MAX_CHARS = 300;
const DEPTH_MAX = 100;

/** The endings of guideline ids, in Factur-X 1.0 and in ZUGFeRD 2.0. */
const PROFILES: readonly [ending: RegExp, profile: FacturxProfile, level: string][] = [
  [/[:#]minimum$/, 'minimum', 'MINIMUM'],
  [/[:#]basicwl$/, 'basic_wl', 'BASIC WL'],
  [/[:#]basic$/, 'basic', 'BASIC'],
  [/[:#]extended$/, 'extended', 'EXTENDED'],
  [/[:#]xrechnung_[\d.]{1,9}$/, 'xrechnung', 'XRECHNUNG'],
  [/^urn:cen\.eu:en16931:2017$/, 'en16931', 'EN 16931'],
];

/** @returns the invoice, or why the text is none, as the end of a sentence about it */
export function readInvoice(xml: string): Invoice | string {
  let guideline: string;
  try {
    guideline = readGuideline(xml);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const [, profile, level] = PROFILES.find(([ending]) => ending.test(guideline.toLowerCase())) ?? [];
  if (profile === undefined || level === undefined)
    return `has the unknown profile "${guideline}" in ${GUIDELINE.slice(1).join('/')}`;
  const isXrechnung = profile === 'xrechnung';
  return {
    profile,
    level,
    fileName: isXrechnung ? 'xrechnung.xml' : 'factur-x.xml',
    version: isXrechnung ? guideline.slice(guideline.lastIndexOf('_') + 1) : '1.0',
    relationship: profile === 'minimum' || profile === 'basic_wl' ? 'data' : 'alternative',
  };
}

function readGuideline(xml: string): string {
  const path: string[] = [];
  let guideline = '';
  const parser = new SaxesParser({ xmlns: true });
  parser.on('error', ({ message }) => {
    throw new Error(`must be well-formed XML (line, column and problem: ${message.slice(0, 200)})`);
  });
  parser.on('doctype', () => {
    throw new Error('must have no document type declaration, whose entities are not read');
  });
  parser.on('xmldecl', ({ encoding = 'UTF-8' }) => {
    if (!/^utf-8$/i.test(encoding)) throw new Error('must declare the encoding UTF-8, or none');
  });
  parser.on('opentag', ({ local, uri }) => {
    if (path.length === 0 && (local !== GUIDELINE[0] || uri !== ROOT))
      throw new Error(`must be an invoice in UN/CEFACT CII, with the root CrossIndustryInvoice of ${ROOT}`);
    path.push(local);
    if (path.length > DEPTH_MAX) throw new Error(`must have at most ${DEPTH_MAX} levels of elements`);
  });
  parser.on('closetag', () => void path.pop());
  parser.on('text', (text) => {
    const isGuideline = path.length === GUIDELINE.length && path.every((name, level) => name === GUIDELINE[level]);
    if (isGuideline) guideline = (guideline + text).slice(0, GUIDELINE_MAX_CHARS);
  });
  parser.write(xml).close();
  return guideline.trim();
}
