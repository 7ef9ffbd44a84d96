import { describe, expect, it } from 'vitest';
import { readInvoice } from '../../src/contract/invoice-xml.js';
import { bodyOf } from '../../src/contract/render-link.js';
import { invoiceXml } from '../fixtures/invoices.js';
import { issuesOf, parse } from './parsing.js';

const BASE = { html: '<p>x', format: 'pdf' };
const xml = invoiceXml('urn:cen.eu:en16931:2017');
const data = { name: 'a.csv', content: 'YQ==' };

describe('fields of a document that exclude each other', () => {
  it.each<[string, object, string, RegExp]>([
    ['a password and PDF/A', { password: { user: 'u' }, conformance: 'pdf/a-2b' }, 'pdf.password', /pdf\/a-2b/],
    ['a password and an invoice', { password: { user: 'u' }, facturx: { xml } }, 'pdf.password', /pdf\/a-3b/],
    ['an invoice and PDF/A-2', { conformance: 'pdf/a-2u', facturx: { xml } }, 'pdf.conformance', /pdf\/a-3b/],
    ['attachments and PDF/A-2', { conformance: 'pdf/a-2b', attachments: [data] }, 'pdf.attachments', /pdf\/a-3b/],
    ['two levels of PDF/A', { conformance: ['pdf/a-2b', 'pdf/a-3b'] }, 'pdf.conformance', /one level/],
    ['two attachments of a name', { attachments: [data, data] }, 'pdf.attachments', /different names/],
    [
      'an attachment with the name of the invoice',
      { facturx: { xml }, attachments: [{ ...data, name: 'factur-x.xml' }] },
      'pdf.attachments',
      /invoice/,
    ],
    ['another profile', { facturx: { xml, profile: 'basic' } }, 'pdf.facturx.profile', /en16931/],
    ['an attachment without content', { attachments: [{ name: 'a' }] }, 'pdf.attachments.0', /`file`/],
    [
      'permissions that leave out screen readers, and PDF/UA',
      { conformance: 'pdf/ua-1', password: { user: 'u', permissions: ['print'] } },
      'pdf.password.permissions',
      /accessibility/,
    ],
    ['a password that is none', { password: { permissions: ['print'] } }, 'pdf.password', /`user`/],
    ['a path as a name', { attachments: [{ ...data, name: '../a' }] }, 'pdf.attachments.0.name', /file name/],
    ['a title with a line break', { metadata: { title: 'a\nb' } }, 'pdf.metadata.title', /control/],
    ['a title with half an emoji', { metadata: { title: 'a\ud83d' } }, 'pdf.metadata.title', /surrogates/],
    ['an entry with a field of its own', { metadata: { custom: { Author: 'a' } } }, 'pdf.metadata.custom', /own/],
    ['a date without its zone', { metadata: { created: '2026-11-28T14:03:00' } }, 'pdf.metadata.created', /Z/],
  ])('are refused by name: %s', (_, pdf, path, message) => {
    const [issue] = issuesOf({ ...BASE, pdf });
    expect(issue).toMatchObject({ path, message: expect.stringMatching(message) });
  });

  it('are accepted where they belong together', () => {
    const pdf = {
      conformance: ['pdf/a-3u', 'pdf/ua-1'],
      facturx: { xml, profile: 'en16931' },
      attachments: [data],
      metadata: { title: 'Invoice 4711', keywords: ['a'], custom: { CostCenter: 'R' } },
    };
    expect(parse({ ...BASE, pdf }).options.pdf?.document).toMatchObject({ conformance: ['pdf/a-3u', 'pdf/ua-1'] });
  });

  it('an error does not repeat a password', () => {
    const [issue] = issuesOf({ ...BASE, pdf: { password: { user: 4711, owner: ['geheim'] } } });
    expect(issue).toMatchObject({ path: 'pdf.password.user', message: 'must be a string, not a number' });
  });

  it('a signed link may have metadata, and no password', () => {
    const pairs: [string, string][] = [
      ['pdf.metadata.title', 'T'],
      ['pdf.password.user', 'secret'],
      ['pdf.facturx.xml', '<a/>'],
    ];
    expect(bodyOf(pairs)).toEqual({
      body: { pdf: { metadata: { title: 'T' } } },
      refused: ['pdf.password.user', 'pdf.facturx.xml'],
    });
  });
});

describe('the XML of an invoice', () => {
  it.each([
    ['urn:factur-x.eu:1p0:minimum', 'MINIMUM', 'factur-x.xml', 'data'],
    ['urn:factur-x.eu:1p0:basicwl', 'BASIC WL', 'factur-x.xml', 'data'],
    ['urn:cen.eu:en16931:2017#compliant#urn:factur-x.eu:1p0:basic', 'BASIC', 'factur-x.xml', 'alternative'],
    ['urn:cen.eu:en16931:2017', 'EN 16931', 'factur-x.xml', 'alternative'],
    ['urn:cen.eu:en16931:2017#conformant#urn:factur-x.eu:1p0:extended', 'EXTENDED', 'factur-x.xml', 'alternative'],
    [
      'urn:cen.eu:en16931:2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0',
      'XRECHNUNG',
      'xrechnung.xml',
      'alternative',
    ],
  ])('of %s has its profile, file name and relationship', (guideline, level, fileName, relationship) => {
    expect(readInvoice(invoiceXml(guideline))).toMatchObject({ level, fileName, relationship });
  });

  it.each([
    ['that is cut off', xml.slice(0, -9), /well-formed/],
    ['with an undefined prefix', xml.replace('<ram:ID>', '<foo:ID>').replace('</ram:ID>', '</foo:ID>'), /well-formed/],
    ['with entities', `<!DOCTYPE a [<!ENTITY b "c">]>${xml}`, /document type/],
    ['in Latin-1', `<?xml version="1.0" encoding="ISO-8859-1"?>${xml}`, /UTF-8/],
    ['of another kind', '<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"/>', /CII/],
    ['of an unknown profile', invoiceXml('urn:example'), /unknown profile "urn:example"/],
    ['that is nested deeply', xml.replace('</ram:ID>', '<a>'.repeat(200)), /levels/],
  ])('%s is refused with its reason', (_, text, reason) => {
    expect(readInvoice(text)).toMatch(reason);
  });
});
