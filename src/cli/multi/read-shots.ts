import { accessSync, constants, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, extname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { isObject } from '../../contract/field-rules.js';
import { asksForSeveral } from '../../contract/page-loads.js';
import type { ToleratedCode } from '../../contract/request-fields.js';
import { type Fields, type ParsedShot, readShot, withDefaults } from './read-shot.js';
import { ISSUES_MAX, readYaml, ShotsError, type ShotsIssue, type YamlFile } from './read-yaml.js';
import { readServer, type ServerSettings } from './shots-server.js';
import { readUrlList } from './url-list.js';

/** One capture of a shots file. */
export interface Shot extends ParsedShot {
  /** Path of the shot in the file: names and indexes, from the top. */
  place: string[];
  /** First line of the shot in the file, from 1. */
  line: number;
  /** Absolute path of the output. */
  path: string;
  /** Whether the output is outside the working directory. */
  isOutside: boolean;
}

export interface Shots {
  shots: Shot[];
  server: ServerSettings | null;
}

export interface ShotsRules {
  /** Name of the file in messages. */
  file: string;
  /** Directory that relative outputs start from. */
  root: string;
  /** That directory as the user has written it; null for the working directory. */
  outputDir: string | null;
  /** Fields of the command line, which precede those that the file has for all shots. */
  fields: Fields;
  /** Whether a server captures the shots. */
  onServer: boolean;
  /** Whether a relative output may lead out of the root. */
  allowOutside: boolean;
  tolerate: readonly ToleratedCode[];
  /** Files that no shot may write: the shots file itself, and the report. */
  taken: readonly string[];
}

/** The parts of the file, with their paths from its top. */
interface Layout {
  shots: { path: string[]; value: unknown }[];
  defaults: Fields;
  server: { path: string[]; value: unknown } | null;
}

const TOP_FIELDS = ['defaults', 'server', 'shots'];

/**
 * Reads a shots file: a list of shots, `{defaults, server, shots}`, or a URL in each line. A list may have an item `{server: …}`, as
 * shot-scraper's files do.
 * @throws ShotsError with every problem and its line, before anything is captured
 */
export function readShots(text: string, rules: ShotsRules): Shots {
  const urls = readUrlList(text);
  const yaml = urls ?? readYaml(text, rules.file);
  const issues = new Issues(yaml);
  const layout = layoutOf(yaml.value, issues);
  layout.defaults = withDefaults(rules.fields, layout.defaults);
  const { path: serverPath, value } = layout.server ?? { path: [], value: null };
  const server = value === null ? null : readServer(value, (field, message) => issues.add(serverPath, field, message));
  const shots: Shot[] = [];
  for (const item of layout.shots) {
    if (issues.isFull) break;
    const shot = parseShot(item, {
      defaults: layout.defaults,
      rules,
      issues,
      isPlainList: urls === null && Array.isArray(yaml.value),
    });
    if (shot !== null) shots.push({ ...shot, place: item.path, line: yaml.lineOf(item.path) });
  }
  separateOutputs(shots, issues, rules);
  const found = issues.inOrder();
  if (found.length > 0) throw new ShotsError(rules.file, found);
  return { shots, server };
}

class Issues {
  readonly #yaml: YamlFile;
  /** By line and message: a problem of the defaults is reported once, however many shots there are. */
  readonly #all = new Map<string, ShotsIssue>();

  constructor(yaml: YamlFile) {
    this.#yaml = yaml;
  }

  /** Whether further problems are no longer reported. */
  get isFull(): boolean {
    return this.#all.size >= ISSUES_MAX;
  }

  inOrder(): ShotsIssue[] {
    return [...this.#all.values()].sort((a, b) => a.line - b.line);
  }

  /**
   * Adds a problem.
   * @param part path of the part of the file
   * @param field dotted, below the part; empty for the part itself
   */
  add(part: readonly string[], field: string, message: string): void {
    if (this.isFull) return;
    const path = [...part, ...(field === '' ? [] : field.split('.'))];
    const issue = { path: path.join('.'), line: this.#yaml.lineOf(path), message, field };
    this.#all.set(`${issue.path} ${message}`, issue);
  }
}

function layoutOf(value: unknown, issues: Issues): Layout {
  const layout: Layout = { shots: [], defaults: {}, server: null };
  if (!Array.isArray(value) && !isObject(value)) {
    issues.add(
      [],
      '',
      'The file must be a list of shots, have `shots` with such a list, or have one URL in each line.',
    );
    return layout;
  }
  const list = Array.isArray(value) ? value : value.shots;
  if (isObject(value)) readTop(value, layout, issues);
  if (!Array.isArray(list)) issues.add([], 'shots', 'must be a list of shots');
  else if (list.length === 0) issues.add([], Array.isArray(value) ? '' : 'shots', 'There are no shots in the file.');
  for (const [index, item] of (Array.isArray(list) ? list : []).entries()) {
    const path = [...(Array.isArray(value) ? [] : ['shots']), String(index)];
    const isServer = isObject(item) && item.server !== undefined && Object.keys(item).length === 1;
    if (!isServer) layout.shots.push({ path, value: item });
    else if (layout.server !== null) issues.add(path, 'server', 'is given twice: one command serves all shots');
    else layout.server = { path: [...path, 'server'], value: item.server };
  }
  return layout;
}

function readTop(value: Fields, layout: Layout, issues: Issues): void {
  for (const name of Object.keys(value)) {
    if (!TOP_FIELDS.includes(name))
      issues.add([], name, `Unknown field \`${name}\`. Known fields: ${TOP_FIELDS.join(', ')}.`);
  }
  const { defaults, server } = value;
  if (isObject(defaults)) layout.defaults = defaults;
  else if (defaults !== undefined && defaults !== null)
    issues.add([], 'defaults', 'must be fields that all shots share');
  for (const name of ['url', 'file', 'html', 'output']) {
    if (name in layout.defaults) issues.add(['defaults'], name, 'belongs to a single shot');
  }
  if (server !== undefined && server !== null) layout.server = { path: ['server'], value: server };
}

interface Context {
  defaults: Fields;
  isPlainList: boolean;
  rules: ShotsRules;
  issues: Issues;
}

function parseShot(
  { path, value }: { path: string[]; value: unknown },
  { defaults, rules, issues, isPlainList }: Context,
): Omit<Shot, 'line' | 'place'> | null {
  if (!isObject(value)) {
    issues.add(path, '', 'A shot must have fields, such as `url` and `output`.');
    return null;
  }
  const shot = readShot(value, { defaults, tolerate: rules.tolerate, isPlainList });
  if (Array.isArray(shot)) {
    for (const { path: field, message } of shot) issues.add(placeOf(field, value, { path, defaults }), field, message);
    return null;
  }
  if (rules.onServer && asksForSeveral(shot.options))
    issues.add(path, '', 'Several pictures of a shot are not taken from a server.');
  const output = resolveOutput(shot.output, rules);
  if ('path' in output) return { ...shot, ...output };
  issues.add(path, 'output', `is "${shot.output}": it ${output.problem}`);
  return null;
}

/** Returns where a field was written: in the shot, or in the defaults. */
function placeOf(field: string, own: Fields, { path, defaults }: { path: string[]; defaults: Fields }): string[] {
  const [first = ''] = field.split('.', 1);
  return first in own || !(first in defaults) ? path : ['defaults'];
}

/**
 * Refuses shared outputs before anything is captured: of two pictures in one file, one would be lost. Those that are named after their pages
 * get a number instead.
 */
function separateOutputs(shots: readonly Shot[], issues: Issues, rules: ShotsRules): void {
  const taken = new Map(rules.taken.map((path) => [sameFileKey(path), 'a file of this command']));
  const take = (shot: Shot) => void taken.set(sameFileKey(shot.path), `that of the shot in line ${shot.line}`);
  for (const shot of shots.filter(({ isAutomatic }) => !isAutomatic)) {
    const owner = taken.get(sameFileKey(shot.path));
    if (owner !== undefined) issues.add(shot.place, 'output', `is "${shot.output}", which is ${owner} as well`);
    else take(shot);
  }
  const numbers = new Map<string, number>();
  for (const shot of shots.filter(({ isAutomatic }) => isAutomatic)) {
    const { output, path, isPlainList } = shot;
    for (let number = numbers.get(path) ?? 2; taken.has(sameFileKey(shot.path)); number++) {
      const suffix = isPlainList ? `.${number - 1}` : `-${number}`;
      const numbered = (name: string) => name.slice(0, name.length - extname(name).length) + suffix + extname(name);
      Object.assign(shot, { output: numbered(output), path: numbered(path) });
      numbers.set(path, number + 1);
    }
    take(shot);
  }
}

type OutputPath =
  /** `output` begins in the working directory, and `isOutside` says whether the path is outside the root, as the user has requested. */
  | { path: string; output: string; isOutside: boolean }
  /** The problem, phrased to follow the field's name. */
  | { problem: string };

/** Resolves the path of an output. A relative one stays below the root, whatever links there are, unless leading out is allowed. */
function resolveOutput(output: string, { root, outputDir, allowOutside }: ShotsRules): OutputPath {
  if (output === '-') return { problem: 'must be a file: several pictures cannot share standard output' };
  if (output === '' || output.includes('\0')) return { problem: 'must be the path of a file' };
  const path = resolve(root, output);
  const stat = statOf(path);
  if (/[/\\]$/.test(output) || stat?.isDirectory()) return { problem: 'is a directory: name a file in it' };
  if (stat !== null && !stat.isFile()) return { problem: 'is not an ordinary file' };
  const real = realPathOf(path);
  const isOutside = leadsOut(realpathSync(root), real);
  if (isOutside && !isAbsolute(output) && !allowOutside) {
    return {
      problem: `leads out of ${outputDir ?? 'the working directory'}, to ${real}. Write the whole path, or add --allow-outside`,
    };
  }
  const obstacle = stat === null ? obstacleIn(dirname(real)) : noWriteTo(real);
  if (obstacle !== null) return { problem: `cannot be written: ${obstacle}` };
  return { path: real, output: outputDir === null || isAbsolute(output) ? output : join(outputDir, output), isOutside };
}

/** Returns a key that is equal for paths of the same file. */
export function sameFileKey(path: string): string {
  const ignoresCase = process.platform === 'darwin' || process.platform === 'win32';
  const normal = path.normalize('NFC');
  return ignoresCase ? normal.toLowerCase() : normal;
}

/** Returns null also where a file takes the place of a directory. */
function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

/** Returns the path with the links of its existing part followed. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPathOf(dirname(path)), basename(path));
  }
}

export function leadsOut(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way);
}

/** Returns the reason why nothing can be created in a directory, or in the nearest existing one above it. */
function obstacleIn(dir: string): string | null {
  let existing = dir;
  while (statOf(existing) === null && dirname(existing) !== existing) existing = dirname(existing);
  return statOf(existing)?.isDirectory() ? noWriteTo(existing) : `${existing} is not a directory`;
}

function noWriteTo(path: string): string | null {
  try {
    accessSync(path, constants.W_OK);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
