/** An electronic invoice in a PDF, as Factur-X 1.0 (ZUGFeRD 2) has it. */
import type { FacturX, PdfAttachment } from '../contract/document-schema.js';
import type { Invoice } from '../contract/invoice-xml.js';
import type { XmpSchema } from './xmp.js';

export function invoiceFile({ xml }: FacturX, { fileName, relationship }: Invoice): PdfAttachment {
  return {
    name: fileName,
    content: Buffer.from(xml),
    mimeType: 'text/xml',
    relationship,
    description: 'Electronic invoice',
  };
}

export function invoiceSchema({ fileName, level, version }: Invoice): XmpSchema {
  const text = (name: string, value: string, description: string) =>
    ({ name, value, type: 'Text', description }) as const;
  return {
    name: 'Factur-X PDFA Extension Schema',
    namespace: 'urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#',
    prefix: 'fx',
    properties: [
      text('DocumentType', 'INVOICE', 'The type of the hybrid document in capital letters, e.g. INVOICE or ORDER'),
      text('DocumentFileName', fileName, 'The name of the embedded XML document'),
      text('Version', version, 'The actual version of the standard applying to the embedded XML document'),
      text('ConformanceLevel', level, 'The conformance level of the embedded XML document'),
    ],
  };
}
