export const HEADINGS = 'h1,h2,h3,h4,h5,h6';
const PARTS = 'caption,thead,tbody,tfoot,tr,td,th';
/** What Markdown has no place for in a cell. */
const BLOCKS = `${HEADINGS},ul,ol,li,hr,blockquote,pre`;

/**
 * Makes the blocks in a table's cells lines of text, and a table that only lays things out no table: the table rules leave both as HTML.
 * Code has been made plain before. Cells that an article was taken out of their table with are no cells any more.
 */
export function plainTables(content: Element): void {
  for (const part of [...content.querySelectorAll(PARTS)].reverse()) if (part.closest('table') === null) asBlock(part);
  for (const table of content.querySelectorAll('table')) {
    const blocks = [...table.querySelectorAll(BLOCKS)];
    if (blocks.length === 0) continue;
    if (isLayout(table)) dissolve(table);
    // The inner ones first.
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

/** A block before this one is still to be made lines, which it ends itself. */
function endsLine(node: Node): boolean {
  return node.nodeName === 'BR' || (node.nodeType === 1 && (node as Element).matches(BLOCKS));
}

/** The node, or the nearest before it that is more than white space. */
function lastWritten(node: Node | null): Node | null {
  let at = node;
  while (at !== null && at.nodeType === 3 && at.nodeValue?.trim() === '') at = at.previousSibling;
  return at;
}
