/** Adds fonts to the folder of the operator, from files and npm packages, and removes them from it. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { FONT_FILES_MAX, FONT_MAX_BYTES, FONTS_MAX_BYTES, fontFiles, isFontFile } from '../launch/font-folder.js';
import { installPackage } from './run-command.js';

/** A font that cannot be added. */
export class FontError extends Error {}

const INSTALL_MS = 240_000;
const FONT = /\.(ttf|otf|ttc|otc|woff)$/i;
const PACKAGE = /^(?:@[a-z0-9][a-z0-9._-]{0,99}\/)?[a-z0-9][a-z0-9._-]{0,99}(?:@[a-z0-9][a-z0-9.^~-]{0,49})?$/i;
/** Folders of a package that are looked into below each other. */
const DEPTH_MAX = 6;

/**
 * Adds a file, or all fonts of an npm package.
 * @returns the names of the new files
 * @throws FontError, Error with npm's reason
 */
export async function addFonts(dir: string, source: string): Promise<string[]> {
  mkdirSync(dir, { recursive: true, mode: 0o755 });
  if (existsSync(source)) return [write(dir, basename(source), readFont(source))];
  if (FONT.test(source) || !PACKAGE.test(source))
    throw new FontError(`"${source}" is neither a file nor the name of an npm package.`);
  const draft = await mkdtemp(join(dir, '.package-'));
  try {
    await installPackage(source, draft, { timeoutMs: INSTALL_MS, silenceMs: INSTALL_MS });
    const found = fontsBelow(join(draft, 'node_modules', nameOf(source)), DEPTH_MAX);
    if (found.length === 0)
      throw new FontError(`The npm package "${source}" has no fonts: .ttf, .otf, .ttc, .otc or .woff.`);
    return found.map((path) => write(dir, basename(path), readFont(path)));
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** The name of a package, without its version. */
function nameOf(source: string): string {
  const end = source.indexOf('@', 1);
  return end === -1 ? source : source.slice(0, end);
}

/** @throws FontError if there is no such file in the folder */
export function removeFont(dir: string, name: string): void {
  const found = fontFiles(dir).find((file) => file.name === name);
  if (found === undefined)
    throw new FontError(`There is no font "${name}" in ${dir}. List them with: stillframe fonts list`);
  rmSync(join(dir, found.name));
}

/** The fonts of a package, each in one format: a woff only without another format of it. Packages contain many for different scripts. */
function fontsBelow(folder: string, depth: number): string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile() && FONT.test(entry.name)).map(({ name }) => name);
  const stem = (name: string) => name.slice(0, -extname(name).length);
  const full = new Set(names.filter((name) => !/\.woff$/i.test(name)).map(stem));
  const inOneFormat = names.filter((name) => !/\.woff$/i.test(name) || !full.has(stem(name)));
  const own = withoutSubsets(inOneFormat).map((name) => join(folder, name));
  const inner = entries.filter((entry) => depth > 0 && entry.isDirectory() && entry.name !== 'node_modules');
  return [...own, ...inner.flatMap(({ name }) => fontsBelow(join(folder, name), depth - 1))];
}

/** Files of Fontsource, such as `inter-latin-400-normal.woff`: one for each script, or part of a script, of a font. */
const SUBSET =
  /^(.+?)-((?:latin|cyrillic|greek)(?:-ext)?|vietnamese|japanese|korean|chinese-\w+|[a-z]+|\d+)-(\d{3}-(?:normal|italic))\.woff$/;
/** The subsets that have Latin letters, the largest first. */
const WITH_LATIN = ['japanese', 'korean', 'chinese-simplified', 'chinese-traditional', 'chinese-hongkong', 'latin'];

/** The browser takes one of several files with the same family and style, so that only the subset of most use is kept. */
function withoutSubsets(names: string[]): string[] {
  const chosen = new Map<string, string>();
  const rank = (name: string) => WITH_LATIN.indexOf(SUBSET.exec(name)?.[2] ?? '') >>> 0;
  const rest = names.filter((name) => {
    const [, family, , style] = SUBSET.exec(name) ?? [];
    if (family === undefined) return true;
    const before = chosen.get(`${family} ${style}`);
    if (before === undefined || rank(name) < rank(before)) chosen.set(`${family} ${style}`, name);
    return false;
  });
  return [...rest, ...chosen.values()];
}

