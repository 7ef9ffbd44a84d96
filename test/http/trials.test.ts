import { describe, expect, it } from 'vitest';
import { run as fuzz } from '../stress/fuzz.js';
import { run as oracle } from '../stress/oracle.js';
import { run as slowClients } from '../stress/slow-clients.js';

/** Figures of time are judged by the full forms, on a machine with nothing else to do. */
const beside = (problems: string[], times: RegExp) => problems.filter((problem) => !times.test(problem));

describe('trials of the HTTP layer, in short', () => {
  it('fuzz: answers hostile bodies and requests in the envelope, with declared statuses only', async () => {
    const { problems } = await fuzz({ bodies: 1_000 });
    expect(beside(problems, /^the event loop/)).toEqual([]);
  });

  it('oracle: tells nobody whether another key has such a job', async () => {
    const { problems } = await oracle({ lookups: 200, names: 0 });
    expect(beside(problems, /^the medians/)).toEqual([]);
  });

  it('oracle: a private name and a missing one take the same time', async () => {
    const { problems, figures } = await oracle({ lookups: 0, names: 12 });
    expect(problems).toEqual([]);
    expect(figures.captures_of_names).toBeGreaterThanOrEqual(48);
  });

  it('slow clients: are cut off, time and again', async () => {
    const { problems, figures } = await slowClients({ sockets: 100, seconds: 2, headersTimeoutMs: 300 });
    expect(beside(problems, /^honest/)).toEqual([]);
    expect(figures.cut).toBeGreaterThan(100);
  });
});
