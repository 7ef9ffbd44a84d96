import type { Command } from 'commander';
import { addSettings } from './settings-flags.js';
import { print, withStore } from './with-store.js';

/** Adds `stillframe queue status | pause | resume`. A running server follows within a second. */
export function addQueueCommand(program: Command): void {
  const queue = program.command('queue').description('inspect, pause or resume the queue');
  const status = queue
    .command('status')
    .description('show job counts by state')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  stillframe queue status --json');
  addSettings(status, ['dataDir']).action((options: { json?: boolean }, command: Command) =>
    withStore(command, async (store) => {
      const now = await store.queueStatus();
      print(options.json, now, () => {
        const counts = Object.entries(now).filter(([name]) => name !== 'paused');
        return `${now.paused ? 'paused' : 'running'}: ${counts.map(([name, count]) => `${count} ${name}`).join(', ')}`;
      });
    }),
  );
  addSwitch(queue, {
    name: 'pause',
    paused: true,
    help: 'stop starting queued jobs; running ones finish',
    done: 'The queue is paused: queued jobs wait.',
  });
  addSwitch(queue, { name: 'resume', paused: false, help: 'start queued jobs again', done: 'The queue has been resumed.' });
}

function addSwitch(queue: Command, to: { name: string; paused: boolean; help: string; done: string }): void {
  const command = queue
    .command(to.name)
    .description(to.help)
    .option('--json', 'print JSON')
    .addHelpText('after', `\nExample:\n  stillframe queue ${to.name}`);
  addSettings(command, ['dataDir']).action((options: { json?: boolean }, own: Command) =>
    withStore(
      own,
      async (store) => {
        await store.setQueuePaused(to.paused);
        print(options.json, { paused: to.paused }, () => to.done);
      },
      { creates: true },
    ),
  );
}
