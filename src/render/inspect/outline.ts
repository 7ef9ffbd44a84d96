import type { PageHand } from '../picture/page-hand.js';
import type { Stage } from '../stage.js';
import { type OutlinePart, partPage } from './in-page-text.js';

/** Reading a tree costs up to a millisecond an element, and nothing of it can be had before all of it is done. */
const PART_MOST_ELEMENTS = 800;
const MOST_PARTS = 400;

interface Reader {
  stage: Stage;
  hand: PageHand;
  within<Result>(step: () => Promise<Result>): Promise<Result>;
}

/** The accessibility tree as an indented outline of roles and names, as much of it as fits, or as can be had by the deadline (Unix ms). */
export async function outline(reader: Reader, how: { deadline: number; mostChars: number }): Promise<string> {
  const parts = await reader.hand.run(partPage, { mostElements: PART_MOST_ELEMENTS, mostParts: MOST_PARTS });
  let text = '';
  for (const part of parts) {
    const lines = await linesOf(reader, part, how.deadline);
    if (lines === null) break;
    if (lines !== '') text += `${indent(lines, part.indent)}\n`;
    if (text.length > how.mostChars) break;
  }
  return text.trimEnd();
}

/** Null when the page has no more time. */
async function linesOf(reader: Reader, part: OutlinePart, deadline: number): Promise<string | null> {
  if ('line' in part) return part.line;
  const left = deadline - Date.now();
  if (left <= 0) return null;
  try {
    const snapshot = reader.stage.page.locator(`[data-stillframe-part="${part.mark}"]`).first();
    return await reader.within(() => snapshot.ariaSnapshot({ timeout: left }));
  } catch {
    reader.stage.lost.throwIfAborted();
    return null;
  }
}

function indent(lines: string, levels: number): string {
  if (levels === 0) return lines;
  return lines.replace(/^/gm, '  '.repeat(levels));
}
