/**
 * `npm run binary`: the program as one executable file (Node's single executable applications), with this Node and the native parts of
 * this machine's platform in it. Usage: npm run binary [-- output file, default build/stillframe]
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { inject } from 'postject';
import { pack } from './archive.js';
import { programFiles } from './program-files.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
/** The executable can only load CommonJS: this file imports the program's ES modules. */
const CROSSING = "import('./dist/main.js');\n";

async function main(output: string): Promise<void> {
  if (process.platform !== 'linux') throw new Error('The executable is built on Linux, for Linux.');
  if (!readFileSync(process.execPath).includes(FUSE)) {
    throw new Error(`${process.execPath} cannot become an executable of its own: build with a Node from nodejs.org.`);
  }
  const work = mkdtempSync(join(tmpdir(), 'stillframe-binary-'));
  try {
    const executable = join(work, 'stillframe');
    copyFileSync(process.execPath, executable);
    chmodSync(executable, 0o755);
    await inject(executable, 'NODE_SEA_BLOB', await makeBlob(work), { sentinelFuse: FUSE });
    prove(executable, work);
    mkdirSync(dirname(output), { recursive: true });
    copyFileSync(executable, `${output}.new`);
    renameSync(`${output}.new`, output);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  say(
    `${output}: ${megabytes(statSync(output).size)}, Node ${process.versions.node}, ${process.platform}-${process.arch}`,
  );
}

async function makeBlob(work: string): Promise<Buffer> {
  const at = (name: string) => join(work, name);
  const files = programFiles(ROOT.replace(/\/$/, '')).map((path) => ({
    path,
    content: readFileSync(join(ROOT, path)),
  }));
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const archive = pack(version, [...files, { path: 'start.cjs', content: Buffer.from(CROSSING) }]);
  const unpacked = files.reduce((sum, { content }) => sum + content.length, 0);
  say(`${files.length} files, ${megabytes(unpacked)}; ${megabytes(archive.content.length)} compressed`);
  writeFileSync(at('index'), archive.index);
  writeFileSync(at('content'), archive.content);
  await build({
    entryPoints: [join(ROOT, 'scripts/binary/start.ts')],
    outfile: at('start.cjs'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    logLevel: 'error',
  });
  const assets = { index: at('index'), content: at('content') };
  writeFileSync(
    at('sea.json'),
    JSON.stringify({ main: at('start.cjs'), output: at('blob'), disableExperimentalSEAWarning: true, assets }),
  );
  execFileSync(process.execPath, ['--experimental-sea-config', at('sea.json')], { stdio: 'ignore' });
  return readFileSync(at('blob'));
}

/** Creates a key, which tests the database driver, the migrations and all modules. */
function prove(executable: string, work: string): void {
  const env = { XDG_CACHE_HOME: join(work, 'cache'), STILLFRAME_DATA_DIR: join(work, 'data') };
  const printed = execFileSync(executable, ['keys', 'create', '--label', 'check', '--json'], {
    cwd: work,
    env,
    encoding: 'utf8',
  });
  if (!/"sf_live_/.test(printed)) throw new Error(`The executable does not make keys: ${printed}`);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

await main(resolve(process.argv[2] ?? join(ROOT, 'build', 'stillframe')));
