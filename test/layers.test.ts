import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SRC = join(ROOT, 'src');

/** The folders that each folder may import besides itself, contract/ and log.ts (docs/architecture.md). */
const ALLOWED_IMPORTS: Record<string, string[]> = {
  contract: [],
  'config.ts': ['tracing-config.ts'],
  'tracing-config.ts': [],
  'log.ts': [],
  client: [],
  work: [],
  store: [],
  artifacts: [],
  egress: [],
  'sharp.ts': [],
  'thread.ts': [],
  compare: ['sharp.ts', 'thread.ts'],
  pdf: ['thread.ts'],
  templates: ['thread.ts'],
  tracing: ['tracing-config.ts'],
  account: ['store'],
  render: ['egress', 'pdf', 'sharp.ts', 'thread.ts'],
  webhook: ['store', 'egress', 'tracing'],
  capture: ['store', 'artifacts', 'compare', 'egress', 'account', 'pdf', 'render', 'templates', 'webhook', 'tracing'],
  watch: ['store', 'artifacts', 'egress', 'account', 'work', 'webhook', 'capture', 'sharp.ts'],
  http: ['account', 'webhook', 'capture', 'watch', 'artifacts', 'tracing', 'thread.ts'],
};

/** The folders and files of render/ that each of them may import besides itself, from the lowest to the highest. */
const ALLOWED_IMPORTS_IN_RENDER: Record<string, string[]> = {
  'deadlines.ts': [],
  'stage-times.ts': [],
  'memory.ts': [],
  'pinned-packages.json': [],
  'in-page': [],
  launch: ['deadlines.ts'],
  'page-session.ts': ['deadlines.ts', 'in-page', 'launch'],
  install: ['deadlines.ts', 'launch', 'pinned-packages.json'],
  lists: ['deadlines.ts', 'in-page', 'install', 'pinned-packages.json'],
  encode: ['deadlines.ts', 'memory.ts', 'launch', 'page-session.ts'],
  page: ['deadlines.ts', 'in-page', 'launch', 'page-session.ts', 'encode'],
  guard: ['deadlines.ts', 'in-page', 'launch', 'page-session.ts', 'lists', 'page'],
  inspect: ['deadlines.ts', 'in-page', 'launch', 'page-session.ts', 'page'],
  pool: ['deadlines.ts', 'launch', 'page-session.ts', 'install', 'page'],
  picture: ['deadlines.ts', 'stage-times.ts', 'memory.ts', 'in-page', 'launch', 'page-session.ts', 'encode', 'page'],
  steps: ['deadlines.ts', 'page-session.ts', 'page', 'inspect', 'picture'],
  'report.ts': ['deadlines.ts', 'in-page', 'page-session.ts', 'page', 'picture'],
  'page-capture.ts': [
    'deadlines.ts',
    'stage-times.ts',
    'memory.ts',
    'page-session.ts',
    'page',
    'inspect',
    'picture',
    'steps',
    'report.ts',
  ],
  'documents.ts': ['deadlines.ts', 'memory.ts', 'picture', 'page-capture.ts'],
  'capture.ts': [
    'deadlines.ts',
    'documents.ts',
    'stage-times.ts',
    'memory.ts',
    'page-session.ts',
    'page',
    'guard',
    'pool',
    'page-capture.ts',
  ],
};

/** Wiring: may import anything. */
const WIRING = /^(main|package-files)\.ts$|^(cli|library|service)\//;

/** Libraries that only one folder may import. */
const LIBRARY_FOLDERS: Record<string, RegExp> = {
  'better-sqlite3': /^store\//,
  'drizzle-orm': /^store\//,
  pg: /^store\//,
  hono: /^http\//,
  '@hono/node-server': /^http\//,
  '@hono/zod-openapi': /^http\//,
  '@modelcontextprotocol/sdk': /^http\/mcp\//,
  'playwright-core': /^render\//,
  sharp: /^sharp\.ts$/,
  '@blazediff/core': /^compare\//,
  'p-timeout': /^(?!render\/)|^render\/deadlines\.ts$/,
  '@libpdf/core': /^pdf\//,
  liquidjs: /^templates\//,
  parse5: /^templates\//,
  pdfkit: /^(render|watch)\//,
  croner: /^watch\//,
  nodemailer: /^watch\//,
  diff: /^watch\//,
  'p-queue': /^work\//,
  aws4fetch: /^artifacts\//,
  '@fastify/busboy': /^http\//,
  yazl: /^http\/zip\.ts$/,
  commander: /^cli\//,
  '@opentelemetry/api': /^tracing\//,
  '@opentelemetry/sdk-trace': /^tracing\//,
};

/** npm packages that are built into an in-page program. */
const BUNDLED_IN_PAGE = /^npm:@duckduckgo\/autoconsent/;

interface Import {
  from: string;
  to: string;
}

const files = listSources(SRC);
const imports = files.flatMap(readImports);

