import type { Command } from 'commander';
import type { JobSnapshot } from '../client/client.js';
import { actOnServer, addServerCommand, type OnServer } from './on-server.js';
import { print, table } from './with-store.js';

/** Adds `stillframe jobs list | show | remove`: the jobs of a key, through the API of a server. */
export function addJobsCommand(program: Command): void {
  const jobs = program.command('jobs').description('list, cancel or delete the jobs of a key');
  const act = <Args extends unknown[]>(command: Command, work: (called: OnServer, ...args: Args) => Promise<void>) =>
    actOnServer(command, { resource: 'Jobs', scopes: 'jobs:read and screenshot:write' }, work);

  const list = addServerCommand(jobs, {
    name: 'list',
    description: 'list the latest jobs of the key',
    example: 'jobs list --state failed',
  }).option('--state <state>', 'jobs in this state only, such as active or failed');
  act<[{ state?: JobSnapshot['state'] }]>(list, async ({ client, json }, { state }) => {
    const { jobs: found } = await client.jobs({ state, limit: 100 });
    print(json, found, () =>
      table(
        ['id', 'state', 'submitted', 'page'],
        found.map((job) => [job.id, job.state, new Date(job.enqueued_at).toISOString().slice(0, 19), job.url]),
      ),
    );
  });

  const show = addServerCommand(jobs, {
    name: 'show',
    description: 'show a job',
    example: 'jobs show job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8',
  }).argument('<job>', 'id of the job');
  act<[string]>(show, async ({ client, json }, id) => {
    const job = await client.job(id);
    print(json, job, () => JSON.stringify(job, null, 2));
  });

  const remove = addServerCommand(jobs, {
    name: 'remove',
    description: 'cancel jobs that have not ended, and delete the pictures of those that have',
    example: 'jobs remove job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8',
  }).argument('<job...>', 'ids of jobs');
  act<[string[]]>(remove, async ({ client, json }, ids) => {
    for (const id of ids) {
      const removed = await client.removeJob(id);
      print(json, removed, () => `${id} is ${removed.canceled ? 'canceled' : 'deleted'}`);
    }
  });
}
