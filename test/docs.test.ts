import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeInterface } from '../scripts/openapi.js';
import { completionModel } from '../src/cli/completion.js';
import { makeProgram } from '../src/cli/program.js';
import { ERROR_CODES } from '../src/contract/capture-error.js';
import { parseComparison } from '../src/contract/comparison.js';
import { parsePdfWork } from '../src/contract/pdf-work.js';
import { parseSubmission } from '../src/contract/submission.js';
import { API as ROUTES } from '../src/http/app.js';
import { DOCUMENTS, type Document, examplesOf, ROOT, readDocument } from './fixtures/documents.js';

/** Flags by command. */
const FLAGS = new Map(
  completionModel(await makeProgram(undefined)).map(({ at, options }) => [at, options.flatMap(({ names }) => names)]),
);
const API = readDocument('docs/api.md').text;

describe('the documentation', () => {
  it('has a README that is read in a few minutes', () => {
    expect(Buffer.byteLength(readDocument('README.md').text)).toBeLessThanOrEqual(10_000);
  });

  it.each(ERROR_CODES)('explains the code %s', (code) => {
    expect(API).toContain(`\`${code}\``);
  });

  it('names every endpoint', () => {
    for (const [path, methods] of Object.entries(
      describeInterface(ROUTES, '1.0.0', 'http://shots.example').paths as Record<string, object>,
    )) {
      for (const method of Object.keys(methods)) expect(API).toContain(`\`${method.toUpperCase()} ${path}\``);
    }
  });

  it('names every command that the program has', () => {
    // commander adds `help` by itself.
    const commands = [...FLAGS.keys()].filter((at) => /^\w+$/.test(at) && at !== 'help');
    expect(commands.length).toBeGreaterThan(8);
    for (const command of commands)
      expect(readDocument('docs/cli.md').text).toMatch(new RegExp(`stillframe \\[?${command}`));
  });

  it('has command lines with commands and flags that the program has', () => {
    const lines = DOCUMENTS.flatMap(({ text }) =>
      [...text.matchAll(/(?<![\w/.@-])stillframe (?!stillframe )([^`|#\n]*)/g)].map(([, line = '']) => line),
    );
    const given = lines.flatMap((line) => {
      const at = commandOf(line);
      return [...line.matchAll(/(?<=[ (])--[a-z][\w-]*/g)].map(([flag]) => ({ at, flag, line }));
    });
    expect(given.length).toBeGreaterThan(40);
    expect(given.filter(({ at, flag }) => !FLAGS.get(at)?.includes(flag))).toEqual([]);
  });

  it('has curl examples whose bodies are valid requests', () => {
    const bodies = DOCUMENTS.flatMap(({ text }) =>
      [...text.matchAll(/-d '(\{.*?\})'/g)].map((match) => match[1] ?? ''),
    );
    expect(bodies.length).toBeGreaterThan(6);
    const rules = { forceAsync: false, webhookAllow: [], template: 'elsewhere' as const };
    const requests = bodies.map((text) => JSON.parse(text)).flatMap((body) => body.requests ?? [body]);
    for (const one of requests) {
      const body = 'schedule' in one ? one.request : one;
      const parse = 'before' in body ? parseComparison : 'files' in body ? parsePdfWork : parseSubmission;
      expect(() => parse(body, rules)).not.toThrow();
    }
  });

  it('has shell examples that a shell can read', () => {
    for (const block of DOCUMENTS.flatMap((document) => examplesOf(document, 'sh'))) {
      expect(() => execFileSync('bash', ['-n'], { input: block })).not.toThrow();
    }
  });

  it.each(DOCUMENTS)('$file links to files and headings that there are', (document) => {
    expect(linksOf(document).filter((link) => !leadsSomewhere(document, link))).toEqual([]);
  });

  it('describes the source by paths that there are', () => {
    const named = [...readDocument('docs/architecture.md').text.matchAll(/`((?:src|test|docs)\/[\w./-]+)`/g)].map(
      ([, path = '']) => path,
    );
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

/** The command of a command line; a URL or a file is captured. */
function commandOf(line: string): string {
  const [first = '', second = ''] = line.split(/\s+/);
  const longest = [`${first} ${second}`, first].find((at) => FLAGS.has(at));
  return longest ?? (/\w\.\w/.test(first) ? 'capture' : '');
}

/** Links within the repository. */
function linksOf({ text }: Document): string[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link).filter((link) => !/^https?:/.test(link));
}

function leadsSomewhere({ file, text }: Document, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? file : join(dirname(file), path);
  if (!existsSync(join(ROOT, target))) return false;
  return anchor === undefined || anchorsOf(path === '' ? text : readDocument(target).text).includes(anchor);
}

/** The anchors that GitHub gives to headings. */
function anchorsOf(text: string): string[] {
  const headings = text.replace(/```[\s\S]*?```/g, '').matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
