import type { Command } from 'commander';
import { addSettings } from './settings-flags.js';
import { print, withStore } from './with-store.js';

/** Adds `stillframe clock accept`, which makes servers trust a clock that has jumped; a running server follows within seconds. */
export function addClockCommand(program: Command): void {
  const clock = program.command('clock').description("accept this machine's clock after it has jumped");
  const accept = clock
    .command('accept')
    .description("trust this machine's clock: what is older than its retention time by it is deleted from now on")
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  stillframe clock accept');
  addSettings(accept, ['dataDir']).action((options: { json?: boolean }, own: Command) =>
    withStore(own, async (store) => {
      const now = Date.now();
      await store.acceptClock(now);
      const time = new Date(now).toISOString();
      print(options.json, { accepted: time }, () => `The clock is trusted from now on: ${time}`);
    }),
  );
}
