import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { analyse } from 'scslre';
import ts from 'typescript';
import { expect, it } from 'vitest';

/** Literals that are not linear, and why none of them meets a text that is long enough to matter. */
const BOUNDED: Record<string, string> = {
  'src/render/lists/bounded-regex.ts: ATOM':
    'a rule of a filter list has at most 2,000 characters here (REGEX_MAX_CHARS)',
};

/** Files that make expressions of texts, and which. */
const MADE: Record<string, string> = {
  'src/artifacts/artifact-name.ts': 'the extensions of the formats, and fixed lengths',
  'src/artifacts/s3.ts': 'the name of an element, between tags that it cannot contain',
  'src/cli/own-command.ts': 'the names of the commands',
  'src/http/docs/search.ts': 'eight words of letters, digits, - and _, for the text of our own documents',
  'src/render/lists/bounded-regex.ts': 'one character or class of a rule, without repetition, for one character',
  'src/render/lists/engines.ts':
    'wildcards as lookaheads, which never backtrack; list-thread.ts removes unbounded expressions of lists',
  'src/render/lists/parse-procedural.ts': 'names of operators',
  'src/render/in-page/consent/words.ts': 'words, for the whole text of a button',
  'src/render/in-page/procedural.ts':
    'a rule of a filter list, in the page: V8 ends the call after 500 ms (guard-page.ts)',
  'src/render/launch/process-table.ts': 'the name of a field of /proc',
  'src/render/page/wall-signs.ts': 'words',
};

interface Found {
  file: string;
  line: number;
  /** The constant that it is the value of, if any. */
  name: string;
  literal: string | null;
}

const found: Found[] = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .flatMap((name) => expressionsOf(join('src', name)));

it('every regular expression is linear in the length of the text', () => {
  const literals = found.filter(({ literal }) => literal !== null);
  expect(literals.length).toBeGreaterThan(400);
  const slow = literals.filter(({ literal }) => !isLinear(literal ?? ''));
  expect(
    slow.filter((one) => !(nameOf(one) in BOUNDED)).map((one) => `${one.file}:${one.line} ${one.literal}`),
  ).toEqual([]);
  expect(slow.map(nameOf).sort()).toEqual(Object.keys(BOUNDED).sort());
});

it('only these files make regular expressions of texts', () => {
  const files = new Set(found.filter(({ literal }) => literal === null).map(({ file }) => file));
  expect([...files].sort()).toEqual(Object.keys(MADE).sort());
});

it.each(['/\\s+$/', '/[;\\s]+$/', '/\\s*\\n\\s*/', '/(a+)+b/', '/\\d*\\.?\\d+$/'])('%s would be found', (literal) => {
  expect(isLinear(literal)).toBe(false);
});

function nameOf({ file, name }: Found): string {
  return `${file}: ${name}`;
}

function isLinear(literal: string): boolean {
  const end = literal.lastIndexOf('/');
  return analyse({ source: literal.slice(1, end), flags: literal.slice(end + 1) }).reports.length === 0;
}

function expressionsOf(file: string): Found[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const all: Found[] = [];
  const visit = (node: ts.Node, name: string): void => {
    const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
    if (ts.isRegularExpressionLiteral(node)) all.push({ file, line, name, literal: node.text });
    const called = ts.isNewExpression(node) || ts.isCallExpression(node) ? node.expression.getText() : '';
    if (called === 'RegExp') all.push({ file, line, name, literal: null });
    const own = ts.isVariableDeclaration(node) ? node.name.getText() : name;
    ts.forEachChild(node, (child) => visit(child, own));
  };
  visit(source, '');
  return all;
}
