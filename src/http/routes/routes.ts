import type { Route } from '../route.js';
import { answerMcp } from './answer-mcp.js';
import { comparePictures } from './compare-pictures.js';
import { listJobs } from './list-jobs.js';
import { readArtifact } from './read-artifact.js';
import { DOCS, readOpenapi } from './read-docs.js';
import { readHealth, readLiveness } from './read-health.js';
import { readJob } from './read-job.js';
import { readMetrics } from './read-metrics.js';
import { readRequest } from './read-request.js';
import { readUsage } from './read-usage.js';
import { readWebhook } from './read-webhook.js';
import { redeliverWebhook } from './redeliver-webhook.js';
import { renderLink } from './render-link.js';
import { submitScreenshot } from './submit-screenshot.js';

/** The public API, in the order of its document. */
export const API: readonly Route[] = [
  submitScreenshot,
  comparePictures,
  renderLink,
  readArtifact,
  listJobs,
  readUsage,
  readJob,
  readRequest,
  readWebhook,
  redeliverWebhook,
  readHealth,
  readLiveness,
];

/** All routes but those of the console. */
export const ROUTES: readonly Route[] = [...API, readMetrics, answerMcp, readOpenapi, ...DOCS];
