/** Writes docs/options.md from the table of request fields: `node scripts/run-ts.mjs scripts/write-options.ts`. */
import { writeFileSync } from 'node:fs';
import { FIELD_LIST, type Field } from '../src/contract/field-list.js';
import { FIELD_GROUPS } from '../src/contract/request-fields.js';

const HEAD = `# Options of a capture

These are the fields of the body of \`POST /v1/screenshot\`. They have the same names

- as flags of \`stillframe capture\`, where \`full_page\` is \`--full-page\`, and \`block_ads: false\` is \`--no-block-ads\`,
- in signed links where the option is marked <kbd>link</kbd>, and in the capture tool for language models where it is marked <kbd>MCP</kbd>: a link has \`viewport.width=800\` for a member and repeats the name for a list, and the tool has \`width\` and \`height\` in place of \`viewport\`,
- in \`shots.yml\` of \`stillframe multi\`, and in the form of the console.

A capture costs 1 credit, unless an option that it uses costs more.

<!-- Generated: run \`node scripts/run-ts.mjs scripts/write-options.ts\` after a change of src/contract/request-fields.ts. -->
`;

/** The content of docs/options.md. */
export function optionsPage(): string {
  const groups = FIELD_GROUPS.map((group) => {
    const rows = FIELD_LIST.filter((field) => field.group === group).flatMap(rowsOf);
    return `\n## ${group}\n\n| Option | Value | Default | Meaning |\n| - | - | - | - |\n${rows.join('')}`;
  });
  return HEAD + groups.join('');
}

/** A row for the field, and one for each of its members. */
function rowsOf(field: Field): string[] {
  const { name, description, price, links, mcp, members, item, opaque } = field;
  const costs = costOf(price);
  const meaning = `${description.replace(/\.$/, '')}${costs}`;
  const badges = [...(links === false ? [] : ['link']), ...(mcp === undefined || mcp === false ? [] : ['MCP'])];
  const cells = [
    [`\`${name}\``, ...badges.map((badge) => `<kbd>${badge}</kbd>`)].join(' '),
    valuesOf(field),
    defaultOf(field),
    meaning,
  ];
  // The members of what a document of `pdf.pages` has like the request stand there.
  const isRepeated = / of the request$|^default: the request's$/.test(description);
  const inner = opaque === true || isRepeated ? [] : (item?.members ?? members);
  return [
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`,
    ...inner.flatMap((member) => rowsOf({ ...member, mcp: member.mcp ?? mcp })),
  ];
}

function costOf(price: Field['price'] = {}): string {
  const prices = Object.entries(price);
  const [[, first] = []] = prices;
  if (prices.length > 1 && prices.every(([, credits]) => credits === first)) return `; costs ${first} credits`;
  return prices.map(([value, credits]) => `; \`${value}\` costs ${credits} credits`).join('');
}

function valuesOf({ type, choices, item, min, max, members, defaultValue }: Field): string {
  const listed = choices.map((choice) => `\`${choice}\``).join(', ');
  if (type === 'union' && item !== null)
    return defaultValue === false ? `\`true\`, or list of ${listed}` : `${listed}, or list of texts`;
  if (choices.length > 0) return `${item === null ? '' : 'list of '}${listed}`;
  if (type === 'number') return min === null ? `up to ${max}` : max === null ? `${min} or more` : `${min} to ${max}`;
  if (type === 'array') return item?.type === 'string' ? 'list of texts' : 'list of objects';
  if (type === 'union') return members.length > 0 ? 'text or object' : 'length';
  return { string: 'text', record: 'names and values' }[type] ?? type;
}

function defaultOf({ type, defaultValue = type === 'boolean' ? false : [] }: Field): string {
  return JSON.stringify(defaultValue) === '[]' ? '' : `\`${String(defaultValue)}\``;
}

if (process.argv[1]?.endsWith('write-options.ts'))
  writeFileSync(new URL('../docs/options.md', import.meta.url), optionsPage());
