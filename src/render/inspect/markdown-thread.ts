/** The thread that makes Markdown: a bundle entry of its own, because parsing a large page would stop the server's event loop. */

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
