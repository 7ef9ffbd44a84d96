import { rmSync } from 'node:fs';
import { PDF } from '@libpdf/core';
import { afterAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/contract/ids.js';
import { unzipped } from '../fixtures/unzipped.js';
import { aDocument } from '../pdf/raw-pdf.js';
import { aCompletedJob, type FakeChanges, fakeServices, KEYS, serveApp, UPLOADS_DIR } from './fake-services.js';

const A = aDocument('Alpha');
const NAME = `${'p'.repeat(32)}.pdf`;
type Files = [name: string, content: Buffer][];

afterAll(() => rmSync(UPLOADS_DIR, { recursive: true, force: true }));

async function post(body: FormData | string, changes: FakeChanges = {}, key = KEYS.full) {
  const services = fakeServices(changes);
  services.files.set(NAME, A);
  const job = aCompletedJob({}, { artifact: NAME, format: 'pdf' });
  services.jobs.set(job.id, job);
  await using served = await serveApp(services);
  const headers: Record<string, string> = { authorization: `Bearer ${key}` };
  if (typeof body === 'string') headers['content-type'] = 'application/json';
  const given = typeof body === 'string' ? body.replace('JOB', job.id) : body;
  const answer = await fetch(`${served.url}/v1/pdf`, { method: 'POST', headers, body: given });
  const content = Buffer.from(await answer.arrayBuffer());
  return { status: answer.status, headers: answer.headers, content, json: () => JSON.parse(content.toString()) };
}

function form(request: unknown, files: Files = [], part = 'files'): FormData {
  const data = new FormData();
  if (request !== undefined) data.set('request', JSON.stringify(request));
  for (const [name, content] of files) data.append(part, new Blob([new Uint8Array(content)]), name);
  return data;
}

async function textsOf(content: Buffer): Promise<string[]> {
  const pdf = await PDF.load(new Uint8Array(content));
  return pdf.extractText().map(({ text }) => text.trim());
}

describe('POST /v1/pdf', () => {
  it('answers with one PDF, named after the first file', async () => {
    const files: Files = [
      ['Übersicht.pdf', A],
      ['b.pdf', aDocument('Beta')],
    ];
    const { status, headers, content } = await post(form({ merge: true, pages: '3' }, files));
    expect(status).toBe(200);
    expect(await textsOf(content)).toEqual(['Alpha page 3', 'Beta page 3']);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/pdf',
      'content-disposition': `attachment; filename="_bersicht.pdf"; filename*=UTF-8''%C3%9Cbersicht.pdf`,
      'content-length': String(content.length),
      'x-pages': '2',
      'cache-control': 'no-store',
    });
  });

  it('answers with several as a zip file, each with a name of its own', async () => {
    const { headers, content } = await post(
      form({ split: { every: 2 } }, [
        ['a.pdf', A],
        ['b.pdf', A],
      ]),
    );
    expect(headers.get('content-type')).toBe('application/zip');
    const files = unzipped(content);
    expect(Object.keys(files)).toEqual(['a-1.pdf', 'a-2.pdf', 'b-1.pdf', 'b-2.pdf']);
    expect(await textsOf(files['b-2.pdf'] as Buffer)).toEqual(['Alpha page 3']);
  });

  it('takes the PDFs of jobs, of addresses and of the form in the order of the request', async () => {
    const address = `https://shots.example/artifacts/${NAME}`;
    const given: Files = [['c.pdf', aDocument('Gamma')]];
    const { content } = await post(form({ files: [address, 'c.pdf'], merge: true, pages: '1' }, given));
    expect(await textsOf(content)).toEqual(['Alpha page 1', 'Gamma page 1']);
    const stored = await post(JSON.stringify({ files: ['JOB', address], merge: true, pages: '2' }));
    expect(await textsOf(stored.content)).toEqual(['Alpha page 2', 'Alpha page 2']);
  });

  it.each([
    [{ merge: true }, [], /`files` is required/],
    [{}, [['a.pdf', A]], /nothing to do/],
    [{ merg: true }, [['a.pdf', A]], /Unknown field `merg`.*merge/],
    [{ rotate: { degrees: 45 } }, [['a.pdf', A]], /`rotate.degrees` must be 90, 180 or 270/],
    [{ pages: '3-1' }, [['a.pdf', A]], /`pages` must be page numbers/],
    [{ pages: '7-' }, [['a.pdf', A]], /`a.pdf` has none of the pages/],
    [{ split: {} }, [['a.pdf', A]], /`split` needs `every` or `ranges`/],
    [{ split: { ranges: ['1', '9'] } }, [['a.pdf', A]], /`split.ranges.1` has none/],
    [{ chapters: true, flatten: true }, [['a.pdf', A]], /`chapters` needs `merge`/],
    [{ merge: true, files: ['b.pdf'] }, [['a.pdf', A]], /`files.0` must be the id of a job/],
    [
      { merge: true, files: ['b.pdf'] },
      [
        ['a.pdf', A],
        ['b.pdf', A],
      ],
      /does not name the file "a.pdf"/,
    ],
    [{ merge: true }, [['a.pdf', Buffer.from('no')]], /`a.pdf` is not a PDF, or is damaged/],
    [undefined, [['a.pdf', A]], /The part `request` is missing/],
  ] as [unknown, Files, RegExp][])('refuses %j', async (request, files, message) => {
    const { status, json } = await post(form(request, files));
    expect({ status, message: json().error.message }).toEqual({ status: 400, message: expect.stringMatching(message) });
  });

  it('refuses parts that it does not know, and too many files', async () => {
    expect((await post(form({ merge: true }, [['a.pdf', A]], 'file'))).json().error.message).toMatch(
      /Unknown part `file`/,
    );
    const many = Array.from({ length: 101 }, (_, nth): Files[number] => [`${nth}.pdf`, Buffer.from('x')]);
    expect((await post(form({ merge: true }, many))).json().error.message).toBe('There are more than 100 files.');
  });

  it('finds no PDFs that do not exist, are deleted, or are of other keys, and no pictures', async () => {
    const find = async (source: string, key = KEYS.full) => {
      const { status, json } = await post(JSON.stringify({ files: [source], flatten: true }), {}, key);
      return [status, json().error?.message];
    };
    expect(await find(newId('job'))).toEqual([404, '`files.0` is not a job of this API key.']);
    expect((await find('JOB', KEYS.other))[0]).toBe(404);
    expect((await find(`https://x.example/artifacts/${'q'.repeat(32)}.pdf`))[0]).toBe(404);
    expect((await find(`https://x.example/artifacts/${'q'.repeat(32)}.png`))[1]).toBe('`files.0` must be a PDF.');
  });

  it('costs a credit, which a request that fails gets back', async () => {
    const charged: number[] = [];
    const store = {
      charge: async ({ price }: { price: number }) => {
        charged.push(price);
        return null;
      },
    };
    await post(form({ flatten: true }, [['a.pdf', A]]), { store });
    expect(charged).toEqual([1]);
    await post(form({ flatten: true }, [['a.pdf', Buffer.from('x')]]), { store });
    expect(charged).toEqual([1, 1, -1]);
    expect((await post(form({ flatten: true }, [['a.pdf', A]]), {}, KEYS.reader)).status).toBe(403);
  });
});
