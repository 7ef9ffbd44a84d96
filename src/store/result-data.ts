import type { CaptureData } from '../contract/capture-data.js';

/**
 * CaptureData is stored once, with the picture (`artifacts.data`), even if several jobs share it. A job's own `data` has only the fields
 * that differ; in rows of older versions it has all fields.
 */

/** Value of `data` for the job that rendered the picture. */
export const RENDERED_DATA = JSON.stringify({ cached: false });
/** Value of `data` for a job that was answered with another job's picture. */
export const SHARED_DATA = JSON.stringify({ cached: true });

/**
 * @param own value of the job's `data`
 * @param kept value of its artifact's `data`
 */
export function readResultData(own: string, kept: string | null): CaptureData {
  return { ...JSON.parse(kept ?? '{}'), ...JSON.parse(own) };
}
