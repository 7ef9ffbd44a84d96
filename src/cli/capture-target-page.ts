import { CaptureError } from '../contract/capture-error.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import type { LocalPageRules } from '../egress/egress.js';
import { portOf } from '../egress/host-name.js';
import type { Engine, EngineCapture, RunOptions } from '../library/engine.js';
import type { CaptureTarget } from './capture-target.js';
import { printable } from './operator-error.js';
import { type LocalPage, type PageServer, RefusedHosts, servePage } from './page-server.js';

/** One capture of a URL or of a local page. */
export interface TargetCapture {
  page: LocalPage | null;
  /** Name of the page in messages, in place of its server's address. */
  name: string;
  /** Options without `url` for a local page, whose server determines it. */
  options: CaptureOptions;
  /** Zone of the local page's server, which the engine must allow. */
  zone: string;
  /** Destinations that a local page may reach besides public addresses. */
  network: LocalNetwork;
  /** Called at the end with the paths that a local page requested and that were not served. */
  onMissing(paths: ReadonlySet<string>): void;
  /** Called at the end with one line about the hosts that a local page was refused. */
  onRefused(line: string): void;
}

/** Destinations as in STILLFRAME_ALLOW_DESTINATIONS. */
export interface LocalNetwork {
  /** The setting itself: private destinations of which a local page may show parts. */
  allow: readonly string[];
  /** Destinations of --allow-network, to which it may send even after it has read a file. */
  trusted: readonly string[];
}

const MISSING_SHOWN = 5;

/** Placeholder URL of a local page until its server listens. */
export const LOCAL_PAGE = 'http://page.localhost/';

/**
 * Captures on the engine. No result or error shows the address of a local page's server.
 * @throws CaptureError, OperatorError
 */
export async function captureTarget(engine: Engine, target: TargetCapture, run: RunOptions): Promise<EngineCapture> {
  const { page, options, name, zone, network } = target;
  if (page === null)
    return options.html === null ? await engine.capture(options, run) : await captureHtml(engine, target, run);
  await using server = await servePage(page, { zone, trusted: network.trusted });
  const local = localPageRules(network, server.hosts, server.refused);
  try {
    const { data, html, ...files } = await engine.capture(
      { ...options, url: server.url },
      { ...run, local: { ...local, onRead: server.onRead } },
    );
    const shownHtml = html && Buffer.from(server.publicText(Buffer.from(html).toString()));
    return { ...files, html: shownHtml, data: withPublicAddress(data, server) };
  } catch (error) {
    throw error instanceof CaptureError ? withPublicName(error, server.host, name) : error;
  } finally {
    if (server.missing.size > 0) target.onMissing(server.missing);
    reportRefused(target, server.refused);
  }
}

/** Captures a document without files. The host of its base URL, which the user has named, is open to it. */
async function captureHtml(engine: Engine, target: TargetCapture, run: RunOptions): Promise<EngineCapture> {
  const { options, network } = target;
  const refused = new RefusedHosts();
  const base = new URL(options.url);
  try {
    return await engine.capture(options, {
      ...run,
      local: localPageRules(network, [`${base.hostname}:${portOf(base)}`], refused),
    });
  } finally {
    reportRefused(target, refused);
  }
}

function localPageRules(
  { allow, trusted }: LocalNetwork,
  own: readonly string[],
  refused: RefusedHosts,
): LocalPageRules {
  return {
    allow,
    trusted: [...own, ...trusted],
    onRead: () => undefined,
    refused: ({ host, port, reason }) => {
      if (reason !== 'unresolvable')
        refused.add(host, port, reason === 'has_read' ? 'after reading a file' : 'private');
    },
  };
}

function reportRefused({ onRefused }: TargetCapture, refused: RefusedHosts): void {
  const line = refused.describe();
  if (line !== null) onRefused(line);
}

/**
 * Returns the local page of a target, or null.
 * @param readStdin reads the HTML of `-`
 */
export async function localPageOf(target: CaptureTarget, readStdin: () => Promise<Buffer>): Promise<LocalPage | null> {
  if (target.kind === 'url' || target.kind === 'html') return null;
  return target.kind === 'file' ? { path: target.path } : { html: await readStdin() };
}

function withPublicAddress(data: EngineCapture['data'], server: PageServer): EngineCapture['data'] {
  const shown = (text: string) => server.publicText(text);
  return {
    ...data,
    url: shown(data.url),
    finalUrl: shown(data.finalUrl).replace(/^about:html\/$/, 'about:html'),
    ...(data.extraction === undefined ? {} : { extraction: withTexts(data.extraction, shown) }),
    inspection: data.inspection && {
      markdown: shown(data.inspection.markdown),
      accessibleTree: shown(data.inspection.accessibleTree),
      ...(data.inspection.facts === undefined ? {} : { facts: withTexts(data.inspection.facts, shown) }),
      ...(data.inspection.elements === undefined ? {} : { elements: withTexts(data.inspection.elements, shown) }),
    },
  };
}

/** Changes each text in plain data. */
function withTexts<Data>(data: Data, change: (text: string) => string): Data {
  if (typeof data === 'string') return change(data) as Data;
  if (Array.isArray(data)) return data.map((item) => withTexts(item, change)) as Data;
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, withTexts(value, change)])) as Data;
}

function withPublicName(error: CaptureError, host: string, name: string): CaptureError {
  return error.with({ message: error.message.replaceAll(`http://${host}`, name).replaceAll(host, name) });
}

/** Describes in one line the paths that a local page requested and that were not served. */
export function describeMissing({ kind }: CaptureTarget, missing: ReadonlySet<string>): string {
  const shown = [...missing].slice(0, MISSING_SHOWN).join(', ');
  const more = missing.size > MISSING_SHOWN ? ` and ${missing.size - MISSING_SHOWN} more` : '';
  const reason =
    kind === 'stdin'
      ? 'Not found, since HTML from standard input cannot read files'
      : "Not found among the page files in the page's directory";
  return printable(`${reason}: ${shown}${more}`);
}
