import { wrap } from './calls.js';

/** Steps that the search in one parsed text may take. */
const STEPS_MAX = 10_000;

/** `json-prune`: properties are missing from what the page parses, if all the required ones are there. */
export function jsonPrune(paths = '', required = ''): void {
  const wanted = pathsOf(paths);
  const needed = pathsOf(required);
  if (wanted.length === 0) return;
  const pruned = (value: unknown) => {
    if (needed.every((path) => visit(value, path, () => {}))) for (const path of wanted) visit(value, path, remove);
    return value;
  };
  wrap(JSON, 'parse', (call, given) => pruned(call(...given)));
  wrap(Response.prototype, 'json', (call, given) => (call(...given) as Promise<unknown>).then(pruned));
}

function pathsOf(text: string): string[][] {
  return text
    .split(/\s+/)
    .filter((path) => path !== '')
    .map((path) => path.split('.').filter((name) => name !== ''));
}

function remove(owner: object, name: string): void {
  Reflect.deleteProperty(owner, name);
}

/** Calls `found` for each property at the path, in which `[]` is any item and `*` any property. @returns whether there was one */
function visit(root: unknown, path: readonly string[], found: (owner: object, name: string) => void): boolean {
  let steps = 0;
  const from = (value: unknown, at: number): boolean => {
    if (typeof value !== 'object' || value === null || steps++ > STEPS_MAX) return false;
    const name = path[at] ?? '';
    const isMany = name === '*' || (name === '[]' && Array.isArray(value));
    const names = isMany ? Object.keys(value) : Object.hasOwn(value, name) ? [name] : [];
    let any = false;
    for (const one of names) {
      if (at < path.length - 1) any = from(Reflect.get(value, one), at + 1) || any;
      else {
        found(value, one);
        any = true;
      }
    }
    return any;
  };
  return from(root, 0);
}
