import { readUsage as usageOf } from '../../capture/lookup.js';
import { usageSchema } from '../../contract/pricing.js';
import { EXTENSION } from '../../contract/request-fields.js';
import { answerData } from '../exchange.js';
import { principalOf, READS } from '../guard.js';
import type { Description, Route } from '../route.js';

/** Returns the credits and jobs that the key's account has used in this period (extensions.md). */
export const readUsage: Route = {
  method: 'GET',
  path: '/v1/usage',
  access: READS,
  describe,
  handle:
    ({ store, now }) =>
    async (c) =>
      answerData(c, await usageOf(store, principalOf(c).accountId, now())),
};

function describe(): Description {
  return {
    operationId: 'readUsage',
    tags: ['service'],
    summary: "Read the account's credits and jobs of this period",
    answers: { 200: { description: 'Usage.', data: usageSchema } },
    ...EXTENSION,
  };
}
