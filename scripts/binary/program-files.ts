/** The files of the built program: its own, and the loadable files of each package that it needs at run time. */
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const OWN = ['dist', 'drizzle', 'drizzle-pg', 'package.json', 'LICENSE'];
/** Types, source maps and texts are not needed at run time; licences are kept. */
const NOT_LOADED = /\.(d\.[cm]?ts|[cm]?ts|map|markdown|flow|cc|cpp|c|h|hpp|gyp|gypi|a|o|tsbuildinfo)$/i;
const READING = /\.md$/i;
const LICENCE = /licen[cs]e|notice|copying/i;
/** Sources and by-products of native modules: only the compiled files are loaded. */
const NATIVE_SOURCES = /^(deps|src|build\/(?!Release\/[^/]+\.node$).*)(\/|$)/;

/** Paths below the root, sorted. @param root a clone that is installed and built */
export function programFiles(root: string): string[] {
  const client = join(root, 'dist', 'client');
  const own = OWN.flatMap((name) => filesBelow(join(root, name))).filter(
    (file) => dirname(file) !== client && !file.endsWith('.d.ts'),
  );
  const packages = [...runtimePackages(root)].flatMap((dir) =>
    filesBelow(dir).filter((file) => isLoaded(dir, relative(dir, file))),
  );
  return [...new Set([...own, ...packages])].map((file) => relative(root, file)).sort();
}

/** The directories of all packages that the program's dependencies lead to, as Node resolves them. */
function runtimePackages(root: string): Set<string> {
  const found = new Set<string>();
  const visit = (dir: string): void => {
    const { dependencies, optionalDependencies } = manifestOf(dir);
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const next = resolvePackage(name, dir);
      // An optional package of another platform is not installed.
      if (next === null || found.has(next)) continue;
      found.add(next);
      visit(next);
    }
  };
  visit(root);
  return found;
}

function resolvePackage(name: string, from: string): string | null {
  for (let dir = from; ; dir = dirname(dir)) {
    const candidate = join(dir, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
    if (dir === dirname(dir)) return null;
  }
}

function isLoaded(dir: string, path: string): boolean {
  if (LICENCE.test(path)) return true;
  if (NOT_LOADED.test(path) || READING.test(path)) return false;
  if (isForOtherPlatform(path)) return false;
  return !(existsSync(join(dir, 'binding.gyp')) && NATIVE_SOURCES.test(path));
}

/** Packages with prebuilt binaries include those of every platform. */
function isForOtherPlatform(path: string): boolean {
  const [, platform] = /^prebuilds\/([a-z0-9]+-[a-z0-9]+)[./-]/.exec(path) ?? [];
  return platform !== undefined && platform !== `${process.platform}-${process.arch}`;
}

function filesBelow(path: string): string[] {
  if (!existsSync(path)) return [];
  if (realpathSync(path) !== path)
    throw new Error(`${path} is a link: the program is packed from an ordinary installation (npm ci)`);
  const entries = readEntries(path);
  if (entries === null) return [path];
  return entries.filter((name) => name !== 'node_modules').flatMap((name) => filesBelow(join(path, name)));
}

function readEntries(path: string): string[] | null {
  try {
    return readdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return null;
    throw error;
  }
}

function manifestOf(dir: string): {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
} {
  return JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
}
