import { objectsOfType, openPdf, replaceObject, textOf } from './pdf-file.js';

const LANGUAGE_TAG = /^[a-z]{1,8}(?:-[a-z0-9]{1,8}){0,8}$/i;

/** Adds the language, which Chromium declares only in tagged PDFs. Without a valid language, the PDF is unchanged. */
export function withLanguage(pdf: Buffer, language: string): Buffer {
  if (!LANGUAGE_TAG.test(language)) return pdf;
  const file = openPdf(pdf);
  const [catalog] = objectsOfType(file, 'Catalog');
  if (catalog === undefined) return pdf;
  const text = textOf(file, catalog);
  const content = text.slice(text.indexOf('<<')).trimEnd();
  if (/\/Lang\b/.test(content)) return pdf;
  return replaceObject(file, catalog, Buffer.from(content.replace('/Type /Catalog', `/Type /Catalog\n/Lang (${language})`), 'latin1'));
}
