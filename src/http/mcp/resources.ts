import type { ReadResourceResult, Resource, ResourceTemplate } from '@modelcontextprotocol/sdk/types.js';
import { DEVICE_NAMES, deviceOf } from '../../contract/device-presets.js';
import { REGION_NAMES, REGIONS } from '../../contract/regions.js';
import type { McpBackend } from './backend.js';
import { jobFacts } from './show-job.js';
import { findJob } from './tools.js';

const JSON_TYPE = 'application/json';
const JOB_URI = /^stillframe:\/\/jobs\/([^/]+)$/;

const TABLES: { uri: string; name: string; description: string; rows(): unknown[] }[] = [
  {
    uri: 'stillframe://devices',
    name: 'devices',
    description: 'The values of `device`, with their viewports: presets, and the devices of Playwright',
    rows: () => DEVICE_NAMES.map(deviceRow),
  },
  {
    uri: 'stillframe://regions',
    name: 'regions',
    description: 'The values of `region`, with the locale, time zone and country that each stands for',
    rows: () => REGION_NAMES.map((name) => ({ name, ...REGIONS[name] })),
  },
];

/** Only parameters of captures; jobs are a template. */
export const RESOURCES: Resource[] = TABLES.map(({ uri, name, description }) => ({
  uri,
  name,
  description,
  mimeType: JSON_TYPE,
}));

export const TEMPLATES: ResourceTemplate[] = [
  {
    uriTemplate: 'stillframe://jobs/{job_id}',
    name: 'job',
    description: 'A capture of this caller: its state and result, without the content of the page',
    mimeType: JSON_TYPE,
  },
];

/** @returns null if there is no such resource. @throws CaptureError as GET /v1/jobs/{id} */
export async function readResource(backend: McpBackend, uri: string): Promise<ReadResourceResult | null> {
  const table = TABLES.find((one) => one.uri === uri);
  if (table !== undefined) return contentOf(uri, table.rows());
  const [, jobId] = JOB_URI.exec(uri) ?? [];
  if (jobId === undefined) return null;
  backend.admitRead();
  return contentOf(uri, jobFacts(backend, await findJob(backend, jobId)));
}

function contentOf(uri: string, value: unknown): ReadResourceResult {
  return { contents: [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(value) }] };
}

function deviceRow(name: string) {
  const { width, height, deviceScaleFactor, isMobile, hasTouch } = deviceOf(name);
  return { name, viewport: { width, height, deviceScaleFactor, isMobile, hasTouch } };
}
