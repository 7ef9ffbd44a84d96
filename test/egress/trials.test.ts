import { describe, expect, it } from 'vitest';
import { run as callerProxy } from '../stress/caller-proxy.js';
import { run as channels } from '../stress/channels.js';
import { run as failClosed } from '../stress/fail-closed.js';
import { run as rebinding } from '../stress/rebinding.js';
import { run as redirects } from '../stress/redirects.js';
import { run as sandbox } from '../stress/sandbox.js';
import { run as vectors } from '../stress/vectors.js';

describe('in short, the trial', () => {
  it('channels: a browser finds no way out but its proxy', async () => {
    const { problems, figures } = await channels({ shapes: 1 });
    expect(problems).toEqual([]);
    expect(figures).toMatchObject({ connections: 0, datagrams: 0 });
    expect(figures.captures).toBeGreaterThan(0);
  });

  it('vectors: every spelling of a destination has its verdict', async () => {
    const { problems, figures } = await vectors({ every: 5 });
    expect(problems).toEqual([]);
    expect(figures.rows).toBeGreaterThan(150);
    expect(figures).toMatchObject({ lookups_for_literals: 0, canary_connections: 0 });
  });

  it('rebinding: a connection goes where it was judged', async () => {
    const { problems, figures } = await rebinding({ captures: 12 });
    expect(problems).toEqual([]);
    expect(figures.connections).toBeGreaterThan(10);
  });

  it('redirects: chains end before a forbidden place', async () => {
    const { problems, figures } = await redirects({ every: 83 });
    expect(problems).toEqual([]);
    expect(figures.chains).toBeGreaterThan(30);
  });

  it('caller proxy: nothing goes another way', async () => {
    const { problems, figures } = await callerProxy({ rounds: 1, silence: 0 });
    expect(problems).toEqual([]);
    expect(figures.pictures).toBeGreaterThan(3);
    expect(figures.egress_unavailable).toBeGreaterThan(10);
  });

  it('fail closed: a proxy that dies leaves no other way', async () => {
    const { problems, figures } = await failClosed({ kills: 3 });
    expect(problems).toEqual([]);
    expect(figures.kills).toBeGreaterThanOrEqual(3);
  });

  // Where the system refuses the sandbox, health and log say so: operation.md, Start-up.
  it('sandbox: every renderer is confined', async () => {
    const { problems, figures } = await sandbox({ captures: 8 });
    expect(problems).toEqual([]);
    expect(figures.confined).toBe(figures.renderers);
  });
});
