/** The visual check of `stillframe multi --baseline`: compares pictures with those of an earlier run, and reports what has changed. */
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { comparePictures } from '../../compare/compare-pictures.js';
import type { Comparison, ComparisonOptions } from '../../contract/comparison.js';
import { describeError } from '../operator-error.js';
import type { Shot } from './read-shots.js';

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
  /** One of the pictures cannot be compared. */
  | { status: 'failed'; message: string }
);

/** Compares each captured picture with its baseline, or replaces the baseline. PDFs are left out. */
export async function compareShots(
  results: readonly { shot: Shot; status: string }[],
  rules: Baseline,
  root: string,
): Promise<ShotComparison[]> {
  const compared: ShotComparison[] = [];
  for (const { shot, status } of results) {
    if ((status !== 'captured' && status !== 'skipped') || shot.options.format === 'pdf') continue;
    const baseline = baselineOf(shot, rules.dir, root);
    compared.push({ shot, baseline, ...(rules.updates ? await update(shot, baseline) : await compareShot(shot, baseline, rules)) });
  }
  return compared;
}

/** Whether a comparison lets the run pass. */
export function hasPassed({ status }: Pick<ShotComparison, 'status'>): boolean {
  return status === 'same' || status === 'updated';
}

/** A baseline has the path of the output below the working directory; outputs elsewhere have their names. */
function baselineOf({ path }: Shot, dir: string, root: string): string {
  const below = relative(root, path);
  return join(dir, below.startsWith('..') ? basename(path) : below);
}

async function update({ path }: Shot, baseline: string): Promise<{ status: 'updated' }> {
  await mkdir(dirname(baseline), { recursive: true });
  await copyFile(path, baseline);
  return { status: 'updated' };
}

async function compareShot({ path }: Shot, baseline: string, { options, failAbove }: Baseline) {
  if (!existsSync(baseline)) return { status: 'new' as const };
  try {
    const how = { ...options, mask: [], picture: 'overlay' as const };
    const { picture, ...comparison } = await comparePictures(await readFile(baseline), await readFile(path), how);
    return { status: comparison.share <= failAbove ? ('same' as const) : ('changed' as const), comparison, picture };
  } catch (error) {
    return { status: 'failed' as const, message: describeError(error) };
  }
}
