import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { PAGE_FILES_MAX, PAGE_FILES_MAX_BYTES } from '../contract/limits.js';
import { fileNameProblem, INDEX_FILE, pageTypeOf } from '../contract/page-files.js';
import { OperatorError } from './operator-error.js';
import { readFileOf } from './picture-file.js';

/** Entries of a directory that are looked at, so that a page in a home directory does not take minutes. */
const ENTRIES_MAX = 20_000;
/** Larger texts are not searched for names. */
const TEXT_MAX_BYTES = 8_000_000;
const TEXT_TYPES = /^(text\/|image\/svg|application\/(xhtml|json|manifest|xml))/;

export type SentFiles = Record<string, Uint8Array<ArrayBuffer>>;

/**
 * Finds the files to send with a page: the page itself, as `index.html`, and the page files in its directory and below whose names occur in
 * it or in a text that is sent. No dotfiles and no symbolic links.
 * @throws OperatorError for a page that cannot be read, and for too many or too large files
 */
export async function referencedFiles(page: string): Promise<SentFiles> {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const document = await readFileOf(page);
  const root = dirname(await realpath(page));
  const unsent = (await filesBelow(root, (name) => pageTypeOf(name) !== null)).filter(
    (name) => name !== INDEX_FILE && name !== basename(page),
  );
  const texts = [document.toString()];
  let bytes = document.length;
  files.set(INDEX_FILE, new Uint8Array(document));
  for (let text = texts.pop(); text !== undefined; text = texts.pop()) {
    for (const name of unsent.filter((each) => !files.has(each) && isNamedIn(text as string, each))) {
      bytes += (await stat(join(root, name))).size;
      if (files.size === PAGE_FILES_MAX || bytes > PAGE_FILES_MAX_BYTES)
        throw new OperatorError(
          `${page} has more than ${PAGE_FILES_MAX} files, or more than ${PAGE_FILES_MAX_BYTES / 1e6} MB with its files.`,
        );
      const content = await readFileOf(join(root, name));
      files.set(name, new Uint8Array(content));
      if (TEXT_TYPES.test(pageTypeOf(name) ?? '') && content.length <= TEXT_MAX_BYTES) texts.push(content.toString());
    }
  }
  return Object.fromEntries(files);
}

/** Scripts may join the parts of a path, so the last part of it is enough. */
function isNamedIn(text: string, name: string): boolean {
  const last = basename(name);
  return text.includes(last) || text.includes(encodeURI(last)) || text.includes(encodeURIComponent(last));
}

/**
 * The names of files in a directory and below, without dotfiles, symbolic links and `node_modules`.
 * @param isWanted by name
 */
export async function filesBelow(root: string, isWanted: (name: string) => boolean): Promise<string[]> {
  const found: string[] = [];
  const folders = [root];
  let left = ENTRIES_MAX;
  for (let folder = folders.pop(); folder !== undefined && left > 0; folder = folders.pop()) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries.slice(0, left)) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      const path = join(folder, entry.name);
      const name = relative(root, path).split(sep).join('/');
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile() && isWanted(name) && fileNameProblem(name) === null) found.push(name);
    }
    left -= entries.length;
  }
  return found;
}
