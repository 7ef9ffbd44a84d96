import { z } from 'zod';
import { healthSchema } from '../../contract/health.js';
import { envelopeOf } from '../../contract/job.js';
import { answerData, jsonResponse } from '../exchange.js';
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
  return {
    operationId: 'readHealth',
    tags: ['service'],
    summary: 'Readiness',
    answers: {
      200: { description: 'Ready to capture.', data: healthSchema },
      503: { description: 'Not ready: the data says why.', json: envelopeOf(false, { data: healthSchema }) },
    },
  };
}

function describeLiveness(): Description {
  return {
    operationId: 'readLiveness',
    tags: ['service'],
    summary: 'Liveness',
    answers: {
      200: {
        description: 'The process is running.',
        data: z.object({ alive: z.literal(true).meta({ description: 'the process responds' }) }),
      },
    },
  };
}
