import { expect, it } from 'vitest';
import { ofFile } from '../fixtures/of-file.js';
import { readableLog } from '../fixtures/readable-log.js';
import { startSite } from '../fixtures/site/site.js';
import { startService } from '../fixtures/start-service.js';

const SMALL = { viewport: { width: 320, height: 240, deviceScaleFactor: 1 } };
const site = await ofFile(startSite({ host: '127.0.0.2' }));

it('each job is logged and counted, including jobs that shared a render or were answered from the cache', async () => {
  const { lines, log } = readableLog();
  await using service = await startService({}, null, { log });
  const capture = async () => (await service.post({ url: site.url('/slow?ms=400'), ...SMALL })).body;
  const answers = [...(await Promise.all([capture(), capture(), capture()])), await capture()];
  expect(answers.map(({ data }) => data.cached)).toContain(true);
  const told = lines.filter(({ msg }) => msg === 'job');
  expect(told.map(({ request_id }) => request_id).sort()).toEqual(answers.map(({ request_id }) => request_id).sort());
  expect(new Set(told.map(({ job_id }) => job_id)).size).toBe(4);
  expect(told.filter(({ state }) => state === 'completed')).toHaveLength(4);
  expect(told.filter(({ shared }) => shared !== undefined)).toHaveLength(2);
  expect(told.filter(({ cached }) => cached === true)).toHaveLength(1);
  expect(new Set(told.map(({ url }) => url))).toEqual(new Set([site.url('/slow')]));
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  expect(metrics).toContain('stillframe_jobs_total{state="completed"} 4');
});

it('a failed job has the URL of its page in its line, in the list and in look-ups, without secret parts', async () => {
  const { lines, log } = readableLog();
  await using service = await startService({}, null, { log });
  const url = site.url('/slow');
  const failed = await service.post({
    url: `${url}?ms=0&token=SECRET#SECRET`,
    fail_if_content_missing: ['no such text'],
    ...SMALL,
  });
  expect(failed.body.ok).toBe(false);
  const [job] = (await service.get('/v1/jobs?state=failed')).body.data.jobs;
  expect(job).toMatchObject({ state: 'failed', url });
  expect((await service.get(`/v1/jobs/${job.id}`)).body.data).toMatchObject({ id: job.id, url });
  const told = lines.filter(({ msg }) => msg === 'job');
  expect(told.at(-1)).toMatchObject({ job_id: job.id, state: 'failed', url });
  expect(told.filter((line) => line.url !== url)).toEqual([]);
  expect(JSON.stringify(lines)).not.toContain('SECRET');
});
