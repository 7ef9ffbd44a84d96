/** A thread that converts pages to Markdown, since parsing a large page would block the server's event loop. A separate bundle entry. */

import { parentPort } from 'node:worker_threads';
import { INSPECTION_LIMIT_CHARS } from '../../contract/limits.js';
import { type MarkdownSource, toMarkdown } from './to-markdown.js';

parentPort?.on('message', (source: MarkdownSource) => {
  parentPort?.postMessage(convert(source));
});

/** @returns null if the conversion fails */
function convert(source: MarkdownSource): string | null {
  try {
    // Long link addresses make the Markdown much longer than the page. One character above the limit shows that it is truncated.
    return toMarkdown(source).slice(0, INSPECTION_LIMIT_CHARS + 1);
  } catch {
    return null;
  }
}
