import type { Command } from 'commander';
import { addStoreCommand, type Json, onStore, print } from './with-store.js';

/** Adds `stillframe clock accept`, which makes servers trust a clock that has jumped; a running server follows within seconds. */
export function addClockCommand(program: Command): void {
  const clock = program.command('clock').description("accept this machine's clock after it has jumped");
  addStoreCommand(clock, {
    name: 'accept',
    description: "trust this machine's clock: what is older than its retention time by it is deleted from now on",
    example: 'clock accept',
  }).action(
    onStore(async (store, { json }: Json) => {
      const now = Date.now();
      await store.acceptClock(now);
      const time = new Date(now).toISOString();
      print(json, { accepted: time }, () => `The clock is trusted from now on: ${time}`);
    }),
  );
}
