import { z } from 'zod';
import { isId } from '../../contract/ids.js';
import type { JobSnapshot } from '../../contract/job.js';
import { invalidRequest, type RequestIssue } from '../../contract/submission.js';
import { noSuchJob } from '../routes/read-job.js';
import type { McpBackend } from './backend.js';
import { listingSchema } from './listing-schema.js';
import { readFrom, readView, refuseUnknown } from './read-look.js';
import { showJob, VIEWS } from './show-job.js';
import type { Tool } from './tool.js';

const ARGUMENTS = z.strictObject({
  job_id: z.string().meta({ description: 'job_id of a capture' }),
  view: z.enum(VIEWS).default('picture').meta({ description: 'what to return once the capture is finished' }),
  from: z.int().min(1).default(1).meta({ description: 'number of the first tile of a long picture to return' }),
});

/** Reads a job as GET /v1/jobs/{id} does, with what it captured. */
export const getJob: Tool = {
  listing: {
    name: 'get_job',
    title: 'Read a capture',
    description:
      'Return the state of a capture and, once it is finished, what it shows. Also returns further tiles of a long picture. Neither renders nor charges again.',
    inputSchema: listingSchema(ARGUMENTS),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async call(backend, { job_id: id, view: givenView, from: givenFrom, ...rest }) {
    backend.admitRead();
    const issues: RequestIssue[] = [];
    if (typeof id !== 'string') issues.push({ path: 'job_id', message: id === undefined ? 'is required' : 'must be a string' });
    const look = { view: readView(givenView, issues), from: readFrom(givenFrom, issues) };
    refuseUnknown(rest, Object.keys(ARGUMENTS.shape), issues);
    if (issues.length > 0) throw invalidRequest(issues);
    const job = await findJob(backend, String(id));
    if (look.view === 'picture' && job.result?.outcome.ok === true) backend.admitPicture();
    return await showJob(backend, job, look);
  },
};

/** @throws CaptureError `invalid_request` (404) */
export async function findJob(backend: McpBackend, id: string): Promise<JobSnapshot> {
  const job = isId('job', id) ? await backend.findJob(id) : null;
  if (job === null) throw noSuchJob();
  return job;
}