function readFont(path: string): Buffer {
  const found = statSync(path);
  if (!found.isFile()) throw new FontError(`${path} is not a file.`);
  if (found.size > FONT_MAX_BYTES) throw new FontError(`${path} has more than ${FONT_MAX_BYTES / 1e6} MB.`);
  const content = readFileSync(path);
  const font = content.toString('latin1', 0, 4) === 'wOFF' ? unpackWoff(path, content) : content;
  if (!isFontFile(font))
    throw new FontError(
      `${path} is not a font of the formats OpenType (.ttf, .otf), collection (.ttc, .otc) or .woff.`,
    );
  return font;
}

/** Writes the file in one step, so that no browser reads a part of it. */
function write(dir: string, name: string, content: Buffer): string {
  const isCff = content.toString('latin1', 0, 4) === 'OTTO';
  const file = /\.woff$/i.test(name) ? name.replace(/\.woff$/i, isCff ? '.otf' : '.ttf') : name;
  const others = fontFiles(dir).filter((other) => other.name !== file);
  const bytes = others.reduce((sum, other) => sum + other.bytes, content.length);
  if (file.startsWith('.') || !/\.(ttf|otf|ttc|otc)$/i.test(file))
    throw new FontError(`"${name}" must have a name that ends in .ttf, .otf, .ttc, .otc or .woff.`);
  if (others.length >= FONT_FILES_MAX) throw new FontError(`${dir} has ${FONT_FILES_MAX} files, and cannot have more.`);
  if (bytes > FONTS_MAX_BYTES)
    throw new FontError(`The fonts in ${dir} would have more than ${FONTS_MAX_BYTES / 1e6} MB.`);
  const draft = join(dir, `.draft-${process.pid}`);
  writeFileSync(draft, content, { mode: 0o644 });
  renameSync(draft, join(dir, file));
  return file;
}

const WOFF_HEADER = 44;
const WOFF_ENTRY = 20;
const SFNT_HEADER = 12;
const SFNT_ENTRY = 16;

/** The font in a WOFF file (W3C WOFF File Format 1.0), which fontconfig does not unpack. */
function unpackWoff(path: string, woff: Buffer): Buffer {
  const damaged = () => new FontError(`${path} is damaged.`);
  try {
    const count = woff.readUInt16BE(12);
    const tables = Array.from({ length: count }, (_, index) => {
      const at = WOFF_HEADER + index * WOFF_ENTRY;
      const [offset, packed, length] = [4, 8, 12].map((place) => woff.readUInt32BE(at + place)) as [
        number,
        number,
        number,
      ];
      return { tag: woff.subarray(at, at + 4), checksum: woff.subarray(at + 16, at + 20), offset, packed, length };
    });
    const total = tables.reduce((sum, { length }) => sum + length + 3, SFNT_HEADER + SFNT_ENTRY * count);
    if (total > FONT_MAX_BYTES || count === 0) throw damaged();
    const font = Buffer.alloc(total);
    woff.copy(font, 0, 4, 8);
    const power = Math.floor(Math.log2(count));
    for (const [index, value] of [count, 16 * 2 ** power, power, 16 * (count - 2 ** power)].entries())
      font.writeUInt16BE(value, 4 + 2 * index);
    let end = SFNT_HEADER + SFNT_ENTRY * count;
    for (const [index, { tag, checksum, offset, packed, length }] of tables.entries()) {
      const at = SFNT_HEADER + SFNT_ENTRY * index;
      font.set(tag, at);
      font.set(checksum, at + 4);
      font.writeUInt32BE(end, at + 8);
      font.writeUInt32BE(length, at + 12);
      const source = woff.subarray(offset, offset + packed);
      const table = packed < length ? inflateSync(source, { maxOutputLength: length }) : source;
      if (table.length !== length) throw damaged();
      font.set(table, end);
      end += Math.ceil(length / 4) * 4;
    }
    return font.subarray(0, end);
  } catch (error) {
    throw error instanceof FontError ? error : damaged();
  }
}
