import { realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type NpmStart, npmStart, searchPath } from '../config.js';
import { PACKAGE_ROOT } from '../package-files.js';

/** The commands of the program. */
export const COMMAND_NAMES = [
  'serve',
  'capture',
  'multi',
  'pdf',
  'compare',
  'batch',
  'jobs',
  'templates',
  'watch',
  'login',
  'demo',
  'mcp',
  'console',
  'keys',
  'sign',
  'accounts',
  'queue',
  'backup',
  'migrate',
  'clock',
  'top',
  'doctor',
  'browser',
  'fonts',
  'lists',
  'completion',
] as const;

const COMMAND_LINE = new RegExp(`(?<![\\w./"-])stillframe (?=(?:${COMMAND_NAMES.join('|')})\\b)`, 'g');
/** A script of npm that is this program alone. Another one may leave the program in the background and end. */
const OWN_SCRIPT = /^(?:['"]?(?:[^\s&;|]*\/)?stillframe['"]?|exec env [^&;|\n]*scripts\/start\.mjs)(?: [^&;|\n]*)?$/;

/** Returns how npm started this program; null if something else did. */
export function startByNpm(): NpmStart | null {
  const start = npmStart();
  return start !== null && OWN_SCRIPT.test(start.script) ? start : null;
}

/** Writes the command lines in a message as they work in this installation: in a clone, `stillframe keys list` needs `npx`. */
export function withOwnCommand(text: string): string {
  return text.replace(COMMAND_LINE, () => `${ownCommand()} `);
}

function ownCommand(): string {
  const start = startByNpm();
  if (start !== null)
    return ['npx', ...(start.package === null ? [] : [`--package=${quoted(start.package)}`]), 'stillframe'].join(' ');
  // The build would remove the `node:` of an import, which this module needs.
  const isSea = process.getBuiltinModule('node:sea').isSea();
  const program = isSea ? process.execPath : realPathOf(process.argv[1] ?? '');
  if (searchPath().some((folder) => realPathOf(join(folder, 'stillframe')) === program)) return 'stillframe';
  if (isSea) return quoted(program);
  const [project = PACKAGE_ROOT] = PACKAGE_ROOT.split(/[\\/]node_modules[\\/]/);
  return relative(project, process.cwd()).startsWith('..') ? `node ${quoted(program)}` : 'npx stillframe';
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function quoted(text: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
