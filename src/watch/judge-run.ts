import { createPatch } from 'diff';
import type { Principal } from '../account/authenticate.js';
import type { FoundPicture } from '../capture/compare.js';
import { CaptureError } from '../contract/capture-error.js';
import type { Comparison, ComparisonOptions } from '../contract/comparison.js';
import { comparisonOf, type RunData, type Watch, type WatchDefinition } from '../contract/watch.js';

export interface JudgeDeps {
  comparisons: {
    enter(accountId: string): Disposable;
    compare(
      comparison: { before: FoundPicture; after: FoundPicture; options: ComparisonOptions },
      who: { principal: Principal; signal: AbortSignal },
    ): Promise<{ comparison: Comparison; artifact: string | null }>;
  };
}

/** The changes between two runs. */
export interface RunComparison {
  changed: boolean;
  /** null if no pixels were compared. */
  share: number | null;
  /** Name of the artifact that shows the changes. */
  picture: string | null;
  diff: string | null;
}

/** Lines of context around a change. */
const CONTEXT_LINES = 3;
/** A diff of texts without a common line would hold the event loop for seconds. */
const DIFF_MS = 15;

/**
 * Compares what a run has captured with an earlier run. Equal bytes are not compared.
 * @throws CaptureError as `compare`; 410 if an earlier picture has been deleted
 */
export async function judgeRun(
  deps: JudgeDeps,
  { watch, before, after }: { watch: Watch; before: RunData; after: RunData },
  signal: AbortSignal,
): Promise<RunComparison> {
  const { definition } = watch;
  const options = comparisonOf(definition);
  const pixels = options === null ? null : await comparePictures(deps, { watch, before, after, options }, signal);
  const diff = definition.text ? diffOf(definition, before.text ?? '', after.text ?? '') : null;
  return {
    changed: diff !== null || (pixels !== null && options !== null && pixels.share > options.above),
    share: pixels?.share ?? null,
    picture: pixels?.picture ?? null,
    diff,
  };
}

interface Pictures {
  watch: Watch;
  before: RunData;
  after: RunData;
  options: ComparisonOptions & { above: number };
}

/** @returns the largest share of the pictures of a request, and what has changed in that one */
async function comparePictures(
  deps: JudgeDeps,
  { watch, before, after, options }: Pictures,
  signal: AbortSignal,
): Promise<{ share: number; picture: string | null }> {
  const { accountId, keyId } = watch;
  let largest: { share: number; picture: string | null } = {
    share: before.pictures.length === after.pictures.length ? 0 : 1,
    picture: null,
  };
  for (const [i, { artifact, sha256 }] of after.pictures.entries()) {
    const earlier = before.pictures[i];
    if (earlier === undefined || earlier.sha256 === sha256) continue;
    using _place = deps.comparisons.enter(accountId);
    const { comparison, artifact: picture } = await deps.comparisons.compare(
      { before: { kind: 'artifact', name: earlier.artifact }, after: { kind: 'artifact', name: artifact }, options },
      { principal: { keyId, accountId, scopes: [] }, signal },
    );
    if (comparison.share > largest.share || largest.picture === null)
      largest = { share: Math.max(largest.share, comparison.share), picture };
  }
  return largest;
}

function diffOf({ name }: WatchDefinition, before: string, after: string): string | null {
  if (before === after) return null;
  const patch = createPatch(name, before, after, 'before', 'after', { context: CONTEXT_LINES, timeout: DIFF_MS });
  if (patch !== undefined) return patch;
  const lines = (text: string, sign: string) => text.split('\n').map((line) => sign + line);
  return [
    `--- ${name}\tbefore`,
    `+++ ${name}\tafter`,
    '@@ everything @@',
    ...lines(before, '-'),
    ...lines(after, '+'),
  ].join('\n');
}

/** Whether a comparison has failed because an earlier picture is no longer stored. */
export function isDeleted(error: unknown): boolean {
  return error instanceof CaptureError && (error.status === 410 || error.status === 404);
}
