import { expect, it } from 'vitest';
import { run as channels } from '../trials/channels.js';

it('channels: a browser finds no way out but its proxy', async () => {
  const { problems, figures } = await channels({ shapes: 1, sources: 0 });
  expect(problems).toEqual([]);
  expect(figures).toMatchObject({ connections: 0, datagrams: 0 });
  expect(figures.captures).toBeGreaterThan(0);
});
