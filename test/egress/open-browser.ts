import type { PageSession } from '../../src/render/page-session.js';
import { ANY_BROWSER } from '../render/install/any-browser.js';
import { aPool, visit } from '../render/pool/fixture.js';
import type { TestGate } from './open-test-egress.js';

export type TestBrowser = Awaited<ReturnType<typeof openBrowser>>;

/** A browser behind a gate, as captures have it. `visit` opens one capture's page, whose proxy knows what was refused. */
export async function openBrowser({ egress }: TestGate, executable = ANY_BROWSER, pagesPerBrowser = 1) {
  const pool = await aPool({ executable, egress, pagesPerBrowser });
  return Object.assign(pool, {
    async visit<Seen>(look: (session: PageSession) => Promise<Seen>): Promise<Seen> {
      await using lease = await visit(pool, null, { url: 'http://stub.example.com/' });
      return await look(lease.session);
    },
  });
}
