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
const PROBLEMS_MAX = 5;

await answerTask(fillTemplate);

function fillTemplate({ template, files }: MarkdownForm): MarkdownAnswer {
  const problems: string[] = [];
  const absent: string[] = [];
  const html = template.replace(ACTION, (action: string, inside: string) => {
    const [, quoted, raw] = TO_HTML.exec(inside) ?? [];
    const name = quoted ?? raw;
    const text = name === undefined ? undefined : files.get(name);
    if (name === undefined)
      problems.push(`'${action.slice(0, SHOWN_CHARS)}' of index.html is not supported: write {{ toHTML "file.md" }}`);
    else if (text === undefined) absent.push(`'${name.slice(0, SHOWN_CHARS)}'`);
    return text === undefined ? '' : marked.parse(text, { async: false });
  });
  if (absent.length > 0) problems.push(`Markdown file(s) not found: ${absent.slice(0, PROBLEMS_MAX).join('\n')}`);
  return problems.length > 0 ? { problem: problems.slice(0, PROBLEMS_MAX).join('; ') } : { html };
}
