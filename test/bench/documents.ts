import { type Figure, median, ms, ratio } from './figure.js';
import { inTurns } from './loops.js';
import { BENCH_PAGES } from './pages.js';
import { type BenchServer, captured, startServer } from './server.js';
import { startSiteThread } from './site-thread.js';

const ROUNDS = 16;
const FILES = 50;
const MERGES = 5;
const PDF = { paper: 'a4', page_ranges: '1-10' };

/** Ten pages of an article as a document for archives and for screen readers against the same without, and a merge beside captures. */
export async function benchDocuments(): Promise<Figure[]> {
  await using site = await startSiteThread('127.0.0.2', BENCH_PAGES);
  await using server = await startServer({ STILLFRAME_CONCURRENCY: '4' });
  const url = `${site.origin}/bench/article`;
  const metadata = { author: 'Ada Lovelace', keywords: ['a', 'b'], custom: { CostCenter: 'R-17' } };
  const printed = (pdf: object) => () => captured(server, { url, format: 'pdf', pdf: { ...PDF, ...pdf } });
  const printedMs = await inTurns(
    {
      plain: printed({}),
      metadata: printed({ metadata }),
      archive: printed({ metadata, conformance: 'pdf/a-2b' }),
      tagged: printed({ tagged: true }),
      both: printed({ metadata, conformance: ['pdf/a-2u', 'pdf/ua-1'] }),
    },
    ROUNDS,
  );
  const content = await download(server, { url, format: 'pdf', pdf: PDF });
  const alone = await mergeTimes(server, content);
  let isOver = false;
  const beside = Promise.all(
    [1, 2].map(async () => {
      while (!isOver) await captured(server, { url });
    }),
  );
  const busy = await mergeTimes(server, content);
  isOver = true;
  await beside;
  return [
    ['ten pages of an article as PDF, alone p50', ms(printedMs.plain)],
    ['with metadata, ÷ without', ratio(printedMs.metadata, printedMs.plain), '≤ 1.15'],
    ['with metadata and pdf/a-2b, ÷ without', ratio(printedMs.archive, printedMs.plain), '≤ 1.15'],
    ['with metadata, pdf/a-2u and pdf/ua-1, ÷ tagged only', ratio(printedMs.both, printedMs.tagged), '≤ 1.15'],
    [`${FILES} PDFs of ten pages merged, alone p50`, ms(median(alone))],
    [`${FILES} PDFs of ten pages merged, beside two captures p50`, ms(median(busy)), '≤ 2,000 ms'],
  ];
}

async function download({ url, key }: BenchServer, body: object): Promise<Uint8Array<ArrayBuffer>> {
  const answer = await fetch(`${url}/v1/screenshot`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'application/pdf' },
    body: JSON.stringify(body),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
  return new Uint8Array(await answer.arrayBuffer());
}

async function mergeTimes({ url, key }: BenchServer, content: Uint8Array<ArrayBuffer>): Promise<number[]> {
  const form = new FormData();
  form.set('request', '{"merge":true,"chapters":true}');
  for (let nth = 1; nth <= FILES; nth++) form.append('files', new Blob([content]), `${nth}.pdf`);
  const times: number[] = [];
  for (let nth = 0; nth < MERGES; nth++) {
    const from = performance.now();
    const answer = await fetch(`${url}/v1/pdf`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`a merge is answered with ${answer.status}`);
    times.push(performance.now() - from);
  }
  return times;
}
