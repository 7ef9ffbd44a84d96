/**
 * Fonts of the operator, in a folder of the data directory. Each browser gets copies of them with its profile, since it must not read the
 * data directory, and a configuration of fontconfig that adds them to the system's.
 */
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { extname, join } from 'node:path';
import { linkOrCopy } from './executable.js';
import type { Unprivileged } from './launch-mode.js';
import { entriesOf } from './profile-dir.js';

/** Limits of the folder; what exceeds them is not used. */
export const FONT_FILES_MAX = 500;
export const FONT_MAX_BYTES = 64_000_000;
export const FONTS_MAX_BYTES = 500_000_000;

export interface FontFile {
  name: string;
  bytes: number;
  mtimeMs: number;
  mode: number;
  /** The reason why it is not used; null if it is. */
  problem: string | null;
}

export function fontsDirOf(dataDir: string): string {
  return join(dataDir, 'fonts');
}

const EXTENSIONS = ['.ttf', '.otf', '.ttc', '.otc'];
/** The first four bytes of OpenType, of OpenType with CFF outlines, of a collection, and of Apple's TrueType. */
const SIGNATURES = ['00010000', '4f54544f', '74746366', '74727565'];

/** The files of the folder, by name. None if there is no folder. */
export function fontFiles(dir: string): FontFile[] {
  let all = 0;
  return entriesOf(dir)
    .filter((name) => !name.startsWith('.'))
    .sort()
    .flatMap((name, index) => {
      const found = statSync(join(dir, name), { throwIfNoEntry: false });
      if (found === undefined || found.isDirectory()) return [];
      const { size: bytes, mtimeMs, mode } = found;
      const problem = problemOf(name, { isFile: found.isFile(), bytes, index, all });
      if (problem === null) all += bytes;
      return [{ name, bytes, mtimeMs, mode, problem }];
    });
}

function problemOf(
  name: string,
  { isFile, bytes, index, all }: { isFile: boolean; bytes: number; index: number; all: number },
): string | null {
  if (!isFile || !EXTENSIONS.includes(extname(name).toLowerCase())) return `is not one of ${EXTENSIONS.join(', ')}`;
  if (bytes > FONT_MAX_BYTES) return `has more than ${FONT_MAX_BYTES / 1e6} MB`;
  if (index >= FONT_FILES_MAX) return `is beyond the first ${FONT_FILES_MAX} files`;
  return all + bytes > FONTS_MAX_BYTES ? `is beyond the ${FONTS_MAX_BYTES / 1e6} MB that all fonts may have` : null;
}

/** Whether bytes begin as a font that the browser can use as a file. */
export function isFontFile(head: Buffer): boolean {
  return SIGNATURES.includes(head.toString('hex', 0, 4));
}

/** A text that differs whenever the fonts that are used do; empty without any. */
function fontsVersion(dir: string): string {
  const used = fontFiles(dir).filter(({ problem }) => problem === null);
  return used.map(({ name, bytes, mtimeMs }) => `${name} ${bytes} ${mtimeMs}`).join('\n');
}

/** How long a file that is written in place, which leaves the time of its folder, may remain unnoticed. */
const FILES_CHECKED_EVERY_MS = 2_000;

/** Watches the fonts of a folder. Asking for all of its files, which may be hundreds, before each capture would take milliseconds. */
export class FontFolder {
  #version = '';
  #folderMs: number | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;

  /** @param now ms, monotonic */
  constructor(
    private readonly dir: string | null,
    private readonly now: () => number,
  ) {}

  /** As `fontsVersion`. A file that is added, removed or renamed changes it at once. */
  version(): string {
    if (this.dir === null) return '';
    const folderMs = statSync(this.dir, { throwIfNoEntry: false })?.mtimeMs;
    const isChecked = this.now() - this.#checkedAt < FILES_CHECKED_EVERY_MS;
    if (isChecked && folderMs === this.#folderMs) return this.#version;
    [this.#folderMs, this.#checkedAt] = [folderMs, this.now()];
    this.#version = fontsVersion(this.dir);
    return this.#version;
  }
}

/**
 * Gives a browser the fonts of the folder.
 * @param place a new directory for it
 * @param configured the browser's own directory of configurations; undefined for the system's
 * @returns the configuration, for the environment; null without fonts
 */
export function provideFonts(
  dir: string | null,
  place: string,
  { user, configured = '/etc/fonts' }: { user: Unprivileged | null; configured?: string | undefined },
): string | null {
  const used = dir === null ? [] : fontFiles(dir).filter(({ problem }) => problem === null);
  if (dir === null || used.length === 0) return null;
  mkdirSync(place, { mode: 0o755 });
  for (const [index, { name, mode }] of used.entries()) {
    const source = join(dir, name);
    if (!beginsAsFont(source)) continue;
    // The names of files are the operator's, and none of them needs to reach the configuration.
    const target = join(place, `${index}${extname(name).toLowerCase()}`);
    if ((mode & 0o004) !== 0) linkOrCopy(source, target);
    else {
      copyFileSync(source, target);
      chmodSync(target, 0o644);
      if (user !== null) chownSync(target, user.uid, user.gid);
    }
  }
  const file = join(place, 'fonts.conf');
  const config = `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><include ignore_missing="yes">${configured}/fonts.conf</include><dir>${place}</dir></fontconfig>`;
  writeFileSync(file, config, { mode: 0o644 });
  return file;
}

function beginsAsFont(path: string): boolean {
  const head = Buffer.alloc(4);
  const file = openSync(path, 'r');
  try {
    return readSync(file, head, 0, 4, 0) === 4 && isFontFile(head);
  } finally {
    closeSync(file);
  }
}
