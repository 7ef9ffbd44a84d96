import { z } from 'zod';
import { healthSchema } from '../../contract/health.js';
import { envelopeOf } from '../../contract/job.js';
import { commonHeaders, success } from '../docs/operation-parts.js';
import { answerData, jsonResponse } from '../envelope.js';
import type { Description, Route } from '../route.js';

/** 200 if captures can be accepted, else 503 with the same data (decisions.md, Health). */
export const readHealth: Route = {
  method: 'GET',
  path: '/v1/health',
  access: null,
  onEveryServer: true,
  describe: describeHealth,
  handle: (services) => async (c) => {
    const { ready, data } = await services.health();
    const ok = ready && !services.draining();
    const { requestId, headers } = c.var.exchange;
    return jsonResponse(ok ? 200 : 503, { ok, request_id: requestId, data }, headers);
  },
};

/** 200 while the process responds. */
export const readLiveness: Route = {
  method: 'GET',
  path: '/livez',
  access: null,
  onEveryServer: true,
  describe: describeLiveness,
  handle: () => (c) => answerData(c, { alive: true }),
};

function describeHealth(): Description {
  const schema = (ok: boolean) => envelopeOf(ok, { data: healthSchema });
  return {
    operationId: 'readHealth',
    tags: ['service'],
    summary: 'Readiness',
    responses: {
      200: {
        description: 'Ready to capture.',
        headers: commonHeaders(),
        content: { 'application/json': { schema: schema(true) } },
      },
      503: {
        description: 'Not ready: the data says why.',
        headers: commonHeaders(),
        content: { 'application/json': { schema: schema(false) } },
      },
    },
  };
}

function describeLiveness(): Description {
  return {
    operationId: 'readLiveness',
    tags: ['service'],
    summary: 'Liveness',
    responses: {
      200: success(
        'The process is running.',
        z.object({ alive: z.literal(true).meta({ description: 'the process responds' }) }),
        commonHeaders(),
      ),
    },
  };
}
