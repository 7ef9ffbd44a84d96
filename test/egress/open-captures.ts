import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, readConfig } from '../../src/config.js';
import { captureRequestSchema, toCaptureOptions } from '../../src/contract/capture-request.js';
import type { CaptureProxy } from '../../src/egress/egress.js';
import { type Log, silentLog } from '../../src/log.js';
import { capture } from '../../src/render/capture.js';
import { Renderer } from '../../src/service/renderer.js';
import type { TestGate } from './open-test-egress.js';

export type Captures = Awaited<ReturnType<typeof openCaptures>>;

const CAPTURE_MAX_MS = 120_000;

/** Whole captures, as the service makes them, behind a gate whose proxies can be looked at. */
export async function openCaptures(
  gate: TestGate,
  { log = silentLog(), ...over }: Omit<Partial<Config>, 'log'> & { log?: Log } = {},
) {
  const dataDir = mkdtempSync(join(tmpdir(), 'stillframe-captures-'));
  const { egress } = gate;
  /** Every proxy that was ever opened, those of pages opened ahead included, and their ports: a closed proxy has none any more. */
  const proxies: CaptureProxy[] = [];
  const proxyPorts = new Set<number>();
  const openCaptureProxy = egress.openCaptureProxy.bind(egress);
  egress.openCaptureProxy = async () => {
    const captureProxy = await openCaptureProxy();
    proxies.push(captureProxy);
    proxyPorts.add(captureProxy.port);
    return captureProxy;
  };
  const config: Config = {
    ...readConfig({}, {}),
    concurrency: 1,
    browserInstall: false,
    lists: false,
    ...over,
    dataDir,
  };
  const renderer = await Renderer.start(config, { egress, log, print: () => undefined, browserDir: config.dataDir });
  return {
    proxies,
    proxyPorts,
    dataDir,
    /** @param wish a request as a client sends it */
    capture: (wish: Record<string, unknown>) => {
      const options = toCaptureOptions(captureRequestSchema.parse(wish));
      return capture(
        renderer.deps,
        { id: 'trial', options, onProgress: () => undefined },
        AbortSignal.timeout(CAPTURE_MAX_MS),
      );
    },
    async [Symbol.asyncDispose]() {
      await renderer[Symbol.asyncDispose]();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
