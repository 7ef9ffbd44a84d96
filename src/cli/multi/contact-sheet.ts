/** The page that shows all pictures of a run: `index.html` beside them. */

import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { escapeMarkup } from '../../contract/markup.js';
import { describeError, printable, UsageError } from '../operator-error.js';
import { replaceFile } from '../picture-file.js';
import type { Shot } from './read-shots.js';
import type { ShotResult } from './shots-report.js';

const MARK = '<!doctype html><!-- contact sheet of stillframe multi -->';

/** Returns the path of the contact sheet. @throws UsageError if there is another page, such as that of a site */
export function checkContactSheet(dir: string): string {
  const file = join(dir, 'index.html');
  if (!existsSync(file) || beginOf(file) === MARK) return file;
  throw new UsageError(
    `${file} is not a contact sheet, and would be replaced by one: choose another --output-dir, or remove the file.`,
  );
}

/** Writes it in place of an earlier one. @throws OperatorError */
export async function writeContactSheet(file: string, results: readonly ShotResult[]): Promise<void> {
  const captured = results.filter(({ status }) => status === 'captured' || status === 'skipped').length;
  const heading = `${captured} of ${results.length} ${results.length === 1 ? 'page' : 'pages'}`;
  await replaceFile(
    file,
    `${MARK}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${heading}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${heading}</h1>
<main>
${results.map((result) => entry(join(file, '..'), result)).join('\n')}
</main>
</body>
</html>
`,
  );
}

function beginOf(file: string): string {
  const handle = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(MARK.length);
    return bytes.toString('utf8', 0, readSync(handle, bytes));
  } finally {
    closeSync(handle);
  }
}

function entry(dir: string, result: ShotResult): string {
  const { shot, status } = result;
  const page =
    shot.target.kind === 'url' && shot.options.html === null
      ? `<a href="${escapeMarkup(shot.name)}">${escapeMarkup(shot.name)}</a>`
      : escapeMarkup(shot.name);
  if (status === 'failed' || status === 'not_run') {
    const reason =
      status === 'failed' ? printable(describeError(result.error)) : 'The run was ended before this capture.';
    return `<figure class="failed"><p>${escapeMarkup(reason)}</p><figcaption>${page}</figcaption></figure>`;
  }
  const address = relative(dir, shot.path).split(sep).map(encodeURIComponent).join('/');
  const facts =
    status === 'captured' ? `${result.facts.width} × ${result.facts.height} px` : 'kept from an earlier run';
  const link = `<a href="${address}">${escapeMarkup(shot.output)}</a>`;
  return `<figure>${captionOf(shot, address)}<figcaption>${page}<br>${link}, ${facts}</figcaption></figure>`;
}

function captionOf({ path, name }: Shot, address: string): string {
  const extension = extname(path).slice(1).toLowerCase();
  if (extension === 'mp4') return `<video src="${address}" controls preload="metadata"></video>`;
  if (extension === 'pdf') return `<a class="file" href="${address}">PDF</a>`;
  return `<a href="${address}"><img src="${address}" loading="lazy" alt="Picture of ${escapeMarkup(name)}"></a>`;
}

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 2rem; }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 280px), 1fr)); gap: 2rem 1.5rem; }
figure { margin: 0; overflow-wrap: anywhere; }
img, video, .file, .failed p { box-sizing: border-box; width: 100%; aspect-ratio: 16 / 10; border: 1px solid #8886; object-fit: cover; object-position: top left; }
.file, .failed p { display: grid; place-items: center; margin: 0; padding: 1rem; overflow: auto; }
.failed p { border-color: #b3261e; }
`;
