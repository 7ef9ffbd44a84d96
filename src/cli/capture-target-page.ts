import { CaptureError } from '../contract/capture-error.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import type { CaptureHow, Engine, EngineCapture } from '../library/engine.js';
import type { CaptureTarget } from './capture-target.js';
import { type LocalPage, type PageServer, servePage } from './page-server.js';

/** One capture of a URL or of a local page. */
export interface TargetOrder {
  page: LocalPage | null;
  /** What the user calls it, in place of its server's address. */
  name: string;
  /** Without `url` for a local page: its server determines it. */
  options: CaptureOptions;
  /** Zone of the local page's server, which the engine must allow. */
  zone: string;
  /** Told, in the end, the paths that a local page requested and that were not served. */
  onMissing(paths: ReadonlySet<string>): void;
}

/** Placeholder URL of a local page until its server listens. */
export const LOCAL_PAGE = 'http://page.localhost/';

/** Captures on the engine; no result or error shows the address of a local page's server. @throws CaptureError, OperatorError */
export async function captureTarget(engine: Engine, order: TargetOrder, how: CaptureHow): Promise<EngineCapture> {
  const { page, options, name, zone } = order;
  if (page === null) return await engine.capture(options, how);
  await using server = await servePage(page, zone);
  try {
    const { content, data } = await engine.capture({ ...options, url: server.url }, how);
    return { content, data: underItsAddress(data, server) };
  } catch (error) {
    throw error instanceof CaptureError ? underItsName(error, server.host, name) : error;
  } finally {
    if (server.missing.size > 0) order.onMissing(server.missing);
  }
}

/** The local page of a target, if it is one. @param readStdin reads the HTML of `-` */
export async function localPageOf(target: CaptureTarget, readStdin: () => Promise<Buffer>): Promise<LocalPage | null> {
  if (target.kind === 'url' || target.kind === 'html') return null;
  return target.kind === 'file' ? { path: target.path } : { html: await readStdin() };
}

function underItsAddress(data: EngineCapture['data'], server: PageServer): EngineCapture['data'] {
  const shown = (text: string) => server.publicText(text);
  return {
    ...data,
    url: shown(data.url),
    finalUrl: shown(data.finalUrl).replace(/^about:html\/$/, 'about:html'),
    inspection: data.inspection && {
      markdown: shown(data.inspection.markdown),
      accessibleTree: shown(data.inspection.accessibleTree),
    },
  };
}

function underItsName(error: CaptureError, host: string, name: string): CaptureError {
  const { code, status, retriable, details } = error;
  const message = error.message.replaceAll(`http://${host}`, name).replaceAll(host, name);
  return new CaptureError({ code, status, retriable, message, cause: error, ...(details === undefined ? {} : { details }) });
}
