import { createHash, randomBytes } from 'node:crypto';
import { constants, existsSync, realpathSync, statSync } from 'node:fs';
import { access, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { CaptureFormat } from '../contract/capture-request.js';
import { isObject } from '../contract/field-rules.js';
import type { CaptureTarget } from './capture-target.js';
import { failing, OperatorError, UsageError } from './operator-error.js';

const FORMATS: Record<string, CaptureFormat> = {
  png: 'png',
  jpg: 'jpeg',
  jpeg: 'jpeg',
  webp: 'webp',
  avif: 'avif',
  bmp: 'bmp',
  gif: 'gif',
  mp4: 'mp4',
  pdf: 'pdf',
};
/** Maximum length of a name: at most 240 bytes of UTF-8, since file systems allow 255, extension included. */
const NAME_MAX_CHARS = 80;

/** Message about another extension, which follows "it" or the field's name. */
export const EXTENSIONS = 'must end in .png, .jpg, .jpeg, .webp, .avif, .bmp, .gif, .mp4 or .pdf, or have no extension';

/** Returns the format that a file's extension names; null for no extension, undefined for one that names none. */
export function formatOfName(path: string): CaptureFormat | null | undefined {
  const extension = extname(path).slice(1).toLowerCase();
  if (extension === '') return null;
  return Object.hasOwn(FORMATS, extension) ? FORMATS[extension] : undefined;
}

/**
 * Reads the format that `-o` and `--format` set.
 * @returns null if neither sets one
 * @throws UsageError if they contradict each other, or the file has another extension
 */
export function readFormat(output: string | undefined, format: string | undefined): string | null {
  const named = output === undefined || output === '-' ? null : formatOfName(output);
  if (named === null) return format ?? null;
  if (named === undefined) throw new UsageError(`-o is "${output}": it ${EXTENSIONS}.`);
  if (format !== undefined && format !== named) {
    throw new UsageError(
      `-o is "${output}" and --format is ${format}: name the file .${format}, or leave --format out.`,
    );
  }
  return named;
}

/**
 * A request with the format that its file's name sets, which is that of `animate` in an animated picture: .gif and .mp4 always
 * mean one.
 * @throws UsageError if the name and `animate.format` contradict each other
 */
export function withFormat(request: Record<string, unknown>, format: string | null): Record<string, unknown> {
  const { animate } = request;
  if (format === null) return request;
  if (animate === undefined && !/^(gif|mp4)$/.test(format)) return { ...request, format };
  if (animate !== undefined && !isObject(animate)) return request;
  if (animate?.format !== undefined && animate.format !== format)
    throw new UsageError(
      `The file is .${format}, and animate.format is ${animate.format}: name the file accordingly, or leave it out.`,
    );
  return { ...request, animate: { ...animate, format } };
}

/** Makes a file name in the working directory, from the URL's host, path and query, or from the captured file's name. */
export function defaultName(target: CaptureTarget, normalUrl: string, format: CaptureFormat): string {
  return `${stemOf(target, normalUrl)}.${format}`;
}

function stemOf(target: CaptureTarget, normalUrl: string): string {
  if (target.kind === 'stdin' || target.kind === 'html') return target.kind;
  if (target.kind === 'file') return plain(basename(target.path, extname(target.path)));
  const { host, pathname, search } = new URL(normalUrl);
  return plain(host + decoded(pathname) + decoded(search));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Makes a plain name. Shortened names end in a digest of the whole, so that long addresses get different names. */
function plain(text: string): string {
  const name = text.replace(/[^\p{L}\p{N}._]+/gu, '-').replace(/^[-.]+|(?<![-.])[-.]+$/g, '') || 'capture';
  if (name.length <= NAME_MAX_CHARS) return name;
  return `${name.slice(0, NAME_MAX_CHARS - 9)}-${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}

/** Reads a file. @throws OperatorError */
export function readFileOf(path: string): Promise<Buffer> {
  return readFile(path).catch(failing(`${path} cannot be read`));
}

/**
 * Checks before the capture that the picture can be written.
 *
 * @throws UsageError if the path is a directory, or in a missing one; OperatorError if it cannot be written, or exists and `force` is not set
 */
export async function checkWritable(path: string, force: boolean): Promise<void> {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isDirectory()) throw new UsageError(`-o is "${path}", a directory: name a file in it.`);
  if (stat?.isFile() && !force) throw alreadyThere(path);
  const folder = dirname(path);
  if (!existsSync(folder)) throw new UsageError(`-o is "${path}": there is no directory ${folder}. Create it first.`);
  await access(stat === undefined ? folder : path, constants.W_OK).catch(failing(`${path} cannot be written`));
}

/**
 * Writes the picture, and never leaves a partial file.
 * @throws OperatorError if it cannot be written, or has been created in the meantime
 */
export async function writePicture(path: string, content: Uint8Array, force: boolean): Promise<void> {
  const before = statSync(path, { throwIfNoEntry: false });
  if (force || (before !== undefined && !before.isFile())) return await replaceFile(path, content);
  try {
    await writeFile(path, content, { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw alreadyThere(path);
    await rm(path, { force: true });
    failing(`${path} cannot be written`)(error);
  }
}

/**
 * The path of one of several pictures: that of the first is the output, and the others are beside it, named after it and themselves.
 * @param index its place among the pictures
 */
export function pathOfPicture(
  output: string,
  { name, format }: { name: string; format: string },
  index: number,
): string {
  return index === 0 ? output : join(dirname(output), `${basename(output, extname(output))}-${name}.${format}`);
}

/** The path of the document's HTML, beside the picture. */
export function pathOfHtml(output: string): string {
  return join(dirname(output), `${basename(output, extname(output))}.html`);
}

/**
 * Writes the pictures after the first beside it, and the HTML of the document.
 * @throws OperatorError as writePicture
 */
export async function writeFurther(
  output: string,
  {
    contents,
    captures,
    html,
  }: {
    contents: readonly Uint8Array[];
    captures: readonly { name: string; format: string }[];
    html: Uint8Array | null;
  },
  force: boolean,
): Promise<void> {
  if (html !== null) await writePicture(pathOfHtml(output), html, force);
  for (const [index, picture] of captures.entries()) {
    const content = contents[index];
    if (index > 0 && content !== undefined) await writePicture(pathOfPicture(output, picture, index), content, force);
  }
}

/**
 * Replaces a file, or creates it, in one step, so that a reader or an interruption never finds a part of it.
 * @throws OperatorError
 * @param mode of a new file. Default: that of the former file, or as the umask says
 */
export async function replaceFile(path: string, content: Uint8Array | string, mode?: number): Promise<void> {
  const before = statSync(path, { throwIfNoEntry: false });
  // Pipes and devices are written to, not replaced.
  if (before !== undefined && !before.isFile())
    return await writeFile(path, content).catch(failing(`${path} cannot be written`));
  const target = before === undefined ? path : realpathSync(path);
  const draft = join(dirname(target), `.${randomBytes(6).toString('hex')}.part`);
  try {
    await writeFile(draft, content, { flag: 'wx', mode: mode ?? before?.mode ?? 0o666 });
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    failing(`${path} cannot be written`)(error);
  }
}

function alreadyThere(path: string): OperatorError {
  return new OperatorError(`${path} already exists. Add --force to overwrite it, or name another file with -o.`);
}
