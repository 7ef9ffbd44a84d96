/**
 * Trial "pdf-fuzz": damaged and hostile PDFs into POST /v1/pdf of the built server. Each is refused, or read; nothing is an internal error,
 * the event loop goes on, and the memory of the server stays within that of one thread. What is made of a PDF that qpdf and poppler read
 * without a complaint, they read without one, too.
 *
 * Sabotage that turns it red: let `getDecodedData` of src/pdf/open-pdf.ts unpack anything, or leave the second of LIBPDF_FIXES in tsup.config.ts out.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inLanes } from '../egress/in-lanes.js';
import { buildProgram } from '../fixtures/build-program.js';
import { hostilePdfs, manyObjects } from '../pdf/hostile-pdfs.js';
import { mutated } from '../pdf/mutated.js';
import { aDocument, aPackedDocument } from '../pdf/raw-pdf.js';
import type { Door } from './call-api.js';
import { aTrialDir, startServerProcess } from './server-process.js';
import { firstOf, type TrialResult, tally } from './trial-result.js';

const AT_ONCE = 4;
const STALL_LIMIT_MS = 50;
/** The heap of the thread, what it may unpack, and the files. */
const GROWTH_LIMIT_BYTES = 1_100e6;
/** One in so many results is read by other programs. */
const CHECKED_EVERY = 25;
const REQUESTS = [
  { merge: true, chapters: true, blank_pages_to_odd: true },
  { split: { every: 1 } },
  { rotate: { degrees: 90 } },
  { flatten: true, pages: '1-2' },
];

/** @param options.mutations of small PDFs; `objects` of the largest hostile one */
export async function run({ mutations = 10_000, seed = 0, objects = 850_000 } = {}): Promise<TrialResult> {
  using dir = aTrialDir();
  await using meter = await buildProgram(new URL('loop-meter.ts', import.meta.url));
  const turns = join(dir.dataDir, 'turns');
  await using server = startServerProcess({ ...dir, preload: meter.file, env: { LOOP_METER: turns } });
  const door = await server.door();
  const before = server.memoryBytes();
  const from = existsSync(turns) ? readFileSync(turns, 'latin1').length : 0;
  const [problems, outcomes]: [string[], string[]] = [[], []];
  let [highest, checked] = [before, 0];
  const send = async (name: string, content: Buffer, nth: number) => {
    const { status, body } = await post(door, content, nth);
    highest = Math.max(highest, server.memoryBytes());
    outcomes.push(String(status));
    if (![200, 400].includes(status)) problems.push(`${name}: ${status} ${body.toString().slice(0, 200)}`);
    if (status !== 200 || nth % CHECKED_EVERY !== 0) return;
    checked++;
    const problem = complaint(dir.dataDir, body);
    if (problem !== null && complaint(dir.dataDir, content) === null) problems.push(`${name}: ${problem}`);
  };
  const documents = [aDocument('Some'), aPackedDocument('Some')];
  const all = firstOf(mutations).map((nth) => ({ name: `seed ${seed + nth}`, nth }));
  await inLanes(all, AT_ONCE, ({ name, nth }) =>
    send(name, mutated(documents[(nth >> 2) % documents.length] as Buffer, seed + nth), nth),
  );
  const hostile = Object.entries({ ...hostilePdfs(), 'many objects': manyObjects(objects) });
  for (const [name, content] of hostile) for (const nth of REQUESTS.keys()) await send(name, content, nth + 1);
  const ready = await fetch(`${door.url}/v1/health`).then(({ ok }) => ok);
  if (!ready) problems.push('the server is not ready any more');
  const longestMs = Math.max(0, ...readTurns(turns, from));
  if (longestMs > STALL_LIMIT_MS) problems.push(`the event loop stood still for ${longestMs} ms`);
  const growth = highest - before;
  if (growth > GROWTH_LIMIT_BYTES) problems.push(`the server took ${Math.round(growth / 1e6)} MB more`);
  const figures = {
    answers: tally(outcomes.sort()),
    checked,
    stall_ms: longestMs,
    growth_mb: Math.round(growth / 1e6),
  };
  return { figures, problems };
}

async function post({ url, key }: Door, content: Buffer, nth: number) {
  const request = REQUESTS[nth % REQUESTS.length] ?? {};
  const form = new FormData();
  form.set('request', JSON.stringify(request));
  for (const name of 'merge' in request ? ['a.pdf', 'b.pdf'] : ['a.pdf'])
    form.append('files', new Blob([new Uint8Array(content)]), name);
  const answer = await fetch(`${url}/v1/pdf`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
  return { status: answer.status, body: Buffer.from(await answer.arrayBuffer()) };
}

/** The complaints of qpdf or poppler about a PDF, or the PDFs of a zip file; null for none. */
function complaint(dir: string, content: Buffer): string | null {
  const file = join(dir, 'checked');
  writeFileSync(file, content);
  if (content.subarray(0, 2).toString() === 'PK') {
    const { stdout } = spawnSync('unzip', ['-p', file, '*-1.pdf'], { maxBuffer: 1e9 });
    return complaint(dir, stdout);
  }
  for (const [program, ...words] of [['qpdf', '--check'], ['pdftotext'], ['pdfinfo', '-struct']]) {
    const { status, stderr } = spawnSync(program as string, [
      ...words,
      file,
      ...(program === 'pdftotext' ? ['-'] : []),
    ]);
    const said = stderr.toString();
    if (status !== 0 || said !== '') return `${program} ends with ${status}: ${said.slice(0, 300)}`;
  }
  return null;
}

function readTurns(file: string, from: number): number[] {
  const text = existsSync(file) ? readFileSync(file, 'latin1').slice(from) : '';
  return text.split('\n').flatMap((line) => (line === '' ? [] : [Number(line.split(' ')[1])]));
}
