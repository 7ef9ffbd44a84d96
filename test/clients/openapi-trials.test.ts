import { expect, it } from 'vitest';
import { installPython } from '../fixtures/python-packages.js';
import { run, SCHEMATHESIS } from '../trials/openapi.js';

// The trial in small; `npm run trial -- openapi` is the whole.
it('the server answers as the OpenAPI document says', async ({ skip }) => {
  const installed = installPython(SCHEMATHESIS);
  if ('missing' in installed) return skip(`The OpenAPI document is not tried: ${installed.missing}`);
  const { figures, problems } = await run({ examples: 2, phases: 'examples,fuzzing,stateful' });
  expect(problems).toEqual([]);
  expect(figures.operations).toBeGreaterThan(30);
});
