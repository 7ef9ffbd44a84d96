import type { CaptureData } from '../../contract/capture-data.js';

/**
 * What a job tells of its picture stands once, with the picture (`artifacts.data`), however many jobs share it. A job's own `data`
 * holds only what it tells otherwise; in rows of older versions that is all of it.
 */

/** Of the job that rendered the picture. */
export const RENDERED_DATA = JSON.stringify({ cached: false });
/** Of a job that another one's picture answered. */
export const SHARED_DATA = JSON.stringify({ cached: true });

/** @param own `data` of the job @param kept `data` of its artifact */
export function readResultData(own: string, kept: string | null): CaptureData {
  return { ...JSON.parse(kept ?? '{}'), ...JSON.parse(own) };
}
