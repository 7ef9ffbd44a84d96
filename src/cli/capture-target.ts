import { existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pageTypeOf } from '../contract/page-files.js';
import { portOf, readHost } from '../egress/host-name.js';
import { isPublicAddress } from '../egress/judge-address.js';
import { UsageError } from './operator-error.js';

/** The target of `stillframe capture`. */
export type CaptureTarget =
  | { kind: 'url'; url: string }
  | { kind: 'file'; path: string }
  | { kind: 'stdin' }
  | { kind: 'html' };

const HAS_SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;
const IS_PATH = /^(\.{0,2}[/\\]|\.{1,2}$|~\/|[a-z]:[/\\])/i;
/** Extensions of page files that are not top-level domains, so that such a name cannot be a host. */
const PAGE_FILE = /\.(html?|xhtml|svg)$/i;
/** Matches a host that cannot be a directory: localhost, or a name with a dot or a port. */
const HOST_FIRST = /^(localhost|[^/?#][^/?#.]*\.[^/?#]+|\[[^\]]*\]|[^/?#]+:\d+)([:/?#]|$)/i;

/**
 * Reads a target: `-` is standard input; a path or the name of an existing page file is a file; everything else is a URL. A loopback host
 * without a scheme gets http.
 * @throws UsageError for a missing file
 */
export function readTarget(text: string): CaptureTarget {
  if (text === '-') return { kind: 'stdin' };
  if (/^file:/i.test(text)) return aFile(pathOf(text));
  if (HAS_SCHEME.test(text)) return { kind: 'url', url: text };
  if (IS_PATH.test(text)) return readFileTarget(text);
  if (isPageOnDisk(text)) return aFile(text);
  if (PAGE_FILE.test(text) && (!text.includes('/') || !HOST_FIRST.test(text))) {
    throw new UsageError(`There is no file ${text}. A URL begins with https:// or http://.`);
  }
  return { kind: 'url', url: isLoopback(text) ? `http://${text}` : text };
}

/**
 * Reads a local page by its path, or by that of a directory with an index.html.
 * @throws UsageError if there is none
 */
export function readFileTarget(path: string): CaptureTarget {
  return aFile(path.startsWith('~/') ? join(homedir(), path.slice(2)) : path);
}

/** Returns the port of a URL on this machine; null for a URL elsewhere. */
export function ownPortOf(url: string): number | null {
  const read = new URL(url);
  return isLoopback(read.host) ? portOf(read) : null;
}

/** Returns whether the host of a URL is a private address or name as written, which a server would refuse. */
export function isPrivate(url: string): boolean {
  const host = readHost(new URL(url).hostname);
  if (host.kind === 'address') return !isPublicAddress(host.address);
  return host.kind === 'loopback-name' || host.kind === 'special-name';
}

function pathOf(fileUrl: string): string {
  try {
    return fileURLToPath(fileUrl);
  } catch {
    throw new UsageError(`${fileUrl} is not a file on this machine.`);
  }
}

function isPageOnDisk(text: string): boolean {
  if (!existsSync(text)) return false;
  return statSync(text).isDirectory()
    ? text.endsWith('/') && existsSync(join(text, 'index.html'))
    : pageTypeOf(text) !== null;
}

function aFile(path: string): CaptureTarget {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new UsageError(`There is no file ${path}.`);
  if (!stat.isDirectory()) return { kind: 'file', path };
  const index = join(path, 'index.html');
  if (!existsSync(index))
    throw new UsageError(`${path} is a directory without an index.html. Name the file to capture.`);
  return { kind: 'file', path: index };
}

function isLoopback(text: string): boolean {
  if (!URL.canParse(`http://${text}`)) return false;
  const host = readHost(new URL(`http://${text}`).hostname);
  return host.kind === 'loopback-name' || (host.kind === 'address' && /^(127\.|0\.0\.0\.0$|::1?$)/.test(host.address));
}