describe('imports', () => {
  it('are found in all sources', () => {
    expect(files.length).toBeGreaterThan(30);
    expect(imports.length).toBeGreaterThan(100);
  });

  it('go to lower layers only, types included', () => {
    expect(imports.filter((one) => isInside(one.to) && !isAllowed(one)).map(say)).toEqual([]);
  });

  it('go to lower layers only inside render/, whose layers have no cycle', () => {
    const inside = imports.filter(({ from, to }) => from.startsWith('render/') && to.startsWith('render/'));
    expect(inside.length).toBeGreaterThan(200);
    expect(inside.filter((one) => !isAllowedInRender(one)).map(say)).toEqual([]);
    const ranks = Object.keys(ALLOWED_IMPORTS_IN_RENDER);
    const upward = Object.entries(ALLOWED_IMPORTS_IN_RENDER).flatMap(([here, below]) =>
      below.filter((there) => ranks.indexOf(there) >= ranks.indexOf(here)),
    );
    expect(upward).toEqual([]);
  });

  it('keep each library in its folder', () => {
    const strays = imports.filter((one) => {
      const folder = LIBRARY_FOLDERS[packageOf(one.to)];
      return folder !== undefined && !folder.test(one.from);
    });
    expect(strays.map(say)).toEqual([]);
  });

  it('name the SQLite driver in one place: the one for newer Nodes ends a process of Node 20', () => {
    const own = (file: string) => /store\/sqlite\/driver\.ts$|layers\.test\.ts$/.test(file);
    const sources = [...files, ...listSources(join(ROOT, 'test'))].map((file) => join(SRC, file));
    const loads = /^import (?!type )[^;]*from 'better-sqlite3'/m;
    expect(sources.filter((file) => !own(file) && loads.test(readFileSync(file, 'utf8')))).toEqual([]);
  });

  it('reads process.env in config.ts only, and for memory settings, which no setting of the service is about', () => {
    const isReader = (file: string) => file === 'config.ts' || file === 'cli/apply-memory-settings.ts';
    const readers = files.filter(
      (file) => !isReader(file) && readFileSync(join(SRC, file), 'utf8').includes('process.env'),
    );
    expect(readers).toEqual([]);
  });

  it('lets what runs in a page import nothing but its own kind, and limits and types of contract/, and be imported for its types alone', () => {
    const isInPage = (file: string) => file.startsWith('render/in-page/');
    const strays = imports.filter(
      ({ from, to }) => isInPage(from) && !isInPage(to) && !/^contract\//.test(to) && !BUNDLED_IN_PAGE.test(to),
    );
    expect(strays.map(say)).toEqual([]);
    const ofContract = files
      .filter(isInPage)
      .flatMap((file) => readFileSync(join(SRC, file), 'utf8').match(/^import (?!type\b)[^;]*contract\/.*/gm) ?? []);
    expect(ofContract.filter((line) => !line.endsWith("contract/limits.js';"))).toEqual([]);
    const sources = files.filter((file) => file.startsWith('render/') && !isInPage(file));
    const values = sources.flatMap(
      (file) => readFileSync(join(SRC, file), 'utf8').match(/^import (?!type\b).* from '[^']*in-page\/.*/gm) ?? [],
    );
    expect(values.filter((line) => !/\?bundled'|consent\/words\.js'/.test(line))).toEqual([]);
  });

  it('builds the client from its own files alone, so that it runs without the program, its packages and Node', () => {
    const strays = imports.filter(({ from, to }) => from.startsWith('client/') && !to.startsWith('client/'));
    expect(strays.map(say)).toEqual([]);
  });

  it('need no catch-all files', () => {
    expect(files.filter((file) => /(^|\/)(utils?|helpers?|common|lib|types|index)(\.ts|\/)/.test(file))).toEqual([]);
  });
});

function listSources(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return listSources(path);
    return /\.tsx?$/.test(entry.name) ? [relative(SRC, path)] : [];
  });
}

function readImports(from: string): Import[] {
  const source = readFileSync(join(SRC, from), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
  const found = source.matchAll(
    /(?:^|\s)(?:import|export)\s[^'"`;]*?from\s*['"]([^'"]+)['"]|import\s*\(\s*['"]([^'"]+)['"]\s*\)|^import\s*['"]([^'"]+)['"]|createRequire\(import\.meta\.url\)\(['"]([^'"]+)['"]\)/gm,
  );
  return [...found].map((match) => {
    const to = match[1] ?? match[2] ?? match[3] ?? match[4] ?? '';
    return { from, to: to.startsWith('.') ? sourceOf(relative(SRC, resolve(SRC, dirname(from), to))) : `npm:${to}` };
  });
}

/** The file that an import stands for. */
function sourceOf(to: string): string {
  const source = to.replace(/\.js(\?bundled)?$/, '.ts');
  return existsSync(join(SRC, `${source}x`)) ? `${source}x` : source;
}

function isInside(to: string): boolean {
  return !to.startsWith('npm:') && !to.startsWith('..');
}

function isAllowed({ from, to }: Import): boolean {
  if (WIRING.test(from)) return true;
  const [here, there] = [folderOf(from), folderOf(to)];
  return (
    here === there ||
    there === 'contract' ||
    (there === 'log.ts' && here !== 'contract') ||
    (ALLOWED_IMPORTS[here] ?? []).includes(there)
  );
}

function isAllowedInRender({ from, to }: Import): boolean {
  const [here = '', there = ''] = [from, to].map((file) => file.split('/')[1]);
  return here === there || (ALLOWED_IMPORTS_IN_RENDER[here] ?? []).includes(there);
}

function folderOf(file: string): string {
  return file.split('/', 1)[0] ?? '';
}

function packageOf(to: string): string {
  const parts = to.replace(/^npm:/, '').split('/');
  return parts[0]?.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}

function say(one: Import): string {
  return `${one.from} → ${one.to.replace(/^npm:/, '')}`;
}
