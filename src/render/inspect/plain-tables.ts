export const HEADINGS = 'h1,h2,h3,h4,h5,h6';
const PARTS = 'caption,thead,tbody,tfoot,tr,td,th';
/** Elements that Markdown does not allow in a cell. */
const BLOCKS = `${HEADINGS},ul,ol,li,hr,blockquote,pre`;

/**
 * Turns the blocks in table cells into lines of text, and unwraps layout tables: the Markdown rules would leave both as HTML. Expects plain
 * code. Cells without their table are unwrapped as well.
 */
export function plainTables(content: Element): void {
  for (const part of [...content.querySelectorAll(PARTS)].reverse()) if (part.closest('table') === null) asBlock(part);
  for (const table of content.querySelectorAll('table')) {
    const blocks = [...table.querySelectorAll(BLOCKS)];
    if (blocks.length === 0) continue;
    if (isLayout(table)) dissolve(table);
    // Inner tables first.
    else for (const block of blocks.reverse()) asLines(block);
  }
}

function isLayout(table: Element): boolean {
  if (/^(?:presentation|none)$/.test(table.getAttribute('role') ?? '') || table.querySelector('table') !== null) return true;
  if (table.querySelector('th') !== null) return false;
  return table.querySelectorAll('td').length < 2 || table.querySelector(HEADINGS) !== null;
}

function dissolve(table: Element): void {
  const parts = [...table.querySelectorAll(PARTS)].filter((part) => part.closest('table') === table);
  for (const part of [...parts.reverse(), table]) asBlock(part);
}

function asBlock(part: Element): void {
  const div = part.ownerDocument.createElement('div');
  div.append(...part.childNodes);
  part.replaceWith(div);
}

function asLines(block: Element): void {
  const { ownerDocument: document, localName } = block;
  const put = (name: string, nodes: Iterable<Node | string>): Element => {
    const element = document.createElement(name);
    element.append(...nodes);
    return element;
  };
  if (/^h\d$/.test(localName)) block.replaceChildren(put('strong', [...block.childNodes]));
  if (localName === 'pre') {
    const lines = (block.textContent ?? '').split('\n').filter((line) => line.trim() !== '');
    block.replaceChildren(...lines.flatMap((line) => [put('code', [line]), put('br', [])]));
  }
  const before = lastWritten(block.previousSibling);
  const last = lastWritten(block.lastChild);
  if (before !== null && !endsLine(before)) block.before(put('br', []));
  if (last !== null && !endsLine(last)) block.append(put('br', []));
  block.replaceWith(...block.childNodes);
}

/** Whether the block before this one will become lines, and thus end with a line break. */
function endsLine(node: Node): boolean {
  return node.nodeName === 'BR' || (node.nodeType === 1 && (node as Element).matches(BLOCKS));
}

/** The node, or the nearest one before it that is not white space. */
function lastWritten(node: Node | null): Node | null {
  let at = node;
  while (at !== null && at.nodeType === 3 && at.nodeValue?.trim() === '') at = at.previousSibling;
  return at;
}
