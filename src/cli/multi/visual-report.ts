/** The report of a visual check: a directory with `index.html`, which shows what has changed, `junit.xml`, and the pictures. */

import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { escapeMarkup } from '../../contract/markup.js';
import { describeComparison, percentOf } from '../compare.js';
import { OperatorError } from '../operator-error.js';
import { hasPassed, type ShotComparison } from './compare-shots.js';

/** The directory of the report's pictures, which each run replaces. */
export function picturesOf(reportDir: string): string {
  return join(reportDir, 'pictures');
}

/** Writes the report, in place of an earlier one. @throws OperatorError if the directory cannot be written */
export async function writeVisualReport(dir: string, comparisons: readonly ShotComparison[]): Promise<void> {
  const pictures = picturesOf(dir);
  try {
    await rm(pictures, { recursive: true, force: true });
    await mkdir(pictures, { recursive: true });
    const entries: string[] = [];
    for (const [index, comparison] of comparisons.entries()) entries.push(await writeEntry(dir, comparison, index + 1));
    await writeFile(join(dir, 'index.html'), page(comparisons, entries));
    await writeFile(join(dir, 'junit.xml'), junit(comparisons));
  } catch (error) {
    throw new OperatorError(`The report cannot be written to ${dir}: ${(error as Error).message}`);
  }
}

/** Says what became of a shot, as a line of text. */
export function describeShotComparison(comparison: ShotComparison): string {
  switch (comparison.status) {
    case 'new':
      return `There is no baseline ${comparison.baseline}. Run the command with --update to accept the picture.`;
    case 'updated':
      return 'The baseline was updated.';
    case 'failed':
    case 'not_captured':
      return comparison.message;
    default:
      return describeComparison(comparison.comparison);
  }
}

function labelOf(status: ShotComparison['status']): string {
  return status === 'not_captured' ? 'not captured' : status;
}

async function writeEntry(dir: string, comparison: ShotComparison, number: number): Promise<string> {
  const { shot, status, baseline } = comparison;
  const title = `<h2><span class="${status}">${labelOf(status)}</span> ${escapeMarkup(shot.output)}</h2>`;
  const text = `<p>${escapeMarkup(shot.name)}</p><pre>${escapeMarkup(describeShotComparison(comparison))}</pre>`;
  if (status === 'same' || status === 'updated') return `<details>\n<summary>${title}</summary>\n${text}\n</details>`;
  if (status === 'not_captured') return `<section>\n${title}\n${text}\n</section>`;
  const after = `pictures/${number}-after${extname(shot.path)}`;
  await copyFile(shot.path, join(dir, after));
  if (status !== 'changed' || comparison.picture === null)
    return `<section>\n${title}\n${text}\n<img src="${after}" alt="This run">\n</section>`;
  const before = `pictures/${number}-before${extname(shot.path)}`;
  const changes = `pictures/${number}-changes.webp`;
  await copyFile(baseline, join(dir, before));
  await writeFile(join(dir, changes), comparison.picture);
  return `<section>
${title}
${text}
<div class="slider"><img src="${before}" alt="Baseline"><img class="over" src="${after}" alt="This run"><input type="range" min="0" max="100" value="50" aria-label="Share of the baseline that is shown"></div>
<div class="row"><figure><a href="${before}"><img src="${before}" alt=""></a><figcaption>Baseline</figcaption></figure><figure><a href="${after}"><img src="${after}" alt=""></a><figcaption>This run</figcaption></figure><figure><a href="${changes}"><img src="${changes}" alt=""></a><figcaption>Changes</figcaption></figure></div>
</section>`;
}

function page(comparisons: readonly ShotComparison[], entries: readonly string[]): string {
  const count = (wanted: ShotComparison['status']) => comparisons.filter(({ status }) => status === wanted).length;
  const counts = (['changed', 'new', 'failed', 'not_captured', 'updated', 'same'] as const).filter(
    (status) => count(status) > 0,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Visual check</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Visual check</h1>
<p>${counts.map((status) => `<span class="${status}">${count(status)} ${labelOf(status)}</span>`).join(' ')}</p>
${entries.join('\n')}
<script>${SCRIPT}</script>
</body>
</html>
`;
}

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 1200px; margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: 1rem; display: inline; }
section, details { border-top: 1px solid #8886; padding: 1rem 0; }
span[class] { border-radius: 4px; padding: 0 .4em; color: #fff; background: #666; }
.changed, .new, .failed, .not_captured { background: #b3261e !important; }
.same, .updated { background: #1b6e3c !important; }
img { max-width: 100%; vertical-align: top; }
figure { margin: 0; }
.row { display: grid; grid-template-columns: repeat(3, 1fr); gap: 1rem; margin-top: 1rem; }
.slider { position: relative; display: inline-block; --at: 50%; }
.slider .over { position: absolute; left: 0; top: 0; clip-path: inset(0 0 0 var(--at)); }
.slider input { position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; opacity: 0; cursor: ew-resize; }
.slider::after { content: ''; position: absolute; top: 0; bottom: 0; left: var(--at); border-left: 2px solid #005adc; pointer-events: none; }
`;

const SCRIPT = `
for (const slider of document.querySelectorAll('.slider')) {
  slider.querySelector('input').addEventListener('input', (event) => slider.style.setProperty('--at', event.target.value + '%'));
}
`;

/** A test case for each shot, as CI systems read it. */
function junit(comparisons: readonly ShotComparison[]): string {
  const failed = comparisons.filter((comparison) => !hasPassed(comparison)).length;
  const cases = comparisons.map((comparison) => {
    const { shot } = comparison;
    const name = `    <testcase classname="stillframe" name="${escapeMarkup(`${shot.output} (${shot.name})`)}"`;
    if (hasPassed(comparison)) return `${name}/>`;
    const summary =
      comparison.status === 'changed'
        ? `${percentOf(comparison.comparison.share)} changed`
        : labelOf(comparison.status);
    return `${name}>\n      <failure message="${escapeMarkup(summary)}">${escapeMarkup(describeShotComparison(comparison))}</failure>\n    </testcase>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="stillframe multi" tests="${comparisons.length}" failures="${failed}">
${cases.join('\n')}
  </testsuite>
</testsuites>
`;
}
