/** The thread that puts Markdown files into an HTML template, since a hostile one would block the event loop. A separate bundle entry. */
import { marked } from 'marked';
import { answerTask } from '../../thread.js';

export interface MarkdownForm {
  template: string;
  /** By file name. */
  files: ReadonlyMap<string, string>;
}

/** The document, or what is wrong with the template. */
export type MarkdownAnswer = { html: string } | { problem: string };

/** An action of Go's templates: `{{ toHTML "file.md" }}` is known. */
const ACTION = /\{\{-?([^{}]*)\}\}/g;
const TO_HTML = /^\s*toHTML\s+(?:"([^"\\]*)"|`([^`]*)`)\s*(?:-\s*)?$/;
const SHOWN_CHARS = 60;

await answerTask(fillTemplate);

function fillTemplate({ template, files }: MarkdownForm): MarkdownAnswer {
  const problems: string[] = [];
  const html = template.replace(ACTION, (action: string, inside: string) => {
    const [, quoted, raw] = TO_HTML.exec(inside) ?? [];
    const name = quoted ?? raw;
    const text = name === undefined ? undefined : files.get(name);
    if (name === undefined) problems.push(`'${action.slice(0, SHOWN_CHARS)}' of index.html is not supported: write {{ toHTML "file.md" }}`);
    else if (text === undefined) problems.push(`Markdown file not found: '${name.slice(0, SHOWN_CHARS)}'`);
    return text === undefined ? '' : marked.parse(text, { async: false });
  });
  return problems.length > 0 ? { problem: problems.slice(0, 5).join('; ') } : { html };
}
