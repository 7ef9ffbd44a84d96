import type { Executable } from '../../src/render/launch/executable.js';
import type { PageSession } from '../../src/render/page-session.js';
import { ANY_BROWSER } from '../render/install/any-browser.js';
import { aPool, NEVER, someOptions } from '../render/pool/fixture.js';
import type { TestGate } from './open-test-egress.js';

export interface TestBrowser extends AsyncDisposable {
  /** The directory of the browser's profiles and processes. */
  readonly runDir: string;
  /** One capture's page; its proxy knows what was refused. */
  visit<Seen>(look: (session: PageSession) => Promise<Seen>): Promise<Seen>;
}

/** A browser behind a gate, as captures have it. */
export async function openBrowser(gate: TestGate, executable: Executable = ANY_BROWSER, pagesPerBrowser = 1): Promise<TestBrowser> {
  const { pool, runDir, ...rest } = await aPool({ executable, egress: gate.egress, pagesPerBrowser });
  return {
    runDir,
    async visit(look) {
      const lease = await pool.acquire(someOptions({ url: 'http://stub.example.com/' }), NEVER);
      try {
        return await look(lease.session);
      } finally {
        await lease.release();
      }
    },
    [Symbol.asyncDispose]: () => rest[Symbol.asyncDispose](),
  };
}
