/** The thread that makes Markdown, since parsing a large page would block the server's event loop. A separate bundle entry. */

import { parentPort } from 'node:worker_threads';
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
    return { id: task.id, markdown: toMarkdown(task) };
  } catch (error) {
    return { id: task.id, problem: error instanceof Error ? error.message : String(error) };
  }
}
