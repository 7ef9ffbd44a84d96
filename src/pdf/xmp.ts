/** Writes metadata: the information dictionary, and XMP that agrees with it. */

import { type PDF, PdfDict, PdfName, PdfRef, PdfStream, PdfString } from '@libpdf/core';
import type { PdfMetadata } from '../contract/document-schema.js';
import { METADATA_CUSTOM_MAX_ITEMS, METADATA_TEXT_MAX_CHARS } from '../contract/limits.js';
import { escapeMarkup } from '../contract/markup.js';

/** A schema that is not one of those that PDF/A knows, which such a file must describe. */
export interface XmpSchema {
  name: string;
  namespace: string;
  prefix: string;
  properties: readonly { name: string; value: string; type: 'Text' | 'Integer'; description: string }[];
}

const TEXTS = {
  title: 'Title',
  author: 'Author',
  subject: 'Subject',
  creator: 'Creator',
  producer: 'Producer',
} as const;
const DATES = { created: 'CreationDate', modified: 'ModDate' } as const;
const TRAPPED = { true: 'True', false: 'False', unknown: 'Unknown' } as const;
const STANDARD = new Set<string>([...Object.values(TEXTS), ...Object.values(DATES), 'Keywords', 'Trapped']);

/** The information dictionary, which is made if there is none. Its texts are those of pages, and so cut and freed of control characters. */
export function writeInfo(pdf: PDF, metadata: PdfMetadata): PdfDict {
  const { trailer } = pdf.context.info;
  const resolve = (ref: PdfRef) => pdf.getObject(ref);
  const infoEntry = trailer.get('Info', resolve);
  const info = infoEntry instanceof PdfDict ? infoEntry : new PdfDict();
  if (!(trailer.get('Info') instanceof PdfRef) || info !== infoEntry) trailer.set('Info', pdf.register(info));
  for (const [key, value] of [...info]) {
    if (value instanceof PdfString) setText(info, key.value, value.asString());
    else if (key.value !== 'Trapped') info.delete(key.value);
  }
  for (const [name, key] of Object.entries(TEXTS)) {
    const text = metadata[name as keyof typeof TEXTS];
    if (text !== undefined) setText(info, key, text);
  }
  if (metadata.trapped !== undefined) info.set('Trapped', PdfName.of(TRAPPED[metadata.trapped]));
  if (metadata.keywords !== undefined) setText(info, 'Keywords', metadata.keywords.join(', '));
  const { created, modified = created } = metadata;
  for (const [name, date] of Object.entries({ created, modified })) {
    if (date !== undefined) info.set(DATES[name as keyof typeof DATES], PdfString.fromString(toPdfDate(date)));
  }
  for (const [name, text] of Object.entries(metadata.custom ?? {})) setText(info, name, text);
  return info;
}

function setText(info: PdfDict, key: string, text: string): void {
  const plain = plainText(text);
  if (plain === '') info.delete(key);
  else if (info.getString(key)?.asString() !== plain) info.set(key, PdfString.fromString(plain));
}

/** Text without what neither XML nor a reader of people can show. */
function plainText(text: string): string {
  const cut = text.slice(0, METADATA_TEXT_MAX_CHARS);
  return cut.replace(/[\p{Cc}\p{Cs}\uFFFE\uFFFF\s]+/gu, ' ').trim();
}

const NAMESPACES = {
  dc: 'http://purl.org/dc/elements/1.1/',
  xmp: 'http://ns.adobe.com/xap/1.0/',
  pdf: 'http://ns.adobe.com/pdf/1.3/',
} as const;

/** Writes the entries of the information dictionary, and those of these schemas, as XMP. */
export function writeXmp(
  pdf: PDF,
  info: PdfDict,
  { schemas, keywords }: { schemas: readonly XmpSchema[]; keywords: readonly string[] | undefined },
): void {
  const text = (key: string) => info.getString(key)?.asString();
  const date = (key: string) => fromPdfDate(text(key) ?? '') ?? undefined;
  const custom = customSchema(info);
  const all = custom === null ? schemas : [...schemas, custom];
  const used = all.map(({ prefix, namespace }): [string, string] => [prefix, namespace]);
  const properties = [
    element('dc:format', 'application/pdf'),
    listElement('dc:title', 'Alt', [text('Title')]),
    listElement('dc:creator', 'Seq', [text('Author')]),
    listElement('dc:description', 'Alt', [text('Subject')]),
    listElement('dc:subject', 'Bag', keywords?.map(plainText) ?? [text('Keywords')]),
    listElement('dc:language', 'Bag', [pdf.getLanguage()]),
    element('pdf:Keywords', text('Keywords')),
    element('pdf:Producer', text('Producer')),
    element('xmp:CreatorTool', text('Creator')),
    element('xmp:CreateDate', date('CreationDate')),
    element('xmp:ModifyDate', date('ModDate')),
    ...all.flatMap(({ prefix, properties }) =>
      properties.map(({ name, value }) => element(`${prefix}:${name}`, value)),
    ),
    descriptions(all.filter(({ prefix }) => prefix !== 'pdfaid')),
  ].filter((property) => property !== '');
  const names = [...Object.entries(NAMESPACES), ...used].map(([prefix, name]) => ` xmlns:${prefix}="${name}"`).join('');
  const packet = `<?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""${names}>
${properties.join('\n')}
</rdf:Description></rdf:RDF></x:xmpmeta>
<?xpacket end="w"?>`;
  const stream = PdfStream.fromDict({ Type: PdfName.of('Metadata'), Subtype: PdfName.of('XML') }, Buffer.from(packet));
  pdf.getCatalog().set('Metadata', pdf.register(stream));
}

