import { expect, test } from 'vitest';
import { run } from '../stress/model.js';
import { aPlace } from './factories.js';

async function runModel(sabotage: boolean) {
  const { place, remove } = await aPlace();
  try {
    return await run({ place, operations: 1_500, seed: 7, sabotage });
  } finally {
    await remove();
  }
}

test('fifteen hundred random operations match the model, and ended jobs never change', async () => {
  const { figures, problems } = await runModel(false);
  expect(problems).toEqual([]);
  expect(figures).toMatchObject({ operations: 1_500, illegal: 0 });
});

test('the trial fails if a step does not name the state that it expects', async () => {
  expect((await runModel(true)).problems).not.toEqual([]);
});
