/** Matches the class names of line numbers in syntax highlighters. */
const GUTTER = /(?:^|[\s_-])(?:line-?nos?|linenodiv|line-?num(?:ber)?s?|gutter|lnt?|lntd|blob-num)(?:$|[\s_-])/i;
const LANGUAGE =
  /(?:^|\s)(?:language-|lang-|highlight-(?:source-|text-)?|sourceCode\s+)([\w+#.-]{1,24})(?:$|\s)|(?:^|[\s;])brush:\s*([\w+#.-]{1,24})/;
const NO_LANGUAGE = /^(?:default|none|auto|code|plain|plaintext|notranslate)$/i;
const BLOCK = /^(?:address|blockquote|dd|div|dl|dt|figure|li|ol|p|pre|section|table|tr|ul)$/;
const TABLE_PART = /^(?:table|thead|tbody|tfoot|tr)$/;
/** A wrapper with more text than this besides its code is more than a code block. */
const LABEL_MOST_CHARS = 80;

/**
 * Turns each code block, of any highlighter, into a `pre` with only its text, and its language as `data-lang`. Must precede
 * Readability, which removes classes and line breaks.
 */
export function plainCode(document: Document): void {
  for (const block of [...document.querySelectorAll('table'), ...document.querySelectorAll('pre')]) {
    const isCode = block.localName === 'pre' ? block.querySelector('h1,h2,h3,h4,h5,h6') === null : isCodeTable(block);
    if (!isCode || block.parentElement?.closest('pre')) continue;
    const plain = document.createElement('pre');
    const language = languageOf(block);
    const text = codeText(block);
    if (language !== null) plain.setAttribute('data-lang', language);
    plain.textContent = text;
    block.replaceWith(plain);
  }
}

/** A plain code block as Markdown. */
export function fenced(block: Element): string {
  const code = block.textContent ?? '';
  const runs = code.match(/`{3,}/g) ?? [];
  const fence = '`'.repeat(runs.reduce((longest, run) => Math.max(longest, run.length + 1), 3));
  return `\n\n${fence}${block.getAttribute('data-lang') ?? ''}\n${code}\n${fence}\n\n`;
}

/** Whether the table has line numbers in its first cell and code in its last. */
function isCodeTable(table: Element): boolean {
  const first = table.querySelector('td');
  const last = first?.parentElement?.lastElementChild;
  return first !== null && first !== last && isGutter(first) && table.querySelector('th') === null;
}

function isGutter(element: Element): boolean {
  return GUTTER.test(element.getAttribute('class') ?? '') && /^[\d\s]*$/.test(element.textContent ?? '');
}

function languageOf(block: Element): string | null {
  for (const element of [block.querySelector('code'), block]) {
    const language = element === null ? null : statedLanguage(element);
    if (language !== null) return language;
  }
  const mostChars = (block.textContent?.length ?? 0) + LABEL_MOST_CHARS;
  let around = block.parentElement;
  for (let level = 0; level < 3 && around !== null && /^(?:div|figure|td)$/.test(around.localName); level++) {
    const language = statedLanguage(around);
    if (language !== null) return (around.textContent?.length ?? 0) <= mostChars ? language : null;
    around = around.parentElement;
  }
  return null;
}

function statedLanguage(element: Element): string | null {
  const [, named, brush] = LANGUAGE.exec(element.getAttribute('class') ?? '') ?? [];
  const language = element.getAttribute('data-lang') ?? element.getAttribute('data-language') ?? named ?? brush ?? '';
  return /^[\w+#.-]{1,24}$/.test(language) && !NO_LANGUAGE.test(language) ? language : null;
}

/** The text of a block with its line breaks, without line numbers and buttons. */
function codeText(block: Element): string {
  let text = '';
  let endsLine = false;
  visit(block);
  return text.replace(/^(?:[ \t]*\n)+/, '').trimEnd();

  function visit(parent: Element): void {
    for (const child of parent.childNodes) {
      if (child.nodeType === 3) add(child.nodeValue ?? '', TABLE_PART.test(parent.localName));
      else if (child.nodeType === 1) element(child as Element);
    }
  }

  /** Appends text. White space between two line blocks is only layout, since each ends its own line. */
  function add(added: string, between: boolean): void {
    const isLayout = between ? added.trim() === '' : endsLine && /^[ \t]*\n[ \t]*$/.test(added);
    if (!isLayout) text += added;
    endsLine = false;
  }

  function element(child: Element): void {
    if (child.localName === 'br') add('\n', false);
    else if (child.localName === 'button' || isGutter(child)) return;
    else if (!BLOCK.test(child.localName)) visit(child);
    else {
      startLine();
      endsLine = false;
      const before = text.length;
      visit(child);
      if (text.length === before) return;
      startLine();
      endsLine = true;
    }
  }

  function startLine(): void {
    if (text !== '' && !text.endsWith('\n')) text += '\n';
  }
}
