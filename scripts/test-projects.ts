import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** `trials` put the machine under load, `browser` opens pages, `service` starts other processes, and `tests` does none of this. */
type Project = 'trials' | 'browser' | 'service' | 'tests';

/** Every file that opens a page takes its browser from here. */
const BROWSER_FIXTURE = 'test/render/install/any-browser.ts';
/** A test that imports one of these, or imports a source that does, starts processes. */
const STARTERS = ['node:child_process', 'esbuild'];
const IMPORT =
  /^(?:import|export) (?!type )(?:[^'\n;]{0,2000}? from |\{[^}']{0,2000}\} from )?'([^'\n]+)'|\bimport\('([^'\n]+)'\)/gm;

/** The test files of each project, by what they import themselves or through other files of `test/`. */
export function testProjects(): Record<Project, string[]> {
  const projects: Record<Project, string[]> = { trials: [], browser: [], service: [], tests: [] };
  for (const file of listFiles('test')) {
    if (/\.test\.tsx?$/.test(file) && !file.startsWith('test/cluster/')) projects[projectOf(file)].push(file);
  }
  return projects;
}

/** Returns the paths. Throws if there is no such file: a project would silently lose its tests. */
export function existing(paths: string[]): string[] {
  const missing = paths.filter((path) => !existsSync(path));
  if (missing.length > 0) throw new Error(`No such test file: ${missing.join(', ')}`);
  return paths;
}

function projectOf(file: string): Project {
  if (file.endsWith('trials.test.ts')) return 'trials';
  const imported = new Set<string>();
  addImports(file, imported);
  if (imported.has(BROWSER_FIXTURE)) return 'browser';
  return STARTERS.some((name) => imported.has(name)) ? 'service' : 'tests';
}

function addImports(file: string, imported: Set<string>): void {
  for (const [, from, dynamic] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
    const name = from ?? dynamic ?? '';
    const path = name.startsWith('.') ? sourceOf(join(dirname(file), name)) : name;
    if (imported.has(path)) continue;
    imported.add(path);
    if (path.startsWith('test/') && existsSync(path)) addImports(path, imported);
    // A test of a source or script itself: what that imports further is not followed.
    if (/^(src|scripts)\//.test(path) && existsSync(path)) addStarters(path, imported);
  }
}

function addStarters(source: string, imported: Set<string>): void {
  const text = readFileSync(source, 'utf8');
  for (const name of STARTERS) if (text.includes(`from '${name}'`)) imported.add(name);
}

function sourceOf(path: string): string {
  const typescript = path.replace(/\.js$/, '.ts');
  return existsSync(typescript) ? typescript : typescript.replace(/\.ts$/, '.tsx');
}

function listFiles(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? listFiles(join(directory, entry.name)) : [join(directory, entry.name)]))
    .sort();
}
