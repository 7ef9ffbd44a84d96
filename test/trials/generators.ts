/**
 * Trial "generators": clients for TypeScript, Python and Go are generated from openapi.json, and compile. The generators are those that most
 * people use: openapi-typescript, openapi-python-client and oapi-codegen. A language whose tools are missing is named and left out.
 *
 * Sabotage that turns it red: return at the beginning of `nameSchemas` in scripts/name-schemas.ts.
 */
import { type SpawnSyncOptionsWithStringEncoding, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import { describeInterface } from '../../scripts/openapi.js';
import { API } from '../../src/http/app.js';
import { installPython } from '../fixtures/python-packages.js';
import type { TrialResult } from './trial-result.js';

/** Writes the client to a directory. Returns problems, or what is missing. */
type Generator = (dir: string, document: string) => Promise<{ problems: string[] } | { missing: string }>;

const GENERATORS: Record<string, Generator> = { typescript, python, go };
const OAPI_CODEGEN = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
/** A limit of openapi-python-client: it has no files as responses, and says so of each. */
const NO_FILES = /Unsupported content_type/;

export async function run({ only = '' }): Promise<TrialResult> {
  const document = JSON.stringify(describeInterface(API, '1.0.0', 'http://127.0.0.1:3000'));
  const figures: TrialResult['figures'] = {};
  const problems: string[] = [];
  for (const [language, generate] of Object.entries(GENERATORS)) {
    if (only !== '' && only !== language) continue;
    const dir = mkdtempSync(join(tmpdir(), 'stillframe-generators-'));
    const startedAt = performance.now();
    try {
      const made = await generate(dir, document);
      const seconds = `${Math.round((performance.now() - startedAt) / 1_000)} s`;
      figures[language] = 'missing' in made ? `left out: ${made.missing}` : seconds;
      if ('problems' in made) problems.push(...made.problems.map((problem) => `${language}: ${problem}`));
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }
  return { figures, problems };
}

async function typescript(dir: string, document: string): ReturnType<Generator> {
  writeFileSync(join(dir, 'api.ts'), astToString(await openapiTS(document)));
  const tsc = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc');
  return { problems: failuresOf(process.execPath, [tsc, '--noEmit', '--strict', 'api.ts'], { cwd: dir }) };
}

async function python(dir: string, document: string): ReturnType<Generator> {
  const generator = installPython('openapi-python-client==0.29.1');
  if ('missing' in generator) return generator;
  writeFileSync(join(dir, 'openapi.json'), document);
  const options = { cwd: dir, env: { ...process.env, PYTHONPATH: generator.target, NO_COLOR: '1' } };
  const words = ['-m', 'openapi_python_client', 'generate', '--path', 'openapi.json', '--meta', 'none'];
  const { status, stdout, stderr } = execute('python3', [...words, '--output-path', 'client'], options);
  if (status !== 0) return { problems: [stdout + stderr] };
  const warnings = (stdout + stderr).split(/^(?=WARNING|Unable)/m).filter((text) => /^(WARNING|Unable)/.test(text));
  const modules = readdirSync(join(dir, 'client'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.py') && !file.endsWith('__init__.py'))
    .map((file) => `import client.${file.slice(0, -3).replaceAll(/[/\\]/g, '.')}`);
  const imports = failuresOf('python3', ['-c', modules.join('\n')], options);
  return { problems: [...warnings.filter((text) => !NO_FILES.test(text)), ...imports] };
}

async function go(dir: string, document: string): ReturnType<Generator> {
  if (execute('go', ['version'], {}).status !== 0) return { missing: 'go is missing.' };
  mkdirSync(join(dir, 'api'));
  writeFileSync(join(dir, 'openapi.json'), document);
  writeFileSync(join(dir, 'go.mod'), 'module example.com/trial\n\ngo 1.24\n');
  const words = ['-generate', 'types,client', '-package', 'api', '-o', 'api/api.go', 'openapi.json'];
  const made = failuresOf('go', ['run', OAPI_CODEGEN, ...words], { cwd: dir });
  if (/dial tcp|no such host|lookup /.test(made.join())) return { missing: 'the Go module proxy cannot be reached.' };
  if (made.length > 0) return { problems: made };
  return {
    problems: ['mod tidy', 'build ./...'].flatMap((command) => failuresOf('go', command.split(' '), { cwd: dir })),
  };
}

function execute(command: string, args: string[], options: Partial<SpawnSyncOptionsWithStringEncoding>) {
  return spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 26, ...options });
}

/** The output of a command that fails; none of one that succeeds. */
function failuresOf(...command: Parameters<typeof execute>): string[] {
  const { status, stdout, stderr } = execute(...command);
  return status === 0 ? [] : [(stdout + stderr).slice(0, 2_000)];
}
