/**
 * Trial "documents": pages of others as PDF/A and PDF/UA. Each conforms by veraPDF, or is refused with the rule that it breaks; its text stays.
 * The folder `pages` holds HTML files, such as those of CONTRIBUTING.md, "Try pages of others".
 *
 * Sabotage that turns it red: return early from `markArtifacts` in pdf/accessibility.ts, or never throw in `checkContents`.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Conformance } from '../../src/contract/document-schema.js';
import { editPdf } from '../../src/pdf/edit-pdf.js';
import { brokenRules, fetchValidators } from '../fixtures/validators/validate-pdfs.js';
import { launchChromium } from '../render/picture/a-page-session.js';
import type { TrialResult } from './trial-result.js';

const LEVELS: Conformance[][] = [['pdf/a-2b'], ['pdf/a-3u'], ['pdf/a-2u', 'pdf/ua-1']];
const PAGES_AT_ONCE = 20;
const LOAD_MS = 15_000;
const PRINT_MS = 30_000;

export async function run({ pages: given = 'test-results/saved-pages' }: { pages?: string }): Promise<TrialResult> {
  const veraPdf = fetchValidators();
  if ('missing' in veraPdf) return { figures: {}, problems: [veraPdf.missing] };
  const folder = resolve(String(given));
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'));
  const files = names.map((name) => join(folder, name));
  const problems: string[] = [];
  const figures: Record<string, number | string> = { pages: files.length };
  const temporary = mkdtempSync(join(tmpdir(), 'documents-'));
  const reasons: Record<string, number> = {};
  for (let at = 0; at < files.length; at += PAGES_AT_ONCE) {
    const made: [flavour: string, content: Uint8Array, name: string][] = [];
    for (const file of files.slice(at, at + PAGES_AT_ONCE)) {
      const before = await print(file);
      if (before === null) {
        figures['not printed'] = Number(figures['not printed'] ?? 0) + 1;
        continue;
      }
      for (const conformance of LEVELS) {
        const name = `${file}, ${conformance.join(' and ')}`;
        try {
          const { content } = await editPdf({ content: Buffer.from(before), edits: { conformance, language: 'en' } });
          for (const one of conformance) made.push([one.replace('pdf/a-', '').replace('pdf/ua-', 'ua'), content, name]);
          figures[conformance.join(' and ')] = Number(figures[conformance.join(' and ')] ?? 0) + 1;
        } catch (error) {
          const [, rule] = /\((ISO [\d-]+, [\d.]+)\)/.exec((error as Error).message) ?? [];
          if (rule === undefined) problems.push(`${name}: ${error}`);
          else reasons[rule] = (reasons[rule] ?? 0) + 1;
        }
      }
    }
    const broken = brokenRules(
      { folder: temporary, ...veraPdf },
      made.map(([flavour, content]) => [flavour, content]),
    );
    for (const [index, rules] of broken.entries())
      if (rules !== '') problems.push(`${made[index]?.[2]}: breaks ${rules}`);
  }
  rmSync(temporary, { recursive: true, force: true });
  for (const [rule, count] of Object.entries(reasons)) figures[`refused by ${rule}`] = count;
  return { figures, problems };
}

/** @returns null for a page that Chromium does not print in time, as some saved ones */
async function print(file: string): Promise<Buffer | null> {
  // A page that hangs would hold up others of its browser.
  await using browser = await launchChromium();
  const page = await browser.newPage({ javaScriptEnabled: false });
  await page.route(/^https?:/, (route) => route.abort());
  await page.goto(pathToFileURL(file).href, { timeout: LOAD_MS }).catch(() => undefined);
  const printed = page.pdf({ format: 'a4', tagged: true, outline: true, printBackground: true }).catch(() => null);
  return await Promise.race([printed, setTimeout(PRINT_MS, null)]);
}
