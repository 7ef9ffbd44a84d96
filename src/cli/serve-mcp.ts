import type { Config } from '../config.js';
import { CaptureError } from '../contract/capture-error.js';
import { newId } from '../contract/ids.js';
import type { McpBackend } from '../http/mcp/backend.js';
import { serveStdio } from '../http/mcp/server.js';
import { createLog, type Log } from '../log.js';
import { builtFile, packageVersion } from '../package-files.js';
import { EncodeQueue } from '../render/memory.js';
import { guardProcess } from '../service/guard-process.js';
import { IdleEngine, LocalCaptures } from './local-captures.js';
import { printLine } from './operator-error.js';

/** Number of concurrent captures, in one browser. */
const CONCURRENCY = 2;

const NOTE =
  "Captures run on the user's own machine, and the latest ones are kept in memory. Private addresses, such as localhost, are refused unless the user has named them in the start command: stillframe mcp --allow-destinations localhost";

/** Serves the tools on standard input and output until the client closes its end or a signal arrives. */
export async function serveMcp(config: Config): Promise<void> {
  const log = createLog({ level: 'warn', format: config.logFormat });
  using _guard = guardProcess(log);
  const settings: Config = { ...config, concurrency: CONCURRENCY };
  const { allowDestinations, allowInsecureTls, syncWaitMs, tolerate } = config;
  const stop = new AbortController();
  await using engine = new IdleEngine(async () => {
    // The engine is loaded only when it is needed, since assistants start all their servers at once.
    const { Engine } = await import('../library/engine.js');
    return await Engine.open(settings, { allowDestinations, log, print: printLine, signal: stop.signal });
  });
  const captures = new LocalCaptures({ engine, syncWaitMs, rules: { webhookAllow: [], tolerate, allowInsecureTls } });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  try {
    await serveStdio(localBackend(captures, log), { stop: stop.signal, log });
  } finally {
    stop.abort();
  }
}

/** Creates a backend in which the machine's own user may do everything, at no price. */
function localBackend(captures: LocalCaptures, log: Log): McpBackend {
  const encodes = new EncodeQueue(builtFile('picture-thread.js'));
  return {
    admitCapture: () => undefined,
    admitRead: () => undefined,
    admitPicture: () => undefined,
    submit: (body, idempotencyKey) => captures.submit(body, idempotencyKey),
    findJob: async (id) => captures.find(id),
    listJobs: async (page) => captures.list(page),
    watches: async () => {
      throw new CaptureError({ code: 'unsupported_option', message: 'Watches need a server: connect to its /mcp.' });
    },
    async tiles({ artifact, diagnostics }, from) {
      const content = captures.pictureOf(artifact);
      const { modelTiles } = await import('../render/encode/model-tiles.js');
      return await modelTiles(encodes, content, { from, density: diagnostics.deviceScaleFactor });
    },
    async compare(jobs, threshold) {
      const [before, after] = [captures.pictureOf(jobs.before), captures.pictureOf(jobs.after)];
      const [{ comparePictures }, { modelTiles }] = await Promise.all([
        import('../compare/compare-pictures.js'),
        import('../render/encode/model-tiles.js'),
      ]);
      const options = { threshold, ignoreAntialiasing: true, mask: [], picture: 'overlay' as const };
      const { picture, ...comparison } = await comparePictures(before, after, options);
      return {
        comparison,
        tiles: picture === null ? null : await modelTiles(encodes, picture, { from: 1, density: 1 }),
      };
    },
    report: (thrown) => log.error({ err: thrown }, 'tool failed'),
    requestId: () => newId('request'),
    baseUrl: null,
    version: packageVersion(),
    note: NOTE,
  };
}
