import type { ToleratedCode } from '../../contract/request-fields.js';
import { type OutputRules, resolveOutput, sameFileKey } from './output-path.js';
import { readServer, type ServerOrder } from './read-server.js';
import { type Fields, isFields, type ParsedShot, readShot } from './read-shot.js';
import { readYaml, type YamlFile } from './read-yaml.js';
import { ShotsError, type ShotsIssue } from './shots-error.js';

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
  server: ServerOrder | null;
}

export interface ShotsRules extends OutputRules {
  /** Name of the file in messages. */
  file: string;
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
const ISSUES_MAX = 100;

/**
 * Reads a shots file: a list of shots, or `{defaults, server, shots}`. A list may have an item `{server: …}`, as shot-scraper's files do.
 * @throws ShotsError with every problem and its line, before anything is captured
 */
export function readShots(text: string, rules: ShotsRules): Shots {
  const yaml = readYaml(text, rules.file);
  const issues = new Issues(yaml);
  const layout = layoutOf(yaml.value, issues);
  const server = layout.server === null ? null : readServer(layout.server.value, (at, message) => issues.add(layout.server, at, message));
  const shots: Shot[] = [];
  for (const item of layout.shots) {
    if (issues.isFull) break;
    const shot = parseShot(item, { defaults: layout.defaults, rules, issues });
    if (shot !== null) shots.push({ ...shot, place: item.path, line: yaml.lineOf(item.path) });
  }
  refuseSharedOutputs(shots, issues, rules);
  if (issues.all.length > 0) throw new ShotsError(rules.file, issues.inOrder());
  return { shots, server };
}

class Issues {
  readonly all: ShotsIssue[] = [];
  constructor(private readonly yaml: YamlFile) {}

  /** Whether further problems are no longer reported. */
  get isFull(): boolean {
    return this.all.length >= ISSUES_MAX;
  }

  inOrder(): ShotsIssue[] {
    return [...this.all].sort((a, b) => a.line - b.line);
  }

  /**
   * Adds a problem.
   * @param field dotted, below the part; empty for the part itself
   */
  add(part: { path: readonly string[] } | null, field: string, message: string): void {
    if (this.isFull) return;
    const path = [...(part?.path ?? []), ...(field === '' ? [] : field.split('.'))];
    const issue = { path: path.join('.'), line: this.yaml.lineOf(path), message, field };
    // A problem of the defaults is reported once, however many shots there are.
    if (!this.all.some((one) => one.path === issue.path && one.message === message)) this.all.push(issue);
  }
}

function layoutOf(value: unknown, issues: Issues): Layout {
  const layout: Layout = { shots: [], defaults: {}, server: null };
  const top = { path: [] };
  if (!Array.isArray(value) && !isFields(value)) {
    issues.add(top, '', 'The file must be a list of shots, or have `shots` with such a list.');
    return layout;
  }
  const list = Array.isArray(value) ? value : value.shots;
  if (isFields(value)) readTop(value, layout, issues);
  if (!Array.isArray(list)) issues.add(top, 'shots', 'must be a list of shots');
  else if (list.length === 0) issues.add(top, Array.isArray(value) ? '' : 'shots', 'There are no shots in the file.');
  for (const [index, item] of (Array.isArray(list) ? list : []).entries()) {
    const path = [...(Array.isArray(value) ? [] : ['shots']), String(index)];
    const isServer = isFields(item) && item.server !== undefined && Object.keys(item).length === 1;
    if (!isServer) layout.shots.push({ path, value: item });
    else if (layout.server !== null) issues.add({ path }, 'server', 'is given twice: one command serves all shots');
    else layout.server = { path: [...path, 'server'], value: item.server };
  }
  return layout;
}

function readTop(value: Fields, layout: Layout, issues: Issues): void {
  for (const name of Object.keys(value)) {
    if (!TOP_FIELDS.includes(name)) issues.add(null, name, `Unknown field \`${name}\`. Known fields: ${TOP_FIELDS.join(', ')}.`);
  }
  const { defaults, server } = value;
  if (isFields(defaults)) layout.defaults = defaults;
  else if (defaults !== undefined && defaults !== null) issues.add(null, 'defaults', 'must be fields that all shots share');
  for (const name of ['url', 'file', 'html', 'output']) {
    if (name in layout.defaults) issues.add({ path: ['defaults'] }, name, 'belongs to a single shot');
  }
  if (server !== undefined && server !== null) layout.server = { path: ['server'], value: server };
}

interface Context {
  defaults: Fields;
  rules: ShotsRules;
  issues: Issues;
}

function parseShot(
  { path, value }: { path: string[]; value: unknown },
  { defaults, rules, issues }: Context,
): Omit<Shot, 'line' | 'place'> | null {
  if (!isFields(value)) {
    issues.add({ path }, '', 'A shot must have fields, such as `url` and `output`.');
    return null;
  }
  const shot = readShot(value, defaults, rules.tolerate);
  if (Array.isArray(shot)) {
    for (const { path: field, message } of shot) issues.add({ path: placeOf(field, value, { path, defaults }) }, field, message);
    return null;
  }
  const output = resolveOutput(shot.output, rules);
  if ('path' in output) return { ...shot, ...output };
  issues.add({ path }, 'output', `is "${shot.output}": it ${output.problem}`);
  return null;
}

/** Returns where a field was written: in the shot, or in the defaults. */
function placeOf(field: string, own: Fields, { path, defaults }: { path: string[]; defaults: Fields }): string[] {
  const [first = ''] = field.split('.', 1);
  return first in own || !(first in defaults) ? path : ['defaults'];
}

/** Refuses shared outputs before anything is captured: of two pictures in one file, one would be lost. */
function refuseSharedOutputs(shots: readonly Shot[], issues: Issues, rules: ShotsRules): void {
  const taken = new Map(rules.taken.map((path) => [sameFileKey(path), 'a file of this command']));
  for (const shot of shots) {
    const key = sameFileKey(shot.path);
    const owner = taken.get(key);
    if (owner !== undefined) issues.add({ path: shot.place }, 'output', `is "${shot.output}", which is ${owner} as well`);
    else taken.set(key, `that of the shot in line ${shot.line}`);
  }
}