function customSchema(info: PdfDict): XmpSchema | null {
  const properties = [...info]
    .filter(
      ([key, value]) =>
        !STANDARD.has(key.value) && value instanceof PdfString && /^[A-Za-z][\w-]{0,63}$/.test(key.value),
    )
    .slice(0, METADATA_CUSTOM_MAX_ITEMS)
    .map(([key, value]) => ({
      name: key.value,
      value: (value as PdfString).asString(),
      type: 'Text' as const,
      description: 'Entry of the information dictionary',
    }));
  const names = {
    name: 'Entries of the information dictionary',
    namespace: 'http://ns.adobe.com/pdfx/1.3/',
    prefix: 'pdfx',
  };
  return properties.length === 0 ? null : { ...names, properties };
}

/** PDF/A-2, 6.6.2.3: what describes schemas of XMP. */
function descriptions(schemas: readonly XmpSchema[]): string {
  if (schemas.length === 0) return '';
  const described = schemas.map(
    ({ name, namespace, prefix, properties }) =>
      `<rdf:li rdf:parseType="Resource">${element('pdfaSchema:schema', name)}${element('pdfaSchema:namespaceURI', namespace)}${element('pdfaSchema:prefix', prefix)}<pdfaSchema:property><rdf:Seq>${properties
        .map(
          (property) =>
            `<rdf:li rdf:parseType="Resource">${element('pdfaProperty:name', property.name)}${element('pdfaProperty:valueType', property.type)}<pdfaProperty:category>external</pdfaProperty:category>${element('pdfaProperty:description', property.description)}</rdf:li>`,
        )
        .join('')}</rdf:Seq></pdfaSchema:property></rdf:li>`,
  );
  const names = ['extension', 'schema', 'property']
    .map(
      (part) =>
        ` xmlns:pdfa${part === 'extension' ? 'Extension' : part === 'schema' ? 'Schema' : 'Property'}="http://www.aiim.org/pdfa/ns/${part}${part === 'extension' ? '/' : '#'}"`,
    )
    .join('');
  return `<pdfaExtension:schemas${names}><rdf:Bag>${described.join('')}</rdf:Bag></pdfaExtension:schemas>`;
}

function element(name: string, text: string | undefined): string {
  return text === undefined ? '' : `<${name}>${escapeMarkup(text)}</${name}>`;
}

function listElement(name: string, kind: 'Alt' | 'Seq' | 'Bag', texts: readonly (string | undefined)[]): string {
  const language = kind === 'Alt' ? ' xml:lang="x-default"' : '';
  const items = texts.flatMap((text) =>
    text === undefined || text === '' ? [] : [`<rdf:li${language}>${escapeMarkup(text)}</rdf:li>`],
  );
  return items.length === 0 ? '' : `<${name}><rdf:${kind}>${items.join('')}</rdf:${kind}></${name}>`;
}

/** `2026-11-28T15:03:00+01:00` becomes `D:20261128150300+01'00'`. */
export function toPdfDate(iso: string): string {
  const [, date = '', time = '', zone = ''] =
    /^([\d-]{10})T(\d\d:\d\d(?::\d\d)?)(?:\.\d+)?(Z|[+-]\d\d:\d\d)$/.exec(iso) ?? [];
  const offset = zone === 'Z' ? "+00'00'" : `${zone.replace(':', "'")}'`;
  return `D:${date.replaceAll('-', '')}${time.replaceAll(':', '').padEnd(6, '0')}${offset}`;
}

function fromPdfDate(date: string): string | null {
  const [, year, month = '01', day = '01', hour = '00', minute = '00', second = '00', sign, hours, minutes = '00'] =
    /^D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:Z|([+-])(\d\d)'?(\d\d)?)?/.exec(date) ?? [];
  if (year === undefined) return null;
  const zone = sign === undefined || hours === undefined ? 'Z' : `${sign}${hours}:${minutes}`;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}${zone}`;
}
