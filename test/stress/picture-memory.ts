/**
 * Trial "picture-memory": pages of 30,000 CSS px at density 2, captured by sections: the memory of this process and of the browser
 * together stays under 700 MB more than idle.
 *
 * Sabotage that turns it red: keep the sections in memory, or let jpeg optimise its coding in encode.ts.
 */
import { readdir, readFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { launchChromium } from '../render/picture/a-page-session.js';
import { take } from '../render/picture/take.js';
import type { TrialResult } from './trial-result.js';

export interface MemoryOptions {
  /** CSS px; 30,000 when absent. */
  height?: number;
  /** Comma list; png, jpeg, webp and pdf when absent. */
  formats?: string;
  algorithms?: string;
}

const MORE_LIMIT_MB = 700;
const SAMPLE_MS = 50;

export async function run(options: MemoryOptions): Promise<TrialResult> {
  const { height = 30_000, formats = 'png,jpeg,webp,pdf', algorithms = 'by_sections' } = options;
  const figures: Record<string, number | string> = {};
  const problems: string[] = [];
  for (const algorithm of algorithms.split(',')) {
    for (const format of formats.split(',')) {
      const browser = await launchChromium();
      const { idle, peak, ms } = await measure(browser, { height, format, algorithm });
      await browser.close();
      const more = Math.round(peak - idle);
      figures[`${format} ${algorithm}`] = `${more} MB more than ${Math.round(idle)} MB, ${Math.round(ms)} ms`;
      if (more >= MORE_LIMIT_MB) problems.push(`${format} ${algorithm}: ${more} MB more than idle`);
    }
  }
  return { ok: problems.length === 0, figures, problems };
}

async function measure(browser: Browser, page: { height: number; format: string; algorithm: string }) {
  const wire = { viewport: { width: 1280, height: 720, deviceScaleFactor: 2 } };
  await take(browser, photoPage(720), wire);
  const idle = await treeMegabytes();
  let peak = idle;
  let sampling = true;
  const sampler = (async () => {
    while (sampling) {
      peak = Math.max(peak, await treeMegabytes());
      await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
    }
  })();
  const startedAt = performance.now();
  await take(
    browser,
    photoPage(page.height),
    { ...wire, full_page: true, full_page_algorithm: page.algorithm, format: page.format },
    { scrollMs: 300_000, pictureMs: 900_000 },
  );
  const ms = performance.now() - startedAt;
  sampling = false;
  await sampler;
  return { idle, peak, ms };
}

/** Noise, which no encoder makes small, between lines of text. */
function photoPage(height: number): string {
  return `<!doctype html><style>body{margin:0;height:${height}px;overflow-x:hidden}div{height:300px}p{height:60px;margin:0}</style><main></main><script>
    const canvas = document.createElement('canvas');
    canvas.width = 640; canvas.height = 300;
    const noise = canvas.getContext('2d').createImageData(640, 300);
    let seed = 7;
    for (let i = 0; i < noise.data.length; i++) noise.data[i] = i % 4 === 3 ? 255 : (seed = (seed * 16807) % 2147483647) % 256;
    canvas.getContext('2d').putImageData(noise, 0, 0);
    const url = canvas.toDataURL();
    let rows = '';
    for (let y = 0; y < ${height}; y += 360) rows += '<p>Row at ' + y + ' with some words beside it</p><div style="background:url(' + url + ')"></div>';
    document.querySelector('main').innerHTML = rows;
    document.querySelector('main').style.cssText = 'height:${height}px;overflow:hidden';
  </script>`;
}

/** Proportional memory of this process and all below it. */
async function treeMegabytes(): Promise<number> {
  const parents = new Map<number, number>();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'latin1').catch(() => '');
    const parent = /\) \S (\d+)/.exec(stat)?.[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  let kilobytes = 0;
  for (const id of parents.keys()) {
    if (!isBelow(id, parents)) continue;
    const rollup = await readFile(`/proc/${id}/smaps_rollup`, 'latin1').catch(() => '');
    kilobytes += Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0);
  }
  return kilobytes / 1024;
}

function isBelow(id: number, parents: Map<number, number>): boolean {
  for (let at: number | undefined = id; at !== undefined && at > 1; at = parents.get(at)) if (at === process.pid) return true;
  return false;
}
