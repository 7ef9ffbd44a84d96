/** A thread that converts pages to Markdown, since parsing a large page would block the server's event loop. A separate bundle entry. */

import { parentPort } from 'node:worker_threads';
import { INSPECTION_LIMIT_CHARS } from '../../contract/limits.js';
import { type MarkdownSource, toMarkdown } from './to-markdown.js';

export interface MarkdownTask extends MarkdownSource {
  id: number;
}

export type MarkdownAnswer = { id: number; markdown: string } | { id: number; problem: string };

parentPort?.on('message', (task: MarkdownTask) => {
  parentPort?.postMessage(answer(task));
});

function answer(task: MarkdownTask): MarkdownAnswer {
  try {
    // Long link addresses make the Markdown much longer than the page. One character above the limit shows that it is truncated.
    return { id: task.id, markdown: toMarkdown(task).slice(0, INSPECTION_LIMIT_CHARS + 1) };
  } catch (error) {
    return { id: task.id, problem: error instanceof Error ? error.message : String(error) };
  }
}
