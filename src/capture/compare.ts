import { buffer } from 'node:stream/consumers';
import type { Principal } from '../account/authenticate.js';
import type { Artifacts, OpenArtifact } from '../artifacts/artifacts.js';
import { memoryOf, readSide, readSizes } from '../compare/compare-pictures.js';
import type { CompareQueue } from '../compare/compare-queue.js';
import { CaptureError } from '../contract/capture-error.js';
import type { Comparison, ComparisonOptions, PictureSource } from '../contract/comparison.js';
import type { JobSnapshot } from '../contract/job.js';
import type { JobStore, RetentionStore } from '../store/store.js';
import { type ReserveMemory, reserve } from './cost.js';
import { lookupJob } from './lookup.js';
import { pictureDeleted } from './open-picture.js';

export interface CompareDeps {
  store: Pick<JobStore, 'findJob'> & Pick<RetentionStore, 'keepArtifact'>;
  artifacts: Pick<Artifacts, 'put'>;
  openPicture(name: string): Promise<OpenArtifact | 'deleted' | null>;
  queue: CompareQueue;
  reserveMemory: ReserveMemory;
  now(): number;
}

export type Side = 'before' | 'after';
/** A picture that exists. */
export type FoundPicture = Extract<PictureSource, { kind: 'artifact' | 'given' }>;

/** The largest stored picture that is read. */
const STORED_MAX_BYTES = 64_000_000;

/**
 * Finds a picture for a comparison, so that what cannot be compared is refused before anything is captured for it.
 * @throws CaptureError `invalid_request`: 404 if it does not exist, 410 if it has been deleted, 400 if it cannot be compared
 */
export async function findPicture(
  deps: Pick<CompareDeps, 'store' | 'openPicture'>,
  { side, source }: { side: Side; source: Exclude<PictureSource, { kind: 'capture' }> },
  principal: Principal,
): Promise<FoundPicture> {
  if (source.kind === 'given') {
    // The frame of an AVIF may be larger than the file says, and takes any memory when it is decoded.
    if (readSide(source.content, side).format === 'avif')
      throw refused(side, 'must be png, jpeg, webp or gif: an AVIF is compared if this server has captured it');
    return source;
  }
  const name =
    source.kind === 'artifact' ? source.name : artifactOf(side, await lookupJob(deps.store, source.jobId, principal));
  await open(deps, side, name);
  return { kind: 'artifact', name };
}

/**
 * Compares two pictures and stores the picture of their differences, which expires like every other.
 * @param who.signal aborts when nobody waits for the comparison any more
 * @returns the comparison, and the name of that artifact
 * @throws CaptureError `invalid_request` if they cannot be compared; `render_timeout`; `internal_error` (503)
 */
export async function compare(
  deps: CompareDeps,
  { before, after, options }: { before: FoundPicture; after: FoundPicture; options: ComparisonOptions },
  { principal, signal }: { principal: Principal; signal: AbortSignal },
): Promise<{ comparison: Comparison; artifact: string | null }> {
  const { picture, ...comparison } = await deps.queue.compare({ account: principal.accountId, signal }, async () => {
    const pictures = { before: await read(deps, 'before', before), after: await read(deps, 'after', after) };
    const sizes = readSizes(pictures.before, pictures.after);
    const bytes = memoryOf(sizes) + pictures.before.length + pictures.after.length;
    const memory = await reserve(deps.reserveMemory, { bytes, consumer: 'a comparison', signal });
    return { ...pictures, options, [Symbol.dispose]: () => memory?.[Symbol.dispose]() };
  });
  if (picture === null) return { comparison, artifact: null };
  const stored = await deps.artifacts.put(picture, 'webp');
  await deps.store.keepArtifact({ ...stored, accountId: principal.accountId, createdAt: deps.now() });
  return { comparison, artifact: stored.name };
}

async function read(deps: CompareDeps, side: Side, source: FoundPicture): Promise<Buffer> {
  if (source.kind === 'given') return source.content;
  return await buffer(await (await open(deps, side, source.name)).read());
}

async function open(
  { openPicture }: Pick<CompareDeps, 'openPicture'>,
  side: Side,
  name: string,
): Promise<OpenArtifact> {
  if (/\.(pdf|txt)$/.test(name)) throw refused(side, 'must be a picture, not a PDF or a text');
  if (name.endsWith('.mp4')) throw refused(side, 'must be a picture, not a video');
  const artifact = await openPicture(name);
  if (artifact === 'deleted') throw pictureDeleted();
  if (artifact === null) throw refused(side, 'is not a picture of this server', 404);
  if (artifact.bytes > STORED_MAX_BYTES) throw refused(side, `must have at most ${STORED_MAX_BYTES / 1e6} MB`);
  return artifact;
}

function artifactOf(side: Side, job: JobSnapshot | null): string {
  if (job === null) throw refused(side, 'is not a job of this API key', 404);
  if (job.result === null) throw refused(side, 'is a job that has not ended yet');
  if (!job.result.outcome.ok) throw refused(side, 'is a job that has failed');
  return job.result.outcome.data.artifact;
}

function refused(side: Side, message: string, status = 400): CaptureError {
  const details = { issues: [{ path: side, message }] };
  return new CaptureError({ code: 'invalid_request', status, message: `\`${side}\` ${message}.`, details });
}
