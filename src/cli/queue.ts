import type { Command } from 'commander';
import { addSettings } from './settings-flags.js';
import { print, withStore } from './with-store.js';

/** `stillframe queue status | pause | resume`; a running server follows within a second. */
export function addQueueCommand(program: Command): void {
  const queue = program.command('queue').description('look at the queue, stop and go on');
  const status = queue
    .command('status')
    .description('how many jobs stand where')
    .option('--json', 'machine-readable')
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
  addSwitch(queue, { name: 'pause', paused: true, help: 'claim no more jobs; running ones finish', done: 'Paused: queued jobs wait.' });
  addSwitch(queue, { name: 'resume', paused: false, help: 'claim jobs again', done: 'Running again.' });
}

function addSwitch(queue: Command, to: { name: string; paused: boolean; help: string; done: string }): void {
  const command = queue
    .command(to.name)
    .description(to.help)
    .option('--json', 'machine-readable')
    .addHelpText('after', `\nExample:\n  stillframe queue ${to.name}`);
  addSettings(command, ['dataDir']).action((options: { json?: boolean }, own: Command) =>
    withStore(own, async (store) => {
      await store.setQueuePaused(to.paused);
      print(options.json, { paused: to.paused }, () => to.done);
    }),
  );
}
