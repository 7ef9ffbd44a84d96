/** The visual check of `stillframe multi --baseline`: compares pictures with those of an earlier run, and reports what has changed. */
import { existsSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { comparePictures } from '../../compare/compare-pictures.js';
import type { Comparison, ComparisonOptions } from '../../contract/comparison.js';
import { describeError, failing, UsageError } from '../operator-error.js';
import { readFileOf } from '../picture-file.js';
import { leadsOut, realPathOf, type Shot, sameFileKey } from './read-shots.js';

export interface Baseline {
  /** Directory of the pictures of an earlier run. */
  dir: string;
  /** Whether the pictures of this run replace them. */
  updates: boolean;
  options: Omit<ComparisonOptions, 'picture' | 'mask'>;
  /** Share of changed pixels that is allowed. */
  failAbove: number;
}

/** The result of comparing one shot with its baseline. */
export type ShotComparison = { shot: Shot; baseline: string } & (
  | { status: 'same' | 'changed'; comparison: Comparison; picture: Buffer | null }
  /** There was no baseline. */
  | { status: 'new' }
  /** The baseline was written or replaced. */
  | { status: 'updated' }
  /** One of the pictures cannot be compared, or the baseline cannot be written. */
  | { status: 'failed'; message: string }
  /** The capture failed, so that there is no picture. */
  | { status: 'not_captured'; message: string }
);

/**
 * Refuses a baseline that two shots share, or that is a picture of this run: it would be overwritten, or equal in any case.
 * @param replaced directory whose files are deleted
 * @throws UsageError that names the outputs
 */
export function checkBaselines(
  shots: readonly Shot[],
  { dir, root, replaced }: { dir: string; root: string; replaced: string },
): void {
  const lost = shots.find((shot) =>
    [shot.path, realPathOf(baselineOf(shot, dir, root))].some((path) => !leadsOut(replaced, path)),
  );
  if (lost !== undefined) {
    throw new UsageError(
      `--report-dir: ${lost.output} or its baseline is in ${replaced}, which the report replaces. Name another directory.`,
    );
  }
  const outputs = new Map(shots.map((shot) => [sameFileKey(shot.path), shot]));
  const owners = new Map<string, Shot>();
  for (const shot of shots.filter(isPicture)) {
    const baseline = baselineOf(shot, dir, root);
    const key = sameFileKey(realPathOf(baseline));
    const output = outputs.get(key);
    if (output !== undefined) {
      const file = output === shot ? 'that picture itself' : `the output of another shot, ${output.output}`;
      throw new UsageError(`--baseline: the baseline of ${shot.output} would be ${file}. Name another directory.`);
    }
    const owner = owners.get(key);
    if (owner !== undefined) {
      const advice = 'An output outside the working directory is known by its name alone: change one of the names.';
      throw new UsageError(
        `--baseline: ${owner.output} and ${shot.output} would share the baseline ${baseline}. ${advice}`,
      );
    }
    owners.set(key, shot);
  }
}

/** Compares each picture with its baseline, or replaces the baseline. PDFs are left out. */
export async function compareShots(
  results: readonly { shot: Shot; status: string; error?: unknown }[],
  rules: Baseline,
  root: string,
): Promise<ShotComparison[]> {
  const compared: ShotComparison[] = [];
  for (const { shot, status, error } of results) {
    if (!isPicture(shot) || status === 'not_run') continue;
    const baseline = baselineOf(shot, rules.dir, root);
    if (status === 'failed') compared.push({ shot, baseline, status: 'not_captured', message: describeError(error) });
    else compared.push({ shot, baseline, ...(await checkShot(shot, baseline, rules)) });
  }
  return compared;
}

/** Whether a comparison lets the run pass. */
export function hasPassed({ status }: Pick<ShotComparison, 'status'>): boolean {
  return status === 'same' || status === 'updated';
}

function isPicture({ options }: Shot): boolean {
  return options.format !== 'pdf' && options.animate === null;
}

/** A baseline has the path of the output below the working directory; outputs elsewhere have their names. */
function baselineOf({ path }: Shot, dir: string, root: string): string {
  return join(dir, leadsOut(root, path) ? basename(path) : relative(root, path));
}

async function checkShot(shot: Shot, baseline: string, rules: Baseline) {
  try {
    return rules.updates ? await update(shot, baseline) : await compareShot(shot, baseline, rules);
  } catch (error) {
    return { status: 'failed' as const, message: describeError(error) };
  }
}

async function update({ path }: Shot, baseline: string) {
  await mkdir(dirname(baseline), { recursive: true })
    .then(() => copyFile(path, baseline))
    .catch(failing(`The baseline ${baseline} cannot be written`));
  return { status: 'updated' as const };
}

async function compareShot({ path }: Shot, baseline: string, { options, failAbove }: Baseline) {
  if (!existsSync(baseline)) return { status: 'new' as const };
  const compareOptions = { ...options, mask: [], picture: 'overlay' as const };
  const { picture, ...comparison } = await comparePictures(
    await readFileOf(baseline),
    await readFileOf(path),
    compareOptions,
  );
  return { status: comparison.share <= failAbove ? ('same' as const) : ('changed' as const), comparison, picture };
}
