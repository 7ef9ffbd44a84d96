import type { Command } from 'commander';
import { addStoreCommand, type Json, onStore, print } from './with-store.js';

/** Adds `stillframe queue status | pause | resume`. A running server follows within a second. */
export function addQueueCommand(program: Command): void {
  const queue = program.command('queue').description('inspect, pause or resume the queue');
  addStoreCommand(queue, {
    name: 'status',
    description: 'show job counts by state',
    example: 'queue status --json',
  }).action(
    onStore(async (store, { json }: Json) => {
      const { paused, ...counts } = await store.queueStatus();
      print(json, { ...counts, paused }, () => {
        const phrases = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
        return `${paused ? 'paused' : 'running'}: ${phrases.join(', ')}`;
      });
    }),
  );
  const pause = {
    name: 'pause',
    description: 'stop starting queued jobs; running ones finish',
    example: 'queue pause',
  };
  addStoreCommand(queue, pause).action(switchQueue(true, 'The queue is paused: queued jobs wait.'));
  const resume = { name: 'resume', description: 'start queued jobs again', example: 'queue resume' };
  addStoreCommand(queue, resume).action(switchQueue(false, 'The queue has been resumed.'));
}

function switchQueue(paused: boolean, done: string) {
  return onStore(
    async (store, { json }: Json) => {
      await store.setQueuePaused(paused);
      print(json, { paused }, () => done);
    },
    { creates: true },
  );
}
